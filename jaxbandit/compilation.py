"""How programs are compiled: a cache for those who ask for it, and on a CPU a whole program as one function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from jaxbandit.batching import ELEMENTWISE, REDUCTIONS

# what XLA on a CPU can compile into one function: no sorting, no scattering, no calls of libraries
_IN_ONE_PIECE = ELEMENTWISE | REDUCTIONS | frozenset(
    "broadcast_in_dim concatenate dynamic_slice dynamic_update_slice gather iota optimization_barrier pad "
    "random_bits random_fold_in random_split random_unwrap random_wrap reshape rev slice split threefry2x32 transpose "
    "jit pjit closed_call custom_jvp_call custom_vjp_call scan stack while cond".split()
)


def use_cache() -> None:
    """Keep compiled programs in the folder that JAXBANDIT_CACHE names; without it JAX's own settings stand.

    Called when the package is imported. Programs of any size and compilation time are kept, so that the same experiment
    starts at once. JAX trusts the folder's files as it trusts code: give one that nobody else can write.
    """
    if folder := os.environ.get("JAXBANDIT_CACHE"):
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def in_one_piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled by XLA for a CPU as one function of machine code, where its operations allow that.

    Else XLA compiles a function for every few operations and starts them one after the other: 60 ns each, and where
    several threads share them out, more than they take. A round is 20 to 120 of them. The mark it goes by is the one
    that XLA sets itself on loops over a few bytes; where it is unknown nothing changes.
    """
    compiled = jax.jit(function)

    def called(*arguments: Any) -> Any:
        if not set(_primitives(jax.make_jaxpr(compiled)(*arguments).jaxpr)) <= _IN_ONE_PIECE:
            return function(*arguments)
        return set_xla_metadata(compiled(*arguments), inlineable="false", xla_cpu_small_call="true")

    return called


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations, those within others included."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from _primitives(inner)
