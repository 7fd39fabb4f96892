"""The protocols of environments, policies and families, and the task of a policy."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER
from jaxbandit.feedback import Feedback as Feedback
from jaxbandit.pytrees import check_known as check_known
from jaxbandit.pytrees import per_arm as per_arm
from jaxbandit.pytrees import pytree as pytree
from jaxbandit.pytrees import stack as stack
from jaxbandit.pytrees import static as static
from jaxbandit.texts import described as described

State = Any  # a pytree of arrays
Pairing = Literal["play", "round", "shared"]  # these, `Paid` and `Shows`: see `Declares`
Problem = Literal["rested", "restarting", "restless", "observed", "changing", "rotting", "hidden", "costly",
                  "colliding", "decision process"]  # fmt: skip
Pays = Literal["before", "after"]
Paid = Literal["played", "all"]
Shows = Literal["played", "all"]
Range = tuple[float, float]  # the least and the largest possible number
ANY_REWARD: Range = (-math.inf, math.inf)


def check_key(key: jax.Array) -> None:
    """Raise ValueError unless this is one `jax.random.key` of the default kind."""
    check_known("key", key)
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0):
        raise ValueError(f"key: {key!r} is not one key; use jax.random.key(seed)")
    if jax.random.key_data(key).shape != (2,):
        raise ValueError("key: only keys of the default threefry2x32 kind are supported; use jax.random.key(seed)")


@described
class Task(NamedTuple):
    """The task of a policy; its `validate` may reject it. On the host.

    Fields:
      environment: one scenario.
      plays: arms played a round (M).
      horizon: rounds.
      name: the environment's name in errors.
    """

    environment: Any
    plays: int = 1
    horizon: int = LARGEST_INTEGER
    name: str = "environment"

    @property
    def reward(self) -> np.ndarray:
        """[K, S] float64, the reward of each state of each arm; [K, 0] if rewards have no finite table."""
        return np.asarray(reward_table(self.environment), float)

    @property
    def reward_range(self) -> Range:
        """The least and the largest possible reward."""
        if self.environment.reward is None:
            low, high = self.environment.reward_range
        else:
            low, high = self.reward.min(), self.reward.max()
        return float(low), float(high)


@described
class Declares(NamedTuple):
    """The kind of an environment: an attribute `declares` of its class, or a property.

    Fields:
      pairing: what random numbers depend on besides the run. "play": the arm and the number of its play, so that the
        n-th play of an arm has the same outcome under every policy. "round": the arm and the round, so that an arm's
        outcomes depend on the rounds in which it was played, not on the other arms. "shared": the round; the arms are
        actions of one decision process, whose state all arms share, and one arm is played a round.
      problem: the problem class. "rested": an arm moves when it is played, and shows its state. "restless": arms also
        move when they are not played, and `Feedback.before` is the last state that the arm showed. "observed": restless
        arms that all show their states in every round, in `Feedback.shown`. "changing": rewards or transition laws
        depend on the round (non-stationary). "restarting": rested arms that all restart from time to time. "hidden":
        rested arms that show a symbol, not their state. "rotting": the mean reward of an arm falls with its own plays.
        "costly": plays cost money, and are not made when a purse is empty. "colliding": arms of several players, who
        are not paid if they play one arm at the same time. "decision process": the pairing is "shared".
      pays: the state of a play that is counted and that pays: "after", the new one, or "before", the old one.
      paid: the arms that pay: those "played", or "all": every arm pays in every round for its new state, or its old one
        (`pays`), by `passive_reward` [K, S], if it has that, where it is not played; a play costs `cost` [K]; both are
        read on the host. `records` has "stays", [K, S] int32, the number of rounds for which each state paid.
      shows: the arms whose rewards the player sees: those "played" (bandit feedback), or "all", in
        `Feedback.all_rewards` (full information).
    """

    pairing: Pairing = "play"
    problem: Problem = "rested"
    pays: Pays = "after"
    paid: Paid = "played"
    shows: Shows = "played"


class Environment(Protocol):
    """The required members of an environment with K arms of S states; `testing.check_environment` checks them.

    `init` and `step` are written for one run and traced by JAX, so their arguments are tracers: no Python `if` on
    values. `reward` and `means` are read on the host, in NumPy float64, before anything is compiled. `reward` is
    also traced at the start of a run: it returns a field, or computes with `jax.numpy`.

    `step` receives the run's key in every round and derives its own draws from it, so that all policies are compared
    with common random numbers. `members.FullEnvironment` lists the optional members with their defaults; the first is
    `declares`, the kind of environment.

    Rewards without a finite table, such as Gaussian ones, are drawn in every play. Such an environment has the `reward`
    None and two more properties: `arms`, the number K, and `reward_range`, the least and the largest reward (may be
    infinite). It shows the state 0 in every play, and its `records` has "rewards", the total reward of each arm.
    """

    @property
    def reward(self) -> np.ndarray | jax.Array | None:
        """[K, S], the reward of each state of each arm, or None."""

    def means(self) -> np.ndarray:
        """[K] float64, long-run reward per play. On the host."""

    def init(self, key: jax.Array) -> State:
        """The state before the first round, from the run's key. Traced."""

    def step(self, key: jax.Array, state: State, arms: jax.Array, t: jax.Array) -> tuple[State, Feedback]:
        """Play `arms` [M] int32, distinct, in round `t`; return the new state and the feedback. Traced.

        `key` is the key of `init`, the same in every round; `t` is an int32 scalar, from 1; the state's shapes and
        types never change.
        """


class Policy(Protocol):
    """The required members of a policy; `testing.check_policy` checks them.

    `init`, `scores` and `update` are written for one run and traced by JAX. `members.FullPolicy` lists the optional
    members with their defaults. A field with one number for each arm is declared `per_arm()`, so that
    `simulate(shuffle=True)` reorders it with the arms.

    If rewards have no finite table, `init` receives an array [K, 0]; a policy whose state keeps an array with no
    entries then is an error, because it identifies rewards by their states. Arms that share one state (the pairing
    "shared", a decision process) can only be played by policies whose `init` takes two arguments, the rewards and the
    states shown, [K] int32.
    """

    def init(self, reward: jax.Array) -> State:
        """The state before the first round, from the reward of each state, `reward` [K, S]. Traced."""

    def scores(self, key: jax.Array, state: State, t: jax.Array) -> tuple[jax.Array, State]:
        """Scores [K] for round t from 1, floats without NaN, and the state for `update`. Traced.

        The M arms with the largest scores are played, the lowest arm first on ties. The state returned is `state`,
        unless the policy keeps results of the round, such as an episode's plan; shapes and types do not change. NaN
        counts as the lowest score. For a user's policy `simulate` counts the runs with NaN scores, at the cost of one
        comparison an arm and round, and warns. `key` is a new key in every round; t is an int32 scalar.
        """

    def update(self, state: State, feedback: Feedback) -> State:
        """The state after a round, with the shapes and types of `state`. Traced."""


class Family(Protocol):
    """A one-parameter exponential family of rewards in its mean parametrisation, for index policies and bounds.

    A family is a `pytree` of its numbers, which a policy holds as leaves. `divergence` and `upper` are traced, take any
    shapes that broadcast, and never return NaN for sample means of rewards that pass `validate`.
    """

    @property
    def range(self) -> tuple[ArrayLike, ArrayLike]:
        """The least and the largest mean; -inf or inf if unbounded."""

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> jax.Array:
        """D(mean || other), the expected log-likelihood ratio of `mean` to `other` for one reward; 0 to inf.

        For Markov chains it is the rate per play.
        """

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> jax.Array:
        """max{m : m >= mean, D(mean || m) <= radius}, for a radius in [0, inf]."""

    def validate(self, reward: np.ndarray) -> None:
        """Raise ValueError for rewards [K, S] of states that the family does not have. On the host.

        S is 0 if rewards have no finite table.
        """


def reward_table(environment: Any) -> Any:
    """The reward of each state of each arm, [K, S]; [K, 0] if rewards have no finite table (see `Environment`)."""
    return np.zeros((environment.arms, 0)) if environment.reward is None else environment.reward


def total(values: jax.Array) -> Any:
    """Sum over the last axis in its order: [..., S] to [...].

    The order of additions in `jnp.sum`, and with it the last bits, may depend on the number of runs played together;
    here the order never changes.

    >>> float(total(jnp.array([0.5, 0.25])))
    0.75
    """
    return sum(values[..., i] for i in range(values.shape[-1]))
