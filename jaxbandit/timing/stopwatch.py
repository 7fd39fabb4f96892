"""One case timed: rounds per second, and what compiling and memory cost."""

from __future__ import annotations

import dataclasses
import resource
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax

import jaxbandit
from jaxbandit import MarkovArms, atlas
from jaxbandit.base import reward_table
from jaxbandit.simulation.plan import usual_chunk


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One measurement."""

    axis: str
    value: str
    rate: float  # million rounds a second, those of all runs together
    ratio: float  # to the scalar loop; NaN without it
    compile_seconds: float
    peak_megabytes: float
    share: float | None = None  # of the indices, how many were computed; None where all are

    @property
    def name(self) -> str:
        return f"{self.axis} {self.value}"


def arms_of(number: int, states: int) -> MarkovArms:
    """Scenario 1 for five arms with two states, scenario 3 for three, else random arms."""
    if number == 5 and states in (2, 3):
        return atlas["scenario 1" if states == 2 else "scenario 3"].arms
    return jaxbandit.random_arms(jax.random.key(0), arms=number, states=states)


def time_case(axis: str, value: str, case: dict[str, Any], seconds: float, scalar: float) -> Measurement:
    """Time one case; unless the axis is the horizon's, it is chosen so that the timing takes about `seconds`."""
    lanes = case["runs"] * len(case["scenarios"]) * len(case["policies"][""])
    arms, states = reward_table(next(iter(case["scenarios"].values()))).shape
    fixed = case.pop("horizon", None)
    usual = usual_chunk(lanes, arms, states, jax.devices()[0].platform)
    chunk = min(usual, fixed or usual)  # one length, so that nothing is compiled while it is timed
    reset_peak()

    def timed(horizon: int) -> float:
        size: dict[str, Any] = {"horizon": horizon, "times": [horizon], "chunk": chunk, "progress": False}
        return seconds_of(lambda: jaxbandit.simulate(**case, **size))

    first, again = timed(chunk), timed(chunk)
    horizon = fixed or chunk * max(1, round(seconds / again))
    rate = lanes * horizon / timed(horizon) / 1e6
    return Measurement(axis, value, rate, rate / scalar, max(0.0, first - again), peak())


def seconds_of(call: Callable[[], Any]) -> float:
    """Wall seconds of a call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


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
