"""Rounds per second of every policy in scenarios 1 and 3: five arms, two and three states, the last round recorded."""

from __future__ import annotations

import dataclasses
import itertools
import platform
import time

import jax

import jaxbandit
from experiments.scenarios import environment
from experiments.settings import cores, main, option

CHUNK = 2000  # one length, so that nothing is compiled while it is timed


@dataclasses.dataclass(frozen=True)
class Settings:
    runs: int = option(1000, "independent runs")
    seconds: float = option(3.0, "about how long each policy is timed")
    policies: str = option("", "names, separated by commas; default: all")


def measure(settings: Settings) -> list[dict[str, str | float]]:
    """Time each policy alone; the horizon is chosen so that the timing takes about `seconds`."""
    names = [name.strip() for name in settings.policies.split(",")] if settings.policies else list(jaxbandit.ALL)
    unknown = set(names) - set(jaxbandit.ALL)
    if unknown:
        raise ValueError(f"--policies: unknown {', '.join(sorted(unknown))}; choose from {', '.join(jaxbandit.ALL)}")
    print(f"{describe()}; {settings.runs:,} runs")
    print(f"{'scenario':10s} {'policy':18s} {'million rounds/s':>17s} {'compile s':>10s}")
    rows: list[dict[str, str | float]] = []
    for scenario, name in itertools.product(("scenario 1", "scenario 3"), names):
        arms = environment(scenario)
        first = _seconds(arms, name, settings.runs, CHUNK)
        again = _seconds(arms, name, settings.runs, CHUNK)
        horizon = CHUNK * max(1, round(settings.seconds / again))
        rate = settings.runs * horizon / _seconds(arms, name, settings.runs, horizon) / 1e6
        rows.append({"scenario": scenario, "policy": name, "million rounds/s": rate, "compile s": first - again})
        print(f"{scenario:10s} {name:18s} {rate:17.2f} {first - again:10.2f}", flush=True)
    return rows


def describe() -> str:
    devices = jax.devices()
    return (
        f"{len(devices)} {devices[0].device_kind} device(s), {cores()} cores, {_processor()}, "
        f"Python {platform.python_version()}, jax {jax.__version__}, jaxbandit {jaxbandit.__version__}"
    )


def _seconds(arms: jaxbandit.MarkovArms, name: str, runs: int, horizon: int) -> float:
    began = time.perf_counter()
    options = {"runs": runs, "horizon": horizon, "times": [horizon], "chunk": CHUNK, "progress": False}
    jaxbandit.simulate(arms, {name: jaxbandit.ALL[name]()}, **options)
    return time.perf_counter() - began


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main(measure, Settings, "benchmark", __doc__ or "")
