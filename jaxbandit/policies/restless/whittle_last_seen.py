"""Whittle index policy for arms that are observed only when played, by the last observation and its age."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit.arguments import as_floats, integer, number
from jaxbandit.base import Feedback, Task, per_arm, pytree
from jaxbandit.decision_processes import long_run
from jaxbandit.feedback import check_feedback
from jaxbandit.indices.subsidy import whittle_of
from jaxbandit.known_arms import KnownArms
from jaxbandit.members import declares
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.knowledge import check_made_for, laws_of, made_for

FORGOTTEN = 1e-3
MOST_PAIRS = 1000  # the elimination for this many pairs takes some ten seconds


class LastSeen(NamedTuple):
    """State of `WhittleLastSeen`.

    Fields:
      states: [K] int32, the last observed state of each arm; S before its first play.
      rounds: [K] int32, the round of this observation; 0 before its first play.
    """

    states: Array
    rounds: Array


@pytree
class WhittleLastSeen:
    """Whittle index policy for restless arms with any number of states that are observed only when played.

    The state of an arm that showed s, n rounds ago, has the distribution e_s P0^(n-1), where P0 is its passive law. So
    the pair (s, n) is the state of an observed chain: a play shows s' with probability (e_s P0^(n-1) P1)_s' and leads
    to (s', 1), and without a play the pair becomes (s, n + 1). The index of the pair is that of this chain, indices[k,
    s, n - 1]. From n = T on the pair stays (s, T), with the long-run law of P0 from s. An arm that has not been played
    before round n is in the pair (S, n), with `initial` in place of e_S. Make it with `WhittleLastSeen.of(arms)`.

    Args:
      indices: [K, S + 1, T], in the environment's order of the arms.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a table of another shape or with NaN, and for arms other
        than those that it was made from; from `simulate`, for observed arms (use `Whittle`).

    Source: Whittle 1988; Liu and Zhao 2010 and Mate, Killian, Xu, Perrault and Tambe 2020 for two states, with closed
    forms. Ours is the general index on the chain of pairs, cut at T.

    >>> from jaxbandit.environments import restless
    >>> arms = restless([[[0.04, 0.96], [0.01, 0.99]]] * 2, (0, 1), [[[0.97, 0.03], [0.03, 0.97]]] * 2, paid="all")
    >>> policy = WhittleLastSeen.of(arms, ages=30)
    >>> policy.indices[0, :2, [0, 9, 29]].round(2).tolist()
    [[11.79, 0.02], [9.0, 1.1], [6.2, 6.2]]
    """

    indices: ArrayLike = per_arm()

    @classmethod
    def of(cls, arms: Any, ages: int | None = None, discount: float = 0.99) -> WhittleLastSeen:
        """The policy for known arms, on the host, in float64.

        Args:
          arms: an environment of `environments.restless` without `observed`.
          ages: T, at least 2, with at most 1,000 pairs (S + 1) T. None for the number of rounds after which the law of
            an arm that is not played is within 0.001 of its long-run law, or the largest possible number. The work
            grows as the third power of T, and is done once for equal arms.
          discount: in [0, 1). The long-run average is not supported, because most such chains have no index for it:
            they are multichain. 0.999 comes close.

        Raises:
          ValueError: the argument and what is wrong with it, or an arm that is not indexable.
        """
        known = laws_of("arms", arms, "one of environments.restless", checks.RESTLESS)
        if declares(arms).problem == "observed":
            raise ValueError("arms: they are observed, and WhittleLastSeen is for arms that are not; use Whittle.of")
        starts = known.earned.shape[1] + 1
        most = MOST_PAIRS // starts
        ages = min(max(map(_rounds_to_forget, known.passive)), most) if ages is None else integer("ages", ages, 2, most)
        discount = number("discount", discount, 0, 1, below=True)
        by_laws: dict[bytes, np.ndarray] = {}  # equal arms share one computation
        tables = []
        for arm in range(len(known.earned)):
            laws = b"".join(law[arm].tobytes() for law in (*known.moves, known.initial))
            if laws not in by_laws:
                table, indexable = whittle_of(_pairs(known, arm, ages), discount)
                if not indexable[0]:
                    raise ValueError(
                        f"arms: {arm} has no Whittle index (not indexable) with discount {discount:g} and {ages} ages; "
                        "try others, or Myopic.of(arms)"
                    )
                by_laws[laws] = table[0].reshape(starts, ages)
            tables.append(by_laws[laws])
        return made_for(cls(np.stack(tables)), known)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("restless",), left_may_pay=True)
        table, (arms, states) = as_floats("indices", self.indices), task.reward.shape
        if table.ndim != 3 or table.shape[:2] != (arms, states + 1) or table.shape[2] < 2:
            raise ValueError(
                f"indices: shape {table.shape} is not [K, S + 1, T] with K = {arms}, S = {states} and T at least 2"
            )
        if np.isnan(table).any():
            raise ValueError(f"indices: arm {int(np.argwhere(np.isnan(table))[0, 0])} has NaN")
        check_made_for(self, task)

    def init(self, reward: Array) -> LastSeen:
        arms, states = reward.shape
        return LastSeen(jnp.full(arms, states, jnp.int32), jnp.zeros(arms, jnp.int32))

    def scores(self, key: Array, state: LastSeen, t: Array) -> tuple[Array, LastSeen]:
        table = jnp.asarray(self.indices, float)
        ages = jnp.minimum(t - state.rounds, table.shape[2])
        return table[jnp.arange(table.shape[0]), state.states, ages - 1], state

    def update(self, state: LastSeen, feedback: Feedback) -> LastSeen:
        arms, (number, starts, _) = feedback.arms, jnp.asarray(self.indices).shape
        check_feedback(feedback, number, starts - 1)
        return LastSeen(state.states.at[arms].set(feedback.states), state.rounds.at[arms].set(feedback.t))


def _rounds_to_forget(passive: np.ndarray) -> int:
    """The number of rounds, at least 2, after which the law of an arm is within 0.001 of its long-run law."""
    moduli = np.abs(np.linalg.eigvals(passive))
    below = moduli[moduli < 1 - 1e-9]  # those of modulus 1 belong to classes and periods, which never fade
    return max(2, int(np.ceil(np.log(FORGOTTEN) / np.log(max(below.max(initial=0), FORGOTTEN)))) + 1)


def _pairs(arms: KnownArms, arm: int, ages: int) -> KnownArms:
    """One arm whose states are the pairs (s, n), s from 0 to S and n from 1 to T = `ages`, at index s T + n - 1."""
    active, passive, earned, kept = (law[arm] for law in arms.moves)
    states = len(earned)
    laws = [np.vstack([np.eye(states), arms.initial[arm]])]
    for _ in range(ages - 2):
        laws.append(laws[-1] @ passive)
    shares = [long_run([passive], [state], np.zeros(states, int)).gain for state in np.eye(states)]  # of rounds there
    laws.append(laws[0] @ np.stack(shares, axis=1))
    law = np.stack(laws, axis=1).reshape(-1, states)
    pairs = np.arange(len(law))
    played, waiting = np.zeros((2, len(law), len(law)))
    played[:, np.arange(states) * ages] = law @ active
    waiting[pairs, np.where(pairs % ages == ages - 1, pairs, pairs + 1)] = 1
    return KnownArms(played[None], waiting[None], (law @ earned)[None], (law @ kept)[None])
