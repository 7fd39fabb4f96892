"""A policy that finds the best arm: it samples until it stops, and answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import excerpt
from jaxbandit.base import Feedback, Policy, State, Task, described, pytree
from jaxbandit.fast import computed_once
from jaxbandit.members import Units
from jaxbandit.policies.identify.evidence import against_all
from jaxbandit.policies.identify.glr_rules import ChainGLR, Stopping, check_rule
from jaxbandit.policies.identify.sampling_rules import Sampling, Seen, TopTwo
from jaxbandit.policies.identify.track_and_stop import Information, TrackAndStop
from jaxbandit.policies.parts import checks
from jaxbandit.selection import top_arms


@described
class Identifying(NamedTuple):
    """State of `Identify`.

    Fields:
      memory: of the stopping rule.
      seen: the leader, the evidence, means and plays.
      sampling: the state of the policy that samples; () for a sampling rule.
    """

    memory: Any
    seen: Seen
    sampling: State


@pytree
class Identify:
    """Identification of the best arm with an error rate: samples until the evidence suffices, and answers the leader.

    It stops after the first round in which `stopping` has enough evidence that the arm with the largest estimated mean
    is better than each other one. With an exact rule the probability of a wrong answer is at most delta, whatever
    samples. Play it with `simulate(.., until="stopped", horizon=cap)`. If feedback is late, `ChainGLR` and `Blocks` get
    each arm's moves in their order: a move that overtakes an earlier one waits for it.

    Args:
      sampling: `TopTwo()`, the default, `TrackAndStop()`, `SuccessiveElimination()`, `LUCB()`, `RoundRobin()`, or any
        policy.
      stopping: `ChainGLR()`, the default, for Markov arms and independent ones; `Blocks()`, for the same arms, stops
        after about half the rounds with two arms, each of which takes four to eight times as long; `BernoulliGLR()` and
        `FamilyGLR(..)`, for independent rewards alone; `Budget(rounds)`, after a number of rounds.
      delta: in (0, 1), the probability of an error that is accepted.

    Raises:
      ValueError: from `simulate` and `check_policy`: delta out of range, several plays, no rule, or arms that
        one of the rules is not for; from `simulate` without `until="stopped"`.

    >>> import jaxbandit
    >>> arms = jaxbandit.two_state([0.5, 0.2], [0.2, 0.5])
    >>> result = jaxbandit.simulate(arms, {"T": Identify(delta=0.05)}, until="stopped", runs=50, horizon=5_000)
    >>> bool((result.stopped["T"] > 0).all()), result.answers["T"].max().tolist()
    (True, 0)
    """

    sampling: Sampling | TrackAndStop | Policy = TopTwo()
    stopping: Stopping = ChainGLR()
    delta: ArrayLike = 0.1

    def validate(self, task: Task) -> None:
        checks.number(self, "delta", 0, 1, above=True, below=True)
        checks.one_play(self, task)
        check_rule("stopping", self.stopping, task)
        samples = self._has_rule() or self._tracks() or members.has_methods(self.sampling, "init", "scores", "update")
        if isinstance(self.sampling, type) or not samples:
            raise ValueError(f"sampling: {excerpt(self.sampling)} is neither a rule, such as TopTwo(), nor a policy")
        members.validate(self.sampling, task)

    @property
    def units(self) -> Units:
        """The units of reward of the stopping rule, and of the policy that samples if there is one."""
        kinds = {
            members.units(part) for part in (self.stopping, *([self.sampling] if self._samples_by_policy() else []))
        }
        return kinds.pop() if len(kinds) == 1 else "own"

    @property
    def in_order(self) -> bool:
        """Whether the proof of the stopping rule is of each arm's moves in their order."""
        return members.in_order(self.stopping)

    def init(self, reward: Array) -> Identifying:
        memory = self.stopping.begin(reward)
        if self._has_rule():
            sampling: State = ()
        else:
            sampling = self._tracking().begin(len(reward)) if self._tracks() else self._policy().init(reward)
        return Identifying(memory, self._seen(memory, jnp.int32(0)), sampling)

    def scores(self, key: Array, state: Identifying, t: Array) -> tuple[Array, Identifying]:
        if self._has_rule():
            return self.sampling.choose(key, state.seen, t), state  # type: ignore[union-attr]
        if self._tracks():
            scores, sampling = self._tracking().track(state.seen, state.sampling, self._information(state), t)
        else:
            scores, sampling = self._policy().scores(key, state.sampling, t)
        return scores, state._replace(sampling=sampling)

    def update(self, state: Identifying, feedback: Feedback) -> Identifying:
        memory = state.memory.counted(feedback)
        keeps = self._has_rule() or self._tracks()
        sampling = state.sampling if keeps else self._policy().update(state.sampling, feedback)
        seen = self._seen(memory, feedback.t, ~self.stop(state, feedback.t))
        return Identifying(memory, seen, sampling)

    def stop(self, state: Identifying, t: Array) -> Array:
        return (state.seen.excess >= 0).all()

    def answer(self, state: Identifying, t: Array) -> Array:
        return state.seen.leader

    def _seen(self, memory: Any, t: Array, running: ArrayLike = True) -> Seen:
        """What is seen after round t."""
        rule = self.stopping
        means = computed_once(rule.means(memory))
        leader = top_arms(means, 1)[0]
        evidence = against_all(rule.pair, leader, rule.compared(memory))
        excess = computed_once(rule.excess(memory, leader, evidence, self.delta, t, running))
        return Seen(leader, evidence, excess, means, rule.plays(memory))

    def _information(self, state: Identifying) -> Information:
        """What the leader and each arm would tell at other numbers of plays, from what they have shown."""
        leader, plays = state.seen.leader, state.seen.plays.astype(float)
        counts, fixed = self.stopping.compared(state.memory)
        own = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[leader], leaf.shape), (counts, fixed))
        of_leader = plays[leader] / jnp.maximum(plays, 1)

        def information(x: Array) -> tuple[Array, Array]:
            factor = of_leader * x
            others = jax.tree.map(lambda leaf: leaf * factor.reshape(-1, *[1] * (leaf.ndim - 1)), counts)
            return jax.vmap(self.stopping.pair)(own, (others, fixed))

        return information

    def _tracks(self) -> bool:
        return members.has_methods(self.sampling, "begin", "track", "validate")

    def _has_rule(self) -> bool:
        return members.has_methods(self.sampling, "choose", "validate")

    def _samples_by_policy(self) -> bool:
        return not (self._tracks() or self._has_rule())

    def _tracking(self) -> TrackAndStop:
        return self.sampling  # type: ignore[return-value]

    def _policy(self) -> Policy:
        return self.sampling  # type: ignore[return-value]
