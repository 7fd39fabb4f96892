"""The best arm after a budget of rounds: sequential halving, and a rule that stops any sampling at its budget."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, integer
from jaxbandit.base import ANY_REWARD, Feedback, Task, described, pytree
from jaxbandit.members import Units
from jaxbandit.policies.identify.evidence import Evidence
from jaxbandit.policies.identify.glr_rules import ChainGLR, Stopping, check_rule
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Memory, no_visits


@described
class Halving(NamedTuple):
    """State of `SequentialHalving`.

    Fields:
      memory: plays whose feedback has come, and their rewards.
      left: [K] bool, the arms that are left.
      chosen: [K] int32, how often each arm was chosen.
    """

    memory: Memory
    left: Array
    chosen: Array


@pytree
class SequentialHalving:
    """Sequential halving: plays all arms equally often, drops the worse half, and so on until the budget is used.

    With n = `budget` there are L = ceil(log2 K) phases. In each one the k arms that are left are played
    floor(n / (k L)) times each, in turn; then the ceil(k / 2) arms with the largest sample means stay. The last phase
    goes on until round n. Then it stops, and answers the arm with the largest mean of those left. Means are those of
    all plays of an arm, and an arm without feedback is not among the best.

    Args:
      budget: n, the number of rounds, at least K ceil(log2 K). Play it with `simulate(.., until="stopped")` and a
        horizon of at least n.

    Raises:
      ValueError: from `simulate` and `check_policy`: a budget out of range or beyond the horizon, several plays, or
        arms that are not rested.

    Source: Karnin, Koren and Somekh 2013 (from memory), who take means of the present phase alone.

    >>> import jaxbandit
    >>> arms = jaxbandit.bernoulli([0.9, 0.1, 0.2, 0.1])
    >>> result = jaxbandit.simulate(arms, {"S": SequentialHalving(80)}, until="stopped", runs=3, horizon=80)
    >>> result.answers["S"].ravel().tolist(), result.visits["S"][0, 0, 0, -1].sum(1).tolist()
    ([0, 0, 0], [30, 10, 30, 10])
    """

    units = "mapped"

    budget: ArrayLike

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested",), rewards=ANY_REWARD)
        checks.one_play(self, task)
        arms = len(task.reward)
        check_budget("budget", self.budget, max(1, arms * len(phases(arms))), task)

    def init(self, reward: Array) -> Halving:
        arms = reward.shape[0]
        return Halving(no_visits(reward), jnp.ones(arms, bool), jnp.zeros(arms, jnp.int32))

    def scores(self, key: Array, state: Halving, t: Array) -> tuple[Array, Halving]:
        left, place = state.left, jnp.arange(len(state.left))
        budget, played = jnp.asarray(self.budget, jnp.int32), jnp.int32(0)
        every = phases(len(left))
        for arms, fewer in pairwise(every):
            played = played + arms * (budget // (arms * len(every)))
            left = jnp.where(t - 1 == played, self._best(state, fewer), left)
        arm = jnp.argmin(jnp.where(left, state.chosen, LARGEST_INTEGER))
        scores = (place == arm).astype(float)
        return scores, state._replace(left=left, chosen=state.chosen + (place == arm))

    def update(self, state: Halving, feedback: Feedback) -> Halving:
        return state._replace(memory=state.memory.counted(feedback))

    def stop(self, state: Halving, t: Array) -> Array:
        return t >= jnp.asarray(self.budget, jnp.int32)

    def answer(self, state: Halving, t: Array) -> Array:
        return jnp.argmax(_means_of_left(state)).astype(jnp.int32)

    def _best(self, state: Halving, number: int) -> Array:
        """[K] bool, the arms with the largest means of those left, the lowest ones on ties."""
        means, place = _means_of_left(state), jnp.arange(len(state.left))
        one, other = means[:, None], means[None]
        better = (one > other) | ((one == other) & (place[:, None] < place[None]))
        return state.left & (better.sum(0) < number)


@pytree
class Budget:
    """Stops after a budget of rounds, whatever the evidence is, for sampling rules at a fixed budget.

    `Identify(RoundRobin(), Budget(n))` is uniform allocation; `Identify(TopTwo(), Budget(n))` is the top-two rule with
    a budget. The answer is the arm with the largest mean as `rule` estimates it. `delta` has no meaning: what
    `metrics.identification` reports of such runs are the share of wrong answers and the simple regret.

    Args:
      rounds: of the budget. With late feedback it stops when the feedback of round `rounds` or of a later one has come.
      rule: for the evidence that `sampling` reads, `ChainGLR()` or another stopping rule.

    Raises:
      ValueError: from `simulate` and `check_policy`: a number of rounds below 1 or beyond the horizon, or arms that
        `rule` is not for.

    >>> import jaxbandit
    >>> from jaxbandit.policies import BernoulliGLR, Identify, RoundRobin
    >>> uniform = Identify(RoundRobin(), Budget(40, BernoulliGLR()))
    >>> arms = jaxbandit.bernoulli([0.9, 0.1])
    >>> result = jaxbandit.simulate(arms, {"U": uniform}, until="stopped", runs=3, horizon=100)
    >>> result.stopped["U"].ravel().tolist(), result.answers["U"].ravel().tolist()
    ([40, 40, 40], [0, 0, 0])
    """

    rounds: ArrayLike
    rule: Stopping = ChainGLR()

    def validate(self, task: Task) -> None:
        check_budget("rounds", self.rounds, 1, task)
        check_rule("rule", self.rule, task)

    @property
    def units(self) -> Units:
        """The units of reward of the rule."""
        return members.units(self.rule)

    def begin(self, reward: Array) -> Any:
        return self.rule.begin(reward)

    def plays(self, memory: Any) -> Array:
        return self.rule.plays(memory)

    def means(self, memory: Any) -> Array:
        return self.rule.means(memory)

    def compared(self, memory: Any) -> Any:
        return self.rule.compared(memory)

    def pair(self, one: Any, other: Any) -> tuple[Array, Array]:
        return self.rule.pair(one, other)

    def excess(
        self, memory: Any, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        """[K], the rounds beyond the budget."""
        beyond = (t - jnp.asarray(self.rounds, jnp.int32)).astype(float)
        return jnp.where(jnp.isinf(evidence.ratio), jnp.inf, beyond)


def _means_of_left(state: Halving) -> Array:
    """[K], the sample means of arms that are left, -inf for others and for arms without feedback."""
    means, plays = state.memory.mean_and_plays()
    return jnp.where(state.left & (plays > 0), means, -jnp.inf)


def phases(arms: int) -> list[int]:
    """The number of arms in each phase of sequential halving.

    >>> phases(10), phases(1)
    ([10, 5, 3, 2], [1])
    """
    numbers = [arms]
    while numbers[-1] > 2:
        numbers.append(math.ceil(numbers[-1] / 2))
    return numbers


def check_budget(name: str, budget: ArrayLike, least: int, task: Task) -> None:
    """Raise ValueError unless the budget is an integer from `least` to the task's horizon."""
    number = integer(name, budget, least, LARGEST_INTEGER)
    if number > task.horizon:
        raise ValueError(f"{name}: {number} is beyond the horizon of {task.horizon}, so that no run would answer")
