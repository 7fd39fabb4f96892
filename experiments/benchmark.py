"""Rounds per second: every policy, then one thing at a time, beside a scalar loop compiled by numba.

All with scenario 1's arms and 1,000 runs unless the row says otherwise, the last round recorded; the axis of families
is KL-UCB's, that of changing arms UCB1's, that of processes plays six states of RiverSwim, that of budgets restless
arms of three states that all pay, that of identification equal arms, for which no run stops: two but for its second
row, `TopTwo`, checked in every round. The policies of the axis "on
demand" compute an index only where it can decide; beside their speed stands how many of the arms that were not played
in the last 100 rounds had theirs computed. The ratio is to the scalar loop (extra `bench`), measured in the same call:
machines differ, ratios much less. Writes the table as JSON; --check FILE compares with such a file by ratios, and fails
where a row has become slower by more than a fifth.
--first instead times how long a first call takes, tracing and compiling included, each case in a process of its own;
the first rows are plain programs of `jit`, `vmap` and `scan`, of which that of UCB1 is the yardstick.
--calls instead times what calls cost beside playing: `simulate` again, and sweeps of many tiny cases.
--fits instead times fits to choices, beside a loop with SciPy.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit
from experiments.published.scenarios import environment
from experiments.timing import calls, first, fits, scalar_loop, share
from jaxbandit import Family, Policy, environments, families
from jaxbandit.command_line.options import Quick, main, names_in, option
from jaxbandit.families.table import tabulated
from jaxbandit.policies import Blocks, Identify
from jaxbandit.reports.tables import put
from jaxbandit.timing.machine import describe
from jaxbandit.timing.stopwatch import Measurement, arms_of, time_case

MANY = 1e9  # rounds that policies are told of, more than a timing plays
POLICIES: dict[str, Policy] = {name: policy() for name, policy in jaxbandit.ALL.items()} | {
    "KL-UCB+": jaxbandit.KLUCB(exploration=0.0, clock="arm"),
    "KL-UCB++": jaxbandit.KLUCB(horizon=MANY),
    "Exp3": jaxbandit.Exp3(gamma=0.01),
    "Exp3.S": jaxbandit.Exp3S(gamma=0.01, alpha=1e-5),
    "Rexp3": jaxbandit.Rexp3(gamma=0.05, batch=1000),
    "Tsallis-INF": jaxbandit.TsallisINF(),
    "D-UCB": jaxbandit.DiscountedUCB(discount=0.999),
    "SW-UCB": jaxbandit.SlidingWindowUCB(window=1000),
    "KL-UCB window": jaxbandit.KLUCB(memory=jaxbandit.Window(1000)),
    "KL-UCB with GLR": jaxbandit.WithDetector(jaxbandit.KLUCB(), jaxbandit.GLR(horizon=MANY)),
    "KL-UCB with CUSUM": jaxbandit.WithDetector(jaxbandit.KLUCB(), jaxbandit.CUSUM(horizon=MANY, changes=5)),
}
DELTA = 1e-30  # with arms that are all alike no run stops while it is timed
IDENTIFY: dict[str, tuple[int, int, int, Policy]] = {  # arms, states, rounds, policy
    "ChainGLR": (2, 2, 5_000, Identify(delta=DELTA)),
    "ChainGLR ten arms": (10, 2, 2_000, Identify(delta=DELTA)),
    "ChainGLR three states": (2, 3, 300, Identify(delta=DELTA)),
    "Blocks": (2, 2, 2_000, Identify(stopping=Blocks(), delta=DELTA)),
}
LEARNERS: dict[str, Policy] = {
    "UCRL2": jaxbandit.UCRL2(),
    "PSRL": jaxbandit.PSRL(),
    "IMED-RL": jaxbandit.IMEDRL(),
    "UCBVI": jaxbandit.UCBVI(steps=20, horizon=MANY),
}
AXES = {
    "policy": tuple(POLICIES),
    "runs": (1, 100, 1000, 10_000, 100_000),
    "arms": (2, 5, 20, 100),
    "states": (2, 3, 8, 32),
    "horizon": (10_000, 100_000, 1_000_000),
    "scenarios": (1, 4, 16),
    "variants": (1, 4, 16),
    "changing": ("levels", "chains"),
    "processes": tuple(LEARNERS),
    "budget": ("Whittle 10 of 100", "Whittle 100 of 1000", "PosteriorWhittle 10 of 100"),
    "rewards": ("Bernoulli UCB1", "Gaussian UCB1", "Bernoulli KLUCB", "Gaussian KLUCB", "Poisson UCB1", "beta UCB1"),
    "family": ("Bernoulli", "Gaussian", "Poisson", "Exponential", "chains", "chains by table"),
    "identification": tuple(IDENTIFY),
    "on demand": tuple(share.PLAYED),
}
ON_DEMAND, LONG = (1_000, 10_000, 100_000), 1_000_000  # rounds of the rows on demand
OTHERS = ("policy", "rewards", "changing", "processes", "budget", "family", "identification")  # axes that are not sizes
SLOWER = 0.8


@dataclasses.dataclass(frozen=True)
class Settings(Quick):
    """Options of the benchmark."""

    QUICK = Quick.QUICK | {"runs": 100, "seconds": 0.1, "axes": "arms"}
    runs: int = option(1000, "independent runs")
    seconds: float = option(3.0, "about how long each row is timed")
    policies: str = option("", "names for the axis of policies, with commas between them; default: all")
    axes: str = option("", f"some of {', '.join(AXES)}, with commas between them; default: all")
    long: bool = option(False, f"{LONG:,} rounds on the axis 'on demand', too")
    out: str = option("", "folder for the table; default: results/benchmark, or results/benchmark-quick")
    check: str = option("", "file of an earlier table to compare with")
    first: bool = option(False, "the time to the first answer, and nothing else")
    calls: bool = option(False, "what calls cost beside playing, and nothing else")
    fits: bool = option(False, "fits to choices, and nothing else")

    def file(self, name: str) -> Path:
        """The file of a table."""
        return Path(self.out or f"results/benchmark{'-quick' if self.quick else ''}") / f"{name}.json"


def cases(settings: Settings) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Axis, value, and the arguments of `simulate` but its horizon, or with a fixed one."""
    names = names_in(settings.policies, "--policies", AXES["policy"]) if settings.policies else AXES["policy"]
    axes = names_in(settings.axes, "--axes", tuple(AXES)) if settings.axes else AXES
    for axis in axes:
        if axis == "on demand":
            yield from on_demand(settings)
            continue
        for value in names if axis == "policy" else AXES[axis]:
            size: dict[str, Any] = {"runs": settings.runs, "arms": 5, "states": 2, "scenarios": 1, "variants": 1}
            size |= {} if axis in OTHERS else {axis: value}
            arms, policy = arms_of(size.pop("arms"), size.pop("states")), POLICIES["TVKLUCB"]
            if axis == "policy":
                policy = POLICIES[str(value)]
            elif axis == "family":
                policy = jaxbandit.KLUCB(family=family(str(value)))
            elif axis == "rewards":
                arms, policy = independent(str(value))
            elif axis == "changing":
                arms, policy = changing(str(value)), jaxbandit.UCB1()
            elif axis == "processes":
                policy = LEARNERS[str(value)]
                arms = environments.riverswim(steps=policy.steps if isinstance(policy, jaxbandit.UCBVI) else None)
            elif axis == "identification":
                number, states, size["horizon"], policy = IDENTIFY[str(value)]
                arms, size["until"] = equal_arms(number, states), "stopped"
            elif axis == "budget":
                arms, policy, size["plays"] = budget(str(value))
            scenarios = {str(number): arms for number in range(size.pop("scenarios"))}
            yield axis, str(value), {"scenarios": scenarios, "policies": {"": [policy] * size.pop("variants")}} | size


def equal_arms(number: int, states: int) -> jaxbandit.MarkovArms:
    """Arms that no rule tells apart, so that no run stops."""
    if states == 2:
        return jaxbandit.two_state([0.5] * number, [0.4] * number)
    rows = np.full((states, states), 0.5 / states) + 0.5 * np.eye(states)
    return environments.markov(np.tile(rows, (number, 1, 1)), np.tile(np.linspace(0, 1, states), (number, 1)))


def on_demand(settings: Settings) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The policies of this axis, each in games of several lengths."""
    for name in AXES["on demand"]:
        played = share.PLAYED[name]
        case = {"scenarios": {"": arms_of(5, played.states)}, "policies": {"": [played.policy]}, "runs": settings.runs}
        for horizon in (*ON_DEMAND, *([LONG] if settings.long else [])):
            yield "on demand", f"{name}, {horizon:,} rounds", case | {"horizon": horizon}


def independent(value: str) -> tuple[Any, Any]:
    """Five arms with independent rewards, and a policy that knows their family: by the names of both."""
    means = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
    rewards, name = value.split()
    arms = {
        "Bernoulli": lambda: jaxbandit.bernoulli(means),
        "Gaussian": lambda: environments.gaussian(means),
        "Poisson": lambda: environments.poisson(means),
        "beta": lambda: environments.beta(4 * means, 4 - 4 * means),
    }[rewards]()
    family = {"family": families.Gaussian()} if rewards == "Gaussian" and name == "KLUCB" else {}
    return arms, jaxbandit.ALL[name](**family)


def changing(name: str) -> Any:
    """Five arms whose levels or chains change."""
    if name == "levels":
        return environments.piecewise([5001, 10_001], [[0.5, 0.4, 0.3, 0.2, 0.1]] * 2 + [[0.1, 0.2, 0.3, 0.4, 0.5]])
    rows = np.asarray(arms_of(5, 2).transition)
    return environments.changing_markov([5001], [rows, rows[::-1]], (0, 1))


def budget(name: str) -> tuple[Any, Policy, int]:
    """Random restless arms of three states that all pay, a policy, and how many it plays a round."""
    policy, plays, _, count = name.split()
    random, number = np.random.default_rng(0), int(count)
    rows = random.dirichlet(np.ones(3), (2, number, 3))
    arms = environments.restless(rows[0], (0.0, 0.5, 1.0), rows[1], observed=True, paid="all")
    table = jaxbandit.Whittle(random.random((number, 3)))  # a round takes as long whatever the numbers
    return arms, table if policy == "Whittle" else jaxbandit.PosteriorWhittle(), int(plays)


def family(name: str) -> Family:
    """The family of a row; that of chains of two states in closed form, and by the table that more states need."""
    if not name.startswith("chains"):
        return getattr(families, name)()
    generator, reward = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.0, 1.0])
    return tabulated(generator, reward) if name.endswith("table") else families.chain_family(generator, reward)


def measure(settings: Settings) -> Any:
    """Time every row, print and write the table, compare if asked to."""
    if settings.runs < 1:
        raise ValueError(f"--runs: {settings.runs}; give at least 1")
    for name, part in (("first", first), ("calls", calls), ("fits", fits)):
        if getattr(settings, name):
            print(describe())
            seconds: Any = part.measure()
            write(settings.file(name), {"machine": describe(), "rows": seconds})
            return seconds
    asked = list(cases(settings))  # refuses before anything is timed
    before = read(settings.check) if settings.check else {}
    print(describe())
    scalar = scalar_rate()
    print(f"scalar loop (numba, {scalar_loop.HALVINGS} halvings, all cores): {scalar:.3f} million rounds/s")
    width = max(24, *(len(f"{axis} {value}") for axis, value, _ in asked))
    computed = f" {'computed':>9s}" if any(axis == "on demand" for axis, *_ in asked) else ""
    print(f"{'':{width}s} {'million rounds/s':>17s} {'ratio':>7s} {'compile s':>10s} {'peak MB':>8s}{computed}")
    rows = []
    for axis, value, case in asked:
        row = time_case(axis, value, dict(case), settings.seconds, scalar)
        if axis == "on demand":
            played = share.PLAYED[value.partition(",")[0]]
            computed_share = share.computed_share(case["scenarios"][""], played.policy, played.known, case["horizon"])
            row = dataclasses.replace(row, share=computed_share)
        rows.append(row)
        numbers = f"{row.rate:17.3g} {row.ratio:7.3g} {row.compile_seconds:10.2f} {row.peak_megabytes:8.0f}"
        share_text = "" if row.share is None else f" {row.share:9.2%}"
        print(f"{row.name:{width}s} {numbers}{share_text}", flush=True)
    write(settings.file("benchmark"), {"machine": describe(), "scalar": scalar, "rows": rows})
    if before and (slower := compare(before, rows)):
        sys.exit(f"slower than in {settings.check}: {', '.join(slower)}")
    return rows


def write(path: Path, table: dict[str, Any]) -> None:
    """The table as JSON, its rows dataclasses."""
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, json.dumps(table, indent=1, default=dataclasses.asdict))
    print(f"written to {path}")


def scalar_rate() -> float:
    """Million rounds per second of the scalar loop; NaN if numba is not installed."""
    moves = environment("scenario 1").transition
    try:
        return scalar_loop.rounds_per_second(moves[:, 0, 1], moves[:, 1, 0]) / 1e6
    except ImportError:
        print('no ratios: numba is not installed; pip install -e ".[bench]"')
        return float("nan")


def read(path: str) -> dict[str, float]:
    """Row names to ratios, of an earlier table."""
    try:
        return {
            f"{row['axis']} {row['value']}": float(row["ratio"]) for row in json.loads(Path(path).read_text())["rows"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"--check {path}: no table of this benchmark ({error})") from error


def compare(before: dict[str, float], rows: list[Measurement]) -> list[str]:
    """Print each row's ratio over its earlier one; the names of those below `SLOWER`."""
    print(f"\n{'':24s} {'ratio then':>10s} {'now':>8s} {'now / then':>10s}")
    slower = []
    for row in rows:
        if row.name in before:
            change = row.ratio / before[row.name]
            print(f"{row.name:24s} {before[row.name]:10.1f} {row.ratio:8.1f} {change:10.2f}")
            slower += [row.name] if change < SLOWER else []
    return slower


if __name__ == "__main__":
    main(measure, Settings, "benchmark", __doc__)
