"""Functions on arrays, rewritten as functions on the single numbers of those arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import Array
from jaxbandit.fast.gpu.unrolled.numbers import Numbers, UnsupportedError, bind, constant, objects, runs_of
from jaxbandit.fast.gpu.unrolled.rules import RULES, fold
from jaxbandit.fast.jaxprs import CALLS, ELEMENTWISE, FOLDS, called, evaluate, parts_of_scan


def unrolled(function: Callable[..., Any], *shapes: Any) -> Callable[..., list[Numbers]]:
    """The same function, computed on the single numbers of its arguments one by one.

    A GPU kernel keeps vectors over runs in registers; arrays [K, S, runs] whose sizes are no powers of two it cannot
    keep there. So an array [K, S] is represented by a NumPy array [K, S] of objects, each a scalar or a vector over
    runs. Reshapes, slices and broadcasts are then NumPy's: they happen while tracing and cost the kernel nothing. Reads
    at an index that is known only when the kernel runs become choices among all the numbers that it could mean.

    Args:
      function: of pytrees of arrays; it is traced once.
      shapes: its arguments' `jax.ShapeDtypeStruct`s, in the same pytrees.

    Returns:
      A function that takes one list, the leaves of all arguments as arrays of objects, and returns the leaves of the
      result in the same form.

    Raises:
      UnsupportedError: (from the function returned) an operation, named in the message, has no form on single numbers.

    >>> from jaxbandit.fast.gpu.unrolled import objects, unrolled
    >>> double = unrolled(lambda x: jnp.sum(2 * x[1:]), jax.ShapeDtypeStruct((3,), jnp.float32))
    >>> (total,) = double([objects([jnp.arange(2.0), jnp.ones(2), 3.0])])
    >>> total[()].tolist()
    [8.0, 8.0]
    """
    closed = jax.make_jaxpr(function)(*shapes)

    def apart(leaves: Sequence[Numbers]) -> list[Numbers]:
        return _evaluate(closed.jaxpr, closed.consts, list(leaves))

    return apart


def _evaluate(jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Numbers]) -> list[Numbers]:
    """The outputs of a jaxpr (JAX's trace of a function, a list of equations) for arguments as arrays of objects."""
    return evaluate(jaxpr, consts, arguments, constant, _apply)


def _apply(equation: Any, inputs: list[Numbers]) -> list[Numbers]:
    """The outputs of one equation of a jaxpr, which is one operation on arrays."""
    primitive, parameters, name = equation.primitive, equation.params, equation.primitive.name
    out = equation.outvars[0].aval
    if name in CALLS:
        return _evaluate(*called(parameters), inputs)
    if name in ELEMENTWISE:
        each = functools.partial(bind, primitive, parameters)
        spread = [np.broadcast_to(value, out.shape) for value in inputs]
        return [objects(map(each, *[value.ravel() for value in spread]), out.shape)]
    if name in FOLDS:
        return [fold(FOLDS[name], inputs[0], parameters["axes"])]
    if name == "scan":
        return _scan(parameters, inputs)
    if name in RULES:
        outputs = RULES[name](out, parameters, *inputs)
        return outputs if primitive.multiple_results else [outputs]
    raise UnsupportedError(f"the operation {name} has no form on single numbers")


def _scan(parameters: dict[str, Any], inputs: list[Numbers]) -> list[Numbers]:
    """A loop of fixed length, which stays a loop unless each turn reads or writes a slice.

    In that case every turn is written out: the index of a slice must be known while tracing, because an array of
    objects is no array in the kernel.
    """
    first, end = parts_of_scan(parameters)
    consts, carry, slices = inputs[:first], inputs[first:end], inputs[end:]
    body, length = parameters["jaxpr"], parameters["length"]

    def turn(carry: list[Numbers], *now: Numbers) -> list[Numbers]:
        return _evaluate(body.jaxpr, body.consts, [*consts, *carry, *now])

    if not slices and len(body.jaxpr.outvars) == end - first:
        runs = runs_of(jax.tree.leaves([value.ravel().tolist() for value in inputs]))
        return repeat(0, length, lambda _, carry: turn(carry), carry, runs)
    written: list[list[Numbers]] = []
    order = slice(None, None, -1 if parameters["reverse"] else 1)
    for n in range(length)[order]:
        outputs = turn(carry, *[value[n] for value in slices])
        carry = outputs[: end - first]
        written.append(outputs[end - first :])
    return [*carry, *map(np.stack, zip(*written[order], strict=True))]


def repeat(
    start: Array,
    stop: Array,
    body: Callable[[Array, list[Numbers]], list[Numbers]],
    values: list[Numbers],
    runs: tuple[int, ...],
) -> list[Numbers]:
    """`jax.lax.fori_loop` for values that are arrays of objects.

    Args:
      start, stop: the loop's n runs from start to stop - 1.
      body: of n and the values, to the values of the next turn.
      values: before the first turn.
      runs: the shape of a vector over runs. A loop must carry the same shapes from turn to turn, so each number, also
        a scalar, becomes such a vector.
    """

    def flat(values: list[Numbers]) -> list[Array]:
        leaves = jax.tree.leaves([value.ravel().tolist() for value in values])
        return [jnp.broadcast_to(leaf, runs) for leaf in leaves]

    shapes = [value.shape for value in values]
    structure = jax.tree.structure([value.ravel().tolist() for value in values])

    def whole(leaves: list[Array]) -> list[Numbers]:
        return [objects(entries, shape) for entries, shape in zip(jax.tree.unflatten(structure, leaves), shapes)]

    return whole(jax.lax.fori_loop(start, stop, lambda n, leaves: flat(body(n, whole(leaves))), flat(values)))
