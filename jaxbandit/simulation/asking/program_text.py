"""What a function computes, as text that is the same in every process: by it changed code is noticed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.fast.jaxprs import constants, primitives

CALLBACKS = frozenset(["pure_callback", "io_callback"])
# addresses, a terminal's colours, names of Python functions and the rules of differentiation that go with them
_LEFT_OUT = re.compile(r"\x1b\[[0-9;]*m| at 0x[0-9a-f]+|\b(?:name|jvp|fwd|bwd|jvp_jaxpr_fun|jvp_jaxpr_thunk)=\S+")


def told(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, list[bytes]]:
    """What a function returns, as shapes, and what it computes, as bytes that are the same in every process.

    The bytes are the text of its jaxpr and the values of its constants. Addresses and names are left out, and so are
    rules of differentiation, because nothing is differentiated.

    Args:
      function: of arrays.
      arguments: arrays or their shapes.

    Raises:
      ValueError: it calls back into Python, where no jaxpr tells what is computed.
    """
    fresh = jax.make_jaxpr(lambda *given: function(*given), return_shape=True)  # a new function, which has no trace yet
    closed, returned = fresh(*arguments)
    if not CALLBACKS.isdisjoint(primitives(closed.jaxpr)):
        raise ValueError("calls back into Python, so that nobody can tell when its code changes; write it in jax.numpy")
    pieces = [_LEFT_OUT.sub("", str(closed)).encode()]
    for constant in constants(closed):
        is_key = jnp.issubdtype(jnp.result_type(constant), jax.dtypes.prng_key)
        array = np.asarray(jax.random.key_data(constant) if is_key else constant)
        pieces.append(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    shapes = [
        jax.ShapeDtypeStruct(each.shape, each.dtype, weak_type=getattr(each, "weak_type", False))
        for each in closed.out_avals
    ]  # older versions of JAX leave out of `returned` what is a Python number
    return jax.tree.unflatten(jax.tree.structure(returned), shapes), pieces
