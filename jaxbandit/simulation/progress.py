"""Messages of a running simulation: progress, compilation and warnings."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np

from jaxbandit.cores import cores
from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.results.result import Result
from jaxbandit.simulation.asking.request import Request
from jaxbandit.simulation.tiles import Tile

PATIENCE = 2.0  # seconds of compilation after which the bar says so
LOOK = 0.1  # seconds between two checks for Ctrl-C during compilation


class Programs:
    """The programs of all policies, compiled in parallel while the first compiled ones already play.

    Tracing holds Python's lock and is done at once, one policy after the other.

    Args:
      tile: one of their tiles.
      labels: the policies' labels.
      workers: of `compilers`.
      bar: of `progress_bar`.
    """

    def __init__(self, tile: Tile, labels: Iterable[str], workers: ThreadPoolExecutor, bar: Any) -> None:
        self.bar, self.start = bar, time.monotonic()
        self.compiling = {label: workers.submit(tile.compile(label)) for label in labels}

    def wait_for(self, label: str) -> None:
        """Wait until the policy's program is compiled; after two seconds the bar names it.

        Raises:
          KeyboardInterrupt: by Ctrl-C; there is no wait after the first chunk.
        """
        said = False
        while not wait([self.compiling[label]], timeout=LOOK).done:
            stop_if_interrupted()
            if not said and time.monotonic() > self.start + PATIENCE:
                self.bar.set_postfix_str(f"compiling {label} ..")
                said = True
        self.compiling[label].result()
        if said:
            self.bar.set_postfix_str("")


@contextmanager
def compilers() -> Iterator[ThreadPoolExecutor]:
    """Threads, one for each core; tasks not started at the end are cancelled."""
    workers = ThreadPoolExecutor(cores(), thread_name_prefix="compile")
    try:
        yield workers
    finally:
        workers.shutdown(wait=False, cancel_futures=True)


def warn_of_nan(request: Request, tiles: list[Tile]) -> None:
    """Warn at the end of policies with NaN scores."""
    for label in request.policies:
        first_rounds = [first for tile in tiles if (first := tile.first_nan(label)) is not None]
        rounds = np.concatenate(first_rounds, axis=-1) if first_rounds else np.zeros(1, int)
        if rounds.any():
            runs = f"{np.count_nonzero(rounds):,} of {rounds.size:,} runs"
            first = rounds[rounds > 0].min()
            warnings.warn(
                f"policies[{label!r}]: scores were NaN in {runs}, first in round {first}; NaN counts "
                "as the lowest score, so that such an arm was not played",
                stacklevel=4,
            )


def warn_of_means(request: Request, visits: Mapping[str, np.ndarray]) -> None:
    """Warn at the end of a user's arms whose average rewards differ from their `means`.

    Pseudo-regret is computed from these means. The warning names an arm if, over at least 20 runs of at least 100 plays
    on average, the difference is more than 7 standard errors and more than a twentieth of the range of rewards.

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
    """The number of rounds to play, of all scenarios, variants and runs."""
    played = 0 if resume is None else resume.rounds
    return (request.horizon - played) * request.runs * len(request.scenarios) * sum(request.variants.values())


def progress_bar(rounds: int, progress: bool, played: int = 0) -> Any:
    """A bar over rounds, if the output is a terminal or a notebook."""
    if find_spec("ipywidgets"):  # tqdm is imported here, because it takes a tenth of a second
        from tqdm.auto import tqdm
    else:  # tqdm.auto would warn in a notebook that it has no widgets
        from tqdm import tqdm
    return tqdm(total=rounds, initial=played, unit=" rounds", unit_scale=True, disable=None if progress else True)
