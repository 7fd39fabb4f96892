"""IMED on the likelihood of an arm's whole chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree, total
from jaxbandit.confidence.chain import LikeliestChain, likeliest_chain, ratio_to
from jaxbandit.fast import computed_once, exponential, log
from jaxbandit.policies.chains.imed_mc_on_demand import OnDemand, begun, compared, cycles
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.leaders import leaders, least_index, no_leaders
from jaxbandit.policies.parts.memory import ChainMemory, Forgets, Transitions, counts_whole, no_transitions


@pytree
class IMEDMC:
    """IMED on the likelihood of the whole chain (IMED-MC): the arm with the least J(best) + log(1 + c) is played.

    J(m) = max of L - max of L over chains with a mean of at least m, where L(Q) = sum over s and j of n_sj log Q_sj and
    n_sj counts the arm's transitions from state s to state j (`confidence.chain_likelihood_ratio`). `best` is the
    largest over arms of the mean of the arm's likeliest chain; c counts the arm's `cycles`. Its regret grows as the
    lower bound does, for all irreducible chains (docs/optimality.md) and arms that always pay the same. An arm that can
    enter states which it never leaves again is not covered: the policy may play it for ever.

    With an exponent or a gap, only chains of a class are admitted: those whose range of relative values is at most
    (max reward - min reward) / gap (`chains.reward_gap`), for two states those with P01 + P10 >= gap. An arm that never
    moves is then given up; with neither, an arm that has not moved yet is played until it does.

    Args:
      exponent: None, or in (0, 1): the class of the gap T^-exponent, T the arm's plays. It needs no knowledge of the
        chains, and the same theorem holds; take 0.55 if arms may hardly move.
      gap: None, or in [0, 1]: a class chosen by the user. Both None (default): all chains.
      memory: None, or `Window`, or for two states `Discounted`: n, c and T are then what is remembered.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, an exponent and a gap, or a discount for
        more than two states, whose search needs whole counts.

    With M plays a round the M - 1 arms whose likeliest chains have the largest means are played, and the rule above
    chooses one of the others. For two states J is exact up to rounding. For more it is found by a search, which for
    three states without a class is off by more than 0.1 max(1, J) for 2 in 1,000 of the counts met in play. Then J is
    computed only for arms whose turn it could be: as J grows with m, an arm that is out with a smaller m is out.

    Source: our own, after Honda and Takemura 2015 (IMED) and Burnetas and Katehakis 1997 (the likelihood of chains).
    Cycles are counted where IMED counts plays, because a slow arm's plays say less than their number.

    >>> policy = IMEDMC()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[[60, 40], [40, 20]], [[10, 10], [9, 11]]]))
    >>> [round(score, 4) for score in policy.scores(None, state, 181)[0].tolist()]  # -(7.6766 + log 41), -(0 + log 10)
    [-11.3902, -2.3026]
    """

    exponent: ArrayLike | None = None
    gap: ArrayLike | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        if self.exponent is not None and self.gap is not None:
            raise ValueError("gap: give an exponent or a gap, not both")
        if self.exponent is not None:
            checks.number(self, "exponent", 0, 1, above=True, below=True)
        if self.gap is not None:
            checks.number(self, "gap", 0, 1)
        checks.memory(self, task)
        if task.reward.shape[1] > 2 and not counts_whole(self.memory):
            raise ValueError(
                f"memory: IMEDMC discounts transitions between two states, and arms of {task.name} have "
                f"{task.reward.shape[1]}; give a Window, or your own memory, whose counts are whole"
            )

    def init(self, reward: Array) -> State:
        state = no_transitions(reward)
        if self.memory is not None:
            known = None if self._all_chains() else self._likeliest(state.counts, state.reward)
            return Forgetting(no_transitions(reward, self.memory), no_leaders(reward), known)
        chains = Chains(*state, no_leaders(reward))
        if reward.shape[1] > 2:
            return begun(state, no_leaders(reward), self._gap(state.counts))
        if self._all_chains():
            return chains
        # as in `_likeliest`; XLA would move a number that depends on no count through every operation there, one a pass
        gap = jnp.full(reward.shape[:1], 1.0 if self.gap is None else self.gap, float)
        return Classes(*chains, likeliest_chain(state.counts, state.reward, gap), gap)

    def scores(self, key: Array, state: State, t: Array) -> tuple[Array, State]:
        known: Sequence[Any]
        if isinstance(state, OnDemand):
            return least_index(state.lower, total(total(state.seen.counts)), state.leads), state
        if isinstance(state, Forgetting):
            counts, reward, leads, known = state.seen.counts, state.seen.reward, state.leads, state.known or ()
        else:
            counts, _, reward, leads, *known = state
        chain, gap = known or (likeliest_chain(counts, reward), None)
        plays = total(total(counts))
        best = jnp.max(jnp.where((plays > 0) & ~leads, chain.mean, 0))
        if counts.shape[-1] == 2:
            ratio = ratio_to(chain, counts, reward, best, gap)
        else:  # one arm at a time, so that its numbers stay in the fastest cache and the program compiles sooner

            def ratio_of(arm: tuple[LikeliestChain, Array, Array, Array | None]) -> Array:
                chain, counts, reward, gap = arm
                return ratio_to(chain, counts, reward, best, gap, quick=True)

            ratio = jax.lax.map(ratio_of, (chain, counts, reward, gap))
        index = ratio + log(1 + cycles(counts, reward, chain.mean).astype(float))
        return least_index(index, plays, leads), state

    def update(self, state: State, feedback: Feedback) -> State:
        if isinstance(state, Forgetting):
            return self._forgotten(state, feedback)
        if isinstance(state, OnDemand):
            return compared(state, feedback, self._gap(state.seen.counted(feedback).counts[feedback.arms]))
        seen = Transitions(*state[:3]).counted(feedback)
        kept: tuple[Any, ...] = ()
        if isinstance(state, Classes):
            counts = computed_once(seen.counts[feedback.arms].astype(float))
            played = self._likeliest(counts, seen.reward[feedback.arms])
            kept = jax.tree.map(lambda all_of, new: all_of.at[feedback.arms].set(computed_once(new)), state[4:], played)
        leads = state.leads
        if feedback.arms.shape[0] > 1:
            chain = kept[0] if kept else likeliest_chain(seen.counts, seen.reward)
            leads = leaders(chain.mean, total(total(seen.counts)), feedback)
        return Classes(*seen, leads, *kept) if kept else Chains(*seen, leads)

    def _forgotten(self, state: Forgetting, feedback: Feedback) -> Forgetting:
        """The state after a round, of a policy that forgets: the counts of every arm may change."""
        seen, known = state.seen.counted(feedback), None
        if not self._all_chains():
            known = self._likeliest(computed_once(seen.counts.astype(float)), seen.reward)
        leads = state.leads
        if feedback.arms.shape[0] > 1:
            chain = known[0] if known else likeliest_chain(seen.counts, seen.reward)
            leads = leaders(chain.mean, total(total(seen.counts)), feedback)
        return Forgetting(seen, leads, known)

    def _all_chains(self) -> bool:
        return self.exponent is None and self.gap is None

    def _likeliest(self, counts: Array, reward: Array) -> tuple[LikeliestChain, Array]:
        """The likeliest chain of each arm in its class, and the gap of that class."""
        gap = self._gap(counts)
        return likeliest_chain(counts, reward, gap), gap  # type: ignore[return-value]

    def _gap(self, counts: Array) -> Array | None:
        """The gaps of the arms' classes, from their transitions [K, S, S]; None for all chains."""
        if self._all_chains():
            return None
        plays = total(total(counts)).astype(float)
        if self.exponent is None:
            return computed_once(
                self.gap + 0 * plays
            )  # one for each arm: with a single number XLA makes a slow program
        return computed_once(exponential(self.exponent * jnp.log(jnp.maximum(plays, 1)))[1])


class Chains(NamedTuple):
    """State of the policy for all chains."""

    counts: Array  # [K, S, S], [K] and [K, S], as in `Transitions`
    states: Array
    reward: Array
    leads: Array  # [K] bool, the arms that are played without an index


class Classes(NamedTuple):
    """State with an exponent or a gap: as `Chains`, and what follows from it for each arm, renewed at its plays."""

    counts: Array
    states: Array
    reward: Array
    leads: Array
    chain: LikeliestChain
    gap: Array  # [K]


class Forgetting(NamedTuple):
    """State with a memory that forgets."""

    seen: ChainMemory
    leads: Array  # [K] bool, the arms that are played without an index
    known: tuple[LikeliestChain, Array] | None  # with an exponent or a gap: as the last fields of `Classes`


State = Chains | Classes | Forgetting | OnDemand
