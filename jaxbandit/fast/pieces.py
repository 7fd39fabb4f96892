"""Programs for a CPU as one function of machine code, or, if they are large, as several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit.fast.jaxprs import (
    CALLS,
    ELEMENTWISE,
    UNKNOWN_FORM,
    called,
    evaluate,
    in_precision_of,
    inner_jaxprs,
    needed,
    parts_of_scan,
    primitives,
)
from jaxbandit.fast.slow_paths import slow_path

# Besides elementwise operations and calls, the operations that XLA on a CPU can compile into one function of machine
# code: none of them reduces, sorts, scatters or calls a library.
_IN_ONE_PIECE = frozenset(
    "broadcast_in_dim concatenate cond dynamic_slice dynamic_update_slice gather iota optimization_barrier pad "
    "random_bits random_fold_in random_split random_unwrap random_wrap reshape rev scan slice split squeeze stack "
    "threefry2x32 transpose unstack while".split()
)
_WHOLE = 2500  # operations of a program that stays in one piece
_PIECE = 1500  # operations of a piece, about
_LARGE = 2000  # operations of a loop that is divided; a call in every turn of a smaller one would take too long


def in_pieces(function: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """`function` in one piece (`in_one_piece`), or in several with XLA's own loops around them, if it is large.

    LLVM's time for a function grows with the square of its loops, since each loop that it vectorises makes it forget
    what it knows of all loops within the outermost one. So the loop over the rounds of a large program, and large loops
    within a round, are left to XLA, which calls the pieces in every turn. A call takes less than a tenth of a
    microsecond, and LLVM compiles different pieces on different cores.

    Returns:
      a function of arguments or their shapes, which traces `function`, and returns it for arguments of these shapes. It
      is called outside of `jax.shard_map`, on both sides of which JAX does not find the same traces in its cache.
    """

    def traced(*shapes: Any) -> Callable[..., Any]:
        leaves, structure = jax.tree.flatten(shapes)
        one_device = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        closed, returned = jax.make_jaxpr(
            lambda *leaves: function(*jax.tree.unflatten(structure, leaves)), return_shape=True
        )(*one_device)
        allowed = _allowed(closed)
        large = allowed and _operations(closed.jaxpr) > _WHOLE
        play, otherwise = (_divided, in_one_piece(function)) if large else (_played, function)

        def played(*arguments: Any) -> Any:
            try:
                outputs = play(closed.jaxpr, closed.consts, jax.tree.leaves(arguments))
            except UNKNOWN_FORM as error:  # it was traced without error, so the form of its jaxpr is the cause
                slow_path("compiling large programs", f"the jaxprs of JAX {jax.__version__} are not known here", error)
                return otherwise(*arguments)
            return jax.tree.unflatten(jax.tree.structure(returned), outputs)

        return in_one_piece(played) if allowed and not large else played

    return traced


def in_one_piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which XLA compiles for a CPU into one function of machine code, if all its operations allow that.

    Otherwise XLA makes many functions, each of a few operations, and starts them in turn. A start takes
    60 ns, and much more where XLA shares the functions out among threads; a round of bandits is 20 to 140 of them. The
    request is a mark that XLA itself puts on loops over few bytes; a version of XLA that does not know the mark ignores
    it and compiles as before.
    """
    once = jax.jit(function)

    def marked(*arguments: Any) -> Any:
        try:
            from jax.experimental.xla_metadata import set_xla_metadata

            closed = jax.make_jaxpr(once)(*arguments)
            empty = any(aval.size == 0 for aval in [*closed.in_avals, *closed.out_avals])  # XLA stops the process there
            if _allowed(closed) and not empty:
                using_all = jax.jit(lambda *arguments: _using_all(once, arguments, closed.jaxpr))
                return set_xla_metadata(using_all(*arguments), inlineable="false", xla_cpu_small_call="true")
        except (ImportError, AttributeError, TypeError) as error:
            played = function(*arguments)  # which fails as well, unless JAX has no such mark or another form of jaxprs
            slow_path("programs in one piece", f"JAX {jax.__version__} does not mark them as expected", error)
            return played
        return function(*arguments)

    return marked


def _allowed(closed: Any) -> bool:
    return set(primitives(closed.jaxpr)) <= _IN_ONE_PIECE | ELEMENTWISE | CALLS


def _using_all(function: Callable[..., Any], arguments: Any, jaxpr: Any) -> Any:
    """The results of a function, which depend on every argument in a way that XLA cannot see through.

    XLA ends the whole process when a function that it compiles in one piece does not use one of its arguments, which
    happens to a policy whose `scores` contain `0 * self.bonus`. So the first number of a result is multiplied by a 1
    that is made of all arguments: a quotient, since XLA would repeat cheaper operations in every consumer. So is the
    argument on which most results depend: then all arguments have been read before most results are written, and XLA
    can write these in the place of an argument. Otherwise it copies all that a loop carries in every turn, as it does
    with a large result of which every number is multiplied.
    """
    leaves, structure = jax.tree.flatten(arguments)
    numbers = [jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in leaves]
    first = [_first_number(leaf) for leaf in numbers if leaf.size]
    if not first:
        return function(*arguments)
    read = sum(number.astype(jnp.float32) for number in first)
    zero = jnp.minimum(jnp.where(read == read, jnp.abs(read), 0), 0)
    one = 1 / (1 + zero)
    depending = _depending_on(jaxpr)
    usable = [n for n, leaf in enumerate(leaves) if not _is_key(leaf)]
    if usable:
        most = max(usable, key=lambda n: (sum(n in inputs for inputs in depending), -leaves[n].size))
        leaves[most] = leaves[most] * one.astype(leaves[most].dtype)
    results, of_results = jax.tree.flatten(function(*jax.tree.unflatten(structure, leaves)))
    smallest = min((n for n, leaf in enumerate(results) if not _is_key(leaf)), key=lambda n: results[n].size)
    result = results[smallest]
    product = jax.lax.slice(result, [0] * result.ndim, [1] * result.ndim) * one.astype(result.dtype)
    results[smallest] = jax.lax.dynamic_update_slice(result, product, [0] * result.ndim)
    return jax.tree.unflatten(of_results, results)


def _first_number(array: Array) -> Array:
    return jax.lax.squeeze(jax.lax.slice(array, [0] * array.ndim, [1] * array.ndim), range(array.ndim))


def _depending_on(jaxpr: Any) -> list[frozenset[int]]:
    """The numbers of the inputs on which each output of a jaxpr may depend."""
    inputs = {variable: frozenset([n]) for n, variable in enumerate(jaxpr.invars)}

    def of(atoms: Sequence[Any]) -> list[frozenset[int]]:
        return [inputs.get(atom, frozenset()) if not hasattr(atom, "val") else frozenset() for atom in atoms]

    for equation in jaxpr.eqns:
        read = of(equation.invars)
        if equation.primitive.name in CALLS:
            inner = _depending_on(called(equation.params)[0])
            written = [frozenset().union(*(read[n] for n in numbers)) for numbers in inner]
        else:
            written = [frozenset().union(*read)] * len(equation.outvars)
        inputs.update(zip(equation.outvars, written, strict=True))
    return of(jaxpr.outvars)


def _is_key(leaf: Array) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key))


def _operations(jaxpr: Any) -> int:
    """The number of operations of a jaxpr, those of its loops counted once."""
    return sum(_operations_of(equation) for equation in jaxpr.eqns)


def _operations_of(equation: Any) -> int:
    return sum(map(_operations, inner_jaxprs(equation))) or 1


def _is_large_loop(equation: Any) -> bool:
    """Whether an equation is a large loop, or calls a program with one."""
    if equation.primitive.name in CALLS:
        return any(map(_is_large_loop, called(equation.params)[0].eqns))
    return equation.primitive.name in ("scan", "while") and _operations_of(equation) > _LARGE


def _divided(jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Array]) -> list[Array]:
    """The outputs of a jaxpr; what stands between its large loops is one piece or several of similar size."""
    values: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

    def read(variable: Any) -> Any:
        return variable.val if hasattr(variable, "val") else values[variable]

    equations = needed(jaxpr)
    last_read = {variable: n for n, equation in enumerate(equations) for variable in _variables(equation.invars)}
    last_read.update(dict.fromkeys(_variables(jaxpr.outvars), len(equations)))
    start = 0
    for end in [*(n for n, equation in enumerate(equations) if _is_large_loop(equation)), len(equations)]:
        for first, behind in pairwise([start, *_cuts(equations, start, end), end]):
            made = dict.fromkeys(v for equation in equations[first:behind] for v in equation.outvars)
            if outputs := [variable for variable in made if last_read.get(variable, 0) >= behind]:
                met = dict.fromkeys(v for equation in equations[first:behind] for v in _variables(equation.invars))
                inputs = [variable for variable in met if variable not in made]
                part = SimpleNamespace(constvars=[], invars=inputs, eqns=equations[first:behind], outvars=outputs)
                results = in_one_piece(lambda *arrays, part=part: _played(part, [], arrays))(*map(read, inputs))
                values.update(zip(outputs, results, strict=True))
        if end < len(equations):
            loop = equations[end]
            values.update(zip(loop.outvars, _looped(loop, [read(v) for v in loop.invars]), strict=True))
        start = end + 1
    return [read(variable) for variable in jaxpr.outvars]


def _cuts(equations: Sequence[Any], start: int, end: int) -> list[int]:
    """Where the equations from `start` to `end` are cut into pieces of about `_PIECE` operations."""
    operations = list(accumulate(map(_operations_of, equations[start:end])))
    total = operations[-1] if operations else 0
    pieces = -(-total // _PIECE)
    wanted = [total * n / pieces for n in range(1, pieces)]
    nearest = {min(range(len(operations)), key=lambda n: abs(operations[n] - place)) for place in wanted}
    return sorted(start + n + 1 for n in nearest if n + 1 < len(operations))


def _looped(equation: Any, inputs: list[Array]) -> Sequence[Array]:
    """The outputs of a large loop, whose turns are divided, or of a call with such a loop."""
    parameters = equation.params
    if equation.primitive.name in CALLS:
        return _divided(*called(parameters), inputs)
    if equation.primitive.name == "while":
        first = parameters["cond_nconsts"]
        second = first + parameters["body_nconsts"]
        of_end, of_turn, begin = inputs[:first], inputs[first:second], inputs[second:]
        end, body = parameters["cond_jaxpr"], parameters["body_jaxpr"]
        goes_on = in_one_piece(lambda *arrays: _played(end.jaxpr, end.consts, arrays)[0])
        outputs: Sequence[Array] = jax.lax.while_loop(
            lambda carry: goes_on(*of_end, *carry),
            lambda carry: _divided(body.jaxpr, body.consts, [*of_turn, *carry]),
            begin,
        )
        return outputs
    first, second = parts_of_scan(parameters)
    consts, begin, slices = inputs[:first], inputs[first:second], inputs[second:]
    body = parameters["jaxpr"]

    def turn(carry: list[Array], slices: list[Array]) -> tuple[list[Array], list[Array]]:
        outputs = _divided(body.jaxpr, body.consts, [*consts, *carry, *slices])
        return outputs[: len(carry)], outputs[len(carry) :]

    carry, collected = jax.lax.scan(turn, begin, slices, parameters["length"], parameters["reverse"])
    return [*carry, *collected]


def _played(jaxpr: Any, consts: Sequence[Array], arguments: Sequence[Array]) -> list[Array]:
    """The outputs of a jaxpr, by its own operations."""

    def apply(equation: Any, inputs: list[Array]) -> Sequence[Array]:
        if equation.primitive.name in CALLS:
            return _played(*called(equation.params), inputs)
        with in_precision_of(equation):
            outputs = equation.primitive.bind(*inputs, **equation.params)
        return outputs if equation.primitive.multiple_results else [outputs]

    return evaluate(jaxpr, consts, arguments, lambda array: array, apply)


def _variables(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if not hasattr(atom, "val")]
