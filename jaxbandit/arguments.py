"""Checks of arguments on the host; each raises a ValueError whose message begins with the name of the argument."""

from __future__ import annotations

import inspect
import math
import operator
import os
import re
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.probabilities import EXACT, ROUNDING, stochastic

LARGEST = 1e30  # within the range of float32
LARGEST_INTEGER = 2**31 - 1  # of int32, which counts rounds, plays and arms
PADDED = (
    "; lists of different lengths have to be padded: give an arm with fewer states some that none of its states leads "
    "to (columns of 0), whose rows lead to state 0 and which pay what state 0 does"
)
EXCERPT = 100  # most characters of a wrong value in a message

F = TypeVar("F", bound=Callable[..., Any])


def excerpt(value: Any) -> str:
    """The text of a wrong value for a message, at most one line long.

    >>> excerpt("x"), excerpt([1] * 1000)[-9:]
    ("'x'", '1, 1, ...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT].rstrip()} ..."


def finite(name: str, values: ArrayLike) -> np.ndarray:
    """Return `values` as float64."""
    array = as_floats(name, values)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: NaN or infinite value")
    if np.abs(array).max(initial=0) > LARGEST:
        raise ValueError(f"{name}: a value beyond 1e30, too large for float32")
    return array


def as_floats(name: str, values: ArrayLike) -> np.ndarray:
    """Return `values` as float64, including NaN and infinity; text, complex numbers and dates are errors."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biufO" or jnp.issubdtype(array.dtype, np.floating):
            if array.dtype.kind == "O" and any(
                entry is None or isinstance(entry, str | bytes) for entry in array.ravel()
            ):
                raise TypeError
            with np.errstate(all="ignore"):
                return np.asarray(array, float)
        how = ""
    except (TypeError, ValueError, OverflowError) as error:
        how = PADDED if "with a sequence" in str(error) else ""  # NumPy's message for lists of different lengths
    raise ValueError(f"{name}: {excerpt(values)} is not an array of numbers{how}")


def number(
    name: str,
    value: Any,
    low: float = -LARGEST,
    high: float = LARGEST,
    *,
    above: bool = False,
    below: bool = False,
    hint: str = "",
) -> float:
    """Return one number in [low, high]; `above` and `below` exclude the ends, `hint` is for several numbers."""
    try:
        array = as_floats(name, value)
    except ValueError:
        raise ValueError(f"{name}: {excerpt(value)} is not a number") from None
    if array.ndim:
        raise ValueError(f"{name}: {excerpt(value)} is not one number{hint}")
    if not low <= array <= high or (above and array == low) or (below and array == high):
        ends = "(" if above else "[", ")" if below else "]"
        raise ValueError(f"{name}: {value} lies outside {ends[0]}{low:g}, {high:.10g}{ends[1]}")
    return float(array)


def integer(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> int:
    """Return one integer from `low` to `high`; True and False are errors."""
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"{name}: {excerpt(value)} is not an integer") from None
    if not low <= whole <= high:
        reach = f"{low:,.0f} to {high:,.0f}" if high < math.inf else f"{low:,.0f} on"
        raise ValueError(f"{name}: {excerpt(value)} is not among the integers from {reach}")
    return whole


def truth(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}: {excerpt(value)} is neither True nor False")
    return bool(value)


def choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: {excerpt(value)} is not one of {', '.join(choices)}")


def path(name: str, value: Any) -> Path:
    """Return a path, which need not exist; a number, which Python treats as an open file, is an error."""
    try:
        if not isinstance(value, str | os.PathLike) or not value or b"\0" in os.fsencode(value):
            raise TypeError
        return Path(value)
    except (TypeError, UnicodeError):
        raise ValueError(f"{name}: {excerpt(value)} is not a path") from None


def list_of(name: str, things: Any) -> list[Any]:
    """Return a list of the things; a single text is an error."""
    try:
        if isinstance(things, str | bytes):
            raise TypeError
        return list(things)
    except TypeError:
        raise ValueError(f"{name}: {excerpt(things)} is not a list") from None


def has(name: str, thing: Any, what: str, *parts: str) -> None:
    """Raise ValueError unless the thing is an instance with all of these attributes."""
    if isinstance(thing, type):
        raise ValueError(f"{name}: {what} is needed, and {excerpt(thing)} is a class")
    missing = [part for part in parts if not hasattr(thing, part)]
    if missing:
        raise ValueError(f"{name}: {what} is needed, and {type(thing).__name__} has no {', '.join(missing)}")


class Numbers(NamedTuple):
    """The requirements on an argument: its axes, such as "[..., S]", and the range of its numbers."""

    axes: str
    low: float = -LARGEST
    high: float | str = LARGEST  # or the name of an axis, if the numbers are its indices
    law: bool = False  # whether the last axis sums to 1
    kind: Any = float  # the type that the function receives; np.float64 also moves JAX arrays to the host


def accepts(**wanted: Numbers | list[str]) -> Callable[[F], F]:
    """Check the named arguments of a function before JAX sees them.

    Axes with the same letter must have the same length, and the axes of "..." must broadcast. If any argument is
    traced, as within `jax.jit`, only shapes are checked. An argument whose default is None may be None; one with a list
    must be a text in that list.

    >>> @accepts(p=Numbers("[..., S]", 0, 1), q=Numbers("[..., S]", 0, 1))
    ... def product(p, q):
    ...     return np.asarray(p) @ np.asarray(q)
    >>> product([0.5, 0.5], [1, 0, 0])
    Traceback (most recent call last):
    ValueError: q: shape (3,) is not [..., S] with S = 2, as in p
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        optional = {name for name, parameter in signature.parameters.items() if parameter.default is None}

        @wraps(function)
        def checked(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            argument_values, numbers = bound.arguments, {}
            for name, kind in wanted.items():
                if name in argument_values and isinstance(kind, list):
                    choice(name, argument_values[name], kind)
                elif name in argument_values and not (argument_values[name] is None and name in optional):
                    numbers[name] = (argument_values[name], kind)
            if not any(is_traced(value) for value in argument_values.values()):
                argument_values.update(check_together(numbers))
            return function(*bound.args, **bound.kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def is_traced(value: Any) -> bool:
    """Whether a value, or an entry of a list of values, is being traced by JAX."""
    return isinstance(value, jax.core.Tracer) or (isinstance(value, list | tuple) and any(map(is_traced, value)))


def check_together(arguments: dict[str, tuple[Any, Any]]) -> dict[str, np.ndarray | jax.Array]:
    """Check arguments, a dict from their names to their values and `Numbers` (see `accepts`).

    Returns:
      The arguments as arrays. JAX arrays are returned unchanged, or on the host where `kind` is np.float64.
    """
    lengths: dict[str, tuple[int, str]] = {}
    before: dict[str, tuple[int, ...]] = {}
    arrays: dict[str, np.ndarray | jax.Array] = {}
    for name, (value, (axes, low, high, law, kind)) in arguments.items():
        array = as_floats(name, value)
        letters = re.findall("[A-Z]", axes)
        many = array.shape[: array.ndim - len(letters)]
        if array.ndim < len(letters) or (many and "..." not in axes):
            raise ValueError(f"{name}: shape {array.shape} is not {axes}")
        for letter, length in zip(letters, array.shape[len(many) :], strict=True):
            known, first = lengths.setdefault(letter, (length, name))
            if length != known:
                raise ValueError(
                    f"{name}: shape {array.shape} is not {axes} with {letter} = {known}"
                    + (f", as in {first}" if first != name else "")
                )
            if not length:
                raise ValueError(f"{name}: shape {array.shape} has no numbers")
        before[name] = many
        most = lengths[high][0] - 1 if isinstance(high, str) else high
        rounding = ROUNDING if letters and high == 1 else 0
        if not ((array >= low - rounding) & (array <= most + rounding)).all():
            raise ValueError(f"{name}: {excerpt(value)} is not all within [{low:g}, {most:g}]")
        if kind not in (float, np.float64) and (array % 1).any():
            raise ValueError(f"{name}: {excerpt(value)} are not integers")
        if law:
            array = stochastic(name, array, EXACT)
        # if warnings are errors, JAX's cast of a number beyond float32 would abort the process
        beyond = np.abs(array) > np.finfo(jnp.result_type(float)).max
        held = np.where(beyond, np.copysign(np.inf, array), array).astype(kind)
        arrays[name] = value if isinstance(value, jax.Array) and kind is not np.float64 else held
    try:
        np.broadcast_shapes(*before.values())
    except ValueError:
        shapes = " and ".join(str(np.shape(arguments[name][0])) for name in before)
        raise ValueError(f"{' and '.join(before)}: shapes {shapes} do not go together") from None
    return arrays
