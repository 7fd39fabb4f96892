"""Regret of policies on many problems, which one program plays together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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


class Endings(NamedTuple):
    """Runs that gave a wrong answer, and none within the horizon, of each problem; and the wrong share's interval."""

    wrong: np.ndarray  # [problems]
    censored: np.ndarray
    low: np.ndarray
    high: np.ndarray


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
      until: "stopped" for policies that stop, None for others.
    """

    policies: Mapping[str, Policy]
    key: Any
    horizon: int
    plays: int
    folder: str | os.PathLike[str] | None
    bar: Any
    random_numbers: str = "common"
    groups: int = 0
    until: Literal["stopped"] | None = None

    def regrets(self, problems: Sequence[Problem], runs: int, together: int = TOGETHER) -> dict[str, np.ndarray]:
        """The regret of every run at the horizon, label to [problems, runs]; Ctrl-C raises KeyboardInterrupt.

        Problems are played `together` at a time, the last group filled up, so that all groups share one program.
        """
        results = list(self._in_groups(problems, runs, together))
        return {
            label: np.concatenate([metrics.regret(result, label)[:size, 0, :, -1] for size, result in results])
            for label in self.policies
        }

    def endings(self, label: str, problems: Sequence[Problem], runs: int, together: int = TOGETHER) -> Endings:
        """How the runs of a policy that stops ended; Ctrl-C raises KeyboardInterrupt."""
        parts = []
        for size, result in self._in_groups(problems, runs, together):
            of = metrics.identification(result, label)
            fields = (of.wrong, of.censored, of.wrong_low, of.wrong_high)
            parts.append([field[:size, 0] for field in fields])
        return Endings(*map(np.concatenate, zip(*parts, strict=True)))

    def _in_groups(self, problems: Sequence[Problem], runs: int, together: int) -> Iterator[tuple[int, Any]]:
        """How many problems each group has, and its result."""
        for first in range(0, len(problems), together):
            group = problems[first : first + together]
            yield len(group), self._play([*group, *[group[-1]] * (together - len(group))], runs)
            self.bar.update(len(group))

    def _play(self, problems: Sequence[Problem], runs: int) -> Any:
        stop_if_interrupted()
        self.groups += 1
        key = jax.random.fold_in(self.key, self.groups)
        scenarios = {f"{n}": problem.arms for n, problem in enumerate(problems)}
        case: dict[str, Any] = {
            **{"scenarios": scenarios, "policies": self.policies, "runs": runs, "horizon": self.horizon, "key": key},
            **{
                "times": [self.horizon],
                "plays": self.plays,
                "random_numbers": self.random_numbers,
                "until": self.until,
            },
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
