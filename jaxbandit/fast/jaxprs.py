"""How a traced program is read: the names of its operations, the programs within them, and their evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from numbers import Number
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.lax import GatherScatterMode

# Names of primitives. ELEMENTWISE act on each entry; FOLDS are reductions, with their operation on two entries; CALLS
# evaluate another jaxpr.
ELEMENTWISE = frozenset(
    "abs add and atan2 bitcast_convert_type cbrt ceil clamp convert_element_type copy cos cosh div eq erf erf_inv erfc "
    "exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not "
    "or pow rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square "
    "stop_gradient sub tan tanh xor".split()
)
FOLDS: dict[str, Callable[[Array, Array], Array]] = {
    "reduce_sum": jnp.add,
    "reduce_prod": jnp.multiply,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
    "reduce_and": jnp.bitwise_and,
    "reduce_or": jnp.bitwise_or,
}
CALLS = frozenset("jit pjit closed_call custom_jvp_call custom_vjp_call remat checkpoint".split())
# What a jaxpr of another form raises where it is read: names that are not there, other numbers of inputs or outputs.
UNKNOWN_FORM = (AttributeError, IndexError, KeyError, NotImplementedError, TypeError, ValueError)


def called(parameters: dict[str, Any]) -> tuple[Any, list[Array]]:
    """The jaxpr that an equation of `CALLS` calls, and its constants."""
    inner: Any = parameters.get("jaxpr") or parameters.get("call_jaxpr")
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, [])


def parts_of_scan(parameters: dict[str, Any]) -> tuple[int, int]:
    """Where the inputs of a `scan` that it carries begin, behind its constants, and where they end."""
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_consts"] + parameters["num_carry"]
    consts, carry, _ = (len(part.vals) for part in parameters["ft_in"].unpack())  # from JAX 0.12 on
    return consts, consts + carry


def evaluate(
    jaxpr: Any,
    consts: Sequence[Array],
    arguments: Sequence[Any],
    constant: Callable[[Array], Any],
    apply: Callable[[Any, list[Any]], Sequence[Any]],
) -> list[Any]:
    """The outputs of a jaxpr, computed with values of any kind in place of arrays.

    An operation that occurs again, with the same inputs, is computed once: a policy that reads several arrays at one
    index repeats a third of its operations.

    Args:
      jaxpr, consts: what `jax.make_jaxpr` returns, taken apart.
      arguments: the values of the jaxpr's inputs.
      constant: makes a value of a constant array.
      apply: the output values of an equation, from the equation and its input values.
    """
    values: dict[Any, Any] = {}
    computed: dict[Any, Sequence[Any]] = {}

    def read(variable: Any) -> Any:
        return constant(variable.val) if hasattr(variable, "val") else values[variable]

    values.update(zip(jaxpr.constvars, map(constant, consts), strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in needed(jaxpr):
        inputs = [read(variable) for variable in equation.invars]
        operation = _operation(equation, inputs)
        if operation is None or operation not in computed:
            computed[operation] = apply(equation, inputs)
        values.update(zip(equation.outvars, computed[operation], strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def _operation(equation: Any, inputs: Sequence[Any]) -> Any:
    """What determines the outputs of an equation, its inputs by their identity; None if it cannot be compared."""
    if equation.effects:
        return None
    try:
        read = tuple(  # numbers by their bits or digits, since 0.0 equals -0.0
            (variable.aval, np.asarray(variable.val).tobytes()) if hasattr(variable, "val") else id(value)
            for variable, value in zip(equation.invars, inputs, strict=True)
        )
        parameters = (
            (name, repr(value) if isinstance(value, Number) else value) for name, value in equation.params.items()
        )
        operation = equation.primitive, read, tuple(sorted(parameters))
        hash(operation)
    except TypeError:  # a parameter without a hash
        return None
    return operation


def needed(jaxpr: Any) -> list[Any]:
    """The equations on which an output depends, in their order."""
    read = {variable for variable in jaxpr.outvars if not hasattr(variable, "val")}
    kept = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects or not read.isdisjoint(equation.outvars):
            kept.append(equation)
            read.update(variable for variable in equation.invars if not hasattr(variable, "val"))
    return kept[::-1]


def depending(jaxpr: Any, inputs: Sequence[bool]) -> list[bool]:
    """Which outputs of a jaxpr may depend on one of the inputs that are marked."""
    marked = {variable for variable, mark in zip(jaxpr.invars, inputs, strict=True) if mark}
    for equation in jaxpr.eqns:
        if any(variable in marked for variable in equation.invars if not hasattr(variable, "val")):
            marked.update(equation.outvars)
    return [not hasattr(variable, "val") and variable in marked for variable in jaxpr.outvars]


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    for parameter in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
        inner = getattr(parameter, "jaxpr", parameter)
        if hasattr(inner, "eqns"):
            yield inner


def primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations of a jaxpr and of the jaxprs within it."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner in inner_jaxprs(equation):
            yield from primitives(inner)


def in_precision_of(equation: Any) -> Any:
    """A context for an equation's operation in the precision of its trace; JAX shortens 64 bits outside of one."""
    dtypes = [getattr(variable.aval, "dtype", None) for variable in (*equation.invars, *equation.outvars)]
    longer = any(dtype == jnp.float64 or dtype == jnp.int64 for dtype in dtypes)
    return jax.enable_x64(True) if longer and jnp.result_type(float) != jnp.float64 else nullcontext()


def constants(closed: Any) -> Iterator[Array]:
    """The constants of a jaxpr, and of those within it that keep their own; arrays among its literals, too."""
    yield from getattr(closed, "consts", ())
    for equation in getattr(closed, "jaxpr", closed).eqns:
        yield from (variable.val for variable in equation.invars if np.ndim(getattr(variable, "val", 0)))
        for parameter in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "jaxpr")):
            if hasattr(parameter, "jaxpr") or hasattr(parameter, "eqns"):
                yield from constants(parameter)


class Points(NamedTuple):
    """A gather, scatter or scatter-add at an index of the first axes, as `x[i, j]` and `x.at[i, j].set(y)` are."""

    axes: tuple[int, ...]  # of the array, in the order in which the index names them
    behind: tuple[int, ...]  # where the array's other axes, taken whole, stand in what is read or written
    mode: Any  # what happens out of bounds
    fill: Any  # what is read there; None for JAX's default


def points(name: str, parameters: dict[str, Any], shape: Sequence[int]) -> Points | None:
    """What is read from or written to an array of this shape; None if an index of the first axes does not name it."""
    numbers = parameters["dimension_numbers"]
    if name == "gather":
        order, named, behind = numbers.start_index_map, numbers.collapsed_slice_dims, numbers.offset_dims
        sizes = tuple(parameters["slice_sizes"])
        partly = sizes != (*[1] * len(order), *shape[len(order) :])
    else:
        order, named = numbers.scatter_dims_to_operand_dims, numbers.inserted_window_dims
        behind, partly = numbers.update_window_dims, False
    known = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.PROMISE_IN_BOUNDS)
    first = list(range(len(order)))
    if partly or numbers.operand_batching_dims or sorted(order) != first or sorted(named) != first:
        return None
    if len(behind) != len(shape) - len(order) or parameters["mode"] not in known:
        return None
    return Points(tuple(order), tuple(behind), parameters["mode"], parameters.get("fill_value"))


def out_of_bounds(value: Any, dtype: Any) -> Any:
    """What JAX reads out of bounds: NaN, the smallest signed or largest unsigned integer, or `value` unless None."""
    if value is None:
        kind = np.dtype(dtype).kind
        value = {"f": np.nan, "b": True}.get(kind) or np.iinfo(dtype).min or np.iinfo(dtype).max
    return np.asarray(value, dtype)[()]
