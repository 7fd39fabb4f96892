"""Traces of all methods for one run: a hash of the computation, and shapes that are checked before compilation.

The library's own code does not change within a process: it is traced once for a class, its static fields and all
shapes. A user's code is traced at every call without JAX's cache of traces, so that whatever a method reads (a list, an
attribute, a function of another module) is read again. Compiled programs are looked up by the hash of the trace.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit import members
from jaxbandit.base import Feedback, Shows
from jaxbandit.fast import kept_programs
from jaxbandit.members import declares, means_now
from jaxbandit.simulation.asking.user_code import MethodError, call, identified_by_text, method
from jaxbandit.simulation.dynamic_regret import DYNAMIC, EXTERNAL, no_regret, records_of
from jaxbandit.simulation.library_code import trusted
from jaxbandit.sums import TwoFloats

# JAX caches the trace of a function separately for each value of this context.
reading: Callable[[Any], AbstractContextManager[Any]] = jax.make_user_context(None)
_anew = itertools.count()
VISITS = "visits"  # the name of the visits among what is recorded, which nothing else may have


class Program(NamedTuple):
    """The trace of a policy, an environment or a recorder."""

    hash: str
    shapes: Any  # of a policy's state, or of a recorder's result; `EnvironmentShapes` of an environment
    fixed: bool  # whether its code cannot change within the process
    name: str = ""  # under which it is kept in a file; empty if it is not


class EnvironmentShapes(NamedTuple):
    """The shapes of an environment's state, feedback and records."""

    state: Any
    feedback: Feedback
    records: dict[str, Any]  # by name, the records of the state
    first: Any  # the states for a policy's `init`, [K], or None
    dynamic: Any = None  # of `DynamicRegret`, or None


class Size(NamedTuple):
    """The numbers that determine the shapes of all arguments, besides the shapes of the fields."""

    arms: int
    states: int
    plays: int
    real: Any


class Traced(NamedTuple):
    """The traces of the environment, the policies and the recorders."""

    environment: Program
    policies: dict[str, Program]
    recorders: dict[str, dict[str, Program]]

    def code(self, label: str) -> tuple[str, ...] | None:
        """The hashes on which a policy's compiled program depends; None if none of the code can change."""
        parts = [self.environment, self.policies[label], *self.recorders[label].values()]
        return None if all(part.fixed for part in parts) else tuple(part.hash for part in parts)


def environment_program(where: str, environment: Any, size: Size) -> Program:
    """The trace of an environment, with the shapes of its state, feedback and records.

    Args:
      where: the argument, for errors.
      environment: one, as shapes.
    """
    return _of(_environment, where, environment, size)


def policy_program(where: str, policy: Any, size: Size, shown: EnvironmentShapes, shuffle: bool = False) -> Program:
    """The trace of a policy, with the shapes of its state.

    Args:
      where: the argument, for errors.
      policy: one, as shapes.
      shown: of the environment.
      shuffle: whether arms are reordered.
    """
    optional = ((name, getattr(shown.feedback, name)) for name in Feedback._field_defaults)
    fields = tuple((name, shape) for name, shape in optional if shape is not None)
    return _of(_policy, where, policy, size, fields, shown.first, shuffle)


def recorder_program(where: str, recorder: Any, environment_state: Any, policy_state: Any, policy: Any) -> Program:
    """The trace of a recorder for one run, with the shape of its result."""
    try:
        with reading(next(_anew)):
            returned, pieces = call(recorder, environment_state, policy_state, _ROUND, policy)
    except MethodError as fault:
        raise ValueError(f"{where}: {fault}") from fault.__cause__
    return Program(_hash(pieces), returned, fixed=False)


def one_of(stacked: Any) -> Any:
    """The shapes of one of several stacked objects."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], jnp.result_type(leaf)), stacked)


def _of(program: Callable[..., Program], where: str, thing: Any, *rest: Any) -> Program:
    try:
        if trusted(thing):
            leaves, structure = jax.tree.flatten(thing)
            return _once(program, structure, tuple(leaves), rest)
        with reading(next(_anew)):
            return program(thing, *rest)._replace(fixed=False)
    except MethodError as fault:
        raise ValueError(f"{where}.{fault}") from fault.__cause__


@lru_cache(maxsize=1000)
def _once(program: Callable[..., Program], structure: Any, leaves: tuple[Any, ...], rest: Any) -> Program:
    thing = jax.tree.unflatten(structure, leaves)
    if kept_programs.folder() is None or not (identified_by_text(thing) and all(map(identified_by_text, rest))):
        return program(thing, *rest)
    kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
    name = kept_programs.key(program.__name__, kind, str(structure), leaves, rest)
    kept = kept_programs.read("trace", name)
    if isinstance(kept, Program):
        return kept
    traced = program(thing, *rest)._replace(name=name)
    kept_programs.write("trace", name, traced)
    return traced


def _environment(environment: Any, size: Size) -> Program:
    played = jax.ShapeDtypeStruct((size.plays,), jnp.int32)
    initial, pieces = method("init", environment, _key())
    returned, more = method("step", environment, _key(), initial, played, _ROUND)
    if not (isinstance(returned, tuple) and len(returned) == 2 and isinstance(returned[1], Feedback)):
        raise MethodError(f"step: returns {_kind(returned)}, not a pair of a state and a Feedback")
    following, feedback = returned
    state = _settled(
        "step", initial, following, lambda state: method("step", environment, _key(), state, played, _ROUND)[0][0]
    )
    _check_feedback(feedback, size, declares(environment).shows)
    pieces += more
    first: Any = None
    records: dict[str, Any] = {}
    if declares(environment).pairing == "shared":
        first, more = method("shown", environment, state)
        if getattr(first, "shape", None) != (size.arms,):
            raise MethodError(f"shown: must return the visible states, an array [K] = ({size.arms},)")
        pieces += more
    if members.records(environment) is not None:
        records, more = method("records", environment, state)
        pieces += more
        wrong = [name for name, shape in records.items() if not isinstance(shape, TwoFloats | jax.ShapeDtypeStruct)]
        if wrong:
            raise MethodError(f"records: {wrong[0]!r} is neither an array nor a TwoFloats")
        taken = [name for name in records if not isinstance(name, str) or not name or "/" in name or name == VISITS]
        if taken:
            raise MethodError(f'records: {taken[0]!r} is not a text without "/", or the name of the visits')
        if reserved := records.keys() & {DYNAMIC, EXTERNAL}:
            raise MethodError(f"records: {min(reserved)!r} is recorded by simulate; give the environment means_now")
    dynamic: Any = None
    if means_now(environment) is not None:
        means, more = method("means_now", environment, state, _ROUND)
        shapes = {getattr(part, "shape", None) for part in (means if isinstance(means, TwoFloats) else [means])}
        if shapes != {(size.arms,)}:
            raise MethodError(f"means_now: must return the mean reward of each arm, an array [K] = ({size.arms},)")
        dynamic, _ = call(no_regret, environment, _key())
        dynamic = dynamic._replace(oracle=None if dynamic.oracle is None else state)
        recorded, last = call(records_of, environment, dynamic, _ROUND)
        pieces += more + last
        records = records | recorded
    return Program(_hash(pieces), EnvironmentShapes(state, feedback, records, first, dynamic), fixed=True)


def _check_feedback(feedback: Feedback, size: Size, shows: Shows) -> None:
    numbers = {"arms": size.plays, "before": size.plays, "states": size.plays}
    for name, length in numbers.items() if feedback.shown is None else {**numbers, "shown": size.arms}.items():
        array = getattr(feedback, name)
        if (getattr(array, "shape", None), getattr(array, "dtype", None)) != ((length,), jnp.int32):
            axes = "[K]" if name == "shown" else "[M]"
            raise MethodError(f"step: {name} is not {axes} int32, {length} of them, but {_kind(array)}")
    if getattr(feedback.rewards, "shape", None) != (size.plays,):
        raise MethodError(f"step: rewards is not [M] = ({size.plays},), but {_kind(feedback.rewards)}")
    if getattr(feedback.all_rewards, "shape", None) != ((size.arms,) if shows == "all" else None):
        wanted = f"[K] = ({size.arms},)" if shows == "all" else 'None, unless the environment declares shows="all"'
        raise MethodError(f"step: all_rewards is not {wanted}, but {_kind(feedback.all_rewards)}")


def _policy(policy: Any, size: Size, fields: Any, first: Any, shuffle: bool) -> Program:
    of_plays = [jax.ShapeDtypeStruct((size.plays,), kind) for kind in (jnp.int32, jnp.int32, jnp.int32, size.real)]
    feedback = Feedback(*of_plays, t=_ROUND, **dict(fields))  # type: ignore[arg-type,misc]
    init_arguments = [jax.ShapeDtypeStruct((size.arms, size.states), size.real), *([] if first is None else [first])]
    initial, pieces = method("init", policy, *init_arguments)
    for path, leaf in jax.tree_util.tree_flatten_with_path(initial)[0]:
        if size.states == 0 and 0 in leaf.shape:
            raise MethodError(
                f"init: state{jax.tree_util.keystr(path)} is {_short(leaf)}, an array with no entries, because these "
                "rewards have no finite table; keep plays and sums of feedback.rewards (see policies.memory)"
            )
    returned, more = method("scores", policy, _key(), initial, _ROUND)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise MethodError(
            f"scores: returns {_kind(returned)}, not a pair; write `return scores, state`, where the state is the one "
            "that goes on to update"
        )
    _check_form("scores", initial, returned[1])
    scores, kept = returned
    if getattr(scores, "shape", None) != (size.arms,):
        raise MethodError(f"scores: {_kind(scores)} is not [K] = ({size.arms},)")
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        raise MethodError(f"scores: {scores.dtype} is not a float")
    pieces += more
    following, last = method("update", policy, kept, feedback)
    state = _settled("update", initial, following, lambda state: _after_round(policy, state, feedback))
    pieces += last
    if members.probabilities(policy) is not None:
        chances, more = method("probabilities", policy, state, _ROUND)
        if getattr(chances, "shape", None) != (size.arms,) or not jnp.issubdtype(chances.dtype, jnp.floating):
            raise MethodError(f"probabilities: {_kind(chances)} is not [K] = ({size.arms},) floats")
        pieces += more
    if members.stops(policy) is not None:
        for name, kind in (("stop", jnp.bool_), ("answer", jnp.int32)):
            value, more = method(name, policy, state, _ROUND)
            if getattr(value, "shape", None) != () or value.dtype != kind:
                raise MethodError(f"{name}: {_kind(value)} is not one {jnp.dtype(kind).name}")
            pieces += more
    return Program(_hash(pieces), state, fixed=True)


def _after_round(policy: Any, state: Any, feedback: Feedback) -> Any:
    """The shapes of a policy's state after a round, from those before it."""
    (_, kept), _ = method("scores", policy, _key(), state, _ROUND)
    return method("update", policy, kept, feedback)[0]


def _settled(method: str, initial: Any, following: Any, again: Callable[[Any], Any]) -> Any:
    """The fixed shapes and types of a state; a weak type of the initial state becomes that of the next state.

    Args:
      initial, following: the states before and after the first round.
      again: a function from the state before a round to the state after it.
    """
    _check_form(method, initial, following)
    settled = jax.tree.map(
        lambda old, new: jax.ShapeDtypeStruct(old.shape, new.dtype) if old.weak_type else old, initial, following
    )
    kept = jax.tree_util.tree_flatten_with_path(settled)[0]
    after = again(settled) if any(leaf.weak_type for leaf in jax.tree.leaves(initial)) else following
    _check_form(method, initial, after)
    for (path, old), new in zip(kept, jax.tree.leaves(after), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            place = f"state{jax.tree_util.keystr(path)}"
            raise MethodError(
                f"{method}: {place} was {_short(old)} and becomes {_short(new)}; shapes and types must not change"
            )
    return settled


def _check_form(method: str, initial: Any, following: Any) -> None:
    if following is None and initial is not None:
        raise MethodError(f"{method}: returns None; return the state after the round")
    before: Any = jax.tree.structure(initial)
    after: Any = jax.tree.structure(following)
    if before != after:
        raise MethodError(f"{method}: a state of the form {before} becomes one of the form {after}; it must not change")


def _kind(value: Any) -> str:
    return f"an array {_short(value)}" if isinstance(value, jax.ShapeDtypeStruct) else type(value).__name__


def _short(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"


_ROUND = jax.ShapeDtypeStruct((), jnp.int32)


def _key() -> Any:
    return jax.eval_shape(partial(jax.random.key, 0, impl="threefry2x32"))


def _hash(pieces: list[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()[:16]
