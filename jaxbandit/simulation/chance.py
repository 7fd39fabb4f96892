"""What chance gives each run: the keys of its draws, and the order in which the player sees the arms."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats, integer, shown
from jaxbandit.base import check_key, described
from jaxbandit.fast import threefry


@described
class RunKeys(NamedTuple):
    """What chance gives one run; it stays the same in all rounds. Many runs: every leaf with the runs last.

    Fields:
      environment: key of the arms' draws.
      policy: key of the policy's draws, folded with the round.
      order: [K] int32, the environment's number of each of the policy's arms; None where the numbers are the same.
    """

    environment: Array
    policy: Array
    order: Array | None


def run_keys(key: Array, runs: ArrayLike, arms: int | None = None) -> RunKeys:
    """The keys of the runs with the numbers `runs` [R]; each depends on `key` and on that run's number alone.

    Args:
      key: a `jax.random.key`.
      runs: [R] int32, from 0.
      arms: K to draw an order of the arms for each run, None to keep their order.

    Where the key and the numbers are known, the keys are found in NumPy, so that nothing is compiled for them. They are
    `jax.random.split(jax.random.fold_in(key, run), 3)`, as JAX numbers its bits by default.

    >>> run_keys(jax.random.key(0), jnp.arange(3), arms=4).order.shape
    (4, 3)
    """
    if not isinstance(key, jax.core.Tracer):
        check_key(key)
    if not isinstance(runs, jax.core.Tracer):
        check_numbers("runs", runs)
    if arms is not None:
        arms = integer("arms", arms, 1, 2**31 - 1)
    words, numbers = _on_host(jax.random.key_data(key)), _on_host(runs).astype(np.uint32)
    of_run = threefry((words[:1], words[1:]), np.uint32(0), numbers)
    three = [threefry(of_run, np.uint32(0), np.uint32(n)) for n in range(3)]
    stacked = [(np if isinstance(each[0], np.ndarray) else jnp).stack(each, -1) for each in three]
    environment, policy, order = (jax.random.wrap_key_data(each, impl="threefry2x32") for each in stacked)
    return RunKeys(environment, policy, None if arms is None else _orders(order, arms))


def check_numbers(name: str, values: ArrayLike) -> None:
    """Refuse values that are not integers [N] from 0 to 2^31 - 1."""
    found = as_floats(name, values)
    if found.ndim != 1 or not found.size or not ((found >= 0) & (found < 2**31)).all() or (found % 1).any():
        raise ValueError(f"{name}: {shown(values)} are not integers [N] from 0 to 2^31 - 1")


def _on_host(values: Any) -> Any:
    """The values in NumPy, unless they are being traced."""
    return values if isinstance(values, jax.core.Tracer) else np.asarray(values)


@partial(jax.jit, static_argnames="arms")
def _orders(keys: Array, arms: int) -> Array:
    """An order of the arms for each key, [arms, R] int32."""
    return jax.vmap(lambda key: jax.random.permutation(key, arms).astype(jnp.int32), out_axes=-1)(keys)
