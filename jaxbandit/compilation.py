"""How programs are compiled: kept on disk for those who ask for it, and on a CPU as one function of machine code."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import jax
from jax.experimental.xla_metadata import set_xla_metadata

from jaxbandit.batching import CALLS, ELEMENTWISE

# Besides elementwise operations and calls, the operations that XLA on a CPU can compile into one function of machine
# code: none of them reduces, sorts, scatters or calls a library.
_IN_ONE_PIECE = frozenset(
    "broadcast_in_dim concatenate cond dynamic_slice dynamic_update_slice gather iota optimization_barrier pad "
    "random_bits random_fold_in random_split random_unwrap random_wrap reshape rev scan slice split squeeze stack "
    "threefry2x32 transpose while".split()
)


def use_cache() -> None:
    """Keep compiled programs in the folder that the environment variable JAXBANDIT_CACHE names.

    Without that variable, JAX's own settings stand. The package calls this function when it is imported. Programs of
    any size and compilation time are kept, so that the same experiment starts at once the next time. JAX trusts the
    folder's files as it trusts code, so nobody else should be able to write there.
    """
    if folder := os.environ.get("JAXBANDIT_CACHE"):
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def in_one_piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which XLA compiles for a CPU into one function of machine code, if all its operations allow that.

    Otherwise XLA makes many functions, each of a few operations, and starts them one after the other. A start takes
    60 ns, and much more where XLA shares the functions out among threads; a round of bandits is 20 to 140 of them. The
    request is a mark that XLA itself puts on loops over few bytes; a version of XLA that does not know the mark ignores
    it and compiles as before.
    """
    compiled = jax.jit(function)

    def marked(*arguments: Any) -> Any:
        used = set(_primitives(jax.make_jaxpr(compiled)(*arguments).jaxpr))
        if used <= _IN_ONE_PIECE | ELEMENTWISE | CALLS:
            return set_xla_metadata(compiled(*arguments), inlineable="false", xla_cpu_small_call="true")
        return function(*arguments)

    return marked


def whole_or_parts(whole: Callable[..., Any], parts: Callable[..., Any]) -> Callable[..., Any]:
    """`whole`, or `parts` where XLA says that it cannot compile `whole` for arguments of these types and shapes.

    Args:
      whole, parts: two functions with the same results, the first preferred.
    """
    refused = set()

    @wraps(whole)
    def either(*arguments: Any) -> Any:
        kind = tuple(jax.typeof(leaf) for leaf in jax.tree.leaves(arguments)), jax.tree.structure(arguments)
        if kind not in refused:
            try:
                return whole(*arguments)
            except jax.errors.JaxRuntimeError as error:
                if "UNIMPLEMENTED" not in str(error):
                    raise
                refused.add(kind)
        return parts(*arguments)

    return either


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations of a jaxpr, also of those within its loops, branches and calls."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for parameter in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from _primitives(inner)
