"""Stopping rules by likelihood ratios: when the leading arm is the best one, up to an error of probability delta."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import excerpt
from jaxbandit.base import Task, pytree, static
from jaxbandit.confidence import MOST_STATES, chain_mean, chain_mixture
from jaxbandit.fast import computed_once
from jaxbandit.policies.identify.evidence import Evidence, certain_against_all, of_bernoulli, of_chains
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import ChainMemory, Memory, no_transitions, no_visits

Threshold = Literal["mixture", "heuristic"]


class Stopping(Protocol):
    """A stopping rule: what it keeps, what it takes for the best arm, and the evidence for it."""

    def validate(self, task: Task) -> None: ...

    def begin(self, reward: Array) -> Any:
        """The memory before the first round, with `counted(feedback)`."""

    def plays(self, memory: Any) -> Array:
        """[K], of each arm."""

    def means(self, memory: Any) -> Array:
        """[K], the estimated mean of each arm."""

    def compared(self, memory: Any) -> tuple[Any, Any]:
        """What `pair` asks for of each arm: counts that grow with its plays, and what stays; leaves [K, ...]."""

    def pair(self, one: Any, other: Any) -> tuple[Array, Array]:
        """J_a(m) and J_b(m) of two arms a and b, entries of `compared`: their sum is W(a, b); 0 where b leads."""

    def excess(
        self, memory: Any, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        """[K], by how much the evidence exceeds what an error of probability `delta` asks for.

        Of use only while the run is `running`: a rule may leave out for others what takes long.
        """


def check_rule(field: str, rule: Any, task: Task) -> None:
    """Raise ValueError unless the field of a policy is a stopping rule for the task."""
    if isinstance(rule, type) or members.lacks(rule, "begin", "pair", "excess"):
        raise ValueError(f"{field}: {excerpt(rule)} is not a rule such as ChainGLR()")
    rule.validate(task)


def heuristic(others: int, delta: ArrayLike, t: Array) -> Array:
    """The threshold log((K - 1) (1 + log t) / delta), with K - 1 = `others`, for which nothing is proved.

    >>> round(float(heuristic(1, 0.1, jnp.int32(1))), 4)  # log 10
    2.3026
    """
    return jnp.log(others / jnp.asarray(delta, float)) + jnp.log1p(jnp.log(jnp.maximum(t.astype(float), 1)))


class GLR:
    """What both rules share: the threshold."""

    units = "mapped"

    threshold: Threshold

    def validate(self, task: Task) -> None:
        checks.choice(self, "threshold", ("mixture", "heuristic"))
        check_rewards(self, task)

    def rows(self, memory: Any) -> Array:
        """[K, S, S], the counts of each arm by the rows that its law has; further rows of zeros where it has one."""
        counts: Array = memory.counts
        return counts

    def excess(
        self, memory: Any, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        others = memory.counts.shape[0] - 1
        if self.threshold == "heuristic":
            return evidence.ratio - heuristic(others, delta, t)
        needed = jnp.log(others / jnp.asarray(delta, float))
        gained = chain_mixture(computed_once(self.rows(memory).astype(float)))  # at most 0
        return evidence.ratio + (gained + gained[leader]) - needed


@pytree
class BernoulliGLR(GLR):
    """Stops when the likelihood ratio of independent rewards 0 and 1 is large: W(a, b) >= threshold for all b.

    W(a, b) = T_a d(x_a, m) + T_b d(x_b, m), with T plays, x the shares of ones, m that of both arms together and d the
    Bernoulli divergence; a is the arm with the largest share. For Markov arms its errors are not controlled: on arms
    of means .5 and .4 that move in about every twentieth play, set to one error in ten, it is wrong in 38 % of runs.

    Args:
      threshold: "mixture", the default, exact for independent rewards: log((K - 1) / delta) + what the mixtures of
        Krichevsky and Trofimov lose on both arms (`confidence.chain_mixture`); "heuristic": log((K - 1) (1 + log t) /
        delta), which experiments use and nobody has proved.

    Raises:
      ValueError: from `simulate` and `check_policy`: another threshold, or arms that are not rested arms with two
        states that pay two rewards, the same in all arms.

    Source: Garivier and Kaufmann 2016; the mixture by Ville's inequality (Robbins and Siegmund 1974). Not opened.

    >>> memory = BernoulliGLR().begin(jnp.array([[0.0, 1.0]] * 2))
    >>> memory = memory._replace(counts=jnp.array([[20, 80], [80, 20]]))
    >>> BernoulliGLR().means(memory).round(2).tolist()
    [0.8, 0.2]
    """

    threshold: Threshold = static("mixture")

    def begin(self, reward: Array) -> Memory:
        return no_visits(reward)

    def plays(self, memory: Any) -> Array:
        return memory.counts.sum(-1)

    def means(self, memory: Any) -> Array:
        mean: Array = memory.mean_and_plays()[0]
        return mean

    def rows(self, memory: Any) -> Array:
        return jnp.stack([memory.counts, jnp.zeros_like(memory.counts)], axis=1)

    def compared(self, memory: Any) -> tuple[tuple[Array, Array], tuple[()]]:
        """The ones and the plays [K]."""
        counts = memory.counts.astype(float)
        better = memory.reward[:, 1] > memory.reward[:, 0]
        return (jnp.where(better, counts[:, 1], counts[:, 0]), counts[:, 0] + counts[:, 1]), ()

    def pair(self, one: Any, other: Any) -> tuple[Array, Array]:
        return of_bernoulli(one[0], other[0])


@pytree
class ChainGLR(GLR):
    """Stops when the likelihood ratio of whole chains is large; exact for every irreducible chain.

    W(a, b) = min over m of J_a-(m) + J_b+(m) (`confidence.chain_order`); a is the arm whose likeliest chain has the
    largest mean. With three and more states W is a search's result, and what stops is its certain lower bound
    (`confidence.chain_order_lower`), computed in the rounds in which the search's result is large enough. With the
    mixture the probability of a wrong answer is at most delta, for arms of any speed, from any
    start, for every sampling rule and without a horizon: the product of both arms' mixtures over their true likelihood
    is a martingale of mean 1, so it reaches (K - 1) / delta with probability at most delta / (K - 1) (Ville's
    inequality), and where the answer is wrong it is at least what is compared with the threshold.

    Args:
      threshold: "mixture", the default: log((K - 1) / delta) + what the mixtures lose on both arms
        (`confidence.chain_mixture`); "heuristic": log((K - 1) (1 + log t) / delta), for which nothing is proved; it
        stops after about a quarter of the rounds.

    Raises:
      ValueError: from `simulate` and `check_policy`: another threshold, or arms that are not rested arms with two
        states that pay two rewards, the same in all arms.

    Source: our own, from Ville's inequality and the mixture of Krichevsky and Trofimov 1981. Moulos 2019 has a rule for
    one-parameter families of chains. Not opened.

    >>> from jaxbandit.policies.identify.evidence import against_all
    >>> rule = ChainGLR()
    >>> memory = rule.begin(jnp.array([[0.0, 1.0]] * 2))
    >>> memory = memory._replace(counts=jnp.array([[[300, 290], [240, 360]], [[280, 190], [260, 210]]]))
    >>> evidence = against_all(rule.pair, jnp.int32(0), rule.compared(memory))
    >>> excess = rule.excess(memory, 0, evidence, 0.1, jnp.int32(1000))
    >>> [round(float(excess[1]), 3), round(1.7252 - 2.3026, 3)]
    [-0.577, -0.577]
    """

    threshold: Threshold = static("mixture")

    @property
    def in_order(self) -> bool:
        """The mixture over the true likelihood is a martingale of moves in their order; in another one it is none."""
        return self.threshold == "mixture"

    def validate(self, task: Task) -> None:
        checks.choice(self, "threshold", ("mixture", "heuristic"))
        check_same_rewards(self, task)
        states = task.reward.shape[1]
        if self.threshold == "mixture" and states > MOST_STATES:
            raise ValueError(
                f'ChainGLR(threshold="mixture") is for at most {MOST_STATES} states; those of {task.name} have '
                f'{states}; use threshold="heuristic", for which nothing is proved'
            )

    def begin(self, reward: Array) -> ChainMemory:
        return no_transitions(reward)

    def plays(self, memory: Any) -> Array:
        return memory.counts.sum((-1, -2))

    def means(self, memory: Any) -> Array:
        return chain_mean(memory.counts, memory.reward)

    def compared(self, memory: Any) -> tuple[Array, Array]:
        """The transitions [K, S, S] and rewards [K, S]."""
        return computed_once(memory.counts.astype(float)), memory.reward

    def pair(self, one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        return of_chains(one, other)

    def excess(
        self, memory: Any, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        excess = super().excess(memory, leader, evidence, delta, t, running)
        if self.threshold == "heuristic" or memory.counts.shape[-1] == 2:
            return excess
        asked = jnp.isfinite(evidence.ratio) & (excess >= 0).all() & running
        lower = certain_against_all(asked, leader, *self.compared(memory))
        return jnp.where(asked, excess + (lower - evidence.ratio), excess)


def check_rewards(rule: Any, task: Task) -> None:
    """Raise ValueError unless the task has rested arms of two states that pay two rewards, the same in all arms."""
    if task.reward.shape[1] != 2:
        raise ValueError(
            f"{type(rule).__name__} is for arms of two states; those of {task.name} have {task.reward.shape[1]}"
        )
    check_same_rewards(rule, task)


def check_same_rewards(rule: Any, task: Task) -> None:
    """Raise ValueError unless the task has rested arms that pay the same rewards, one state alone the most or least."""
    checks.suits(rule, task, ("rested",))
    reward = task.reward
    if (reward != reward[0]).any():
        raise ValueError(
            f"{type(rule).__name__} is for arms that pay the same rewards in their states; those of {task.name} do not"
        )
    pays = sorted(reward[0].tolist())
    if len(pays) < 2 or pays[0] == pays[1] or pays[-2] == pays[-1]:
        raise ValueError(
            f"{type(rule).__name__} is for arms of which one state alone pays the most, and one the least; the states "
            f"of {task.name} pay {pays}"
        )
