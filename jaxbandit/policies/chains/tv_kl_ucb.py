"""TV-KL-UCB and KL-UCB-MC: KL confidence bounds on the transition out of an arm's present state."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, described, pytree, static, total
from jaxbandit.confidence import Solver, kl_bound
from jaxbandit.confidence.row import MOST_LISTED, excursions, weighted_mean_max
from jaxbandit.divergences import Distance, farthest, log_p_value, threshold
from jaxbandit.fast import computed_once
from jaxbandit.policies.chains import tv_kl_ucb_many_states as many_states
from jaxbandit.policies.chains.estimated_rows import estimates
from jaxbandit.policies.chains.kept_pair import exceeds
from jaxbandit.policies.chains.tv_kl_ucb_many_states import Summaries
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import Clock, level
from jaxbandit.policies.parts.memory import ChainMemory, Forgets, no_transitions, positive, remembered

Samples = Literal["arm", "state"]
Test = Literal["distance", "likelihood_ratio"]


@described
class Estimated(NamedTuple):
    """State of `KLUCBMC` and `TVKLUCB`.

    Fields:
      seen: the transitions.
      known: summaries of them for arms with more than three states; None where every round computes these.
    """

    seen: ChainMemory
    known: Summaries | None


@pytree
class KLUCBMC:
    """KL-UCB-MC: KL-UCB on the transition out of an arm's present state, without a test whether the arm is Markovian.

    With c = log f(t) / T and estimated rows p, the index is the largest stationary mean over rows q of the present
    state with KL(p || q) <= c, the other rows unchanged (`confidence.stationary_mean_upper`). With two
    states and rewards r0, r1 it has a closed form:
    in state 0 the index is (r0 p10 + r1 p) / (p + p10) with p = upper(p01, c),
    in state 1 the index is (r0 q + r1 p01) / (p01 + q) with q = lower(p10, c). For r1 < r0, a case that the paper
    leaves out, `lower` and `upper` change places. 0/0 stands for the better reward. Rows are estimated from
    departures, which excludes the last visit.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      unvisited: estimated probability of leaving a state not yet left, to the other states alike, in [0, 1]; 1 as in
        the paper.
      samples: "arm" (the paper's equations: T counts all plays of the arm) or "state" (its concentration lemma: the
        plays in the present state).
      solver: of `confidence.kl_bound` and `confidence.stationary_mean_upper`.
      memory: None, or `Discounted` or `Window`, for arms with two or three states: rows, means and T are then of the
        remembered plays, and the number of remembered rounds replaces t.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, or a memory with more than
        three states.

    Source: the paper's appendix D, algorithm 3, equations for states 0 and 1 in section III.A; for more states
    algorithm 2's maximisation, solved exactly.

    >>> import jax
    >>> state = KLUCBMC().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(KLUCBMC().scores)(None, state, 1)[0].tolist()
    [inf, inf]
    """

    units = "mapped"

    exploration: ArrayLike | None = None
    unvisited: ArrayLike = 1.0
    samples: Samples = static("arm")
    solver: Solver = static("halley")
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        _check(self, task)

    def init(self, reward: Array) -> Estimated:
        return _initial_state(self, reward, None)

    def scores(self, key: Array, state: Estimated, t: Array) -> tuple[Array, Estimated]:
        return transition_index(self, state, t, jnp.ones_like(state.seen.states, bool))

    def update(self, state: Estimated, feedback: Feedback) -> Estimated:
        return _updated(self, state, feedback, None)


@pytree
class TVKLUCB:
    """TV-KL-UCB (total-variation KL-UCB; with more than two states m-TV-KL-UCB).

    The index is that of `KLUCBMC` for arms classified as Markovian in round t and that of `KLUCB` for the others. An
    arm is classified as Markovian if the largest distance between any two of its estimated rows, |p01 + p10 - 1| for
    the total variation of two, exceeds scale (t - 1)^-exponent. Estimates are ratios of counts and meet the threshold
    exactly when t - 1 is a fourth power, so they are compared with the threshold times 1 + 1e-5, the same in every
    precision.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      unvisited: estimated probability of leaving a state not yet left, to the other states alike, in [0, 1]; 1 as in
        the paper.
      exponent, scale: of the test's threshold; 1/4 and 1 in the paper.
      samples: "arm" (the paper's equations: the level is divided by all plays of the arm) or "state" (its concentration
        lemma: by the plays in the present state).
      clock: "round" (the paper: the threshold falls with the round) or "arm" (with the arm's own plays, T^-exponent,
        for which its proposition 4 is stated).
      distance: "total_variation", "squared_hellinger", "jensen_shannon" or "kl" (the larger of both orders), all
        compared with the same threshold. The paper's proof covers the first and distances that are never larger, such
        as the next two; there is no proof for "kl". With a smaller distance an arm is classified as Markovian later.
      test: "distance" (the paper) or "likelihood_ratio": an arm is classified as Markovian if `divergences.log_p_value`
        of its transitions is below -log f(t), f(t) = 1 + t log^2 t, or -log f(T + 1) with the arm's clock; exponent,
        scale, distance and unvisited have no part in that. With the clock "round" and without a memory, an arm with
        independent rewards is then classified as Markovian in round t with probability at most 1 / f(t), which is
        summable, however often it has been played. In return a Markovian arm is not recognised before about
        log f(t) / I plays, I = sum over s of pi_s KL(P_s, pi), with its rows P_s and their stationary law pi.
      solver: of `confidence.kl_bound` and `confidence.stationary_mean_upper`.
      memory: None, or `Discounted` or `Window`, for arms with two or three states: rows, means and T are then of the
        remembered plays, and the number of remembered rounds replaces t.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, or a memory with more than
        three states.

    Source: the paper's sections III.A and III.C, algorithms 1 and 2; estimates and t as in its text, not as in its
    authors' code. All pairs of rows are compared: algorithm 2's loop omits the last state, and would classify the best
    arm of scenario 3 as i.i.d. The likelihood ratio is ours, from the inequality that its remark on distances names.

    >>> import jax
    >>> policy = TVKLUCB()
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [inf, inf]
    """

    units = "mapped"

    exploration: ArrayLike | None = None
    unvisited: ArrayLike = 1.0
    exponent: ArrayLike = 0.25
    scale: ArrayLike = 1.0
    samples: Samples = static("arm")
    clock: Clock = static("round")
    distance: Distance = static("total_variation")
    test: Test = static("distance")
    solver: Solver = static("halley")
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        _check(self, task)
        checks.choice(self, "clock", get_args(Clock))
        checks.choice(self, "distance", get_args(Distance))
        checks.choice(self, "test", get_args(Test))
        checks.number(self, "exponent", 0)
        checks.number(self, "scale", 0)

    @property
    def _compared(self) -> Distance | None:
        """The distance between rows, if the test needs it."""
        return self.distance if self.test == "distance" else None

    def init(self, reward: Array) -> Estimated:
        return _initial_state(self, reward, self._compared)

    def markovian(self, state: Estimated, t: Array) -> Array:
        """The arms that the policy classifies as Markovian in round t, [K] bool."""
        return self._judged(state, t)[0]

    def _judged(self, state: Estimated, t: Array) -> tuple[Array, Estimated]:
        """`markovian`, and the state with updated summaries."""
        seen, known = state
        if self.clock == "round":
            elapsed = jnp.asarray(remembered(self.memory, t - 1))
        else:
            elapsed = total(total(seen.counts)) if known is None else known.plays
        if self.test == "likelihood_ratio":
            return computed_once(log_p_value(seen.counts)) < -level(elapsed + 1), state
        limit = threshold(elapsed, self.exponent, self.scale)
        if known is not None:
            limit = jnp.broadcast_to(limit, known.plays.shape)
            pair: Any = known.pair  # KL-UCB-MC alone has none, and it classifies no arm
            markovian, pair = exceeds(pair, seen.counts, limit, self.unvisited, self.distance)
            return markovian, Estimated(seen, known._replace(pair=pair))
        rows = estimates(seen.counts, self.unvisited)
        if self.distance == "total_variation" and rows.shape[-1] == 2:
            distance = jnp.abs(rows[:, 0, 1] + rows[:, 1, 0] - 1)  # the total variation, in fewer operations
        else:
            distance = computed_once(farthest(rows, self.distance))
        return distance > limit, state

    def scores(self, key: Array, state: Estimated, t: Array) -> tuple[Array, Estimated]:
        markovian, state = self._judged(state, t)
        return transition_index(self, state, t, markovian)

    def update(self, state: Estimated, feedback: Feedback) -> Estimated:
        return _updated(self, state, feedback, self._compared)


def _initial_state(policy: KLUCBMC | TVKLUCB, reward: Array, distance: Distance | None) -> Estimated:
    """The state before the first round, of a policy with this distance between rows, or without one."""
    seen = no_transitions(reward, policy.memory)
    if reward.shape[1] <= MOST_LISTED:
        return Estimated(seen, None)
    return Estimated(seen, many_states.no_summaries(seen, policy.unvisited, distance))


def _updated(policy: KLUCBMC | TVKLUCB, state: Estimated, feedback: Feedback, distance: Distance | None) -> Estimated:
    """The state after a round, of a policy with this distance between rows, or without one."""
    seen, known = state.seen.counted(feedback), state.known
    if known is not None:
        known = many_states.renewed(known, state.seen.states, seen, feedback, policy.unvisited, distance)
    return Estimated(seen, known)


def transition_index(
    policy: KLUCBMC | TVKLUCB, state: Estimated, t: Array, markovian: Array
) -> tuple[Array, Estimated]:
    """The index [K] of `KLUCBMC` where `markovian` [K], that of `KLUCB` elsewhere; inf for an arm not played.

    With more than three states it is computed only for arms that could be played, and the state keeps the bounds.
    """
    seen, known = state
    if known is None:
        mean, plays = seen.mean_and_plays()
        here = jnp.arange(seen.counts.shape[1])[None] == seen.states[:, None]
        departures = total(jnp.where(here, total(seen.counts), 0))
    else:
        mean, plays, departures = known.mean, known.plays, known.departures
    samples = jnp.where(markovian, departures, plays) if policy.samples == "state" else plays
    radius = level(remembered(policy.memory, t), policy.exploration) / positive(samples)
    radius = jnp.where(samples == 0, jnp.inf, radius)  # also if the level is 0, which is possible in round 2
    if known is not None:
        scores, known = many_states.index(known, seen, radius, markovian, policy.unvisited, policy.solver)
        return scores, Estimated(seen, known)
    of_few = _of_two_states if seen.counts.shape[1] == 2 else _of_three_states
    index = of_few(estimates(seen.counts, policy.unvisited), mean, seen, radius, markovian, policy.solver)
    return jnp.where(plays == 0, jnp.inf, index), state


def _of_two_states(
    rows: Array, mean: Array, seen: ChainMemory, radius: Array, markovian: Array, solver: Solver
) -> Array:
    """The index of arms with two states in closed form: one root per arm, whichever index it has."""
    p01, p10 = rows[:, 0, 1], rows[:, 1, 0]
    r0, r1 = seen.reward[:, 0], seen.reward[:, 1]
    in_0 = seen.states == 0
    centre = jnp.where(markovian, jnp.where(in_0, p01, p10), mean)
    upward = ~markovian | (in_0 == (r1 >= r0))
    bound = kl_bound(centre, radius, upward, solver)
    leave, back = jnp.where(in_0, bound, p01), jnp.where(in_0, p10, bound)
    stationary = (r0 * back + r1 * leave) / (leave + back)
    stationary = jnp.where(leave + back > 0, stationary, jnp.maximum(r0, r1))
    return jnp.where(markovian, stationary, bound)


def _of_three_states(
    rows: Array, mean: Array, seen: ChainMemory, radius: Array, markovian: Array, solver: Solver
) -> Array:
    """One maximum over a KL ball per arm, whichever index it has: that of `KLUCB` is over rows (1 - mean, mean)."""
    p, means, lengths, radius = excursions(rows, seen.reward, seen.states, radius)
    nothing = jnp.zeros_like(mean)
    p = [jnp.where(markovian, a, b) for a, b in zip(p, [1 - mean, mean, nothing], strict=True)]
    means = [jnp.where(markovian, a, b) for a, b in zip(means, [nothing, nothing + 1, nothing], strict=True)]
    lengths = [jnp.where(markovian, a, 1) for a in lengths]
    return weighted_mean_max(p, means, lengths, radius, solver)[0]


def _check(policy: KLUCBMC | TVKLUCB, task: Task) -> None:
    if policy.exploration is not None:
        checks.number(policy, "exploration")
    checks.choice(policy, "solver", get_args(Solver))
    checks.choice(policy, "samples", get_args(Samples))
    checks.number(policy, "unvisited", 0, 1)
    checks.memory(policy, task, states=MOST_LISTED)
