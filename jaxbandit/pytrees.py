"""Dataclasses that are pytrees of their numbers, and how several of the same structure are stacked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import GetAttrKey

from jaxbandit.texts import short

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=False, field_specifiers=(dataclasses.field,))
def pytree(cls: type[T]) -> type[T]:
    """Make `cls` a frozen dataclass that is a pytree of its numbers.

    Fields are leaves, so a new value never recompiles; a field declared with `static()` changes the program. Its text
    (`repr`) lists short arrays and says of longer ones their type, shape and range; it leaves out fields declared with
    `dataclasses.field(repr=False)`.

    >>> @pytree
    ... class Constant:
    ...     value: float = 1.0
    >>> jax.tree.map(lambda x: 2 * x, Constant(3.0))
    Constant(value=6.0)
    """
    if not isinstance(cls, type):
        raise ValueError(f"cls: {cls!r} is not a class")
    if "__dataclass_fields__" in vars(cls):  # a second time would undo `static()`
        raise ValueError(f"cls: {cls.__name__} is a dataclass already; write the class without that decorator")
    try:
        made: type[T] = dataclasses.dataclass(frozen=True, repr="__repr__" in vars(cls))(cls)
    except TypeError as error:
        raise ValueError(f"cls: {cls.__name__} cannot be a dataclass: {error}") from error
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    leaves = [field.name for field in fields if not field.metadata.get("static", False)]
    fixed = [field.name for field in fields if field.metadata.get("static", False)]

    # Not `jax.tree_util.register_dataclass`: in JAX 0.10 the structures of two classes with equal fields compare equal,
    # so that where hashes collide the compiled program of one is used for the other. Here the class is compared.
    def flatten(thing: Any) -> tuple[list[Any], Any]:
        return [getattr(thing, name) for name in leaves], (made, *[getattr(thing, name) for name in fixed])

    def flatten_with_keys(thing: Any) -> tuple[list[Any], Any]:
        return [(GetAttrKey(name), getattr(thing, name)) for name in leaves], flatten(thing)[1]

    def unflatten(structure: Any, values: Any) -> Any:
        return made(**dict(zip(leaves, values)), **dict(zip(fixed, structure[1:])))

    def text(thing: Any) -> str:
        texts = (f"{field.name}={short(getattr(thing, field.name))}" for field in fields if field.repr)
        return f"{made.__qualname__}({', '.join(texts)})"

    if "__repr__" not in vars(cls):
        made.__repr__ = text  # type: ignore[method-assign]
    jax.tree_util.register_pytree_with_keys(made, flatten_with_keys, unflatten, flatten)
    return made


def static(default: Any = dataclasses.MISSING) -> Any:
    """Declare a field of a `pytree` that is part of the program (a solver's name, a loop count), not a leaf.

    >>> @pytree
    ... class Named:
    ...     name: str = static("a")
    >>> jax.tree.leaves(Named("b"))
    []
    """
    return dataclasses.field(default=default, metadata={"static": True})


def per_arm(default: Any = dataclasses.MISSING, *, numbers: bool = False, last: bool = False) -> Any:
    """Declare a field of a `pytree` that has one entry an arm along its first axis, for `simulate(shuffle=True)`.

    Args:
      numbers: True where the field's entries, of any axes, are numbers of arms.
      last: True where the entries stand along the last axis.

    >>> @pytree
    ... class Fixed:
    ...     means: np.ndarray = per_arm()
    >>> in_order(Fixed(np.array([0.25, 0.5, 0.75])), np.array([2, 0, 1])).means.tolist()
    [0.75, 0.25, 0.5]
    """
    kind = "numbers" if numbers else "last" if last else "entries"
    return dataclasses.field(default=default, metadata={"per_arm": kind})


def is_plain(value: Any) -> bool:
    """Whether a value's text identifies it."""
    return value is None or isinstance(value, str | int | float) or (type(value) is tuple and all(map(is_plain, value)))


def in_order(thing: T, order: jax.Array | np.ndarray) -> T:
    """A thing for arms that stand in another order, in which place i holds the arm `order[i]`, [K] int32. Traced.

    Fields that are marked `per_arm()` are reordered, also those of the pytrees that it holds; a number that stands for
    all arms stays.
    """
    if not dataclasses.is_dataclass(thing):
        parts, structure = jax.tree.flatten(thing, is_leaf=dataclasses.is_dataclass)
        ordered = [in_order(part, order) if dataclasses.is_dataclass(part) else part for part in parts]
        changed = any(new is not old for new, old in zip(ordered, parts, strict=True))
        return jax.tree.unflatten(structure, ordered) if changed else thing
    changes = {}
    for field in dataclasses.fields(thing):
        value, kind = getattr(thing, field.name), field.metadata.get("per_arm")
        if kind == "numbers":
            changes[field.name] = jnp.argsort(order)[jnp.asarray(value)]
        elif kind is not None and value is not None:
            entries = jnp.asarray(value)
            at = (..., order) if kind == "last" else order
            changes[field.name] = entries[at] if entries.ndim else value
        elif kind is None and (within := in_order(value, order)) is not value:
            changes[field.name] = within
    return dataclasses.replace(thing, **changes) if changes else thing  # type: ignore[type-var]


def stack(things: Sequence[T], name: str) -> T:
    """Stack things of the same class, static fields and shapes into one whose leaves have a leading axis."""
    first: Any = jax.tree.structure(things[0])
    for thing in things[1:]:
        if first != jax.tree.structure(thing):
            raise ValueError(
                f"{name}: {things[0]!r} and {thing!r} are not alike (class, static field or a field that is None), "
                "so they need separate programs; give each its own entry"
            )
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(thing)] for thing in things]
    for shape in shapes[1:]:
        if shape != shapes[0]:
            raise ValueError(f"{name}: shapes disagree, {shapes[0]} and {shape}; give each shape its own entry")
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *things)


def check_known(name: str, thing: Any) -> None:
    """Raise ValueError if JAX is tracing a number of the thing, which then cannot be read on the host."""
    try:
        leaves = jax.tree.leaves(thing, is_leaf=lambda part: isinstance(part, Iterator))
    except ValueError:  # a dict whose keys cannot be sorted, for which other checks have a better message
        return
    if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        raise ValueError(
            f"{name}: is traced by jax.jit, jax.vmap or jax.grad; call this outside of them (simulate plays many runs, "
            "variants and scenarios in one call, and compiles what it plays)"
        )
