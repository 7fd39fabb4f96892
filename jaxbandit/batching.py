"""A `vmap` over runs that keeps the runs as the last axis, in every step of the program and not at its ends alone.

The function is traced for one run, and the trace (a jaxpr: a list of equations, one for each operation) is evaluated
again with arrays [..., runs]. `evaluate` does this for values of any kind; `unrolled` uses it, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.draws import threefry
from jaxbandit.indexing import computed_once

# Names of JAX's primitives. ELEMENTWISE act on each entry, REDUCTIONS along given axes; FOLDS are the reductions that
# `_fold` writes out, with their operation on two entries; RANDOM draw from keys; CALLS evaluate another jaxpr.
ELEMENTWISE = frozenset(
    "abs add and atan2 bitcast_convert_type cbrt ceil clamp convert_element_type copy cos cosh div eq erf erf_inv erfc "
    "exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not "
    "or pow rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square "
    "stop_gradient sub tan tanh xor".split()
)
REDUCTIONS = frozenset(
    "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum squeeze".split()
)
FOLDS: dict[str, Callable[[Array, Array], Array]] = {
    "reduce_sum": jnp.add,
    "reduce_prod": jnp.multiply,
    "reduce_max": jnp.maximum,
    "reduce_min": jnp.minimum,
    "reduce_and": jnp.bitwise_and,
    "reduce_or": jnp.bitwise_or,
}
RANDOM = frozenset("random_bits random_fold_in random_split".split())
CALLS = frozenset("jit pjit closed_call custom_jvp_call custom_vjp_call remat checkpoint".split())


def over_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.vmap(function, in_axes=-1, out_axes=-1)`, computed with the runs last throughout.

    JAX's own `vmap` moves the batch axis to the front wherever an array that has it meets one that has not. A round of
    a bandit then works on arrays [runs, arms] whose fastest axis is a handful of arms, which no compiler vectorises
    well, and transposes between the two orders. Here elementwise operations, broadcasts, slices and reductions work on
    [arms, runs]; any other operation that a policy uses goes through `vmap`.

    Args:
      function: of pytrees of arrays of one run, to a pytree of arrays.

    Returns:
      the same function of pytrees whose leaves all have the runs as their last axis, as its result's leaves have.

    >>> over_runs(lambda x: x - jnp.arange(2.0))(jnp.ones((2, 3))).tolist()
    [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """

    def batched(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        runs = leaves[0].shape[-1]
        one = [jax.ShapeDtypeStruct(leaf.shape[:-1], leaf.dtype) for leaf in leaves]
        closed, shape = jax.make_jaxpr(
            lambda *values: function(*jax.tree.unflatten(structure, values)), return_shape=True
        )(*one)
        outputs = _evaluate(closed.jaxpr, closed.consts, [(leaf, True) for leaf in leaves], runs)
        full = [_everywhere(value, runs) for value in outputs]
        return jax.tree.unflatten(jax.tree.structure(shape), full)

    return batched


def called(parameters: dict[str, Any]) -> tuple[Any, list[Array]]:
    """The jaxpr that an equation of `CALLS` calls, and that jaxpr's constants, from the equation's parameters."""
    inner: Any = parameters.get("jaxpr") or parameters.get("call_jaxpr")
    return (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, [])


def evaluate(
    jaxpr: Any,
    consts: Sequence[Array],
    arguments: Sequence[Any],
    constant: Callable[[Array], Any],
    apply: Callable[[Any, list[Any]], Sequence[Any]],
) -> list[Any]:
    """The outputs of a jaxpr, computed with values of any kind in place of arrays.

    Args:
      jaxpr, consts: what `jax.make_jaxpr` returns, taken apart.
      arguments: the values of the jaxpr's inputs.
      constant: makes a value of a constant array.
      apply: the output values of an equation, from the equation and its input values.
    """
    values: dict[Any, Any] = {}

    def read(variable: Any) -> Any:
        return constant(variable.val) if hasattr(variable, "val") else values[variable]

    values.update(zip(jaxpr.constvars, map(constant, consts), strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        outputs = apply(equation, [read(variable) for variable in equation.invars])
        values.update(zip(equation.outvars, outputs, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


Value = tuple[Array, bool]  # an array, and whether its last axis is the runs; if not, all runs share it


def _evaluate(jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Value], runs: int) -> list[Value]:
    """The outputs of a jaxpr that was traced for one run, for this number of runs."""
    return evaluate(jaxpr, consts, arguments, lambda array: (array, False), partial(_apply, runs=runs))


def _apply(equation: Any, inputs: list[Value], runs: int) -> list[Value]:
    """The outputs of one equation: the primitive itself with the runs as one more axis, last, or `jax.vmap` of it."""
    primitive, parameters, name = equation.primitive, equation.params, equation.primitive.name
    if name in CALLS:
        return _evaluate(*called(parameters), inputs, runs)
    batched = any(has for _, has in inputs)
    if name == "scan" and batched:
        return _scan(parameters, inputs, runs)
    if not batched:
        arrays = [value for value, _ in inputs]
    elif name in ELEMENTWISE:
        shape = equation.outvars[0].aval.shape
        arrays = [_align(value, has, shape, runs) for value, has in inputs]
    elif name in FOLDS and _is_short(inputs[0][0], parameters["axes"]):
        return [(_fold(FOLDS[name], inputs[0][0], parameters["axes"]), True)]
    elif name in REDUCTIONS:
        arrays = [value for value, _ in inputs]
    elif name == "broadcast_in_dim":
        arrays = [inputs[0][0]]
        shape, axes = parameters["shape"], parameters["broadcast_dimensions"]
        parameters = {**parameters, "shape": (*shape, runs), "broadcast_dimensions": (*axes, len(shape))}
    elif name == "reshape":
        arrays = [inputs[0][0]]
        parameters = {**parameters, "new_sizes": (*parameters["new_sizes"], runs)}
    elif name == "slice":
        arrays = [inputs[0][0]]
        starts, limits, strides = (parameters[key] for key in ("start_indices", "limit_indices", "strides"))
        parameters = {
            "start_indices": (*starts, 0),
            "limit_indices": (*limits, runs),
            "strides": None if strides is None else (*strides, 1),
        }
    elif name == "concatenate":
        arrays = [_everywhere(value, runs) for value in inputs]
    elif name in RANDOM and _is_threefry(inputs[0][0]) and parameters.get("bit_width", 32) == 32:
        return [(_random(name, parameters, [_everywhere(value, runs) for value in inputs]), True)]
    else:
        axes = [-1 if has else None for _, has in inputs]

        def bind(*arrays: Array) -> Any:
            return primitive.bind(*arrays, **parameters)

        outputs: Any = jax.vmap(bind, in_axes=axes, out_axes=-1)(*[value for value, _ in inputs])
        return [(output, True) for output in (outputs if primitive.multiple_results else [outputs])]
    outputs = primitive.bind(*arrays, **parameters)
    return [(output, batched) for output in (outputs if primitive.multiple_results else [outputs])]


def _scan(parameters: dict[str, Any], inputs: list[Value], runs: int) -> list[Value]:
    """A loop of fixed length. All that it carries has the runs, because its shape is fixed and a turn may add them."""
    first, end = parameters["num_consts"], parameters["num_consts"] + parameters["num_carry"]
    consts, slices = inputs[:first], inputs[end:]
    start = [_everywhere(value, runs) for value in inputs[first:end]]
    body = parameters["jaxpr"]

    def one(carry: list[Array], xs: list[Array]) -> tuple[list[Array], list[Array]]:
        values = [*consts, *((value, True) for value in carry)]
        values += [(value, has) for value, (_, has) in zip(xs, slices, strict=True)]
        outputs = _evaluate(body.jaxpr, body.consts, values, runs)
        full = [_everywhere(value, runs) for value in outputs]
        return full[: end - first], full[end - first :]

    carry, collected = jax.lax.scan(
        one,
        start,
        [value for value, _ in slices],
        length=parameters["length"],
        reverse=parameters["reverse"],
        unroll=parameters["unroll"],
    )
    return [(value, True) for value in [*carry, *collected]]


def _is_short(array: Array, axes: Sequence[int]) -> bool:
    """Whether the axes have so few entries that `_fold` is used in place of XLA's reduction."""
    size: int = math.prod(array.shape[axis] for axis in axes)
    return 0 < size <= (32 if _is_float(array) else 8)


def _fold(operation: Callable[[Array, Array], Array], array: Array, axes: Sequence[int]) -> Array:
    """The reduction of `array` over `axes`, as operations on pairs of entries [..., runs] in their order.

    XLA on a CPU vectorises these over the runs, but not its own reduction over a few entries.
    """
    entries = jnp.moveaxis(array, axes, range(len(axes)))
    result = reduce(operation, (entries[index] for index in np.ndindex(entries.shape[: len(axes)])))
    return computed_once(result) if _is_float(array) else result


def _is_float(array: Array) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def _is_threefry(keys: Array) -> bool:
    """Whether JAX would draw from these keys in the way that `_random` repeats."""
    return jax.random.key_impl(keys) == "threefry2x32" and bool(
        getattr(jax.config, "jax_threefry_partitionable", False)
    )


def _random(name: str, parameters: dict[str, Any], inputs: list[Array]) -> Array:
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


def _align(value: Array, has: bool, shape: tuple[int, ...], runs: int) -> Array:
    """An operand of an elementwise operation in the shape of the result, (*shape, runs); `has` as in `Value`."""
    if not has:
        return _spread(value, shape, runs)
    if value.ndim == len(shape) + 1:
        return value
    return jax.lax.broadcast_in_dim(value, (*shape, runs), (len(shape),))  # select_n may choose by one bool a run


def _everywhere(value: Value, runs: int) -> Array:
    """The array with the runs as its last axis; one that all runs share is repeated."""
    array, has = value
    return array if has else _spread(array, jnp.shape(array), runs)


def _spread(value: Array, shape: tuple[int, ...], runs: int) -> Array:
    """An array that all runs share, a scalar or one of this shape, repeated to (*shape, runs)."""
    value = jnp.asarray(value)
    return jax.lax.broadcast_in_dim(value, (*shape, runs), tuple(range(value.ndim)))
