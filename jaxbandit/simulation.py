"""`simulate`: the host loop over chunks, tiles of runs and policies, and the programs it calls."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from tqdm.auto import tqdm

from jaxbandit.arguments import Policies, Request, Scenarios, check, default_times
from jaxbandit.base import Array
from jaxbandit.interruption import ctrl_c
from jaxbandit.results import Result
from jaxbandit.tiles import Tile, gather, make_plan


def simulate(
    scenarios: Scenarios,
    policies: Policies,
    *,
    key: Array | None = None,
    runs: int = 1000,
    horizon: int = 100_000,
    plays: int = 1,
    times: Array | None = None,
    shuffle: bool = False,
    chunk: int | None = None,
    tile: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    progress: bool = True,
    resume: Result | None = None,
) -> Result:
    """Play every policy in every scenario, many independent runs of each, and count what was played.

    The counts of a round depend on `scenarios`, `policies`, `key`, `plays`, `shuffle` and JAX's precision (x64 or not)
    alone, bit for bit; run j of one policy meets the same luck as run j of another. Ctrl-C ends after the current chunk
    and returns what is done (twice: at once, with nothing).

    Args:
      scenarios: an environment, or a dict from name to environments of one shape.
      policies: dict from label to a policy, or to a list of variants of it (same class and static fields).
      key: a `jax.random.key`, key(0) by default.
      runs: independent repetitions.
      horizon: rounds, from the number of arms to 2^31 - 1.
      plays: arms played a round (M).
      times: rounds to record, increasing; by default about 200, evenly spaced in log, the horizon included.
      shuffle: draw for each run the order in which the policy sees the arms (ties go to the first); counts keep the
        arms' own numbers.
      chunk: rounds a compiled call plays.
      tile: runs a device plays at a time; 500 by default on a CPU, where more falls out of its cache.
      devices: all local ones by default; runs are divided among them.
      progress: show a bar, if the output is a terminal or a notebook.
      resume: a result of the same arguments that was stopped early, or had a smaller horizon, to continue.

    Returns:
      A `Result`, with `visits[label]` int32 [scenario, variant, run, time, arm, state].

    Raises:
      ValueError: before anything is compiled, with the argument's name.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = simulate(arms, {"TV": jaxbandit.TVKLUCB()}, runs=4, horizon=100, times=[50, 100])
    >>> result.visits["TV"].shape, result.visits["TV"].sum(axis=(-2, -1))[0, 0].tolist()
    ((1, 1, 4, 2, 2, 2), [[50, 100], [50, 100], [50, 100], [50, 100]])
    """
    if resume is not None and not isinstance(resume, Result):
        raise ValueError(f"resume: {resume!r} is not a Result; use jaxbandit.Result.load(path)")
    if resume is not None and times is None:
        later = default_times(horizon)
        times = np.concatenate([resume.times, later[later > resume.rounds]])
    request = check(scenarios, policies, key, runs, horizon, plays, times, shuffle)
    first = _check_resume(request, resume)
    plan = make_plan(request, first, chunk, tile, devices)
    visits = {label: _allocate(request, label, resume) for label in request.policies}
    played = first - 1
    total = (request.horizon - played) * request.runs * len(request.scenarios) * sum(request.variants.values())
    with (
        ctrl_c() as interrupted,
        tqdm(total=total, unit=" rounds", unit_scale=True, disable=None if progress else True) as bar,
    ):
        tiles = [Tile(request, plan, number, resume) for number in range(plan.tiles)]
        while played < request.horizon and not interrupted.is_set():
            length = min(plan.chunk, request.horizon - played)
            slots = np.flatnonzero((request.times > played) & (request.times <= played + length))
            due = np.zeros(plan.slots, np.int32)
            due[: len(slots)] = request.times[slots]
            records = [(t, label, t.play(label, played + 1, length, due)) for t in tiles for label in request.policies]
            for t, label, record in records:
                if len(slots):
                    counts = np.moveaxis(np.asarray(record), -1, 2)  # runs behind scenario and variant
                    visits[label][:, :, t.runs, slots] = counts[:, :, : t.size, : len(slots)]
                else:
                    record.block_until_ready()
                bar.update(length * t.size * len(request.scenarios) * request.variants[label])
            played += length
        done = int(np.searchsorted(request.times, played, side="right"))
        return Result(
            scenarios=request.scenarios,
            times=request.times[:done],
            visits={label: counts[:, :, :, :done] for label, counts in visits.items()},
            means=request.means,
            reward=request.reward,
            horizon=request.horizon,
            rounds=played,
            plays=request.plays,
            specification=request.specification(),
            carry={label: gather([t.carries[label] for t in tiles], request.runs) for label in request.policies},
        )


def _allocate(request: Request, label: str, resume: Result | None) -> np.ndarray:
    shape = (len(request.scenarios), request.variants[label], request.runs, len(request.times))
    counts = np.zeros(shape + request.reward.shape[1:], np.int32)
    if resume is not None:
        counts[:, :, :, : len(resume.times)] = resume.visits[label]
    return counts


def _check_resume(request: Request, resume: Result | None) -> int:
    """The round to go on from, 1 without `resume`."""
    if resume is None:
        return 1
    wanted, found = request.specification(), resume.specification
    changed = [name for name in wanted if wanted[name] != found.get(name)]
    if changed:
        raise ValueError(
            f"resume: the result was made with other {', '.join(changed)}; the counts would not be those of one run"
        )
    if resume.rounds > request.horizon:
        raise ValueError(f"resume: the result has {resume.rounds} rounds already, more than horizon={request.horizon}")
    if not np.array_equal(resume.times, request.times[request.times <= resume.rounds]):
        raise ValueError("resume: the result recorded other times; give the same times up to where it stopped")
    return resume.rounds + 1
