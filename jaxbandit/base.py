"""The vocabulary: what an environment, a policy, a task and a family are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandit.feedback import Feedback as Feedback
from jaxbandit.pytrees import check_known as check_known
from jaxbandit.pytrees import pytree as pytree
from jaxbandit.pytrees import stack as stack
from jaxbandit.pytrees import static as static
from jaxbandit.texts import described as described

State = Any  # a pytree of arrays
# what a draw depends on besides the run: the arm and the number of its play, the arm and the round, the round
Pairing = Literal["play", "round", "shared"]
# how arms move, and whether their states are seen
Problem = Literal["rested", "restarting", "restless", "observed", "changing", "rotting", "hidden", "decision process"]
Pays = Literal["before", "after"]  # the state of a play that is counted in the visits and that pays
Paid = Literal["played", "all"]  # which arms pay in a round
Range = tuple[float, float]  # the least and the largest number that there can be
ANY_REWARD: Range = (-math.inf, math.inf)


def check_key(key: jax.Array) -> None:
    """Refuse anything but one `jax.random.key` of the default kind with a ValueError."""
    check_known("key", key)
    if not (isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key) and key.ndim == 0):
        raise ValueError(f"key: {key!r} is not one key; use jax.random.key(seed)")
    if jax.random.key_data(key).shape != (2,):
        raise ValueError("key: only keys of the default threefry2x32 kind are supported; use jax.random.key(seed)")


@described
class Task(NamedTuple):
    """What a policy is asked to play; its `validate` may refuse it. On the host.

    Fields:
      environment: one scenario.
      plays: arms played a round (M).
      horizon: rounds.
      name: what the environment is called in errors.
    """

    environment: Any
    plays: int = 1
    horizon: int = 2**31 - 1
    name: str = "environment"

    @property
    def reward(self) -> np.ndarray:
        """[K, S] float64, what each state of each arm pays; [K, 0] where rewards have no finite table."""
        return np.asarray(reward_table(self.environment), float)

    @property
    def reward_range(self) -> Range:
        """The least and the largest reward that there can be."""
        if self.environment.reward is None:
            low, high = self.environment.reward_range
        else:
            low, high = self.reward.min(), self.reward.max()
        return float(low), float(high)


class Environment(Protocol):
    """What `simulate` needs of an environment with K arms of S states; `testing.check_environment` checks it.

    `init` and `step` are written for one run and traced by JAX, so their arguments are tracers: no Python `if` on
    values. `reward` and `means` are read on the host, in NumPy float64, before anything is compiled. `reward` is read
    again where runs begin, and is traced there: it returns a field, or computes with `jax.numpy`.

    `step` receives the run's key in every round and finds its own draws in it, so that policies meet the same luck. An
    environment may declare, as attributes of its class, how its draws are found and what kind of problem it is:

    `pairing`, "play" by default: the draw is found by arm and number of the play, and the n-th play of an arm does the
    same under every policy. "round": it is found by arm and round, and what an arm shows depends on the rounds in which
    it was played, not on what the others did. "shared": the arms are actions in one process (a decision process), whose
    state is every arm's state, and a round has one draw; one arm is played a round.
    `problem`, "rested" by default: an arm moves where it is played, and shows its state. "restless": arms also
    move where they are not played, and `Feedback.before` is what the arm last showed. "observed": restless arms all of
    which show their states in every round, in `Feedback.shown`. "changing": what arms pay, or how they move, depends on
    the round. "restarting": rested arms that all begin again from time to time. "hidden": rested arms which show a
    symbol, not their state. "rotting": what an arm pays falls with its own plays. "decision process": the pairing is
    "shared". Bounds, regret and some policies ask for it.
    `pays`, "after" by default: the state moved to is counted and pays. "before": the state left is counted and pays.
    `paid`, "played" by default: the arms that are played pay. "all": every arm pays in every round for the state moved
    to, and a play of arm k costs cost[k]; `cost` [K] is read on the host, and `records` has "stays", [K, S] int32, how
    many rounds have left each arm in each state.

    Methods that an environment may have:

    `comparator(plays)`, on the host: the long-run reward a round that regret is measured against; without the method,
    the sum of the M largest means. `comparator_name(plays)`: what that is; regret is then called "regret against" it.
    `episode_values()`, on the host: None, or where there are episodes of H rounds [H, S] float64, the largest expected
    reward of the rest of an episode, by rounds played and the state then. Regret is measured against it, and `records`
    has "episodes", [S] int32, how many have begun in each state, and "state_now", int32.
    `means_now(state, t)`, traced, [K] floats (or a `sums.TwoFloats`, where gaps are too small for the digits of one
    float): what a play of each arm would pay on average in round t, seen from the state before the round. Arms that
    change or rot need it; `means` is then the average over what the environment takes for its horizon. `simulate` adds
    up by how much the arms played pay less than the best ones, and records that as "dynamic_regret". The best arms are
    those of an oracle that plays the arms with the largest `means_now`: of changing arms, which pay what they pay
    whoever plays, in the same state; of all others in a state of its own (the greedy oracle).
    `best_arm_falls_short(t)`, traced: a `sums.TwoFloats` by which the best single arm of rounds 1 to t falls short of
    that oracle; "external_regret", against this arm, is recorded then. None is allowed, for environments without one.
    `records(state)`, traced: a dict from name to array of what is recorded of the environment's state beside the
    visits, at the recorded rounds, as sums of rewards that the state keeps. A `sums.TwoFloats` is recorded as float64.
    The names "dynamic_regret" and "external_regret" are those of `simulate`. `validate(task)`, on the host: refuses a
    `Task`.
    `numbers()`, on the host: a dict from name to a number or a list of numbers that say what the environment is, kept
    in `provenance["scenarios"]`; single ones are xarray's coordinates, and pictures mark rounds listed as "breaks".
    `shown(state)`, traced, [K] int32: the states that a player sees before the first round. It is needed where the
    pairing is "shared"; the policy's `init` is then given it as its second argument.

    Rewards without a finite table, such as Gaussian ones, are drawn anew in every play. Such an environment has the
    `reward` None and two more properties: `arms`, how many there are, and `reward_range`, the least and the largest
    reward (may be infinite). It shows the state 0 in every play, and its `records` has "rewards", what each arm paid.
    """

    @property
    def reward(self) -> np.ndarray | jax.Array | None:
        """[K, S], what each state of each arm pays, or None."""

    def means(self) -> np.ndarray:
        """[K] float64, long-run reward per play. On the host."""

    def init(self, key: jax.Array) -> State:
        """Where the arms stand before the first round, from the run's key. Traced."""

    def step(self, key: jax.Array, state: State, arms: jax.Array, t: jax.Array) -> tuple[State, Feedback]:
        """Where they stand after round `t`, in which `arms` [M] int32, distinct, were played, and what is seen. Traced.

        `key` is the one that `init` received, the same in every round; `t` is an int32 scalar, from 1; the state's
        shapes and types never change.
        """


class Policy(Protocol):
    """What `simulate` needs of a policy; `testing.check_policy` checks it.

    `init`, `scores` and `update` are written for one run and traced by JAX. Four methods are optional: `validate(task)`
    is called on the host before anything is compiled, and raises ValueError for a field that is out of range or a
    `Task` that the policy is not for: this is the one place that says which arms, rewards, plays and horizons it is for
    (`policies.checks` has the library's). `probabilities(state, t)`, traced, [K]: with what probability a policy that
    chooses by chance plays each arm in round t; where feedback comes late, `update` finds that of the play in
    `Feedback.chances`. `reordered(order)`, traced, returns
    the policy for arms that stand in another order, where place i holds the arm `order[i]`, [K] int32: only a policy
    with a field of one number an arm needs it, for `simulate(shuffle=True)`.

    A policy without `validate` plays rested, restless and independent arms. Where rewards have no finite table, `init`
    is given an array [K, 0], and a policy whose state keeps an array with no entries is refused: it tells rewards apart
    by the states that pay them. Arms that share one state (the pairing "shared", a decision process) are played by
    policies whose `init` takes two arguments, the rewards and the states shown, [K] int32, and by no others.
    """

    def init(self, reward: jax.Array) -> State:
        """What the policy knows before the first round, given what each state pays, `reward` [K, S]. Traced."""

    def scores(self, key: jax.Array, state: State, t: jax.Array) -> tuple[jax.Array, State]:
        """Scores [K] for round t from 1, floats without NaN, and the state that goes on to `update`. Traced.

        The M largest scores are played, the lowest arm first on ties. The state returned is `state` itself, unless the
        policy keeps what it worked out for the round, such as an episode's plan; shapes and types stay.
        NaN counts as the lowest score. For a policy that is not the library's, `simulate` counts the runs in which a
        score was NaN, at the cost of one more comparison an arm and round, and warns.
        `key` is a new one in every round; t is an int32 scalar.
        """

    def update(self, state: State, feedback: Feedback) -> State:
        """What the policy knows after a round; shapes and types are those of `state`. Traced."""


class Family(Protocol):
    """A one-parameter exponential family of rewards, known by its mean: what index policies and bounds ask of it.

    A family is a `pytree` of its numbers, which a policy holds as leaves. `divergence` and `upper` are traced, take any
    shapes that broadcast, and never make NaN of sample means of rewards that `validate` lets pass.
    """

    @property
    def range(self) -> tuple[ArrayLike, ArrayLike]:
        """The least and the largest mean; -inf or inf where there is none."""

    def divergence(self, mean: ArrayLike, other: ArrayLike) -> jax.Array:
        """D(mean || other), what a reward adds on average to the log-likelihood ratio of `mean` to `other`; 0 to inf.

        For Markov chains it is the rate of that, per play.
        """

    def upper(self, mean: ArrayLike, radius: ArrayLike) -> jax.Array:
        """max{m : m >= mean, D(mean || m) <= radius}, for a radius in [0, inf]."""

    def validate(self, reward: np.ndarray) -> None:
        """Refuse rewards [K, S], what each state of each arm pays, that the family is not for. On the host.

        S is 0 where rewards have no finite table.
        """


def pairing(environment: Any) -> Pairing:
    """What the environment declares, or "play" (see `Environment`)."""
    declared: Pairing = getattr(environment, "pairing", "play")
    return declared


def problem(environment: Any) -> Problem:
    """What the environment declares, or "rested" (see `Environment`)."""
    declared: Problem = getattr(environment, "problem", "rested")
    return declared


def pays(environment: Any) -> Pays:
    """What the environment declares, or "after" (see `Environment`)."""
    declared: Pays = getattr(environment, "pays", "after")
    return declared


def paid(environment: Any) -> Paid:
    """What the environment declares, or "played" (see `Environment`)."""
    declared: Paid = getattr(environment, "paid", "played")
    return declared


def means_now(environment: Any) -> Callable[[State, jax.Array], Any] | None:
    """The method of this name, or None (see `Environment`)."""
    method: Callable[[State, jax.Array], Any] | None = getattr(environment, "means_now", None)
    return method


def episode_values(environment: Any) -> np.ndarray | None:
    """What the environment declares, [H, S], or None (see `Environment`)."""
    values: np.ndarray | None = environment.episode_values() if hasattr(environment, "episode_values") else None
    return values


def reward_table(environment: Any) -> Any:
    """What each state of each arm pays, [K, S]; [K, 0] where rewards have no finite table (see `Environment`)."""
    return np.zeros((environment.arms, 0)) if environment.reward is None else environment.reward


def total(values: jax.Array) -> Any:
    """Sum over the last axis in its order: [..., S] to [...].

    The order in which `jnp.sum` adds may change with the number of runs that are played together, and with it the last
    bits; here the order never changes.

    >>> float(total(jnp.array([0.5, 0.25])))
    0.75
    """
    return sum(values[..., i] for i in range(values.shape[-1]))
