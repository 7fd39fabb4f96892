"""Regrets of policies on many problems, which one program plays side by side."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit import metrics
from jaxbandit.base import Policy, described
from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.simulation import simulate
from jaxbandit.stress.spaces import Problem
from jaxbandit.sweeps import sweep

TOGETHER = 32  # problems of one program


@described
class Interval(NamedTuple):
    """A mean and its 95 % interval.

    Fields:
      mean: over the runs, or over the problems.
      low: lower end.
      high: upper end.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:,.1f} ({self.low:,.1f} to {self.high:,.1f})"


def interval(values: np.ndarray) -> Interval:
    """The mean of values [N], with Student's interval."""
    found = metrics.summary(np.asarray(values, float))
    return Interval(float(found.mean), float(found.low), float(found.high))


class Trials:
    """How problems are played: with common random numbers for all policies, and with new ones for every group.

    They are played in a block of `CtrlC`, in which a simulation that is stopped raises KeyboardInterrupt.

    Args:
      policies: by label.
      key: a `jax.random.key`, of which every group of problems gets a key of its own.
      horizon: rounds.
      plays: arms a round.
      folder: where what was played is kept, so that the same trials are read and not played again; or None.
      bar: a progress bar, which is told the problems that were played.
      random_numbers: whether the problems of a group have "common" or "independent" ones.
    """

    def __init__(
        self,
        policies: Mapping[str, Policy],
        key: Any,
        horizon: int,
        plays: int,
        folder: str | os.PathLike[str] | None,
        bar: Any,
        random_numbers: str = "common",
    ) -> None:
        self.asked: dict[str, Any] = {
            "policies": dict(policies),
            "horizon": horizon,
            "plays": plays,
            "times": [horizon],
            "random_numbers": random_numbers,
        }
        self.key, self.folder, self.bar, self.groups = key, folder, bar, 0

    def regrets(self, problems: Sequence[Problem], runs: int, together: int = TOGETHER) -> dict[str, np.ndarray]:
        """The regret of every run at the horizon, label to [problems, runs].

        Problems are played `together` at a time, the last group filled up, so that all groups share one program.

        Raises:
          KeyboardInterrupt: by Ctrl-C.
        """
        found: dict[str, list[np.ndarray]] = {label: [] for label in self.asked["policies"]}
        for first in range(0, len(problems), together):
            group = list(problems[first : first + together])
            filled = group + [group[-1]] * (together - len(group))
            result = self._played({f"{n}": problem.arms for n, problem in enumerate(filled)}, runs, _told(filled))
            for label, regrets in found.items():
                regrets.append(metrics.regret(result, label)[: len(group), 0, :, -1])
            self.bar.update(len(group))
        return {label: np.concatenate(regrets) for label, regrets in found.items()}

    def _played(self, scenarios: dict[str, Any], runs: int, told: str) -> Any:
        stop_if_interrupted()
        self.groups += 1
        key = jax.random.fold_in(self.key, self.groups)
        case: dict[str, Any] = self.asked | {"scenarios": scenarios, "runs": runs, "key": key}
        if self.folder is None:
            return simulate(**case, progress=False)
        name = f"group {self.groups}, {told}"  # a search that was stopped judges others than one that goes on
        return sweep({name: case}, self.folder, progress=False)[name]


def _told(problems: Sequence[Problem]) -> str:
    """What tells these problems from others."""
    return hashlib.sha256("\n".join(problem.code for problem in problems).encode()).hexdigest()[:8]


def avoidable(regrets: Mapping[str, np.ndarray], label: str, panel: Sequence[str]) -> np.ndarray:
    """Mean regret of a policy less the least one of the panel on the same problem, [problems]."""
    means = {each: regrets[each].mean(-1) for each in {label, *panel}}
    return np.asarray(means[label] - np.min([means[each] for each in panel], axis=0))
