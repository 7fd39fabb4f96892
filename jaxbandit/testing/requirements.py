"""What the checks share: assertions that `python -O` does not remove, and comparisons of pytrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.sums import TwoFloats

STANDARD_ERRORS = 7.0  # the largest distance of an average of many runs from its expectation


def require(condition: Any, message: str) -> None:
    """Raise AssertionError with this message unless the condition holds, even where Python skips `assert`."""
    if not condition:
        raise AssertionError(message)


def require_accepted(check: Callable[..., Any], *arguments: Any) -> Any:
    """What a check of `simulate` returns; the ValueError of a check that refuses is raised as AssertionError."""
    try:
        return check(*arguments)
    except ValueError as error:
        raise AssertionError(str(error)) from error


def require_numbers(name: str, thing: Any) -> None:
    """Require that all leaves are numbers."""
    for leaf in jax.tree.leaves(thing):
        numeric = isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array)
        require(numeric, f"{name}: {leaf!r} is not a number; make it a pytree dataclass of numbers (jaxbandit.pytree)")


def require_close(message: str, left: Any, right: Any) -> None:
    """Require that two pytrees have the same numbers up to rounding; two floats are one number."""
    for x, y in zip(_leaves(left), _leaves(right), strict=True):
        require(np.allclose(_numbers(x), _numbers(y), rtol=1e-5, atol=1e-6, equal_nan=True), message)


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda part: isinstance(part, TwoFloats))


def _numbers(leaf: Any) -> np.ndarray:
    if isinstance(leaf, TwoFloats):
        return np.asarray(leaf.high, float) + np.asarray(leaf.low, float)
    is_key = jnp.issubdtype(jnp.result_type(leaf), jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def shapes(tree: Any) -> Any:
    """The pytree with the shape and type of each leaf instead of the leaf."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)), tree)
