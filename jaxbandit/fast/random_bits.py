"""The random generator behind every draw, written so that it runs over whole vectors of runs."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.fast.slow_paths import PLAIN, slow_path

RANDOM = frozenset("random_bits random_fold_in random_split".split())  # names of JAX's primitives that draw from keys
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_COMPARED = ((0, 8), (0, 12))  # the oldest and newest JAX on which tests compare every draw with that of JAX


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
    from jax.extend.random import threefry_2x32  # imports Pallas: a tenth of the time of `import jaxbandit`

    x, y = threefry_2x32(jnp.stack([high, low]), jnp.stack([first, second]))
    return x, y


@cache
def _draws_as_jax_does(name: str, partitionable: bool) -> bool:
    """Whether `drawn` gives the bits of JAX's own operation; another version or setting may number them differently."""
    words = np.array([3, 2**31 + 7], np.uint32)
    with jax.ensure_compile_time_eval():
        key = jax.random.wrap_key_data(jnp.asarray(words))
        if name == "random_bits":
            theirs = jax.random.bits(key, (3,))
        elif name == "random_split":
            theirs = jax.random.key_data(jax.random.split(key, 3))
        else:
            theirs = jax.random.key_data(jax.random.fold_in(key, 2))[None]
    number = np.array([2] if name == "random_fold_in" else [0, 1, 2], np.uint32)
    x, y = threefry(words[:, None], np.zeros_like(number), number)
    alike = np.array_equal(theirs, x ^ y if name == "random_bits" else np.stack([x, y], -1))
    if not alike:
        slow_path("random bits", f"JAX {jax.__version__} or its settings number them in another way, so it draws them")
    return alike


def is_known(name: str, keys: Array) -> bool:
    """Whether JAX would draw from these keys in the way that `drawn` repeats."""
    if jax.random.key_impl(keys) != "threefry2x32":
        return False
    partitionable = bool(getattr(jax.config, "jax_threefry_partitionable", False))
    oldest, newest = _COMPARED
    if partitionable and oldest <= jax.__version_info__[:2] <= newest:
        return True  # JAX's own draws take longer to compile than the rest of a small program
    return _draws_as_jax_does(name, partitionable)


def drawn(name: str, parameters: dict[str, Any], inputs: list[Array]) -> Array:
    """The bits or keys of JAX's own random operations, without their loops, which XLA does not vectorise over the runs.

    Args:
      name, parameters: of the primitive.
      inputs: the keys [..., runs] and, for random_fold_in, the numbers that are folded in.
    """
    keys, *data = inputs
    shape = parameters.get("shape", ())
    words = jax.random.key_data(keys).reshape(*keys.shape[:-1], *[1] * len(shape), keys.shape[-1], 2)
    number = data[0] if data else jnp.arange(math.prod(shape)).reshape(*[1] * (keys.ndim - 1), *shape, 1)
    x, y = threefry((words[..., 0], words[..., 1]), jnp.uint32(0), number.astype(jnp.uint32))
    if name == "random_bits":
        return x ^ y
    return jax.random.wrap_key_data(jnp.stack([x, y], -1), impl=jax.random.key_impl(keys))
