"""What a user sees of a simulation under way: its progress, what is being compiled, and warnings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np

from jaxbandit.cores import cores
from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.tiles import Tile

PATIENCE = 2.0  # seconds of compiling after which the bar says so
LOOK = 0.1  # seconds between two looks for Ctrl-C meanwhile


class Programs:
    """The programs of all policies, which XLA compiles side by side while those that are ready play.

    Tracing holds Python's lock and is done at once, one policy after the other.

    Args:
      tile: one of the tiles that they play.
      labels: the policies' labels.
      workers: of `compilers`.
      bar: of `progress_bar`.
    """

    def __init__(self, tile: Tile, labels: Iterable[str], workers: ThreadPoolExecutor, bar: Any) -> None:
        self.bar, self.begun = bar, time.monotonic()
        self.compiling = {label: workers.submit(tile.compile(label)) for label in labels}

    def wait_for(self, label: str) -> None:
        """Until the policy's program is ready; after two seconds the bar says what is being compiled.

        Raises:
          KeyboardInterrupt: by Ctrl-C; only in the first chunk is there anything to wait for.
        """
        said = False
        while not wait([self.compiling[label]], timeout=LOOK).done:
            stop_if_interrupted()
            if not said and time.monotonic() > self.begun + PATIENCE:
                self.bar.set_postfix_str(f"compiling {label} ..")
                said = True
        self.compiling[label].result()
        if said:
            self.bar.set_postfix_str("")


@contextmanager
def compilers() -> Iterator[ThreadPoolExecutor]:
    """Threads, one for each core; work that has not begun at the end is dropped."""
    workers = ThreadPoolExecutor(cores(), thread_name_prefix="compile")
    try:
        yield workers
    finally:
        workers.shutdown(wait=False, cancel_futures=True)


def warn_of_nan(request: Request, tiles: list[Tile]) -> None:
    """Warn, when all is played, of policies whose scores were NaN."""
    for label in request.policies:
        found = [first for tile in tiles if (first := tile.first_nan(label)) is not None]
        rounds = np.concatenate(found, axis=-1) if found else np.zeros(1, int)
        if rounds.any():
            runs = f"{np.count_nonzero(rounds):,} of {rounds.size:,} runs"
            first = rounds[rounds > 0].min()
            warnings.warn(
                f"policies[{label!r}]: scores were NaN in {runs}, first in round {first}; NaN counts "
                "as the lowest score, so that such an arm was not played",
                stacklevel=4,
            )


def warn_of_means(request: Request, visits: Mapping[str, np.ndarray]) -> None:
    """Warn, when all is played, of arms of a user's own that did not pay what their `means` promise.

    Pseudo-regret counts plays by these means. An arm is named where, over at least 20 runs of at least 100 plays on
    average, what it paid is more than 7 standard errors and more than a twentieth of the rewards' range away.

    Args:
      visits: label to [C, V, R, K, S], at the end.
    """
    if request.traced.environment.fixed or request.problem != "rested" or request.runs < 20:
        return
    spread = np.ptp(request.reward, axis=-1).max(-1)  # [C]
    for label, counts in visits.items():
        plays = counts.sum(-1).astype(float)
        paid = np.einsum("cvrks,cks->cvrk", counts, request.reward)
        beyond = paid - plays * request.means[:, None, None]
        mean, error = beyond.mean(2), beyond.std(2, ddof=1) / np.sqrt(request.runs)
        plays = plays.mean(2)  # [C, V, K]
        far = (np.abs(mean) > 7 * error) & (np.abs(mean) > plays * spread[:, None, None] / 20) & (plays >= 100)
        for scenario, variant, arm in np.argwhere(far)[:1]:
            promised = request.means[scenario, arm]
            average = promised + mean[scenario, variant, arm] / plays[scenario, variant, arm]
            warnings.warn(
                f"scenarios[{request.scenarios[scenario]!r}]: arm {arm} paid {average:.3g} a play to {label!r}, and "
                f"means() says {promised:.3g}, by which pseudo-regret counts plays; if what an arm pays falls with its "
                'own plays, declare Declares(problem="rotting"), if it depends on the round, "changing", and give '
                "means_now(state, t); if the arm is only slow to forget its start, play more rounds",
                stacklevel=4,
            )
            return


def rounds_left(request: Request, resume: Result | None = None) -> int:
    """Rounds to play, all scenarios, variants and runs together."""
    played = 0 if resume is None else resume.rounds
    return (request.horizon - played) * request.runs * len(request.scenarios) * sum(request.variants.values())


def progress_bar(rounds: int, progress: bool, played: int = 0) -> Any:
    """A bar over rounds, if the output is a terminal or a notebook."""
    from tqdm.auto import tqdm  # a tenth of a second, which an import of the package need not take

    return tqdm(total=rounds, initial=played, unit=" rounds", unit_scale=True, disable=None if progress else True)
