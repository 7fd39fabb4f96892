"""The vocabulary: what a pytree dataclass, an environment, a policy, their feedback and a family are."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import GetAttrKey

from jaxbandit.texts import described as described
from jaxbandit.texts import short

Array = Any  # a jax.Array, a NumPy array or a tracer of either
State = Any  # a pytree of arrays
Pairing = Literal["play", "round"]  # what an arm's draw is a function of, beside the run and the arm
# how arms move, and whether their states are seen
Problem = Literal["rested", "restarting", "restless", "observed", "hidden"]
T = TypeVar("T")
Range = tuple[float, float]  # the least and the largest number that there can be
ANY_REWARD: Range = (-math.inf, math.inf)
REWARDS = "rewards"  # the name of the sums of rewards among what is recorded, where they are no finite table


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
        shown = (f"{field.name}={short(getattr(thing, field.name))}" for field in fields if field.repr)
        return f"{made.__qualname__}({', '.join(shown)})"

    if "__repr__" not in vars(cls):
        made.__repr__ = text  # type: ignore[method-assign]
    jax.tree_util.register_pytree_with_keys(made, flatten_with_keys, unflatten, flatten)
    return made


def static(default: Any) -> Any:
    """Declare a field of a `pytree` that is part of the program (a solver's name, a loop count), not a leaf.

    >>> @pytree
    ... class Named:
    ...     name: str = static("a")
    >>> jax.tree.leaves(Named("b"))
    []
    """
    return dataclasses.field(default=default, metadata={"static": True})


def check_key(key: Array) -> None:
    """Refuse anything but one `jax.random.key` of the default kind.

    Raises:
      ValueError: what the key is instead.
    """
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0):
        raise ValueError(f"key: {key!r} is not one key; use jax.random.key(seed)")
    if jax.random.key_data(key).shape != (2,):
        raise ValueError("key: only keys of the default threefry2x32 kind are supported; use jax.random.key(seed)")


@described
class Feedback(NamedTuple):
    """What the player sees after a round in which M arms were played.

    Fields:
      arms: [M] int32, distinct.
      before: [M] int32, the state each played arm was in, or last showed where it is restless.
      states: [M] int32, the state it moved to and showed.
      rewards: [M] default float, what that state pays.
      shown: [K] int32, the state in which every arm is after the round, played or not; None where it is not shown.
      restarted: uint32; 0, or after a round in which all arms began again a number drawn for that; None where they
        never do.
    """

    arms: Array
    before: Array
    states: Array
    rewards: Array
    shown: Array | None = None
    restarted: Array | None = None


class Environment(Protocol):
    """What `simulate` needs of an environment with K arms of S states; `testing.check_environment` checks it.

    `init` and `step` are written for one run and traced by JAX, so their arguments are tracers: no Python `if` on
    values. `reward` and `means` are read on the host, in NumPy float64, before anything is compiled. `reward` is read
    once more where runs begin, which is traced: it hands on a field, or computes with `jax.numpy`.

    `step` receives the run's key in every round and finds its own draws in it, so that policies meet the same luck. An
    environment may declare, as attributes of its class, how that is and what it is:

    `pairing`, "play" if it declares none: the draw is found by arm and number of the play, and the n-th play of an arm
    does the same under every policy. "round": it is found by arm and round, and what an arm shows depends on the rounds
    in which it was played, but not on what the other arms did.
    `problem`, "rested" if it declares none: an arm moves where it is played, and shows its state. "restless": arms also
    move where they are not played, and `Feedback.before` is what the arm last showed. "observed": restless arms all of
    which show their states in every round, in `Feedback.shown`. "restarting": rested arms that all begin again from
    time to time. "hidden": rested arms which show a symbol, not their state. Bounds, `metrics.regret` and policies that
    are for one of them ask for it.
    `comparator(plays)`, a method on the host, the M largest means if there is none: the long-run reward a round that
    regret is measured against.

    Rewards that are no finite table, as those of Gaussian arms, are drawn anew in every play. Such an environment has
    the `reward` None and two properties more: `arms`, how many there are, and `reward_range`, the least and the largest
    reward that there can be (may be infinite). It shows the state 0 in every play; plays are counted, and sums of
    rewards are recorded.
    """

    @property
    def reward(self) -> Array | None:
        """[K, S], what each state of each arm pays, or None."""

    def means(self) -> Array:
        """[K] float64, long-run reward per play. On the host."""

    def init(self, key: Array) -> State:
        """Where the arms stand before the first round, from the run's key. Traced."""

    def step(self, key: Array, state: State, arms: Array) -> tuple[State, Feedback]:
        """Where they stand after a round in which `arms` [M] int32, distinct, were played, and what is seen. Traced.

        `key` is the one that `init` received, the same in every round; the state's shapes and types never change.
        """


class Policy(Protocol):
    """What `simulate` needs of a policy; `testing.check_policy` checks it.

    `init`, `scores` and `update` are written for one run and traced by JAX. Three methods are optional:
    `validate(reward)` is called on the host before anything is compiled, with rewards [K, S] in NumPy float64, and
    raises ValueError for a field that is out of range; `reordered(order)`, traced, returns the policy for arms that
    stand in another order, where place i holds the arm `order[i]`, [K] int32: only a policy with a field of one number
    an arm needs it, for `simulate(shuffle=True)`; `check_arms(environment, name)`, on the host, raises ValueError for
    arms that it does not play, `name` being the argument at fault. A policy whose class has an attribute `problems`, a
    tuple of those that environments declare, is refused for all others.

    A policy that tells rewards apart by the numbers alone, not by the states that pay them, declares `reward_range`,
    the interval in which they must lie: it also plays arms whose rewards are no finite table, for which `init` and
    `validate` are given an array [K, 0]. Without that attribute it is refused for such arms.
    """

    def init(self, reward: Array) -> State:
        """What the policy knows before the first round, given what each state pays, `reward` [K, S]. Traced."""

    def scores(self, key: Array, state: State, t: Array) -> Array:
        """[K] floats, no NaN, for round t from 1; the M largest are played, the lowest arm first on ties. Traced.

        NaN counts as the lowest score; `simulate` counts the runs in which a policy that is not the library's made one,
        at the cost of one more comparison an arm and round, and warns.
        `key` is another one in every round; t is an int32 scalar.
        """

    def update(self, state: State, feedback: Feedback) -> State:
        """What the policy knows after a round; shapes and types are those of `state`. Traced."""


class Family(Protocol):
    """A one-parameter exponential family of rewards, known by its mean: what index policies and bounds ask of it.

    A family is a `pytree` of its numbers, which a policy holds as leaves. `divergence` and `upper` are traced, take any
    shapes that broadcast, and never make NaN of sample means of rewards that `validate` lets pass.
    """

    @property
    def range(self) -> tuple[Array, Array]:
        """The least and the largest mean; -inf or inf where there is none."""

    def divergence(self, mean: Array, other: Array) -> Array:
        """D(mean || other), what a reward adds on average to the log-likelihood ratio of `mean` to `other`; 0 to inf.

        For Markov chains it is the rate of that, per play.
        """

    def upper(self, mean: Array, radius: Array) -> Array:
        """max{m : m >= mean, D(mean || m) <= radius}, for a radius in [0, inf]."""

    def validate(self, reward: Array) -> None:
        """Refuse rewards [K, S], what each state of each arm pays, that the family is not for. On the host.

        S is 0 where rewards are no finite table.
        """


def pairing(environment: Any) -> Pairing:
    """What the environment declares, or "play" (see `Environment`)."""
    declared: Pairing = getattr(environment, "pairing", "play")
    return declared


def problem(environment: Any) -> Problem:
    """What the environment declares, or "rested" (see `Environment`)."""
    declared: Problem = getattr(environment, "problem", "rested")
    return declared


def reward_table(environment: Any) -> Array:
    """What each state of each arm pays, [K, S]; [K, 0] where rewards are no finite table (see `Environment`)."""
    return np.zeros((environment.arms, 0)) if environment.reward is None else environment.reward


def total(values: Array) -> Array:
    """Sum over the last axis in its order: [..., S] to [...].

    The order in which `jnp.sum` adds may change with the number of runs that are played together, and with it the last
    bits; these do not.

    >>> float(total(jnp.array([0.5, 0.25])))
    0.75
    """
    return sum(values[..., i] for i in range(values.shape[-1]))


def stack(things: Sequence[T], name: str) -> T:
    """Stack alike things (same class, static fields and shapes) into one whose leaves have a leading axis.

    Raises:
      ValueError: the things are not alike; `name` says in the message what they are.
    """
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
    stacked: T = jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *things)
    return stacked
