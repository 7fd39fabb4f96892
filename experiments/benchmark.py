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

from experiments.published.scenarios import environment
from experiments.timing import calls
from experiments.timing.axes import AXES, LONG, ON_DEMAND, POLICIES, computed_share
from experiments.timing.calls import Row, Rows
from experiments.timing.scalar_loop import HALVINGS
from experiments.timing.scalar_loop import rounds_per_second as scalar_rounds_per_second
from jaxbandit.command_line.options import Quick, main, names_in, option
from jaxbandit.reports.tables import put
from jaxbandit.timing.machine import describe
from jaxbandit.timing.stopwatch import arms_of, time_case

SLOWER = 0.8  # times the earlier ratio: a row below it has become slower


COLUMNS = {  # of each number that is printed its header and its form
    "rate": ("million rounds/s", ".3g"),
    **{name: (name, ".2f") for name in ("trace", "lower", "compile", "call", "again")},
    "seconds": ("seconds", ".3f"),
    "ratio": ("ratio", ".3g"),
    "compile_seconds": ("compile s", ".2f"),
    "peak_megabytes": ("peak MB", ".0f"),
    "share": ("computed", ".2%"),
}
INSTEAD = {  # by option, in the place of rounds per second
    "first": (f"seconds without a cache: {calls.RUNS} runs of {calls.HORIZON} rounds", calls.first_calls),
    "calls": (f"seconds of calls: {calls.FEW_RUNS} runs of {calls.HORIZON} rounds, nothing to compile", calls.calls),
    "fits": (f"seconds for 1,000 subjects: {calls.CHOICES} choices, two fields, {calls.STARTS} starts", calls.fits),
}


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


def cases(settings: Settings) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Axis, value, and the arguments of `simulate` but its horizon, or with a fixed one."""
    names = names_in(settings.policies, "--policies", tuple(POLICIES)) if settings.policies else ()
    for axis in names_in(settings.axes, "--axes", tuple(AXES)) if settings.axes else AXES:
        values, case = AXES[axis]
        for value in (names if axis == "policy" else ()) or values:
            if settings.long or axis != "on demand" or not value.endswith(f" {LONG:,} rounds"):
                played = {"arms": arms_of(5, 2), "policy": POLICIES["TVKLUCB"], "scenarios": 1, "variants": 1}
                played |= {"runs": settings.runs, **case(value)}
                arms, policy = played.pop("arms"), played.pop("policy")
                scenarios = {str(number): arms for number in range(played.pop("scenarios"))}
                policies = {"": [policy] * played.pop("variants")}
                yield axis, str(value), {"scenarios": scenarios, "policies": policies, **played}


def rounds_per_second(asked: list[tuple[str, str, dict[str, Any]]], seconds: float, scalar: float) -> Rows:
    """The cases, each timed for so many seconds, beside the scalar loop."""
    for axis, value, case in asked:
        row = dataclasses.asdict(time_case(axis, value, dict(case), seconds, scalar))
        if axis == "on demand":
            _, policy, known = ON_DEMAND[value.partition(",")[0]]
            row["share"] = computed_share(case["scenarios"]["0"], policy, known, case["horizon"])
        yield f"{axis} {value}", row


def timed(title: str, asked: Rows) -> list[Row]:
    """Time every row, and print it."""
    print(title)
    rows, above = [], ""
    for name, numbers in asked:
        rows.append({"name": name, **numbers})
        printed = {column: each for column, each in COLUMNS.items() if numbers.get(column) is not None}
        headers = f"{'':40s}" + "".join(f" {header:>9s}" for header, _ in printed.values())
        if headers != above:  # once, and where a column is added
            print(above := headers)
        cells = (f" {numbers[column]:>{max(9, len(header))}{form}}" for column, (header, form) in printed.items())
        print(f"{name:40s}" + "".join(cells), flush=True)
        for other, seconds in numbers.get("others", {}).items():
            print(f"  with {other}: {seconds:+.2f}", flush=True)
    return rows


def measure(settings: Settings) -> list[Row]:
    """Time every row, print and write the table, compare if asked to."""
    if settings.runs < 1:
        raise ValueError(f"--runs: {settings.runs}; give at least 1")
    name = next((option for option in INSTEAD if getattr(settings, option)), "benchmark")
    asked = list(cases(settings)) if name == "benchmark" else []  # refuses before anything is timed
    before = read(settings.check) if settings.check else {}
    about: Row = {"machine": describe()}
    print(about["machine"])
    if name == "benchmark":
        scalar = about["scalar"] = scalar_rate()
        title = f"beside a scalar loop (numba, {HALVINGS} halvings, all cores): {scalar:.3f} million rounds/s"
        rows = timed(title, rounds_per_second(asked, settings.seconds, scalar))
    else:
        title, rows_of = INSTEAD[name]
        rows = timed(title, rows_of())
    path = Path(settings.out or f"results/benchmark{'-quick' if settings.quick else ''}") / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path, json.dumps(about | {"rows": rows}, indent=1))
    print(f"written to {path}")
    if before and (slower := compare(before, rows)):
        sys.exit(f"slower than in {settings.check}: {', '.join(slower)}")
    return rows


def scalar_rate() -> float:
    """Million rounds per second of the scalar loop; NaN if numba is not installed."""
    moves = environment("scenario 1").transition
    try:
        return scalar_rounds_per_second(moves[:, 0, 1], moves[:, 1, 0]) / 1e6
    except ImportError:
        print('no ratios: numba is not installed; pip install -e ".[bench]"')
        return float("nan")


def read(path: str) -> dict[str, float]:
    """Row names to ratios, of an earlier table."""
    try:
        rows = json.loads(Path(path).read_text())["rows"]
        return {f"{row['axis']} {row['value']}": float(row["ratio"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"--check {path}: no table of this benchmark ({error})") from error


def compare(before: dict[str, float], rows: list[Row]) -> list[str]:
    """Print each row's ratio over its earlier one; the names of those below `SLOWER`."""
    print(f"\n{'':24s} {'ratio then':>10s} {'now':>8s} {'now / then':>10s}")
    slower = []
    for name, ratio in ((row["name"], row["ratio"]) for row in rows if row["name"] in before):
        change = ratio / before[name]
        print(f"{name:24s} {before[name]:10.1f} {ratio:8.1f} {change:10.2f}")
        slower += [name] if change < SLOWER else []
    return slower


if __name__ == "__main__":
    main(measure, Settings, "benchmark", __doc__)
