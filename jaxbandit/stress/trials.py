"""Regret of policies on many problems, which one program plays together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit import metrics
from jaxbandit.base import Policy, described
from jaxbandit.interruption import stop_if_interrupted
from jaxbandit.simulation import simulate
from jaxbandit.stress.spaces import Problem
from jaxbandit.sweeps import sweep

TOGETHER = 32  # problems that a program plays


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
    return Interval(*map(float, metrics.summary(np.asarray(values, float))[:3]))


@dataclass
class Trials:
    """Plays problems with common random numbers for all policies, and with new ones for every group of problems.

    Call it in a block of `CtrlC`, in which a simulation that is stopped raises KeyboardInterrupt.

    Args:
      policies: by label.
      key: a `jax.random.key`; every group of problems gets a key derived from it.
      horizon: rounds.
      plays: arms a round.
      folder: keeps what was played, so that the same trials are read and not played again; or None.
      bar: a progress bar over problems.
      random_numbers: whether the problems of a group have "common" or "independent" ones.
      groups: played so far.
    """

    policies: Mapping[str, Policy]
    key: Any
    horizon: int
    plays: int
    folder: str | os.PathLike[str] | None
    bar: Any
    random_numbers: str = "common"
    groups: int = 0

    def regrets(self, problems: Sequence[Problem], runs: int, together: int = TOGETHER) -> dict[str, np.ndarray]:
        """The regret of every run at the horizon, label to [problems, runs]; Ctrl-C raises KeyboardInterrupt.

        Problems are played `together` at a time, the last group filled up, so that all groups share one program.
        """
        regrets: dict[str, list[np.ndarray]] = {label: [] for label in self.policies}
        for first in range(0, len(problems), together):
            group = problems[first : first + together]
            result = self._play([*group, *[group[-1]] * (together - len(group))], runs)
            for label, parts in regrets.items():
                parts.append(metrics.regret(result, label)[: len(group), 0, :, -1])
            self.bar.update(len(group))
        return {label: np.concatenate(parts) for label, parts in regrets.items()}

    def _play(self, problems: Sequence[Problem], runs: int) -> Any:
        stop_if_interrupted()
        self.groups += 1
        key = jax.random.fold_in(self.key, self.groups)
        scenarios = {f"{n}": problem.arms for n, problem in enumerate(problems)}
        case: dict[str, Any] = {
            **{"scenarios": scenarios, "policies": self.policies, "runs": runs, "horizon": self.horizon, "key": key},
            **{"times": [self.horizon], "plays": self.plays, "random_numbers": self.random_numbers},
        }
        if self.folder is None:
            return simulate(**case, progress=False)
        # the hash distinguishes groups: a search that was stopped judges other problems than one that goes on
        digest = hashlib.sha256("\n".join(problem.code for problem in problems).encode()).hexdigest()[:8]
        name = f"group {self.groups}, {digest}"
        return sweep({name: case}, self.folder, progress=False)[name]


def avoidable(regrets: Mapping[str, np.ndarray], label: str, panel: Sequence[str]) -> np.ndarray:
    """Mean regret of a policy less the least one of the panel on the same problem, [problems]."""
    return regrets[label].mean(-1) - np.min([regrets[other].mean(-1) for other in panel], axis=0)
