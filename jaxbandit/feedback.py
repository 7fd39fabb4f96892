"""The feedback of a round, and checks that it agrees with the arms and their last states."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from jaxbandit.arguments import LARGEST_INTEGER, choice, excerpt, finite, integer, is_traced, number
from jaxbandit.pytrees import pytree
from jaxbandit.texts import described

UNKNOWN = "do not update the policy with a play whose reward is not known"


@pytree
class NotGiven:
    """A missing `Feedback.before`: not an array, so that computing with it is an error."""


@described
class Feedback(NamedTuple):
    """The feedback of a round in which M arms were played.

    Fields:
      arms: [M] int32, distinct.
      before: [M] int32, the state of each played arm before the round, or the last one it showed if it is restless,
        unless that state pays. Not an array if `Feedback.of` was called without it.
      states: [M] int32, the state it moved to and showed.
      rewards: [M] default float, the rewards.
      t: int32, the round just played, from 1; the same in all runs, so that it is one number for the whole batch,
        unless delays of feedback differ between runs.
      shown: [K] int32, the state of every arm after the round, played or not; None if it is not visible. In a decision
        process with episodes, the state in which the next round begins.
      restarted: uint32; 0, or a random number after a round in which all arms restarted; None if arms never restart.
      chances: [M], the probability of each arm when it was played, if the policy has `probabilities` and its feedback
        is delayed (`simulate(delay=..)`) or passes through `WithDetector`, or if not all arms are offered; else None.
      all_rewards: [K] default float, the reward of this round of every arm, played or not (full information); None if
        those of the arms played alone are visible.
    """

    arms: jax.Array
    before: jax.Array
    states: jax.Array
    rewards: jax.Array
    t: jax.Array
    shown: jax.Array | None = None
    restarted: jax.Array | None = None
    chances: jax.Array | None = None
    all_rewards: jax.Array | None = None

    @property
    def now(self) -> jax.Array:
        """[M] int32, the present states of the arms played: `states`, or those of `shown` if it is given."""
        return self.states if self.shown is None else self.shown[self.arms]

    @classmethod
    def of(
        cls,
        arm: int,
        reward: float | None = None,
        *,
        t: int,
        table: ArrayLike,
        state: int | None = None,
        before: int | None = None,
        pays: Literal["before", "after"] = "after",
    ) -> Feedback:
        """The feedback of a round in which one real arm was played, without a simulator.

        Args:
          arm: its number, from 0.
          reward: its reward. With a table [K, S] it may be left out, because the state determines it.
          t: the round, from 1. Do not count a play with an unknown outcome, and do not update the policy with it.
          table: the argument of the policy's `init`: [K, S], the reward of each state of each arm, or [K, 0] if
            rewards are real numbers.
          state: the new state of the arm. It may be left out if only one state pays the reward.
          before: the state that the arm last showed; before its first play its initial state, or 0 if that is not
            known. Policies for independent rewards do not use it; those that count transitions require it.
          pays: "after" if the new state pays; "before" if the old one does, as in decision processes.

        Raises:
          ValueError: an argument that is missing, wrong or contradicts another one. The reward is
            compared with the table in the default float type.

        >>> Feedback.of(2, 1.0, t=7, table=[[0.0, 1.0]] * 3).states.tolist()
        [1]
        >>> Feedback.of(2, 2.5, t=7, table=jnp.zeros((3, 0))).rewards.tolist()
        [2.5]
        >>> Feedback.of(2, 0.37, t=7, table=[[0.0, 1.0]] * 3)
        Traceback (most recent call last):
        ValueError: reward: 0.37; no state of arm 2 pays it, they pay [0.0, 1.0]; for real numbers take a table [K, 0]
        """
        for name, value in {"arm": arm, "reward": reward, "t": t, "state": state, "before": before}.items():
            if is_traced(value):
                raise ValueError(f"{name}: has no value while JAX compiles; make a Feedback(..) of arrays there")
        paid = as_table("table", table)
        choice("pays", pays, ("before", "after"))
        arm, t = integer("arm", arm, 0, len(paid) - 1), integer("t", t, 1, LARGEST_INTEGER)
        reward = None if reward is None else _finite(reward)
        if paid.shape[1]:
            state, before, reward = _by_table(paid[arm], arm, reward, state, before, pays)
        elif reward is None:
            raise ValueError("reward: None; with a table [K, 0] give what the arm paid")
        else:
            for name, value in {"state": state, "before": before}.items():
                if value is not None and integer(name, value) != 0:
                    raise ValueError(f"{name}: {value}; a table [K, 0] has no states, so leave it out")
            state = before = 0
        arms, states = (jnp.array([number], jnp.int32) for number in (arm, state))
        left: Any = NotGiven() if before is None else jnp.array([before], jnp.int32)
        return cls(arms, left, states, jnp.array([reward], float), jnp.int32(t))


def as_table(name: str, table: Any) -> np.ndarray:
    """Return the reward of each state of each arm, float64 [K, S]; S is 0 if rewards are real numbers."""
    rewards = np.zeros(()) if table is None else finite(name, table)
    if rewards.ndim != 2 or not len(rewards):
        what = f"shape {rewards.shape}" if rewards.ndim else excerpt(table)
        raise ValueError(
            f"{name}: {what} is not [K, S], the reward of each state of each arm, such as np.array([[0.0, 1.0]] * K) "
            "for K arms that are clicked or not; if rewards are real numbers, give np.zeros((K, 0))"
        )
    return rewards


def checked_table(reward: Any) -> jax.Array:
    """Return the reward table of a policy's `init` as a JAX array."""
    table = as_table("reward", np.zeros(jnp.shape(reward)) if is_traced(reward) else reward)
    return reward if isinstance(reward, jax.Array) else jnp.asarray(table, float)


def check_feedback(
    feedback: Feedback,
    arms: int,
    states: int | None = None,
    *,
    last: jax.Array | None = None,
    counts: jax.Array | None = None,
) -> None:
    """Raise ValueError for feedback that contradicts the arms or their last states. Traced feedback is not checked.

    The memories of policies call this, so that a loop without the simulator gets errors for its mistakes.

    Args:
      arms: K.
      states: S; None if the policy does not use states.
      last: for a policy that counts transitions, [K], the state that each arm last showed, or the shared state.
      counts: [K, ..], its counts: if these and `last` are 0, an arm has not shown a state yet. None if `last` is always
        known.
    """
    if last is not None and isinstance(feedback.before, NotGiven):
        raise ValueError(
            "before: missing, and the policy counts transitions; call Feedback.of(.., before=last[arm]), where "
            "last[arm] is the state that the arm last showed"
        )
    if is_traced((feedback, last, counts)):
        return
    played, rewards = np.ravel(feedback.arms), np.asarray(feedback.rewards)
    asked: dict[str, tuple[int, int | None]] = {"arms": (len(played), arms), "states": (len(played), states)}
    if last is not None:
        asked["before"] = len(played), states
    if feedback.shown is not None:
        asked["shown"] = arms, states
    for name, (length, many) in asked.items():
        numbers = np.asarray(getattr(feedback, name))
        if many is not None and not (numbers.shape == (length,) and np.isin(numbers, range(many)).all()):
            raise ValueError(
                f"{name}: {numbers.tolist()} is not a list of integers from 0 to {many - 1}, {length} of them"
            )
    if len(set(played.tolist())) < len(played):
        raise ValueError(f"arms: {played.tolist()} names an arm twice; it is played once a round")
    if rewards.shape != played.shape or not np.isfinite(rewards).all():
        raise ValueError(f"rewards: {rewards.tolist()} is not a finite number for each play; {UNKNOWN}")
    if feedback.chances is not None:
        chances = np.asarray(feedback.chances)
        if chances.shape != played.shape or not (np.isfinite(chances) & (chances > 0)).all():
            raise ValueError(f"chances: {chances.tolist()} is not a positive probability for each play")
    if feedback.all_rewards is not None:
        every = np.asarray(feedback.all_rewards)
        if every.shape != (arms,) or not np.isfinite(every).all():
            raise ValueError(f"all_rewards: {every.tolist()} is not a finite number for each of {arms} arms")
    if last is not None and (counts is None or feedback.restarted is None):
        _check_before(played, np.asarray(feedback.before), np.broadcast_to(last, (arms,)), counts)


def _check_before(played: np.ndarray, before: np.ndarray, last: np.ndarray, counts: jax.Array | None) -> None:
    """Raise ValueError unless arms [M] were in the states `before` [M] (see `check_feedback`)."""
    for arm, state in zip(played.tolist(), before.tolist(), strict=True):
        known = counts is None or last[arm] != 0 or np.asarray(counts[arm]).any()
        if known and state != last[arm]:
            raise ValueError(
                f"before: {state}, and arm {arm} last showed state {last[arm]}; give the state that it last showed, "
                "and its plays in the order in which they were made"
            )


def _by_table(
    row: np.ndarray, arm: int, reward: float | None, state: int | None, before: int | None, pays: str
) -> tuple[int, int | None, float]:
    """The new state, the old state if known, and the reward, from the rewards of the arm's states, `row` [S]."""
    state, before = (
        number if number is None else integer(name, number, 0, len(row) - 1)
        for name, number in (("state", state), ("before", before))
    )
    rounded = row.astype(jnp.result_type(float))
    if state is None and pays == "after":
        state = _that_pays(rounded, arm, reward)
    if state is None:
        raise ValueError("state: None; give the new state, because the reward is that of the old one")
    paying = state if pays == "after" else before
    if paying is None:
        raise ValueError("before: None; give the old state, which pays")
    if reward is not None and rounded.dtype.type(reward) != rounded[paying]:
        raise ValueError(
            f"reward: {reward}; state {paying} of arm {arm} pays {row[paying]}; correct one, or leave the reward out"
        )
    return state, before, float(rounded[paying])


def _that_pays(row: np.ndarray, arm: int, reward: float | None) -> int:
    """The one state of the arm that pays the reward, in the type of the row [S]."""
    if reward is None:
        raise ValueError("reward: None; give what the arm paid, or the state that it moved to")
    states = np.flatnonzero(row == row.dtype.type(reward)).tolist()
    if not states:
        raise ValueError(
            f"reward: {reward}; no state of arm {arm} pays it, they pay {excerpt(row.tolist())}; for real numbers take "
            "a table [K, 0]"
        )
    if len(states) > 1:
        raise ValueError(f"state: None; states {excerpt(states)} of arm {arm} pay {reward}; give the new one")
    return int(states[0])


def _finite(reward: Any) -> float:
    """Return the reward, one finite number."""
    try:
        return number("reward", reward)
    except ValueError as error:
        raise ValueError(f"{error}; {UNKNOWN}") from None
