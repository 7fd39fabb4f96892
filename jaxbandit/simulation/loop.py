"""`simulate`: the host loop over chunks, tiles of runs and policies."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, excerpt, integer, truth
from jaxbandit.interruption import CtrlC, interrupted, warn_of_stop
from jaxbandit.results.result import Result, join_times
from jaxbandit.simulation.asking.declared import Scenarios
from jaxbandit.simulation.asking.policy_units import in_own_units
from jaxbandit.simulation.asking.recording import Record
from jaxbandit.simulation.asking.request import Policies, Request, check, default_times
from jaxbandit.simulation.asking.tracing import VISITS
from jaxbandit.simulation.chance import RandomNumbers
from jaxbandit.simulation.chunks import Recorded, allocate, finish_chunk, length_of, start_chunk
from jaxbandit.simulation.plan import make_plan
from jaxbandit.simulation.progress import Programs, compilers, progress_bar, rounds_left, warn_of_means, warn_of_nan
from jaxbandit.simulation.regrouping import regrouped
from jaxbandit.simulation.stopping import Until
from jaxbandit.simulation.telling.fingerprint import check_versions, differences, fingerprint, provenance
from jaxbandit.simulation.telling.free_memory import check_memory
from jaxbandit.simulation.tiles import Tile, gather
from jaxbandit.simulation.uneven_delays import Delay


def simulate(
    scenarios: Scenarios,
    policies: Policies,
    *,
    key: Array | None = None,
    runs: int | range = 1000,
    horizon: int = 100_000,
    plays: int = 1,
    times: ArrayLike | None = None,
    shuffle: bool = False,
    random_numbers: RandomNumbers = "common",
    delay: Delay = 0,
    batch: int = 1,
    until: Until | None = None,
    offered: ArrayLike | None = None,
    chunk: int | None = None,
    tile: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    record: Record | None = None,
    progress: bool = True,
    resume: Result | None = None,
) -> Result:
    """Play every policy in every scenario, with many independent runs of each, and count the plays.

    The counts of a round depend only on `scenarios`, `policies`, `key`, `plays`, `shuffle`, `random_numbers`, `delay`,
    `batch`, `until`, `offered`, the kind of device and JAX's precision (x64 or not), bit for bit. Policies are compared
    with common random numbers: run j of every policy has the same ones, and by default also run j of every scenario.

    Ctrl-C ends the call after the present chunk; it returns the rounds played, with a warning that names the last one.
    A second Ctrl-C within a second, or one before the first chunk is played, raises KeyboardInterrupt.

    Methods of a user's own classes are traced at every call, so that whatever they read (a list, a module, a cell of a
    notebook that was run again) has its present value. Changed programs are compiled again.

    Args:
      scenarios: an environment, or a dict from name to environments of one shape.
      policies: dict from label to a policy, or to a list of variants of it (same class and static fields).
      key: a `jax.random.key`, key(0) by default.
      runs: the number of independent runs, numbered from 0; or a range of run numbers.
      horizon: rounds, 1 to 2^31 - 1.
      plays: arms played a round (M).
      times: rounds to record, increasing; by default about 200, evenly spaced in log, the horizon included.
      shuffle: draw for each run the order in which the policy sees the arms (ties go to the first one); counts keep
        the environment's numbers of the arms.
      random_numbers: "common", the default: run j has the same random numbers in every scenario, which reduces the
        variance of differences between scenarios, and increases that of averages over scenarios (average over
        scenarios within each run first; the standard error is that of these averages over the runs).
        "independent": every scenario has its own random numbers, derived from `key` and its name, so that scenarios
        may be added, left out or divided among several calls; for averages over many problems. All policies have the
        same random numbers in both cases.
      delay: delay of feedback in rounds: the feedback of round t reaches the policy after round t + delay, unchanged,
        and that of the last rounds never does. With independent rewards this adds at most about delay times the sum
        of the gaps to the regret of an index policy, for every horizon (Joulani, Gyorgy and Szepesvari 2013). Other
        delays in other rounds are integers [N], one for each round, N at least the horizon, or [N, K], or a law of
        `jaxbandit.delays`, by which the delay of each round of a run is drawn, the same for all policies. Feedback that
        arrives after the same round is learned in the order of the rounds in which it was played.
      batch: batch size of feedback in rounds: the feedback of rounds j batch + 1 to (j + 1) batch reaches the policy
        `delay` rounds after the last of them, in the order of the rounds. Another delay or batch is another program,
        and delay + batch rounds of feedback are kept for every run.
      until: "stopped" to end a run when its policy stops, as policies that identify the best arm do. The horizon is
        then the most rounds that a run may take; counts and records of later rounds are those of the last one played,
        and `result.stopped` and `result.answers` say when each run ended, and with which arm.
      offered: which arms can be played in each round (sleeping bandits): [N, K] bool, a row for each round, which
        repeat from the first one after round N; or the probability with which each arm is offered, one number or [K].
        Draws depend on the run's key, the arm and the round alone; where fewer than M arms would be offered, those that
        came nearest are, too. The M arms with the largest scores of those offered are played, so that a policy that
        chooses by chance does so by its probabilities divided by their sum over these arms, which it reads in
        `Feedback.chances`. Regret is recorded, against the best arms offered in each round.
      chunk: the largest number of rounds of a compiled call; another number, or other times, need no new program.
      tile: runs that a device plays at a time. On a CPU by default 1, 16, 32, 64 .., so that few programs are
        compiled, up to 2,048 for five arms with two states: more would not fit into its cache.
      devices: all by default; runs are divided among them. Under `jax.distributed` these are the devices of
        all processes: each process makes the same call and gets the whole result.
      record: name to a function(environment_state, policy_state, t), or to a dict from label to such a function, if
        it needs a certain policy's state. It is traced for one run and returns an array, recorded after each recorded
        round t in `result.recorded[name][label]`: for example, a policy's estimates. A function of four arguments
        also receives the policy: `lambda arms, state, t, policy: policy.markovian(state, t + 1)`. With
        `shuffle` a policy's state has the arms in the order of its run, the environment's state in its own order.
      progress: show a bar, if the output is a terminal or a notebook.
      resume: a result of the same arguments, stopped early or with a smaller horizon, to continue.

    Returns:
      A `Result`, with `visits[label]` int32 [scenario, variant, run, time, arm, state] and `recorded[name][label]`
      [scenario, variant, run, time, ..], also for the environment's own records. If rewards have no finite
      table, plays are counted as visits of one state, and `recorded["rewards"][label]` float64 [scenario, variant,
        run, time, arm] is the total reward of each arm.

    Raises:
      ValueError: before anything is compiled: a wrong argument, with its name; a method that fails, with its line; a
        result that needs more memory than is free.
      RuntimeError: a process that was forked from one in which JAX had started, and would wait for ever.
      KeyboardInterrupt: by Ctrl-C, before the first chunk is played or in a call by a search or a command.

    Warns:
      UserWarning: a user's policy had NaN scores.
      StoppedWarning: Ctrl-C stopped the call, after which round, or the result is complete nevertheless.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    >>> result = simulate(arms, {"TV": jaxbandit.TVKLUCB()}, runs=4, horizon=100, times=[50, 100])
    >>> result.visits["TV"].shape, result.visits["TV"].sum(axis=(-2, -1))[0, 0].tolist()
    ((1, 1, 4, 2, 2, 2), [[50, 100], [50, 100], [50, 100], [50, 100]])
    """
    with CtrlC(raises=False) as ctrl_c:
        if resume is not None and not isinstance(resume, Result):
            raise ValueError(f"resume: {excerpt(resume)} is not a Result; use jaxbandit.Result.load(path)")
        truth("progress", progress)
        if resume is not None and times is None:
            integer("horizon", horizon, 1, LARGEST_INTEGER)
            later = default_times(horizon)
            times = np.concatenate([resume.times, later[later > resume.rounds]])
        request = check(
            scenarios,
            policies,
            key=key,
            runs=runs,
            horizon=horizon,
            plays=plays,
            times=times,
            shuffle=shuffle,
            random_numbers=random_numbers,
            delay=delay,
            batch=batch,
            until=until,
            offered=offered,
            record=record,
        )
        if resume is not None:
            _check_resume(request, resume)
        with progress_bar(rounds_left(request, resume), progress) as bar:
            played = list(pieces(request, bar, chunk=chunk, tile=tile, devices=devices, resume=resume))
        result = replace(join_times(played if resume is None else [resume, *played]), horizon=request.horizon)
    if ctrl_c.came:
        warn_of_stop(result.rounds, result.horizon)
    return result


def pieces(
    request: Request,
    bar: Any,
    *,
    chunk: int | None = None,
    tile: int | None = None,
    devices: Sequence[jax.Device] | None = None,
    resume: Result | None = None,
    every: float = math.inf,
    stopped: Callable[[], bool] = interrupted,
) -> Iterator[Result]:
    """Play the remaining rounds, and yield the new records every `every` seconds, at the end and when stopped.

    Args:
      request: checked.
      bar: of `progress_bar`.
      resume: the last piece; only its carry and rounds are used.
      every: seconds.
      stopped: a function, called before every chunk, that returns whether to stop.

    Returns:
      Results with only the times recorded since the last one.
    """
    played = played_before = 0 if resume is None else resume.rounds
    plan = make_plan(request, chunk, tile, devices)
    if played >= request.horizon:
        return
    check_memory("runs", [request], playing=True)
    with compilers() as workers:
        tiles = [Tile(request, plan, number, resume) for number in range(plan.tiles)]
        programs = Programs(tiles[0], request.policies, workers, bar)
        about = {"fingerprint": fingerprint(request), "provenance": provenance(request)}  # while programs compile
        while played < request.horizon:
            times = request.times[request.times > played]
            kept = {label: allocate(request, label, len(times)) for label in request.policies}
            until, before = time.monotonic() + every, played
            under_way: list[Recorded] = []
            while played < request.horizon and not stopped():
                going = True
                if request.until_stopped and played > played_before:
                    going = sum(regrouped(tiles, label) for label in request.policies) > 0
                length = length_of(plan, request, played, times, going)
                started = start_chunk(request, tiles, played + 1, length, times, programs)
                finish_chunk(under_way, kept, bar)  # while the devices play the next one
                under_way = started
                played += length
                if time.monotonic() >= until:
                    break
            if played == before:
                break
            finish_chunk(under_way, kept, bar)
            if played == request.horizon:
                warn_of_nan(request, tiles)
                if len(times) and times[-1] == request.horizon and request.reward.shape[2]:
                    warn_of_means(request, {label: arrays[VISITS][:, :, :, -1] for label, arrays in kept.items()})
            done = int(np.searchsorted(times, played, side="right"))
            yield Result(
                scenarios=request.scenarios,
                times=times[:done],
                visits={label: arrays[VISITS][:, :, :, :done] for label, arrays in kept.items()},
                recorded={
                    name: {
                        label: in_own_units(name, arrays[name], arrays[VISITS], request.units[label])[:, :, :, :done]
                        for label, arrays in kept.items()
                        if name in arrays
                    }
                    for name in dict.fromkeys(name for shapes in request.shapes.values() for name in shapes)
                },
                means=request.means,
                reward=request.reward,
                problem=request.problem,
                comparator=request.comparator,
                comparator_name=request.comparator_name,
                cost=request.cost,
                passive_reward=request.passive_reward,
                horizon=request.horizon,
                rounds=played,
                plays=request.plays,
                **about,
                carry={label: gather(tiles, label) for label in request.policies},
            )
    if played == played_before:
        raise KeyboardInterrupt


def _check_resume(request: Request, resume: Result) -> None:
    versions = resume.provenance.get("versions", {}), provenance(request)["versions"]
    same = check_versions("resume: the result", *versions)
    changed = differences(resume.fingerprint, fingerprint(request), same)
    if changed:
        raise ValueError(
            f"resume: {', '.join(changed)} changed since the result was made; the counts would not be those of one run"
        )
    if not resume.carry:
        raise ValueError("resume: the result is a sweep's, which holds no state to go on from; call sweep again")
    if resume.rounds > request.horizon:
        raise ValueError(f"resume: the result has {resume.rounds} rounds already, more than horizon={request.horizon}")
    if not np.array_equal(resume.times, request.times[request.times <= resume.rounds]):
        raise ValueError("resume: the result recorded other times; give the same times up to where it stopped")
