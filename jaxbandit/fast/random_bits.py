"""The random generator behind every draw, written so that it runs over whole vectors of runs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.extend.random import threefry_2x32
from jax.typing import ArrayLike

from jaxbandit.fast.switch import PLAIN

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def threefry(
    key: Array | np.ndarray | tuple[ArrayLike, ArrayLike], first: ArrayLike, second: ArrayLike
) -> tuple[Array, Array]:
    """One block of Threefry-2x32 with 20 rounds (Salmon et al. 2011) on the counter (first, second).

    The same bits as `jax.extend.random.threefry_2x32`, which is the plain form: XLA does not fuse its loops into the
    caller on a CPU, so the rounds are written out here.

    Args:
      key: two words of uint32, or one array [2, ...] of them.
      first, second: uint32, of shapes that broadcast against each other and the words. NumPy's arrays give NumPy's.

    Returns:
      two words of uint32, in the shape of all these together.
    """
    words = key[0], key[1], first, second
    if all(isinstance(word, np.ndarray | np.generic) for word in words):
        return _block(*words)
    x, y = _by_jax(*jnp.broadcast_arrays(*words)) if PLAIN else _traced(*words)
    return x, y


def _block(high: Any, low: Any, first: Any, second: Any) -> tuple[Any, Any]:
    keys = (high, low, high ^ low ^ np.uint32(0x1BD11BDA))
    x, y = first + keys[0], second + keys[1]
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = x + y
            y = x ^ ((y << rotation) | (y >> (32 - rotation)))
        x = x + keys[(group + 1) % 3]
        y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


_traced = jax.jit(_block)  # so that its hundred operations are traced once for each shape


@jnp.vectorize
def _by_jax(high: Array, low: Array, first: Array, second: Array) -> tuple[Array, Array]:
    x, y = threefry_2x32(jnp.stack([high, low]), jnp.stack([first, second]))
    return x, y
