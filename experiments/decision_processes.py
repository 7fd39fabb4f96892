"""Decision processes: who learns where to go, and what it costs.

Plays RiverSwim in the numbers of several papers, a process whose states are all met again, a random one and episodes of
20 rounds, with optimistic policies, posterior sampling, IMED-RL and a player who knows the process. Prints and writes
(CSV) final regret, its tail, how it grows, and in which order the policies stand; how often IMED-RL fails where states
are hardly ever met again; and what plain loops of the same policies lose. Draws regret over rounds. About five minutes
on two cores; --processes plays single ones, also the large 'RiverSwim 25' and 'four rooms'. Ctrl-C keeps what is done,
and the same command continues.

Regret is the best gain times the rounds, minus what was collected; in episodes, what the best policy collects from
where they begin, minus what was collected. 'Beyond known' is what a run loses beyond the player who knows the process
and has the same random numbers. Policies stand in the order of their mean; the last column says whether a policy has
less than the next one beyond chance, by the 95 % interval of their difference run by run. The exponent is that with
which the mean beyond known grows in the last decade of rounds: 1 where a constant share is lost, 1/2 for a square root,
0.1 to 0.2 for a logarithm. A run is linear if it loses a tenth or more of what is to be had in the second half.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from scipy.stats import binomtest

import jaxbandit
from experiments.comparisons.curves import curves
from experiments.comparisons.growth import decades, linear_runs, slope, times
from jaxbandit import Policy, Result, atlas, metrics
from jaxbandit.command_line.experiment import begin_and_play, finish
from jaxbandit.command_line.options import Simulation, file_name, main, names_in, option
from jaxbandit.environments import DecisionProcess, random_decision_process, riverswim
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row, Tables, in_short, moments
from jaxbandit.timing.machine import describe

STEPS = 20  # of an episode
OTHER_ENDS, EPISODES, RANDOM = "ergodic RiverSwim with other ends", "RiverSwim in episodes", "random process"
SMALL = ("RiverSwim", "RiverSwim 6", "fast RiverSwim", "ergodic RiverSwim", OTHER_ENDS, RANDOM, EPISODES)
LARGE = ("RiverSwim 25", "four rooms")
NAMES = SMALL + LARGE
KNOWN, IMED_RL, UNNORMALISED, LEARNED = "known", "IMED-RL", "IMED-RL, not normalised", "PSRL, rewards learned"
# plain loops over the rounds in float64: on RiverSwim mean regret after 100,000 rounds and half of its 95 % interval
LOOP_RUNS, LOOP_ROUNDS = 40, 100_000
LOOPS = {IMED_RL: (151, 27), UNNORMALISED: (58, 28), LEARNED: (195, 36), "UCRL2": (28_317, 415)}
LOOP_SHARES = {IMED_RL: 0.20, UNNORMALISED: 0.11}  # of runs that lose a fifth or more, where hardly ergodic
FIFTH = 0.2  # of what the best policy collects
LEAST = 1.0  # regret below it is not drawn
LINEAR = (
    "IMED-RL is made for processes in which every state is met again whatever is played. Here that is so, but hardly: "
    "a run in which the good end was not met early stays at the other one. A run loses a fifth if its regret is a "
    "fifth or more of what the best policy collects."
)


@dataclasses.dataclass(frozen=True)
class Settings(Simulation):
    """Options of the experiment."""

    QUICK = Simulation.QUICK | {"processes": f"RiverSwim, {EPISODES}"}
    runs: int = option(100, "independent runs of every policy")
    processes: str = option(", ".join(SMALL), f"which, with commas between them, of {', '.join(NAMES)}")


def cases(settings: Settings) -> dict[str, Any]:
    """A case for each process."""
    names = names_in(settings.processes, "--processes", NAMES)
    size = settings.size() | {"times": times(settings.horizon)}
    return {
        name: {"scenarios": {name: process(name)}, "policies": policies(name, settings.horizon), **size}
        for name in names
    }


def process(name: str) -> DecisionProcess:
    """The process of this name; most are the atlas's.

    The two ergodic ones with five states differ at their ends: in one the first and the last state move as the middle
    does, in the other as they do in RiverSwim.
    """
    if name == OTHER_ENDS:
        return riverswim(5, down=0.3, reward_left=0.05, reward_right=0.99, slip=0.01)
    if name == RANDOM:
        return random_decision_process(jax.random.key(0))
    if name == EPISODES:
        return riverswim(steps=STEPS)
    return atlas[name].arms


def policies(name: str, horizon: int) -> dict[str, Policy]:
    """The policies that are played on the process of this name, first the one that knows it."""
    known: dict[str, Policy] = {KNOWN: jaxbandit.KnownProcess.of(process(name))}
    samplers: dict[str, Policy] = {"PSRL": jaxbandit.PSRL(), LEARNED: jaxbandit.PSRL(rewards="learned")}
    learners: dict[str, Policy] = {IMED_RL: jaxbandit.IMEDRL(), UNNORMALISED: jaxbandit.IMEDRL(normalised=False)}
    if name == EPISODES:
        return known | {
            "UCBVI, CH": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="CH"),
            "UCBVI, BF": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="BF"),
            "UCBVI, CH / 100": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="CH", scale=0.01),
            "UCBVI, BF / 1000": jaxbandit.UCBVI(steps=STEPS, horizon=horizon, bonus="BF", scale=0.001),
            "PSRL": samplers["PSRL"],
        }
    if name in LARGE:
        return known | {"UCRL2B": jaxbandit.UCRL2B()} | samplers | learners
    optimists: dict[str, Policy] = {"UCRL2": jaxbandit.UCRL2(), "KL-UCRL": jaxbandit.KLUCRL()}
    optimists |= {"UCRL2B": jaxbandit.UCRL2B(), "TUCRL": jaxbandit.TUCRL()}
    return known | optimists | samplers | {"TSDE": jaxbandit.PSRL(rewards="learned", tsde=True)} | learners


def tabulate(results: dict[str, Result]) -> Tables:
    """Final regret on every process, the linear runs of IMED-RL, and plain loops beside RiverSwim."""
    tables: Tables = {}
    for name, result in results.items():
        tables[file_name(name)] = f"{name}: final regret", final_rows(result)
    if linear := linear_rows(results):
        tables["linear"] = "Runs of IMED-RL that fail where states are hardly met again", linear
    if "RiverSwim" in results and (loops := loop_rows(results["RiverSwim"])):
        tables["loops"] = f"RiverSwim: mean regret beside {LOOP_RUNS} runs of plain loops", loops
    return tables


def beyond_known(result: Result, label: str) -> np.ndarray:
    """What each run loses beyond a player with the same random numbers who knows the process, [run, time].

    Its mean is that of regret, as the other's regret is zero on average but for a start and an end, at most the span of
    the bias; it is far less spread out.
    """
    return np.asarray(metrics.regret(result, label)[0, 0] - metrics.regret(result, KNOWN)[0, 0])


def final_rows(result: Result) -> list[Row]:
    """Final regret of every policy, least first: tail, growth, and whether the next one has more beyond chance."""
    rows: list[Row] = []
    final = {label: metrics.regret(result, label)[0, 0, :, -1] for label in result.labels}
    order = sorted(final, key=lambda label: float(final[label].mean()))
    for label, following in zip(order, [*order[1:], None], strict=True):
        known = label == KNOWN
        apart = None if following is None else metrics.summary(final[label] - final[following])
        row: Row = {"policy": label} | moments(final[label])
        row["beyond known"] = "-" if known else in_short(beyond_known(result, label)[:, -1])
        row["linear share"] = float(metrics.linear_share(result, label)[0, 0])
        row["exponent"] = "-" if known else exponent(result, label)
        less = "-" if apart is None else "yes" if apart.high < 0 else "within chance"
        rows.append(row | {"less than the next": less})
    return rows


def exponent(result: Result, label: str) -> str:
    """The exponent with which the mean of `beyond_known` grows in the last decade of rounds, with its interval."""
    ends = decades(int(result.times[-1]))[-2:]
    if len(ends) < 2:
        return "-"
    return slope(np.log(ends), beyond_known(result, label)[:, np.searchsorted(result.times, ends)].T)


def loop_rows(result: Result) -> list[Row]:
    """Mean regret on RiverSwim beside that of plain loops, where both have played as many rounds; else no row."""
    rows: list[Row] = []
    for label, (mean, half) in LOOPS.items():
        if label in result.labels and result.times[-1] == LOOP_ROUNDS:
            s = metrics.summary(metrics.regret(result, label)[0, 0, :, -1])
            here, apart = float(s.high - s.mean), float(s.mean) - mean
            row: Row = {"policy": label, "plain loops": f"{mean:,} ± {half:,}", "here": f"{s.mean:,.0f} ± {here:,.0f}"}
            rows.append(row | {"verdict": "agrees" if abs(apart) <= 1.5 * math.hypot(here, half) else "differs"})
    return rows


def linear_rows(results: Mapping[str, Result]) -> list[Row]:
    """How many runs of IMED-RL lose a fifth or more where the process is hardly ergodic, and how many are linear."""
    rows: list[Row] = []
    for name in ("ergodic RiverSwim", OTHER_ENDS):
        for label, share in LOOP_SHARES.items():
            if name in results and label in results[name].labels:
                result = results[name]
                lost = metrics.regret(result, label)[0, 0, :, -1]
                most = FIFTH * process(name).comparator(1) * int(result.times[-1])
                row: Row = {"process": name, "policy": label, "plain loops": f"{share:.0%}"}
                row["lose a fifth or more"] = share_of(lost >= most)
                row["linear at the end"] = share_of(np.arange(result.runs) < linear_runs(result, label))
                others = float(lost[lost < most].mean()) if (lost < most).any() else "-"
                rows.append(row | {"median": float(np.median(lost)), "mean of the others": others})
    return rows


def share_of(true: np.ndarray) -> str:
    """The share of runs for which something is true, with Wilson's 95 % interval.

    >>> share_of(np.arange(40) < 8)
    '20% (10% to 35%)'
    """
    interval = binomtest(int(true.sum()), len(true)).proportion_ci(method="wilson")
    return f"{true.mean():.0%} ({interval.low:.0%} to {interval.high:.0%})"


def draw(results: dict[str, Result]) -> Pictures:
    """Regret beyond the player who knows the process, a panel for each process."""
    lines = {
        name: {label: (result.times, beyond_known(result, label).T) for label in result.labels if label != KNOWN}
        for name, result in results.items()
    }
    axes = {"xscale": "log", "yscale": "log", "xlabel": "round t", "ylim": (LEAST, None)}
    yield "regret", curves(lines, 4, "mean regret beyond the player who knows", **axes)


def run(settings: Settings) -> dict[str, Result]:
    """Play every process, print what was seen and write the folder."""
    folder, results = begin_and_play("decision_processes", settings, cases(settings))
    print(f"{settings.runs:,} runs of {settings.horizon:,} rounds")
    tables = tabulate(results)
    words = f"{LINEAR}\n" * ("linear" in tables) + f"{describe()}."
    finish(folder, tables, draw(results), words)
    return results


if __name__ == "__main__":
    main(run, Settings, "decision_processes", __doc__)
