"""Units of reward: the affine map in float64, on the host, from rewards to the numbers with which a policy computes.

In float32 the rewards 100,000,000 and 100,000,001 are one number. A policy that plays the same whatever the unit of
reward says so by its member `units`, and sees rewards mapped to [0, 1]; every other policy sees them as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.base import ANY_REWARD, Range, described

FAR = 256.0  # times the width of their range from 0, real rewards are shifted: float32 keeps 2^-16 of the width there
SAME = 1e-12  # of the range of all rewards: what rewards differ by in float64 if they were computed in two ways


@described
class RewardUnits(NamedTuple):
    """The map from rewards to the numbers that a policy sees, (reward - low) / span.

    Fields:
      low: the reward that is seen as 0.
      span: the difference of rewards that is seen as 1.
    """

    low: float = 0.0
    span: float = 1.0

    def seen(self, rewards: ArrayLike) -> np.ndarray:
        """Rewards of any shape as the policy sees them, float64.

        >>> RewardUnits(1e8, 2.0).seen([1e8, 1e8 + 1]).tolist()
        [0.0, 0.5]
        """
        return np.asarray((np.asarray(rewards, float) - self.low) / self.span)


OWN = RewardUnits()


def reward_units(
    policy: Any, table: np.ndarray, rewards: Range = ANY_REWARD, offset: float | None = None
) -> RewardUnits:
    """The units in which a policy sees rewards; see `members.FullPolicy.units`.

    Args:
      table: [K, S], the reward of each state of each arm; [K, 0] if rewards have no finite table.
      rewards: the least and the largest reward, for rewards without a finite table.
      offset: the number near which these are, if it is far from 0; None to take it from their range.

    >>> from jaxbandit import UCB1, RescorlaWagner
    >>> reward_units(UCB1(), np.array([[-1.0, 3.0]]))
    RewardUnits(low=-1.0, span=4.0)
    >>> reward_units(RescorlaWagner(0.1, 1.0), np.array([[-1.0, 3.0]]))
    RewardUnits(low=0.0, span=1.0)
    """
    kind = members.units(policy)
    if kind == "mapped" and table.shape[1]:
        low, high = float(table.min()), float(table.max())
        return OWN if low >= 0 and high <= 1 else RewardUnits(low, (high - low) or 1.0)
    if kind == "own" or jnp.result_type(float) == np.float64:
        return OWN
    if table.shape[1]:
        rewards = float(table.min()), float(table.max())
    return RewardUnits(far_from_zero(*rewards) if offset is None else offset)


def far_from_zero(low: float, high: float) -> float:
    """The lower end of a range that is so narrow and far from 0 that float32 blurs it; 0 for other ranges.

    >>> far_from_zero(1e8, 1e8 + 1), far_from_zero(0.0, 1e8), far_from_zero(-np.inf, np.inf)
    (100000000.0, 0.0, 0.0)
    """
    far = np.isfinite(low) and np.isfinite(high) and max(abs(low), abs(high)) > FAR * (high - low)
    return low if far else 0.0


def check_distinct(where: str, rewards: ArrayLike, units: RewardUnits = OWN) -> None:
    """Raise ValueError if two rewards that differ are the same number for a policy, in JAX's default float type.

    Rewards that differ only by the rounding of float64 count as equal.
    """
    values = np.unique(np.asarray(rewards, float))
    if len(values) < 2:
        return
    working = units.seen(values).astype(jnp.result_type(float))
    rounding = SAME * np.ptp(values) + 4 * np.finfo(float).eps * np.abs(values).max()
    merged = (np.diff(values) > rounding) & (np.diff(working) == 0)
    if merged.any():
        place = int(np.argmax(merged))
        raise ValueError(
            f"{where}: the rewards {float(values[place])!r} and {float(values[place + 1])!r} are the same number in "
            f"{working.dtype} for this policy; subtract a constant from all rewards, make equal those whose difference "
            'does not matter, or call jax.config.update("jax_enable_x64", True) before anything else'
        )
