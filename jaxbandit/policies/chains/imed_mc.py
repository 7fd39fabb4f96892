"""IMED-MC: IMED on the likelihood of an arm's Markov chain."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, described, pytree, total
from jaxbandit.confidence.chain import LikeliestChain, likeliest_chain, ratio_to
from jaxbandit.fast import computed_once, exponential, log
from jaxbandit.policies.chains.imed_mc_on_demand import Bounds, cycles, likeliest_where_needed, no_bounds
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.leaders import leaders, least_index, no_leaders
from jaxbandit.policies.parts.memory import ChainMemory, Forgets, counts_whole, no_transitions


@described
class Compared(NamedTuple):
    """State of IMED-MC.

    Fields:
      seen: the transitions.
      leads: [K] bool, the arms played regardless of their indices, with several plays a round.
      chain: the most likely chain of each arm in its class; None where every round computes it from the counts.
      gap: [K], of these classes; None for all chains.
      bounds: bounds on the indices of arms with three states or more; None where every round computes all indices.
    """

    seen: ChainMemory
    leads: Array
    chain: LikeliestChain | None
    gap: Array | None
    bounds: Bounds | None


@pytree
class IMEDMC:
    """IMED-MC, IMED for Markov chains: the arm with the least J(best) + log(1 + c) is played.

    J(m) = max of L - max of L over chains with a mean of at least m, where L(Q) = sum over s and j of n_sj log Q_sj and
    n_sj counts the arm's transitions from state s to state j (`confidence.chain_likelihood_ratio`). `best` is the
    largest mean over arms of the arm's most likely chain; c counts the arm's `cycles`. Its regret attains the lower
    bound for all irreducible chains (docs/optimality.md) and arms with constant rewards. Arms with transient states
    are not covered: the policy may play one for ever.

    With an exponent or a gap, only a class of chains is considered: those whose range of relative values is at most
    (max reward - min reward) / gap (`chains.reward_gap`), for two states those with P01 + P10 >= gap. The policy then
    stops playing an arm that never moves; with neither, an arm that has not moved yet is played until it does.

    Args:
      exponent: None, or in (0, 1): the class of the gap T^-exponent, T the arm's plays. It needs no knowledge of the
        chains, and the same theorem holds; take 0.55 if arms may move very rarely.
      gap: None, or in [0, 1]: a class chosen by the user. Both None (default): all chains.
      memory: None, or `Window`, or for two states `Discounted`: n, c and T are then of the remembered plays.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, an exponent beside a gap, or a discount
        for more than two states, because the search needs integer counts.

    With M plays a round the M - 1 arms whose most likely chains have the largest means are played, and the rule above
    chooses one of the others. For two states J is exact up to rounding. For more it is found by a search, whose error
    for three states without a class exceeds 0.1 max(1, J) for 2 in 1,000 of the counts met in simulations. J is then
    computed only for arms that could have the least index: J grows with m, so its value at a smaller m is a bound.

    Source: our own, after Honda and Takemura 2015 (IMED) and Burnetas and Katehakis 1997 (the likelihood of chains).
    Cycles replace the plays of IMED, because plays of a slowly mixing arm carry less information.

    >>> policy = IMEDMC()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> counts = jnp.array([[[60, 40], [40, 20]], [[10, 10], [9, 11]]])
    >>> state = state._replace(seen=state.seen._replace(counts=counts))
    >>> jax.jit(policy.scores)(None, state, 181)[0].round(4).tolist()  # -(7.6766 + log 41), -(0 + log 10)
    [-11.3902, -2.3026]
    """

    units = "mapped"

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
                f"{task.reward.shape[1]}; give a Window, or your own memory with integer counts"
            )

    def init(self, reward: Array) -> Compared:
        seen, arms, states = no_transitions(reward, self.memory), *reward.shape
        # as `_gap` has it before the first play; XLA would move a number that depends on no count through every
        # operation there, one in each pass
        gap = None if self._all_chains() else jnp.full(arms, 1.0 if self.gap is None else self.gap, float)
        searches = self._searches_on_demand(states)
        likeliest = likeliest_where_needed if searches else likeliest_chain
        chain = likeliest(seen.counts, seen.reward, gap) if searches or gap is not None else None
        return Compared(seen, no_leaders(reward), chain, gap, no_bounds(arms) if searches else None)

    def scores(self, key: Array, state: Compared, t: Array) -> tuple[Array, Compared]:
        counts, reward, chain = state.seen.counts, state.seen.reward, state.chain
        plays = total(total(counts))
        if state.bounds is not None:
            return least_index(state.bounds.lower, plays, state.leads), state
        if chain is None:
            chain = likeliest_chain(counts, reward)
        best = jnp.max(jnp.where((plays > 0) & ~state.leads, chain.mean, 0))
        if counts.shape[-1] == 2:
            ratio = ratio_to(chain, counts, reward, best, state.gap)
        else:  # one arm at a time: its numbers stay in the nearest cache, and the program compiles sooner

            def ratio_of(arm: tuple[LikeliestChain, Array, Array, Array | None]) -> Array:
                chain, counts, reward, gap = arm
                return ratio_to(chain, counts, reward, best, gap, quick=True)

            ratio = jax.lax.map(ratio_of, (chain, counts, reward, state.gap))
        index = ratio + log(1 + cycles(counts, reward, chain.mean).astype(float))
        return least_index(index, plays, state.leads), state

    def update(self, state: Compared, feedback: Feedback) -> Compared:
        seen, leads = state.seen.counted(feedback), state.leads
        chain, gap = self._renewed(state, seen, feedback.arms)
        if feedback.arms.shape[0] > 1:
            mean = (chain or likeliest_chain(seen.counts, seen.reward)).mean
            leads = leaders(mean, total(total(seen.counts)), feedback)
        bounds = state.bounds
        if bounds is not None and chain is not None:
            bounds = bounds.renewed(seen, leads, chain, gap, feedback.arms)
        return Compared(seen, leads, chain, gap, bounds)

    def _renewed(self, state: Compared, seen: ChainMemory, arms: Array) -> tuple[LikeliestChain | None, Array | None]:
        """The most likely chains and the gaps of the classes after a round in which `arms` [M] were played."""
        if state.chain is None:
            return None, None
        if self.memory is not None:  # which changes the counts of every arm
            return self._likeliest(seen.counts, seen.reward)
        played = self._likeliest(seen.counts[arms], seen.reward[arms])
        kept = state.chain, state.gap
        return jax.tree.map(lambda of_all, new: of_all.at[arms].set(computed_once(new)), kept, played)

    def _likeliest(self, counts: Array, reward: Array) -> tuple[LikeliestChain, Array | None]:
        """The most likely chain of each arm in its class, and the gap of the class."""
        if self._searches_on_demand(counts.shape[-1]):
            gap = self._gap(counts)
            return likeliest_where_needed(counts, reward, gap), gap
        counts = computed_once(counts.astype(float))
        gap = self._gap(counts)
        return likeliest_chain(counts, reward, gap), gap

    def _searches_on_demand(self, states: int) -> bool:
        """Whether J needs a search (three states or more), which is then made only for arms that could be played."""
        return states > 2 and self.memory is None

    def _all_chains(self) -> bool:
        return self.exponent is None and self.gap is None

    def _gap(self, counts: Array) -> Array | None:
        """The gaps of the arms' classes, from their transitions [K, S, S]; None for all chains."""
        if self._all_chains():
            return None
        plays = total(total(counts)).astype(float)
        if self.exponent is None:  # one for each arm: with a single number XLA makes a slow program
            return computed_once(self.gap + 0 * plays)
        return computed_once(exponential(self.exponent * jnp.log(jnp.maximum(plays, 1)))[1])
