"""Thompson sampling for one-parameter families, and discounted Thompson sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import quantiles
from jaxbandit.base import Family, Feedback, Task, per_arm, pytree
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandit.fast import log, threefry
from jaxbandit.members import Units
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.family_units import family_units
from jaxbandit.policies.parts.forgetting import Discounted
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, positive
from jaxbandit.policies.parts.posteriors import log_gamma, of_rows


@pytree
class Thompson:
    """Thompson sampling: the arm with the largest draw from the posterior distributions of the means is played.

    The priors are conjugate. T is the arm's plays and R the sum of their rewards; the mean is drawn from

    - Bernoulli, the default: Beta(a + R, b + T - R); rewards between 0 and 1 count as fractions of a success;
    - `families.Gaussian`: Normal(R / T, variance / T), from a flat prior without a and b, after one play of each arm;
    - `families.Poisson`: Gamma of shape a + R and rate b + T;
    - `families.Exponential`: the inverse of a draw from Gamma of shape a + T and rate b + R.

    Scores are the log-odds log(q / (1 - q)) of Bernoulli draws q, which have the same order and keep their digits near
    1, and logarithms of Poisson and exponential draws. Except for Gaussian rewards, the policy does not begin with one
    play of each arm, because the prior makes it try all of them.

    Args:
      a, b: parameters of the prior Beta(a, b), or Gamma of shape a and rate b, at least 1e-30; a number each, or one of
        each arm, [K].
      family: None or one of these four; rewards of a family are not mapped to [0, 1].
      memory: None, or `Discounted` or `Window`: T and R are then of the remembered plays.

    Raises:
      ValueError: from `simulate` and `check_policy`: a or b is not a number of at least 1e-30, the family is not one of
        the four or does not have these rewards, or `memory` is of another type.

    Source: Thompson 1933; Kaufmann, Korda and Munos 2012; Korda, Kaufmann and Munos 2013 for families.

    >>> state = Thompson().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(Thompson().scores)(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    a: ArrayLike = per_arm(1.0)
    b: ArrayLike = per_arm(1.0)
    family: Family | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.each_arm(self, "a", task, 1e-30)
        checks.each_arm(self, "b", task, 1e-30)
        checks.family(self, task)
        checks.memory(self, task)
        if self.family is not None and not isinstance(self.family, Bernoulli | Gaussian | Poisson | Exponential):
            raise ValueError(
                f"family: Thompson has no prior for {type(self.family).__name__}; give Bernoulli, Gaussian, Poisson or "
                "Exponential"
            )

    @property
    def units(self) -> Units:
        """Rewards are mapped to [0, 1] without a family."""
        return family_units(self.family)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, self.family, self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        if self.family is None or isinstance(self.family, Bernoulli):
            return self._log_odds(key, state), state
        rewards, plays = state.gained_and_missed()[0], state.mean_and_plays()[1]
        number, a, b = plays.astype(float), of_rows(self.a, 0), of_rows(self.b, 0)
        if isinstance(self.family, Poisson):
            return log_gamma(key, a + rewards) - log(b + number), state
        if isinstance(self.family, Exponential):
            return log(b + rewards) - log_gamma(key, a + number), state
        arms = jnp.arange(number.shape[0], dtype=jnp.uint32)
        noise = quantiles.normal(threefry(jax.random.key_data(key), arms, jnp.uint32(0)), number.dtype)
        played = positive(number)
        drawn = rewards / played + noise * jnp.sqrt(self.family.variance / played)  # type: ignore[attr-defined]
        return jnp.where(plays == 0, jnp.inf, drawn), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)

    def _log_odds(self, key: Array, state: Memory) -> Array:
        """log(q / (1 - q)) of draws q [K] from the beta laws."""
        # failures are summed separately: T minus the total reward would lose a few failures among many plays
        gained, missed = state.gained_and_missed()
        a, b = of_rows(self.a, 0), of_rows(self.b, 0)
        # with independent gamma draws X and Y, X / (X + Y) has the beta law, and X / Y are its odds
        successes, failures = log_gamma(key, jnp.stack([a + gained, b + missed]))
        return successes - failures


@pytree
class DiscountedThompson:
    """Discounted Thompson sampling (dTS): the arm with the largest draw from Beta(a + S, b + F) is played.

    Every round multiplies every arm's sum of rewards S and its sum F of 1 minus each reward by the discount; then the
    new reward is added to the sums of the arm played. Rewards are mapped to [0, 1]. The policy is `Thompson(a, b,
    memory=Discounted(discount))`, which also has families of rewards and several plays a round.

    Args:
      discount: in (0, 1).
      a, b: parameters of the prior Beta(a, b), at least 1e-30; a number each, or one of each arm, [K].

    Raises:
      ValueError: from `simulate` and `check_policy`: a number out of range, rewards without a finite table outside
        [0, 1], or several plays a round, for which the source has no rule.

    Source: Raj and Kalyani 2017.

    >>> state = DiscountedThompson(0.95).init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(DiscountedThompson(0.95).scores)(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    units = "mapped"

    discount: ArrayLike
    a: ArrayLike = per_arm(1.0)
    b: ArrayLike = per_arm(1.0)

    def validate(self, task: Task) -> None:
        checks.number(self, "discount", 0, 1, above=True, below=True)
        checks.one_play(self, task)
        self._policy().validate(task)

    def init(self, reward: Array) -> Memory:
        return self._policy().init(reward)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        return self._policy().scores(key, state, t)

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)

    def _policy(self) -> Thompson:
        return Thompson(self.a, self.b, memory=Discounted(self.discount))
