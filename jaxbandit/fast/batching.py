"""A `vmap` over runs that keeps the runs as the last axis, in every step of the program and not only at its ends.

The function is traced for one run, and the trace (a jaxpr: a list of equations, one for each operation) is evaluated
again with arrays [..., runs]. `evaluate` does this for values of any kind; `unrolled` uses it, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.lax import GatherScatterMode

from jaxbandit.fast import comparisons
from jaxbandit.fast.jaxprs import (
    CALLS,
    ELEMENTWISE,
    FOLDS,
    UNKNOWN_FORM,
    called,
    depending,
    evaluate,
    in_precision_of,
    out_of_bounds,
    parts_of_scan,
    points,
)
from jaxbandit.fast.random_bits import RANDOM, drawn, is_known
from jaxbandit.fast.slow_paths import PLAIN, slow_path

# Names of JAX's primitives that act along given axes; others are in `jaxprs` and `random_bits`.
ALONG_AXES = frozenset(
    "argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum squeeze unstack".split()
)
BLOCKS = {"dynamic_slice": 1, "dynamic_update_slice": 2}  # how many arrays precede the indices


def over_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.vmap(function, in_axes=-1, out_axes=-1)`, computed with the runs last throughout.

    JAX's own `vmap` moves the batch axis to the front wherever an array with it meets an array without it. A round of
    a bandit then works on arrays [runs, arms] whose fastest axis is a handful of arms, which no compiler vectorises
    well, and transposes between the two orders. Here elementwise operations, broadcasts, slices and reductions work on
    [arms, runs], and single entries are read and written by comparison (`comparisons`). Any other operation that a
    policy uses goes through `vmap`, or is computed for one run after the other where JAX has no rule for many. The
    whole function goes through `vmap` under a JAX version whose jaxprs have another form. In both cases there is one
    `SlowPathWarning`.

    Args:
      function: of pytrees of arrays of one run, to a pytree of arrays.

    Returns:
      the same function of pytrees; all leaves, also those of its result, have the runs as their last axis.

    >>> over_runs(lambda x: x - jnp.arange(2.0))(jnp.ones((2, 3))).tolist()
    [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    plain = jax.vmap(function, in_axes=-1, out_axes=-1)
    if PLAIN:
        return plain

    def batched(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        runs = leaves[0].shape[-1]
        one = [jax.ShapeDtypeStruct(leaf.shape[:-1], leaf.dtype) for leaf in leaves]
        closed, shape = jax.make_jaxpr(
            lambda *values: function(*jax.tree.unflatten(structure, values)), return_shape=True
        )(*one)
        try:
            outputs = _evaluate(closed.jaxpr, closed.consts, [(leaf, True) for leaf in leaves], runs)
        except UNKNOWN_FORM as error:  # the function was traced without error, so the form of its jaxpr is the cause
            played = plain(*arguments)
            slow_path("rounds of many runs", f"the jaxprs of JAX {jax.__version__} are not known here", error)
            return played
        full = [_everywhere(value, runs) for value in outputs]
        return jax.tree.unflatten(jax.tree.structure(shape), full)

    return batched


Value = tuple[Array, bool]  # an array, and whether its last axis is the runs; if not, all runs share it


def _evaluate(jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Value], runs: int) -> list[Value]:
    """The outputs of a jaxpr that was traced for one run, for this number of runs."""

    def apply(equation: Any, inputs: list[Value]) -> list[Value]:
        with in_precision_of(equation):
            return _apply(equation, inputs, runs)

    return evaluate(jaxpr, consts, arguments, lambda array: (array, False), apply)


def _apply(equation: Any, inputs: list[Value], runs: int) -> list[Value]:
    """The outputs of one equation: the primitive itself with the runs as one more axis, last, or `jax.vmap` of it."""
    primitive, parameters, name = equation.primitive, equation.params, equation.primitive.name
    if name in CALLS:
        return _evaluate(*called(parameters), inputs, runs)
    if name == "reshard":
        return inputs  # within one device's share there is nothing to move
    batched = any(per_run for _, per_run in inputs)
    if name == "custom_vmap_call" and batched:
        runs_last = getattr(getattr(parameters["rule"], "__wrapped__", None), "runs_last", None)
        if runs_last is not None:  # `on_demand.where_needed`
            return [(leaf, True) for leaf in runs_last([_everywhere(value, runs) for value in inputs])]
    if name == "scan" and batched:
        return _scan(parameters, inputs, runs)
    if name == "while" and batched:
        return _while(parameters, inputs, runs)
    if name in ("gather", "scatter", "scatter-add") and batched:
        result = _by_comparison(name, equation, inputs, runs)
        if result is not None:
            return [(result, True)]
    if not batched:
        arrays = [value for value, _ in inputs]
    elif name in ELEMENTWISE:
        shape = equation.outvars[0].aval.shape
        arrays = [_align(value, per_run, shape, runs) for value, per_run in inputs]
    elif name in FOLDS and comparisons.is_short(inputs[0][0], parameters["axes"]):
        return [(comparisons.fold(FOLDS[name], inputs[0][0], parameters["axes"]), True)]
    elif name in ALONG_AXES:
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
    elif name == "transpose":
        arrays = [inputs[0][0]]
        parameters = {"permutation": (*parameters["permutation"], len(parameters["permutation"]))}
    elif name in BLOCKS and not any(per_run for _, per_run in inputs[BLOCKS[name] :]):
        starts = [value for value, _ in inputs[BLOCKS[name] :]]
        arrays = [*(_everywhere(value, runs) for value in inputs[: BLOCKS[name]]), *starts, jnp.zeros_like(starts[0])]
        if name == "dynamic_slice":
            parameters = {**parameters, "slice_sizes": (*parameters["slice_sizes"], runs)}
    elif name == "concatenate":
        arrays = [_everywhere(value, runs) for value in inputs]
    elif name in RANDOM and parameters.get("bit_width", 32) == 32 and is_known(name, inputs[0][0]):
        return [(drawn(name, parameters, [_everywhere(value, runs) for value in inputs]), True)]
    else:
        outputs = _by_vmap(lambda *arrays: primitive.bind(*arrays, **parameters), inputs, name)
        return [(output, True) for output in (outputs if primitive.multiple_results else [outputs])]
    outputs = primitive.bind(*arrays, **parameters)
    return [(output, batched) for output in (outputs if primitive.multiple_results else [outputs])]


def _by_vmap(bind: Callable[..., Any], inputs: list[Value], name: str) -> Any:
    """An operation on all runs by its batching rule; where JAX has none, on one run after the other."""
    try:
        return jax.vmap(bind, in_axes=[-1 if per_run else None for _, per_run in inputs], out_axes=-1)(
            *[x for x, _ in inputs]
        )
    except NotImplementedError:

        def of_run(batched: list[Array]) -> Any:
            values_of_run = iter(batched)
            return bind(*(next(values_of_run) if per_run else value for value, per_run in inputs))

        slow_path(f"the operation {name}", "JAX cannot compute it for many runs at once")
        outputs = jax.lax.map(of_run, [jnp.moveaxis(value, -1, 0) for value, per_run in inputs if per_run])
        return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, -1), outputs)


def _scan(parameters: dict[str, Any], inputs: list[Value], runs: int) -> list[Value]:
    """A loop of fixed length. All that it carries gets the axis of the runs, which a turn may add to it."""
    first, end = parts_of_scan(parameters)
    consts, slices = inputs[:first], inputs[end:]
    start = [_everywhere(value, runs) for value in inputs[first:end]]
    body = parameters["jaxpr"]

    def step(carry: list[Array], xs: list[Array]) -> tuple[list[Array], list[Array]]:
        values = [*consts, *((value, True) for value in carry)]
        values += [(value, per_run) for value, (_, per_run) in zip(xs, slices, strict=True)]
        outputs = _evaluate(body.jaxpr, body.consts, values, runs)
        full = [_everywhere(value, runs) for value in outputs]
        return full[: end - first], full[end - first :]

    carry, collected = jax.lax.scan(
        step,
        start,
        [value for value, _ in slices],
        length=parameters["length"],
        reverse=parameters["reverse"],
        unroll=parameters["unroll"],
    )
    return [(value, True) for value in [*carry, *collected]]


def _while(parameters: dict[str, Any], inputs: list[Value], runs: int) -> list[Value]:
    """A loop that ends for all runs together or, if its end depends on the run, when the last run has ended.

    A run that has ended keeps what it had.
    """
    first = parameters["cond_nconsts"]
    second = first + parameters["body_nconsts"]
    of_end, of_turn, start = inputs[:first], inputs[first:second], inputs[second:]
    condition, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
    per_run = [per_run for _, per_run in start]
    for _ in per_run:  # an iteration may pass the axis of the runs on from one value to the next
        after = depending(body.jaxpr, [*(per_run for _, per_run in of_turn), *per_run])
        per_run = [before or now for before, now in zip(per_run, after, strict=True)]
    differ = any(depending(condition.jaxpr, [*(per_run for _, per_run in of_end), *per_run]))
    if differ:
        per_run = [True] * len(per_run)

    def full(values: Sequence[Value]) -> list[Array]:
        return [_everywhere(value, runs) if wide else value[0] for value, wide in zip(values, per_run, strict=True)]

    def unfinished(carry: Any) -> Array:
        values = [*of_end, *zip(carry, per_run, strict=True)]
        return _evaluate(condition.jaxpr, condition.consts, values, runs)[0][0]

    def goes_on(carry: Any) -> Array:
        return comparisons.any_of(unfinished(carry)) if differ else unfinished(carry)

    def turned(carry: Any) -> list[Array]:
        values = [*of_turn, *zip(carry, per_run, strict=True)]
        after = full(_evaluate(body.jaxpr, body.consts, values, runs))
        if not differ:
            return after
        goes = unfinished(carry)
        return [jnp.where(goes, new, old) for new, old in zip(after, carry, strict=True)]

    return list(zip(jax.lax.while_loop(goes_on, turned, full(start)), per_run, strict=True))


def _by_comparison(name: str, equation: Any, inputs: list[Value], runs: int) -> Array | None:
    """Single entries read or written by comparing; None where that cannot be done or does not pay."""
    (values, per_run), index = inputs[0], inputs[1]
    shape = values.shape[:-1] if per_run else values.shape
    many = equation.invars[1].aval.shape[:-1]
    wanted = points(name, equation.params, shape)
    is_key = jnp.issubdtype(values.dtype, jax.dtypes.prng_key)
    # of whole slices that are read, one place each is compared; XLA's gather would read them number by number
    each = shape if wanted is None or name != "gather" else shape[: len(wanted.axes)]
    compared = math.prod(each) * (math.prod(many) if name == "gather" else 1)
    too_large = compared > comparisons.MOST_READ or (name == "scatter" and math.prod(many) > 32)
    if wanted is None or is_key or too_large or not shape or (name == "gather" and not per_run):
        return None  # for a constant table XLA's own gather is as fast
    shape, rest = shape[: len(wanted.axes)], shape[len(wanted.axes) :]
    whole = equation.outvars[0].aval.shape if name == "gather" else equation.invars[2].aval.shape
    if rest and (math.prod(shape) > 32 or whole != (*many, *rest) or wanted.behind[0] != len(many)):
        return None
    values, indices = _everywhere((values, per_run), runs), _everywhere(index, runs)
    at = {axis: indices[..., n, :] for n, axis in enumerate(wanted.axes)}
    fills = wanted.mode == GatherScatterMode.FILL_OR_DROP
    clamps = wanted.mode == GatherScatterMode.CLIP or (name == "gather" and not fills)  # XLA clips in both cases
    if clamps and (len(shape) > 1 or rest):
        at = {axis: jnp.clip(where, 0, shape[axis] - 1) for axis, where in at.items()}
    places = comparisons.place([at[axis] for axis in range(len(shape))], shape)
    if name == "gather":
        entries = comparisons.read_whole(values, places) if rest else comparisons.read(values, places, clamps)
        missing = jnp.reshape(places < 0, (*many, *[1] * len(rest), runs))
        return jnp.where(missing, out_of_bounds(wanted.fill, values.dtype), entries) if fills else entries
    if wanted.mode == GatherScatterMode.CLIP and len(shape) == 1:
        places = jnp.clip(places, 0, shape[0] - 1)
    new = _everywhere(inputs[2], runs).reshape(-1, *rest, runs)
    change = comparisons.write if name == "scatter" else comparisons.add
    return change(values, places.reshape(-1, runs), new)


def _align(value: Array, per_run: bool, shape: tuple[int, ...], runs: int) -> Array:
    """An operand of an elementwise operation in the shape of the result, (*shape, runs); `per_run` as in `Value`."""
    if not per_run:
        return _spread(value, shape, runs)
    if value.ndim == len(shape) + 1:
        return value
    return jax.lax.broadcast_in_dim(value, (*shape, runs), (len(shape),))  # select_n may choose by one bool a run


def _everywhere(value: Value, runs: int) -> Array:
    """The array with the runs as its last axis; one that all runs share is repeated."""
    array, per_run = value
    return array if per_run else _spread(array, jnp.shape(array), runs)


def _spread(value: Array, shape: tuple[int, ...], runs: int) -> Array:
    """An array that all runs share, a scalar or one of this shape, repeated to (*shape, runs)."""
    value = jnp.asarray(value)
    return jax.lax.broadcast_in_dim(value, (*shape, runs), tuple(range(value.ndim)))
