"""The stopping rule `FamilyGLR`: likelihood ratios of rewards from a one-parameter exponential family."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import logsumexp
from jax.typing import ArrayLike

from jaxbandit import arguments, members
from jaxbandit.base import Family, Task, pytree
from jaxbandit.families import TabledChains, TwoStateChains
from jaxbandit.members import Units
from jaxbandit.policies.identify.evidence import Evidence
from jaxbandit.policies.identify.glr_rules import heuristic
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.family_units import family_units
from jaxbandit.policies.parts.memory import Memory, no_visits


@pytree
class FamilyGLR:
    """Stops when the likelihood ratio in a family is large; exact for independent rewards with a `mixture`.

    W(a, b) = T_a D(x_a || m) + T_b D(x_b || m), with T plays, x sample means, m that of both arms together and D the
    family's divergence; a is the arm with the largest x. The likelihood of T rewards with the sample mean x falls by
    T D(x || m) from its largest value to that at the mean m. So with G means m_1, .., m_G, fixed before the first play,

        log((1/G) sum over i of exp(-T D(x || m_i)))

    is the logarithm of the arm's average likelihood at these means over its largest. The average over the true
    likelihood is a martingale of mean 1, so that with the threshold log((K - 1) / delta) less this logarithm of both
    arms the probability of a wrong answer is at most delta (Ville's inequality), whether or not the true means are
    among the G. It stays so for independent rewards whose laws are no less concentrated than the family's:
    `Gaussian(1/4)` or `Bernoulli()` for rewards in [0, 1].

    Args:
      family: one of `jaxbandit.families`.
      mixture: [G], the means m_i, spread over where those of the arms may lie. G means cost an arm at most log G, and
        one whose sample mean lies between two of them, at a distance d from the nearer one, about D(x || x + d) a play.
        With G about ten times the range over the gap of the two best arms that is little. None, the default: the
        threshold log((K - 1) (1 + log t) / delta), for which nothing is proved.

    Raises:
      ValueError: from `simulate` and `check_policy`: a family that the rewards are not of, a mixture of means outside
        its range, arms that are not rested, Markov arms with a family of independent rewards, or a mixture of a family
        of chains, whose likelihood also depends on the states at both ends.

    Source: Garivier and Kaufmann 2016 for the statistic, from memory; the mixture by Ville's inequality (Robbins and
    Siegmund 1974). Not opened.

    >>> from jaxbandit.families import Gaussian
    >>> rule = FamilyGLR(Gaussian(), mixture=(0.0, 0.5, 1.0))
    >>> own, other = rule.pair((jnp.float32(30), jnp.float32(0.8)), (jnp.float32(10), jnp.float32(0.2)))
    >>> round(float(own + other), 4)  # 0.6^2 / (2 (1/30 + 1/10))
    1.35
    """

    family: Family
    mixture: ArrayLike | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested",), rewards=(-np.inf, np.inf))
        if self.family is None:
            raise ValueError("family: None is not a family; give one of jaxbandit.families")
        checks.family(self, task)
        of_chains = isinstance(self.family, (TabledChains, TwoStateChains))
        rows = members.transition(task.environment)
        if not of_chains and rows is not None and np.abs(np.asarray(rows) - np.asarray(rows)[:, :1]).max() > 1e-6:
            raise ValueError(
                f"family: {type(self.family).__name__} is of independent rewards, and those of {task.name} depend on "
                "the state before; give families.chain_family, or the rule ChainGLR"
            )
        if self.mixture is None:
            return
        if of_chains:
            raise ValueError("mixture: for families of independent rewards; leave it out for one of chains")
        means, (low, high) = arguments.as_floats("mixture", self.mixture), self.family.range
        if means.ndim != 1 or not means.size or not (np.isfinite(means) & (low <= means) & (means <= high)).all():
            raise ValueError(
                f"mixture: {arguments.excerpt(self.mixture)} is not a list of means from {low:g} to {high:g}"
            )

    @property
    def units(self) -> Units:
        """A constant may be subtracted from rewards of a Gaussian family."""
        return family_units(self.family)

    def begin(self, reward: Array) -> Memory:
        return no_visits(reward, self.family)

    def plays(self, memory: Any) -> Array:
        plays: Array = memory.mean_and_plays()[1]
        return plays

    def means(self, memory: Any) -> Array:
        mean: Array = memory.mean_and_plays()[0]
        return mean

    def compared(self, memory: Any) -> tuple[Array, Array]:
        """The plays and the sample means [K]."""
        mean, plays = memory.mean_and_plays()
        return plays.astype(float), mean

    def pair(self, one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        (plays, mean), (plays_b, mean_b) = one, other
        both = (plays * mean + plays_b * mean_b) / jnp.maximum(plays + plays_b, 1)
        right = (mean_b <= mean) & (plays > 0) & (plays_b > 0)
        own, against = plays * self.family.divergence(mean, both), plays_b * self.family.divergence(mean_b, both)
        return jnp.where(right, own, 0), jnp.where(right, against, 0)

    def excess(
        self, memory: Any, leader: Array, evidence: Evidence, delta: ArrayLike, t: Array, running: ArrayLike = True
    ) -> Array:
        plays, mean = (numbers[None] for numbers in self.compared(memory))
        others = mean.shape[1] - 1
        if self.mixture is None:
            return evidence.ratio - heuristic(others, delta, t)
        needed = jnp.log(others / jnp.asarray(delta, float))
        candidates = jnp.asarray(self.mixture, float)[:, None]
        fallen = jnp.where(plays > 0, plays * self.family.divergence(mean, candidates), 0)
        gained = logsumexp(-fallen, axis=0) - jnp.log(candidates.shape[0])
        return evidence.ratio + (gained + gained[leader]) - needed
