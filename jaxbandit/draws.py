"""Counter-based draws: what a play does is a function of the run's key, the arm and the play's number."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxbandit.base import Array

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_LARGEST = 2**32 - 1


def threefry(key: Array, first: Array, second: Array) -> tuple[Array, Array]:
    """One block of Threefry-2x32 with 20 rounds (Salmon et al. 2011) on the counter (first, second).

    The bits are those of `jax.extend.random.threefry_2x32`. That function has loops, which XLA does not fuse into the
    caller on a CPU; here the rounds are written out.

    Args:
      key: two words of uint32.
      first, second: uint32, of shapes that broadcast against each other and the words.

    Returns:
      two words of uint32, in the shape of all these together.
    """
    keys = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    x, y = first + keys[0], second + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << rotation) | (y >> (32 - rotation)))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + jnp.uint32(group + 1)
    return x, y


def stack_of_rewards(key: Array, arms: Array, plays: Array) -> Array:
    """32 random bits for the n-th play of each arm, the same under every policy.

    Args:
      key: the run's environment key (threefry2x32).
      arms: [M] int32.
      plays: [M] uint32, the number n of the play; 0 is the draw of the arm's first state.

    Returns:
      [M] uint32 in 0..2^32 - 2. The value 2^32 - 1 is replaced by 2^32 - 2, so that all bits lie below the threshold
      2^32 - 1, which stands for probability 1 exactly.
    """
    bits, _ = threefry(jax.random.key_data(key), arms.astype(jnp.uint32), plays.astype(jnp.uint32))
    return jnp.minimum(bits, jnp.uint32(_LARGEST - 1))


def choose(bits: Array, thresholds: Array) -> Array:
    """The state [...] int32 that random bits [...] choose: the number of `thresholds` [..., S-1] not above the bits.

    `chains.thresholds` makes the thresholds from a law, `stack_of_rewards` the bits.
    """
    return sum((bits >= thresholds[..., s]).astype(jnp.int32) for s in range(thresholds.shape[-1]))
