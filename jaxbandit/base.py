"""The vocabulary: what an environment, a policy, a task and a family are."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

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
Pairing = Literal["play", "round", "shared"]  # these three and `Paid`: see `Declares`
Problem = Literal["rested", "restarting", "restless", "observed", "changing", "rotting", "hidden", "decision process"]
Pays = Literal["before", "after"]
Paid = Literal["played", "all"]
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
    horizon: int = LARGEST_INTEGER
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


@described
class Declares(NamedTuple):
    """What kind of environment this is: an attribute `declares` of its class, or a property.

    Fields:
      pairing: what a draw depends on besides the run. "play": the arm and the number of its play, so that the n-th play
        of an arm does the same under every policy. "round": the arm and the round, so that what an arm shows depends on
        the rounds in which it was played, not on what the others did. "shared": the round; the arms are actions in one
        process (a decision process), whose state is every arm's state, and one arm is played a round.
      problem: how arms move, and whether their states are seen. "rested": an arm moves where it is played, and shows
        its state. "restless": arms also move where they are not played, and `Feedback.before` is what the arm last
        showed. "observed": restless arms all of which show their states in every round, in `Feedback.shown`.
        "changing": what arms pay, or how they move, depends on the round. "restarting": rested arms that all begin
        again from time to time. "hidden": rested arms that show a symbol, not their state. "rotting": what an arm pays
        falls with its own plays. "decision process": the pairing is "shared".
      pays: the state of a play that is counted and that pays, "after", the one moved to, or "before", the one left.
      paid: which arms pay, those that are "played", or "all": every arm pays in every round for the state moved to, and
        a play of arm k costs cost[k]; `cost` [K] is read on the host, and `records` has "stays", [K, S] int32, how many
        rounds have left each arm in each state.
    """

    pairing: Pairing = "play"
    problem: Problem = "rested"
    pays: Pays = "after"
    paid: Paid = "played"


class Environment(Protocol):
    """What `simulate` needs of an environment with K arms of S states; `testing.check_environment` checks it.

    `init` and `step` are written for one run and traced by JAX, so their arguments are tracers: no Python `if` on
    values. `reward` and `means` are read on the host, in NumPy float64, before anything is compiled. `reward` is read
    again where runs begin, and is traced there: it returns a field, or computes with `jax.numpy`.

    `step` receives the run's key in every round and derives its own draws from it, so that all policies are compared
    with common random numbers. What an environment may have besides is listed, with its defaults, in
    `base.FullEnvironment`; first of all `declares`, what kind of environment it is.

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


class FullEnvironment(Environment, Protocol):
    """Everything that an environment may have, with the default of what it leaves out. Deriving from it is optional."""

    declares: ClassVar[Declares] = Declares()

    def validate(self, task: Task) -> None:
        """Refuse a `Task` with a ValueError. On the host."""

    def comparator(self, plays: int) -> float | None:
        """The long-run reward a round that regret is measured against; None: the M largest means. On the host."""
        return None

    def comparator_name(self, plays: int) -> str | None:
        """What the comparator is; regret is then called "regret against" it. On the host."""
        return None

    def episode_values(self) -> np.ndarray | None:
        """[H, S] float64 where there are episodes of H rounds, else None. On the host.

        It is the largest expected reward of the rest of an episode, by rounds played and the state then. Regret is
        measured against it, and `records` has "episodes", [S] int32, how many have begun in each state, and
        "state_now", int32.
        """
        return None

    def known(self) -> Any:
        """The laws of the arms, a `known_arms.KnownArms`, from which planners and indices compute. On the host."""
        return None

    def numbers(self) -> dict[str, Any]:
        """By name, numbers or lists of numbers that say what the environment is. On the host.

        They are kept in `provenance["scenarios"]`; single ones are xarray's coordinates, and plots mark rounds listed
        as "breaks".
        """
        return {}

    def shown(self, state: State) -> jax.Array | None:
        """[K] int32, the states that a player sees before the first round. Traced.

        It is needed where the pairing is "shared"; the policy's `init` then receives it as its second argument.
        """
        return None

    def records(self, state: State) -> dict[str, Any]:
        """What is recorded of the state beside the visits, by name, such as sums of rewards. Traced.

        A `sums.TwoFloats` is recorded as float64. `simulate` itself records "dynamic_regret" and "external_regret".
        """
        return {}

    def means_now(self, state: State, t: jax.Array) -> Any:
        """[K] floats, what a play of each arm would pay on average in round t, by the state before the round. Traced.

        Arms that change or rot need it; `means` is then the average over what the environment takes for its horizon. A
        `sums.TwoFloats` is for gaps that are too small for the digits of one float. `simulate` adds up by how much the
        arms played pay less than the best ones, and records that as "dynamic_regret". The best arms are those of an
        oracle that plays the arms with the largest `means_now`: of changing arms, which pay what they pay whoever
        plays, in the same state; of all others in a state of its own (the greedy oracle).
        """
        return None

    def best_arm_falls_short(self, t: jax.Array) -> Any:
        """By how much the best single arm of rounds 1 to t falls short of that oracle, a `sums.TwoFloats`. Traced.

        "external_regret", against this arm, is then recorded.
        """
        return None


class Policy(Protocol):
    """What `simulate` needs of a policy; `testing.check_policy` checks it.

    `init`, `scores` and `update` are written for one run and traced by JAX. What a policy may have besides is listed,
    with its defaults, in `base.FullPolicy`. A field of one number an arm is marked `per_arm()`, so that it is put in
    order where `simulate(shuffle=True)` lets the arms stand in another order.

    Where rewards have no finite table, `init` receives an array [K, 0], and a policy whose state keeps an array with no
    entries is refused: it tells rewards apart by the states that pay them. Arms that share one state (the pairing
    "shared", a decision process) are played by policies whose `init` takes two arguments, the rewards and the states
    shown, [K] int32, and by no others.
    """

    def init(self, reward: jax.Array) -> State:
        """What the policy knows before the first round, from what each state pays, `reward` [K, S]. Traced."""

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


class FullPolicy(Policy, Protocol):
    """Everything that a policy may have, with the default of what it leaves out. Deriving from it is optional."""

    # whether the round decides which arm may be explored, so that `WithDetector` cannot restart one arm's clock alone
    takes_turns: ClassVar[bool] = False

    def validate(self, task: Task) -> None:
        """Refuse with a ValueError a field that is out of range, or a `Task` that the policy is not for. On the host.

        This is the one place that says which arms, rewards, plays and horizons the policy is for; without it, it plays
        every problem but decision processes. It is called before anything is compiled.
        """

    def probabilities(self, state: State, t: jax.Array) -> jax.Array | None:
        """[K], with what probability a policy that chooses by chance plays each arm in round t. Traced.

        With delayed feedback, `update` reads the probability of the play in `Feedback.chances`.
        """
        return None


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
