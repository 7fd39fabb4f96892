"""Rounds per second: every policy, then one thing at a time, beside a scalar loop compiled by numba.

All with scenario 1's arms and 1,000 runs unless the row says otherwise, the last round recorded. The ratio is to the
scalar loop (extra `bench`), measured in the same call: machines differ, ratios much less. Writes the table as JSON;
--check FILE compares with such a file by ratios, and fails where a row has become slower by more than a fifth.
--gpu instead checks and times both backends on a GPU, in some minutes.
"""

from __future__ import annotations

import dataclasses
import json
import platform
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax

import jaxbandit
from experiments.command_line.options import cores, main, option
from experiments.published.scenarios import environment
from experiments.timing import scalar_loop
from jaxbandit import MarkovArms
from jaxbandit.results import whole_file
from jaxbandit.tiles import usual_chunk

AXES = {
    "policy": tuple(jaxbandit.ALL),
    "runs": (1, 100, 1000, 10_000, 100_000),
    "arms": (2, 5, 20, 100),
    "states": (2, 3, 8),
    "horizon": (10_000, 100_000, 1_000_000),
    "scenarios": (1, 4, 16),
    "variants": (1, 4, 16),
}
SLOWER = 0.8


@dataclasses.dataclass(frozen=True)
class Settings:
    runs: int = option(1000, "independent runs")
    seconds: float = option(3.0, "about how long each row is timed")
    policies: str = option("", "names for the axis of policies, separated by commas; default: all")
    axes: str = option("", f"some of {', '.join(AXES)}, separated by commas; default: all")
    out: str = option("results/benchmark.json", "file for the table")
    check: str = option("", "file of an earlier table to compare with")
    gpu: bool = option(False, "what is worth measuring on a GPU, and nothing else")


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement."""

    axis: str
    value: str
    rate: float  # million rounds of one run a second
    ratio: float  # to the scalar loop; NaN without it
    compile_seconds: float
    peak_megabytes: float

    @property
    def name(self) -> str:
        return f"{self.axis} {self.value}"


def chosen(text: str, of: tuple[str, ...], flag: str) -> list[str]:
    names = [name.strip() for name in text.split(",")] if text else list(of)
    if unknown := sorted(set(names) - set(of)):
        raise ValueError(f"{flag}: unknown {', '.join(unknown)}; choose from {', '.join(of)}")
    return names


def arms_of(number: int, states: int) -> MarkovArms:
    """Scenario 1 for five arms with two states, scenario 3 for three, else random arms."""
    if number == 5 and states in (2, 3):
        return environment("scenario 1" if states == 2 else "scenario 3")
    return jaxbandit.random(jax.random.key(0), arms=number, states=states)


def cases(settings: Settings) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Axis, value, and the arguments of `simulate` but its horizon, or with a fixed one."""
    names = chosen(settings.policies, AXES["policy"], "--policies")
    axes = chosen(settings.axes, tuple(AXES), "--axes")
    for axis in axes:
        for value in names if axis == "policy" else AXES[axis]:
            size: dict[str, Any] = {"runs": settings.runs, "arms": 5, "states": 2, "scenarios": 1, "variants": 1}
            size |= {} if axis == "policy" else {axis: value}
            arms = arms_of(size.pop("arms"), size.pop("states"))
            policy = jaxbandit.ALL[value if axis == "policy" else "TVKLUCB"]()
            scenarios = {str(number): arms for number in range(size.pop("scenarios"))}
            yield axis, str(value), {"scenarios": scenarios, "policies": {"": [policy] * size.pop("variants")}} | size


def measure(settings: Settings) -> Any:
    """Time every row, print and write the table, compare if asked to."""
    if settings.runs < 1:
        raise ValueError(f"--runs: {settings.runs}; give at least 1")
    if settings.gpu:
        from experiments.timing import gpu

        return gpu.measure(Path(settings.out).parent)
    asked = list(cases(settings))  # refuses before anything is timed
    before = read(settings.check) if settings.check else {}
    print(describe())
    scalar = scalar_rate()
    print(f"scalar loop (numba, {scalar_loop.HALVINGS} halvings, all cores): {scalar:.3f} million rounds/s")
    print(f"{'':24s} {'million rounds/s':>17s} {'ratio':>7s} {'compile s':>10s} {'peak MB':>8s}")
    rows = []
    for axis, value, case in asked:
        row = time_row(axis, value, case, settings.seconds, scalar)
        rows.append(row)
        numbers = f"{row.rate:17.2f} {row.ratio:7.1f} {row.compile_seconds:10.2f} {row.peak_megabytes:8.0f}"
        print(f"{row.name:24s} {numbers}", flush=True)
    path = Path(settings.out)
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"machine": describe(), "scalar": scalar, "rows": [dataclasses.asdict(row) for row in rows]}
    with whole_file(path) as file:
        file.write(json.dumps(table, indent=1).encode())
    print(f"written to {path}")
    if before and (slower := compare(before, rows)):
        sys.exit(f"slower than in {settings.check}: {', '.join(slower)}")
    return rows


def time_row(axis: str, value: str, case: dict[str, Any], seconds: float, scalar: float) -> Row:
    """Time one case; unless the axis is the horizon's, it is chosen so that the timing takes about `seconds`."""
    lanes = case["runs"] * len(case["scenarios"]) * len(case["policies"][""])
    arms, states = next(iter(case["scenarios"].values())).reward.shape
    fixed = case.pop("horizon", None)
    usual = usual_chunk(lanes, arms, states, jax.devices()[0].platform)
    chunk = min(usual, fixed or usual)  # one length, so that nothing is compiled while it is timed
    reset_peak()

    def timed(horizon: int) -> float:
        began = time.perf_counter()
        jaxbandit.simulate(**case | {"horizon": horizon, "times": [horizon], "chunk": chunk, "progress": False})
        return time.perf_counter() - began

    first, again = timed(chunk), timed(chunk)
    horizon = fixed or chunk * max(1, round(seconds / again))
    rate = lanes * horizon / timed(horizon) / 1e6
    return Row(axis, value, rate, rate / scalar, first - again, peak())


def scalar_rate() -> float:
    """Million rounds per second of the scalar loop; NaN if numba is not installed."""
    moves = environment("scenario 1").transition
    try:
        return scalar_loop.rounds_per_second(moves[:, 0, 1], moves[:, 1, 0]) / 1e6
    except ImportError:
        print('no ratios: numba is not installed; pip install -e ".[bench]"')
        return float("nan")


def read(path: str) -> dict[str, float]:
    """Row names to ratios, of an earlier table.

    Raises:
      ValueError: there is no such file, or it is no such table.
    """
    try:
        return {
            f"{row['axis']} {row['value']}": float(row["ratio"]) for row in json.loads(Path(path).read_text())["rows"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"--check {path}: no table of this benchmark ({error})") from error


def compare(before: dict[str, float], rows: list[Row]) -> list[str]:
    """Print each row's ratio over its earlier one; the names of those below `SLOWER`."""
    print(f"\n{'':24s} {'ratio then':>10s} {'now':>8s} {'now / then':>10s}")
    slower = []
    for row in rows:
        if row.name in before:
            change = row.ratio / before[row.name]
            print(f"{row.name:24s} {before[row.name]:10.1f} {row.ratio:8.1f} {change:10.2f}")
            slower += [row.name] if change < SLOWER else []
    return slower


def reset_peak() -> None:
    """Let the peak of this process's memory start again, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Peak memory in MB: the device's where it says, else this process's."""
    stats = jax.devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        return float(stats["peak_bytes_in_use"]) / 1e6
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
        return float(line.split()[1]) / 1e3
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def describe() -> str:
    devices = jax.devices()
    return (
        f"{len(devices)} {devices[0].device_kind} device(s), {cores()} cores, {_processor()}, "
        f"Python {platform.python_version()}, jax {jax.__version__}, jaxbandit {jaxbandit.__version__}"
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main(measure, Settings, "benchmark", __doc__)
