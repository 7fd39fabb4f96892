"""The random keys of each run, and the order in which its policy sees the arms."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, cast, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, as_floats, excerpt, integer
from jaxbandit.base import check_key, described
from jaxbandit.fast import threefry

RandomNumbers = Literal["common", "independent"]  # whether run j of every scenario has the same keys


@described
class RunKeys(NamedTuple):
    """The random keys of one run, the same in all rounds. Many runs: every leaf with the runs last.

    Fields:
      environment: key of the arms' draws.
      policy: key of the policy's draws, folded with the round.
      order: [K] int32, the environment's number of each of the policy's arms; None if the numbers are the same.
    """

    environment: Array
    policy: Array
    order: Array | None


def run_keys(key: Array, runs: ArrayLike, arms: int | None = None, scenario: str | None = None) -> RunKeys:
    """The keys of the runs with the numbers `runs` [R]; they depend only on `key`, `scenario` and the number.

    Without a scenario they are common random numbers, those of run j in every scenario of `simulate` by default. With
    the name of a scenario they are those of `simulate(.., random_numbers="independent")`.

    Args:
      key: a `jax.random.key`.
      runs: [R] int32, from 0.
      arms: K to draw an order of the arms for each run, None to keep their order.
      scenario: the name of the scenario whose own random numbers these are, or None; a single environment of
        `simulate` is called "scenario".

    Unless they are traced, the keys are computed in NumPy, so that nothing is compiled for them. They are
    `jax.random.split(jax.random.fold_in(key, run), 3)`, as JAX numbers its bits by default. The first 64 bits of the
    SHA-256 of a scenario's name are first folded into `key`, as two words.

    Raises:
      ValueError: an argument of the wrong kind.

    >>> run_keys(jax.random.key(0), jnp.arange(3), arms=4).order.shape
    (4, 3)
    """
    if scenario is not None and not isinstance(scenario, str):
        raise ValueError(f"scenario: {excerpt(scenario)} is not the name of a scenario, a text")
    if scenario is None:
        return keys_of_scenarios(key, runs, arms, None)
    of_one: RunKeys = jax.tree.map(lambda leaf: leaf[0], keys_of_scenarios(key, runs, arms, [scenario]))
    return of_one


def keys_of_scenarios(key: Array, runs: ArrayLike, arms: int | None, scenarios: Sequence[str] | None) -> RunKeys:
    """`run_keys` of all scenarios with these names, leaves [C, .., R]; None: common ones, leaves [.., R]."""
    if not isinstance(key, jax.core.Tracer):
        check_key(key)
    if not isinstance(runs, jax.core.Tracer):
        check_numbers("runs", runs)
    if arms is not None:
        arms = integer("arms", arms, 1, LARGEST_INTEGER)
    words, numbers = _on_host(jax.random.key_data(key)), _on_host(runs).astype(np.uint32)
    high, low = words[:1], words[1:]
    if scenarios is not None:
        for word in _words(scenarios)[:, :, None]:
            high, low = threefry((high, low), np.uint32(0), word)
    of_run = threefry((high, low), np.uint32(0), numbers)
    three = [threefry(of_run, np.uint32(0), np.uint32(n)) for n in range(3)]
    stacked = [(np if isinstance(parts[0], np.ndarray) else jnp).stack(parts, -1) for parts in three]
    environment, policy, order = (jax.random.wrap_key_data(data, impl="threefry2x32") for data in stacked)
    return RunKeys(environment, policy, None if arms is None else _orders(order, arms))


def _words(names: Sequence[str]) -> np.ndarray:
    """Two words for each name, [2, C] uint32."""
    digests = b"".join(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8] for name in names)
    return np.frombuffer(digests, ">u4").astype(np.uint32).reshape(-1, 2).T


def check_random_numbers(value: Any) -> RandomNumbers:
    """Raise ValueError unless the value is "common" or "independent"."""
    if not isinstance(value, str) or value not in get_args(RandomNumbers):
        raise ValueError(f'random_numbers: {excerpt(value)}; give "common" or "independent"')
    return cast(RandomNumbers, value)


def check_numbers(name: str, values: ArrayLike) -> None:
    """Raise ValueError unless the values are integers [N] from 0 to 2^31 - 1."""
    numbers = as_floats(name, values)
    if numbers.ndim != 1 or not numbers.size or not ((numbers >= 0) & (numbers < 2**31)).all() or (numbers % 1).any():
        raise ValueError(f"{name}: {excerpt(values)} are not integers [N] from 0 to 2^31 - 1")


def _on_host(values: Any) -> Any:
    """The values in NumPy, unless they are being traced."""
    return values if isinstance(values, jax.core.Tracer) else np.asarray(values)


@partial(jax.jit, static_argnames="arms")
def _orders(keys: Array, arms: int) -> Array:
    """An order of the arms for each key, [arms, R] int32 of keys [R], [C, arms, R] of keys [C, R]."""
    if keys.ndim > 1:
        of_scenarios: Array = jax.vmap(partial(_orders, arms=arms))(keys)
        return of_scenarios
    return jax.vmap(lambda key: jax.random.permutation(key, arms).astype(jnp.int32), out_axes=-1)(keys)
