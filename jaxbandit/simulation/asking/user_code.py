"""Traces of a user's code: shapes and text of a computation; error messages begin with the user's own line.

The text is the same in every process, so that it detects changed code.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.fast.jaxprs import constants, primitives
from jaxbandit.pytrees import is_plain
from jaxbandit.simulation.library_code import traced_once, trusted

CALLBACKS = frozenset(["pure_callback", "io_callback"])
# addresses, a terminal's colours, names of Python functions and the rules of differentiation that go with them
_LEFT_OUT = re.compile(r"\x1b\[[0-9;]*m| at 0x[0-9a-f]+|\b(?:name|jvp|fwd|bwd|jvp_jaxpr_fun|jvp_jaxpr_thunk)=\S+")


class MethodError(Exception):
    """An error of a method, without the name of the argument."""


def method(name: str, thing: Any, *arguments: Any) -> tuple[Any, list[bytes]]:
    """The shapes that a method returns, and the text of its computation."""
    try:
        return call(partial(traced_once, name) if trusted(thing) else _traced_anew(name), thing, *arguments)
    except MethodError as fault:
        raise MethodError(f"{name}: {fault}") from fault.__cause__


def _traced_anew(name: str) -> Callable[..., Any]:
    """`library_code.traced_once` for users' code, by a function of its own, with which JAX's cache forgets the trace.

    It has the same name, which the text of a jaxpr may contain.
    """

    @jax.jit
    def _traced_once(thing: Any, *arguments: Any) -> Any:
        return getattr(thing, name)(*arguments)

    anew: Callable[..., Any] = _traced_once
    return anew


def call(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[bytes]]:
    try:
        return traced_text(function, arguments)
    except Exception as error:
        raise MethodError(in_words(error)) from error


def in_words(error: Exception, own: Callable[[str], bool] | None = None) -> str:
    """One line with the last line of user code in the traceback, and the error.

    Args:
      own: whether a file is user code; by default, whether it belongs neither to Python nor to a calling package.
    """
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if (own or _is_own)(frame.filename)]
    place = "".join(f"{Path(at.filename).name}, line {at.lineno}: {at.line}: " for at in frames[-1:])
    reason = " ".join(str(error).split("\n\n")[0].split())
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"{place}{kind}{reason}"


def _is_own(file: str) -> bool:
    """Whether a file is user code: neither Python's nor of a package that calls it."""
    installed = "site-packages" in file
    return not (
        file.startswith(_PACKAGES) or file.startswith("<frozen") or (not installed and file.startswith(_PYTHON))
    )


_PACKAGES = tuple(str(Path(str(module.__file__)).parent) for module in (jax, np, sys.modules["jaxbandit"]))
_PYTHON = sysconfig.get_paths()["stdlib"]


def traced_text(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, list[bytes]]:
    """The shapes that a function returns, and its computation as bytes that are the same in every process.

    The bytes are the text of its jaxpr and the values of its constants. Addresses and names are left out, and so are
    rules of differentiation, because nothing is differentiated.

    Args:
      function: of arrays.
      arguments: arrays or their shapes.
    """
    fresh = jax.make_jaxpr(lambda *arguments: function(*arguments), return_shape=True)  # a new function has no trace
    closed, returned = fresh(*arguments)
    if not CALLBACKS.isdisjoint(primitives(closed.jaxpr)):
        raise ValueError("calls back into Python, where changed code cannot be detected; write it in jax.numpy")
    pieces = [_LEFT_OUT.sub("", str(closed)).encode()]
    for constant in constants(closed):
        is_key = jnp.issubdtype(jnp.result_type(constant), jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(constant) if is_key else constant)
        pieces.append(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    shapes = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
        for aval in closed.out_avals
    ]  # older versions of JAX omit Python numbers from `returned`
    return jax.tree.unflatten(jax.tree.structure(returned), shapes), pieces


def identified_by_text(thing: Any) -> bool:
    """Whether the text of a thing, in which arrays stand as shapes, tells it from all others in every process.

    >>> import jaxbandit
    >>> [identified_by_text(thing) for thing in (jaxbandit.KLUCB(memory=jaxbandit.Window(3)), jaxbandit.Uniform, print)]
    [True, False, False]
    """
    if thing is None or isinstance(thing, str | int | float | np.dtype | jax.ShapeDtypeStruct):
        return True
    if isinstance(thing, list | tuple):
        return all(map(identified_by_text, thing))
    if not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return False
    statics = [getattr(thing, field.name) for field in dataclasses.fields(thing) if field.metadata.get("static")]
    others = [getattr(thing, field.name) for field in dataclasses.fields(thing) if not field.metadata.get("static")]
    return all(map(is_plain, statics)) and all(map(identified_by_text, others))
