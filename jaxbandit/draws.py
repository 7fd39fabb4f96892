"""Counter-based random bits: a function of the run's key, the arm and the number of the play."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.fast import computed_once, look_up, threefry

_LARGEST = 2**32 - 1


def play_bits(key: Array, arms: Array, plays: Array) -> Array:
    """32 random bits for the n-th play of each arm, the same under every policy.

    Args:
      key: the run's environment key (threefry2x32).
      arms: [M] int32.
      plays: [M] uint32, the number n of the play; 0 is the draw of the arm's first state.

    Returns:
      [M] uint32 in 0..2^32 - 2. The value 2^32 - 1 is replaced by 2^32 - 2, so that all bits lie below the threshold
      2^32 - 1, which stands for probability 1 exactly.
    """
    bits, _ = play_bits_64(key, arms, plays)
    return jnp.minimum(bits, jnp.uint32(_LARGEST - 1))


def play_bits_64(key: Array, arms: Array, plays: Array) -> tuple[Array, Array]:
    """64 random bits for the n-th play of each arm, the same under every policy, as two words [M] uint32 of 32.

    Args: as `play_bits`, whose bits are those of the first word.
    """
    return threefry(jax.random.key_data(key), arms.astype(jnp.uint32), plays.astype(jnp.uint32))


def choose(bits: Array, thresholds: Array | np.ndarray, *index: Array) -> Array:
    """The state [M] int32 drawn by random bits [M]: the number of thresholds [M, S-1] that do not exceed the bits.

    `chains.thresholds` makes the thresholds from a law, `play_bits` the bits.

    Args:
      thresholds: [M, S-1]; more axes hold the thresholds of many laws.
      index: [M] for each of the further axes, which selects the thresholds.

    >>> choose(jnp.array([5, 6], jnp.uint32), jnp.array([[6], [6]], jnp.uint32)).tolist()
    [0, 1]
    """
    if index:
        thresholds = look_up(thresholds, *index)
    return computed_once(sum((bits >= thresholds[..., s]).astype(jnp.int32) for s in range(thresholds.shape[-1])))  # type: ignore[arg-type]
