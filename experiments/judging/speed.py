"""Speed beside that of UCB1, on the same arms and in the same run."""

from __future__ import annotations

import math
from collections.abc import Mapping

import jaxbandit
from experiments.reports.tables import Row
from experiments.timing.stopwatch import time_case
from jaxbandit import UCB1, Environment, Policy, Uniform

YARDSTICK = "UCB1"


def rows_of(arms: Environment, policies: Mapping[str, Policy], runs: int, seconds: float) -> list[Row]:
    """Million rounds a second and seconds until the first is played, of UCB1 and every policy; before all else is.

    Args:
      runs: that are played side by side.
      seconds: for which each is timed.
    """
    jaxbandit.simulate(arms, {"": Uniform()}, runs=runs, horizon=10, times=[10], progress=False)  # starts JAX
    timed = {YARDSTICK: UCB1(), **policies}
    timings = {
        label: time_case("policy", label, _case(arms, policy, runs), seconds, math.nan)
        for label, policy in timed.items()
    }
    return [
        {
            "policy": label,
            "million rounds/s": each.rate,
            f"times {YARDSTICK}": each.rate / timings[YARDSTICK].rate,
            "seconds to compile": each.compile_seconds,
        }
        for label, each in timings.items()
    ]


def _case(arms: Environment, policy: Policy, runs: int) -> dict[str, object]:
    return {"scenarios": {"": arms}, "policies": {"": [policy]}, "runs": runs}
