"""Index policies that restart when a change detector raises an alarm."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import has
from jaxbandit.base import Feedback, Policy, State, Task, pytree, static
from jaxbandit.fast import computed_once
from jaxbandit.feedback import check_feedback
from jaxbandit.policies.changing.detectors import Detector
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.unit_scale import UnitScale
from jaxbandit.wrapping import Wrapper


class Monitored(NamedTuple):
    """State of a policy with a detector.

    Fields:
      policy: the policy's own state.
      detector: the detector's states of all arms, leaves [K, ...].
      restarted: [K] int32, the round after which each arm was last restarted; 0 for never.
      scale: the map of rewards to [0, 1] for the detector.
      reward: [K, S], for the policy's `init` at a restart; None where rewards have no finite table.
    """

    policy: State
    detector: State
    restarted: Array
    scale: UnitScale
    reward: Array | None


@pytree
class WithDetector(Wrapper):
    """An index policy with change detection (GLR-klUCB, CUSUM-UCB, M-UCB): an alarm restarts one arm or all arms.

    A restart resets the policy's memory of the arm, and its index counts rounds from the restart: t - tau replaces t.
    With forced exploration in a fraction alpha of the rounds, arm a is played in round t if
    (t - tau) mod floor(K / alpha) = a, tau the last restart of any arm.

    Args:
      policy: an index policy for independent rewards, such as `KLUCB()` or `UCB1()`.
      detector: `GLR`, `CUSUM`, `MUCB`, `KnownBreaks`, or your own (see `jaxbandit.policies.changing.detectors`
        for its methods).
      local: True to restart only the arm that raised the alarm, False to restart all arms. None for True with GLR and
        CUSUM; with MUCB and KnownBreaks, whose alarms concern all arms, it is always False.

    Raises:
      ValueError: from `simulate` and `check_policy`: as the policy and the detector, for more than one play a round,
        and for a local restart of a policy whose memory is not a number or row for each arm.

    Source: Besson, Kaufmann, Maillard and Seznec 2022; Liu, Lee and Shroff 2018; Cao, Wen, Kveton and Xie 2019.

    >>> from jaxbandit import KLUCB
    >>> from jaxbandit.policies import KnownBreaks
    >>> policy = WithDetector(KLUCB(), KnownBreaks([2]))
    >>> table = jnp.array([[0.0, 1.0], [0.0, 1.0]])
    >>> state = policy.init(table)
    >>> state = policy.update(state, Feedback.of(0, 1.0, t=1, table=table))
    >>> state.restarted.tolist(), state.policy.counts.tolist()
    ([1, 1], [[0, 0], [0, 0]])
    """

    policy: Policy
    detector: Detector
    local: bool | None = static(None)

    def validate(self, task: Task) -> None:
        has("policy", self.policy, "a policy", "init", "scores", "update")
        has("detector", self.detector, "a detector", "local", "init", "watched", "share")
        if self.local is not None:
            checks.truth(self, "local")
        for name, part in (("policy", self.policy), ("detector", self.detector)):
            try:
                members.validate(part, task)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        if members.spending(task.environment) is not None:
            raise ValueError(f"policy: a restart forgets the money spent in {task.name}; play without a detector")
        checks.one_play(self, task)
        if self.local and not self.detector.local:
            raise ValueError(f"local: {type(self.detector).__name__} raises alarms for all arms; leave local out")
        _check_memory(self.policy, task, self._is_local())

    def init(self, reward: Array) -> Monitored:
        arms = reward.shape[0]
        row = self.detector.init()
        return Monitored(
            self.policy.init(reward),
            jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (arms, *jnp.shape(leaf))), row),
            jnp.zeros(arms, jnp.int32),
            UnitScale.of(reward),
            reward if reward.shape[1] else None,
        )

    def own_round(self, state: Monitored, t: Array) -> Array:
        """The number of rounds since the restart of all arms, or of each arm [K]."""
        return t - (state.restarted if self._is_local() else state.restarted[0])

    def scores(self, key: Array, state: Monitored, t: Array) -> tuple[Array, Monitored]:
        """The policy's scores, or those of forced exploration in its rounds, and the new state."""
        scores, state = super().scores(key, state, t)
        return self._by_turns(scores, state, t, jnp.inf), state

    @property
    def takes_turns(self) -> bool:
        """Whether rounds of forced exploration go from arm to arm."""
        return self.detector.share(1) is not None

    @property
    def probabilities(self) -> Any:
        """A function of the state and the round: the probability [K] of each arm; None if the policy has none."""
        own = super().probabilities
        return own and (lambda state, t: self._by_turns(own(state, t), state, t, 1.0))

    def _by_turns(self, values: Array, state: Monitored, t: Array, most: float) -> Array:
        """`values` [K]; in a round of forced exploration, `most` for the arm explored and 0 for the others."""
        arms = len(state.restarted)
        share = self.detector.share(arms)
        if share is None:
            return values
        period = jnp.where(share > 0, jnp.floor(arms / jnp.maximum(share, 1e-9)), 2.0**30)
        turn = (t - jnp.max(state.restarted)) % jnp.clip(period, arms, 2**30).astype(jnp.int32)
        forced = jnp.where(jnp.arange(arms, dtype=turn.dtype) == turn, most, 0)
        return jnp.where((turn < arms) & (share > 0), forced, values)

    def update(self, state: Monitored, feedback: Feedback) -> Monitored:
        arms = len(state.restarted)
        check_feedback(feedback, arms)
        arm = feedback.arms[0]
        played = jnp.arange(arms, dtype=arm.dtype) == arm
        before = jax.tree.map(lambda leaf: _once(leaf[arm]), state.detector)
        watched, alarm = self.detector.watched(before, state.scale.mapped(feedback.rewards[0]), feedback.t, arms)
        over = alarm & (played if self._is_local() else True)
        probabilities = members.probabilities(self)
        if feedback.chances is None and probabilities is not None:  # the policy does not know of forced exploration
            feedback = feedback._replace(chances=probabilities(state, feedback.t)[feedback.arms])
        policy = self.policy.update(state.policy, feedback._replace(t=feedback.t - state.restarted[arm]))
        reward = jnp.zeros((arms, 0)) if state.reward is None else state.reward

        def restarted(fresh: Array, leaf: Array) -> Array:
            return jnp.where(_along(over, leaf), fresh, leaf)

        def followed(fresh: Array, new: Array, leaf: Array) -> Array:
            return restarted(fresh, jnp.where(_along(played, leaf), _once(new), leaf))

        return state._replace(
            policy=jax.tree.map(restarted, self.policy.init(reward), policy),
            detector=jax.tree.map(followed, self.detector.init(), watched, state.detector),
            restarted=jnp.where(over, feedback.t, state.restarted),
        )

    def _is_local(self) -> bool:
        return bool(self.detector.local and self.local is not False)


def _once(leaf: Array) -> Array:
    """The leaf, computed once and not again for each arm or each use in the detector."""
    return computed_once(leaf) if leaf.dtype == jnp.result_type(float) else leaf


def _along(over: Array, leaf: Array) -> Array:
    """`over`, a number or one of each arm, in a shape that broadcasts with a leaf [K, ...]."""
    return over.reshape(*over.shape, *[1] * (leaf.ndim - over.ndim)) if over.ndim else over


def _check_memory(policy: Policy, task: Task, local: bool) -> None:
    """Raise ValueError for a policy whose memory a restart cannot reset, or which needs one round for all arms."""
    name, (arms, states) = type(policy).__name__, task.reward.shape

    def initial_state(arms: int) -> State:
        return jax.eval_shape(policy.init, jax.ShapeDtypeStruct((arms, states), jnp.result_type(float)))

    def parts(arms: int) -> list[Any]:
        return jax.tree.leaves(initial_state(arms), is_leaf=lambda part: hasattr(part, "states"))

    state = parts(arms)
    if any(hasattr(part, "states") for part in state):
        raise ValueError(f"policy: {name} remembers in which state each arm is; give one for independent rewards")
    if not local:
        return
    try:  # with one more arm, every leaf that has a row for each arm has one more row
        rows = all(a.shape[:1] == (arms,) and b.shape[:1] == (arms + 1,) for a, b in zip(state, parts(arms + 1)))
    except (TypeError, ValueError):  # the policy has a field for this number of arms
        rows = False
    if not rows or members.takes_turns(policy):
        raise ValueError(
            f"policy: the memory of {name} cannot be reset for one arm alone; give local=False, or another policy"
        )
    key, rounds = jax.eval_shape(jax.random.key, 0), jax.ShapeDtypeStruct((arms,), jnp.int32)
    try:
        jax.eval_shape(policy.scores, key, initial_state(arms), rounds)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"policy: {name} needs one round for all arms, and with a local restart each has its own; give "
            "local=False, or another policy"
        ) from error
