"""Change detectors for `WithDetector`: CUSUM, the window test of M-UCB, and known breaks.

A detector is a `pytree` that is written for one arm; `WithDetector` keeps its state for each arm. It has

- `local`, a class attribute: whether an alarm concerns one arm, so that this arm alone can be restarted;
- `init()`: the state before an arm's first reward since its last restart; traced;
- `watched(state, reward, t, arms)`: the state after a reward in [0, 1] in round t, and whether it raises an alarm, a
  scalar bool; the state after an alarm is not used. `arms` is K, an integer. Traced;
- `share(arms)`: the fraction alpha of rounds of forced exploration (round robin), to detect changes of suboptimal arms;
  a scalar, or None for no such rounds. Traced;
- `validate(task)`, optional: raises ValueError for wrong fields or a task that the detector cannot play; on the host.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, excerpt, finite, integer
from jaxbandit.base import ANY_REWARD, Task, pytree, static
from jaxbandit.policies.parts import checks


class Detector(Protocol):
    """What `WithDetector` needs of a detector; see the module's text."""

    local: ClassVar[bool]

    def init(self) -> Any: ...

    def watched(self, state: Any, reward: Array, t: Array, arms: int) -> tuple[Any, Array]: ...

    def share(self, arms: int) -> Array | None: ...


class Excess(NamedTuple):
    """State of CUSUM for an arm since its last restart.

    Fields:
      plays: int32.
      total: the sum of the first rewards, for their mean.
      below, above: the two CUSUM statistics, at least 0.
    """

    plays: Array
    total: Array
    below: Array
    above: Array


@pytree
class CUSUM:
    """CUSUM detector: alarm if cumulative deviations of the rewards from the mean u of the first ones are large.

    After the first M rewards each further reward x changes two sums, which begin at 0, to max(0, sum + u - x - eps)
    and max(0, sum + x - u - eps); an alarm is raised when one of them reaches the threshold h. With the parameters of
    the source's experiments false alarms are not rare: seven in ten runs of 2,000 fair coins have one.

    Args:
      first: M, an integer of at least 1; 150 in the source's experiments.
      drift: eps, at least 0, half the change to be detected.
      threshold: h, positive; None for log(n / U), n the horizon and U the changes.
      alpha: the fraction of rounds of forced exploration (round robin), in [0, 1]; None for sqrt(U log(n / U) / n).
      horizon: the number of rounds, positive; only if threshold or alpha is None.
      changes: the number of changes, at least 1 and less than the horizon; likewise.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, missing or not used, or rewards without a
        finite table that do not lie in [0, 1].

    Source: Liu, Lee and Shroff 2018.

    >>> state, alarm = CUSUM(first=1, threshold=0.5, alpha=0.0).init(), []
    >>> for t, x in enumerate([0.0, 0.0, 1.0], 1):
    ...     state, alarm = CUSUM(first=1, threshold=0.5, alpha=0.0).watched(state, jnp.array(x), jnp.int32(t), 2)
    >>> bool(alarm), round(float(state.above), 2)
    (True, 0.9)
    """

    local: ClassVar = True

    first: ArrayLike = 150
    drift: ArrayLike = 0.1
    threshold: ArrayLike | None = None
    alpha: ArrayLike | None = None
    horizon: ArrayLike | None = None
    changes: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        integer("first", self.first, 1, LARGEST_INTEGER)
        checks.number(self, "drift", 0)
        if self.threshold is not None:
            checks.number(self, "threshold", 0, above=True)
        check_turns(self, task, {"threshold": self.threshold, "alpha": self.alpha}, needs_changes=True)

    def init(self) -> Excess:
        return Excess(jnp.int32(0), jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))

    def watched(self, state: Excess, reward: Array, t: Array, arms: int) -> tuple[Excess, Array]:
        first, drift = jnp.asarray(self.first, jnp.int32), jnp.asarray(self.drift, float)
        plays = state.plays + 1
        learns = plays <= first
        total = state.total + jnp.where(learns, reward, 0)
        rise = reward - total / first.astype(float)
        below = jnp.where(learns, 0, jnp.maximum(state.below - rise - drift, 0))
        above = jnp.where(learns, 0, jnp.maximum(state.above + rise - drift, 0))
        threshold = self._segment_level() if self.threshold is None else jnp.asarray(self.threshold, float)
        return Excess(plays, total, below, above), ~learns & (jnp.maximum(below, above) >= threshold)

    def share(self, arms: int) -> Array:
        if self.alpha is not None:
            return jnp.asarray(self.alpha, float)
        return jnp.sqrt(self.changes * self._segment_level() / self.horizon)  # type: ignore[operator]

    def _segment_level(self) -> Array:
        """log(n / U)."""
        return jnp.log(jnp.asarray(self.horizon, float) / jnp.asarray(self.changes, float))


class Latest(NamedTuple):
    """State of M-UCB for an arm since its last restart.

    Fields:
      plays: int32.
      rewards: [window], the latest first.
    """

    plays: Array
    rewards: Array


@pytree
class MUCB:
    """M-UCB detector: alarm if the sums of the two halves of an arm's last w rewards differ by more than b.

    An alarm restarts all arms.

    Args:
      window: w, an even integer of at least 2; an arm takes 4 w bytes. 150 in the literature's comparisons.
      threshold: b, positive; None for sqrt(w log(2 K n^2) / 2), n the horizon.
      alpha: the fraction of rounds of forced exploration (round robin), in [0, 1]; None for
        sqrt(U K (2 b + 3 sqrt w) / (2 n)), U the changes.
      horizon: the number of rounds, positive; only if threshold or alpha is None.
      changes: the number of changes, at least 1; only if alpha is None.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, missing or not used, or rewards without a
        finite table that do not lie in [0, 1].

    Source: Cao, Wen, Kveton and Xie 2019.

    >>> state, alarms = MUCB(window=4, threshold=1.5, alpha=0.0).init(), []
    >>> for t, x in enumerate([0.0, 0.0, 0.0, 1.0, 1.0], 1):
    ...     state, alarm = MUCB(window=4, threshold=1.5, alpha=0.0).watched(state, jnp.array(x), jnp.int32(t), 2)
    ...     alarms.append(bool(alarm))
    >>> alarms
    [False, False, False, False, True]
    """

    local: ClassVar = False

    window: int = static(150)
    threshold: ArrayLike | None = None
    alpha: ArrayLike | None = None
    horizon: ArrayLike | None = None
    changes: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=(0.0, 1.0))
        if integer("window", self.window, 2, 2**24) % 2:
            raise ValueError(f"window: {self.window} is odd, and its halves are compared; give an even number")
        if self.threshold is not None:
            checks.number(self, "threshold", 0, above=True)
        numbers = {"threshold": self.threshold, "alpha": self.alpha}
        check_turns(self, task, numbers, needs_changes=self.alpha is None)

    def init(self) -> Latest:
        return Latest(jnp.int32(0), jnp.zeros(self.window))

    def watched(self, state: Latest, reward: Array, t: Array, arms: int) -> tuple[Latest, Array]:
        plays, half = state.plays + 1, self.window // 2
        rewards = jnp.concatenate([reward[None], state.rewards[:-1]])
        apart = jnp.abs(jnp.sum(rewards[:half]) - jnp.sum(rewards[half:]))
        return Latest(plays, rewards), (plays >= self.window) & (apart > self._limit(arms))

    def share(self, arms: int) -> Array:
        if self.alpha is not None:
            return jnp.asarray(self.alpha, float)
        longest = 2 * self._limit(arms) + 3 * np.sqrt(self.window)
        return jnp.sqrt(self.changes * arms * longest / (2 * jnp.asarray(self.horizon, float)))  # type: ignore[operator]

    def _limit(self, arms: int) -> Array:
        """b."""
        if self.threshold is not None:
            return jnp.asarray(self.threshold, float)
        return jnp.sqrt(self.window * (jnp.log(2.0 * arms) + 2 * jnp.log(jnp.asarray(self.horizon, float))) / 2)


@pytree
class KnownBreaks:
    """Known breaks: all arms are restarted before each of these rounds, without forced exploration.

    The regret of a policy with known breaks is a benchmark for detectors, which have to find them. With delayed
    feedback the restart comes with the feedback of the round before the break.

    Args:
      breaks: [B], rounds from 2 on, each the first of its segment; empty for stationary arms.

    Raises:
      ValueError: from `simulate` and `check_policy`, for breaks that are not such rounds; from `simulate`, if they are
        not those of the environment.

    >>> detector = KnownBreaks([3])
    >>> [bool(detector.watched(detector.init(), None, t, 2)[1]) for t in (1, 2, 3)]
    [False, True, False]
    """

    local: ClassVar = False

    breaks: ArrayLike

    def validate(self, task: Task) -> None:
        checks.suits(self, task, rewards=ANY_REWARD)
        breaks = finite("breaks", self.breaks)
        if breaks.ndim != 1 or (breaks % 1 != 0).any() or (breaks < 2).any():
            raise ValueError(f"breaks: {excerpt(self.breaks)} is not a list of rounds from 2 on")
        declared = members.breaks(task.environment)
        if declared is None:
            return
        own, true = (rounds[rounds <= task.horizon] for rounds in (breaks, np.asarray(declared)))
        if (wrong := np.setxor1d(own, true)).size:
            kind = "a break" if wrong[0] in true else "no break"
            raise ValueError(
                f"breaks: round {wrong[0]:,.0f} is {kind} of {task.name}; give KnownBreaks(environment.breaks), or a "
                "detector of your own for other rounds"
            )

    def init(self) -> tuple[()]:
        return ()

    def watched(self, state: tuple[()], reward: Array, t: Array, arms: int) -> tuple[tuple[()], Array]:
        return state, jnp.any(jnp.asarray(self.breaks) == t + 1)

    def share(self, arms: int) -> None:
        return None


def check_turns(detector: Any, task: Task, numbers: dict[str, Any], needs_changes: bool) -> None:
    """Raise ValueError for an alpha out of range, and as `checks.given_or_follows` for the numbers."""
    if detector.alpha is not None:
        checks.number(detector, "alpha", 0, 1)
    sources = {"horizon": detector.horizon}
    if needs_changes:
        sources["changes"] = detector.changes
    checks.given_or_follows(detector, task, numbers, sources)
    if detector.changes is not None:
        if not needs_changes and detector.alpha is not None:
            raise ValueError(f"changes: {excerpt(detector.changes)} beside alpha, which it sets; give one of them")
        checks.number(detector, "changes", 1, float(np.asarray(detector.horizon)), below=True)
