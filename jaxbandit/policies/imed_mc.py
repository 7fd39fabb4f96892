"""IMED on the likelihood of an arm's whole chain."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base import Array, Feedback, pytree, total
from jaxbandit.confidence.likelihood import LikeliestChain, likeliest_chain, ratio_to
from jaxbandit.fast import computed_once, exponential, log
from jaxbandit.policies import checks
from jaxbandit.policies.estimates import Transitions, count_transitions, no_transitions


@pytree
class IMEDMC:
    """IMED on the likelihood of the whole chain (IMED-MC): the arm with the least J(best) + log(1 + c) is played.

    J(m) = max of L - max of L over chains with a mean of at least m, where L(Q) = sum over s and j of n_sj log Q_sj and
    n_sj counts the arm's transitions from state s to state j (`confidence.chain_likelihood_ratio`). `best` is the
    largest over arms of the mean of the arm's likeliest chain; c counts the arm's `cycles`. Its regret grows as the
    lower bound does, for all irreducible chains (docs/optimality.md).

    With an exponent or a gap, only chains of a class are admitted: those whose range of relative values is at most
    (max reward - min reward) / gap (`chains.reward_gap`), for two states those with P01 + P10 >= gap. An arm that never
    moves is given up then; without, an arm that has not moved yet is played on until it does.

    Args:
      exponent: None, or in (0, 1): the class of the gap T^-exponent, T the arm's plays. It needs no knowledge of the
        chains and has the same theorem; 0.5 where arms may hardly move.
      gap: None, or in [0, 1]: a class chosen by the user. Both None (default): all chains.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range or both fields given.

    It is for one play a round. With M plays the M-th arm should be compared with the M-th best mean, not with the best:
    regret is linear then. For two states J is exact but for rounding. For more it is found by a search, which for three
    states without a class is off by more than 0.1 max(1, J) in 2 of 1,000 counts that plays reach.

    Source: our own, after Honda and Takemura 2015 (IMED) and Burnetas and Katehakis 1997 (the likelihood of chains).
    Cycles are counted where IMED has plays, because a slow arm's plays say less than their number.

    >>> policy = IMEDMC()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[[60, 40], [40, 20]], [[10, 10], [9, 11]]]))
    >>> [round(score, 4) for score in policy.scores(None, state, 181).tolist()]  # -(7.6766 + log 41), -(0 + log 10)
    [-11.3902, -2.3026]
    """

    exponent: Array | None = None
    gap: Array | None = None

    def validate(self, reward: Array) -> None:
        if self.exponent is not None and self.gap is not None:
            raise ValueError("gap: give an exponent or a gap, not both")
        if self.exponent is not None:
            checks.number(self, "exponent", 0, 1, above=True, below=True)
        if self.gap is not None:
            checks.number(self, "gap", 0, 1)

    def init(self, reward: Array) -> Transitions | Classes:
        state = no_transitions(reward)
        if self.exponent is None and self.gap is None:
            return state
        # as `_likeliest` has it; XLA would move a number that no count enters through every operation there, one a pass
        gap = jnp.full(reward.shape[:1], 1.0 if self.gap is None else self.gap, float)
        return Classes(*state, likeliest_chain(state.counts, state.reward, gap), gap)

    def scores(self, key: Array, state: Transitions | Classes, t: Array) -> Array:
        counts, _, reward, *known = state
        chain, gap = known or (likeliest_chain(counts, reward), None)
        plays = total(total(counts))
        best = jnp.max(jnp.where(plays > 0, chain.mean, 0))
        if counts.shape[-1] == 2:
            ratio = ratio_to(chain, counts, reward, best, gap)
        else:  # one arm after the other: few numbers at a time stay in the fastest cache, and compile sooner

            def ratio_of(arm: tuple[LikeliestChain, Array, Array, Array | None]) -> Array:
                chain, counts, reward, gap = arm
                return ratio_to(chain, counts, reward, best, gap, quick=True)

            ratio = jax.lax.map(ratio_of, (chain, counts, reward, gap))
        index = ratio + log(1 + cycles(counts, reward, chain.mean).astype(float))
        return jnp.where(plays == 0, jnp.inf, -index)

    def update(self, state: Transitions | Classes, feedback: Feedback) -> Transitions | Classes:
        transitions = count_transitions(Transitions(*state[:3]), feedback)
        if isinstance(state, Transitions):
            return transitions
        counts = computed_once(transitions.counts[feedback.arms].astype(float))
        played = self._likeliest(counts, transitions.reward[feedback.arms])
        kept = jax.tree.map(lambda all_of, new: all_of.at[feedback.arms].set(computed_once(new)), state[3:], played)
        return Classes(*transitions, *kept)

    def _likeliest(self, counts: Array, reward: Array) -> tuple[LikeliestChain, Array]:
        """The likeliest chain of each arm in its class, and the gap of that class."""
        plays = total(total(counts)).astype(float)
        if self.exponent is None:
            gap = computed_once(self.gap + 0 * plays)  # one for each arm: of a single number XLA makes a slow program
        else:
            gap = computed_once(exponential(self.exponent * jnp.log(jnp.maximum(plays, 1)))[1])
        return likeliest_chain(counts, reward, gap), gap


class Classes(NamedTuple):
    """State with an exponent or a gap: transitions, and what follows from them for each arm, renewed at its plays."""

    counts: Array  # [K, S, S], [K] and [K, S], as in `Transitions`
    states: Array
    reward: Array
    chain: LikeliestChain
    gap: Array  # [K]


def cycles(counts: Array, reward: Array, mean: Array) -> Array:
    """How often an arm went from states that pay less than its mean to the others and back, the less of both: [K].

    For two states min(n01, n10).

    Args:
      counts: [K, S, S] int32.
      reward: [K, S].
      mean: [K].

    >>> cycles(jnp.array([[[0, 2, 1], [3, 0, 0], [0, 1, 5]]]), jnp.array([[0.0, 0.5, 1.0]]), jnp.array([0.7])).tolist()
    [1]
    """
    if counts.shape[1] == 2:
        return jnp.minimum(counts[:, 0, 1], counts[:, 1, 0])
    poor = reward < mean[:, None]
    out = total(total(jnp.where(poor[:, :, None] & ~poor[:, None, :], counts, 0)))
    back = total(total(jnp.where(~poor[:, :, None] & poor[:, None, :], counts, 0)))
    return jnp.minimum(out, back)
