"""Single rewards mapped to [0, 1], for policies that use each reward, not only counts."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array


class UnitScale(NamedTuple):
    """The map of `memory.unit_reward` for single rewards: (reward - low) / span."""

    low: Array
    span: Array

    @classmethod
    def of(cls, reward: Array) -> UnitScale:
        """The map for rewards [K, S]: the identity if all lie in [0, 1], or without a finite table (S = 0).

        >>> float(UnitScale.of(jnp.array([[-1.0, 1.0], [-1.0, 3.0]])).mapped(jnp.array(1.0)))
        0.5
        """
        if reward.shape[1] == 0:
            return cls(jnp.zeros(()), jnp.ones(()))
        low, high = jnp.min(reward), jnp.max(reward)
        outside = (low < 0) | (high > 1)
        return cls(jnp.where(outside, low, 0), jnp.where(outside & (high > low), high - low, 1))

    def mapped(self, rewards: Array) -> Array:
        """Rewards of any shape, mapped to [0, 1]."""
        return (rewards - self.low) / self.span
