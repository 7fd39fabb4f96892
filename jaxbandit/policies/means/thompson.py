"""Thompson sampling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from jaxbandit import quantiles
from jaxbandit.base import Family, Feedback, Task, pytree, total
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandit.fast import computed_once, cosine_and_sine, exponential, log, threefry
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, positive


@pytree
class Thompson:
    """Thompson sampling: the arm with the largest mean drawn from its posterior law is played.

    The priors are conjugate. T is the arm's plays and R the sum of their rewards; the mean is drawn from

    - Bernoulli, the default: Beta(a + R, b + T - R); rewards between 0 and 1 count as fractions of a success;
    - `families.Gaussian`: Normal(R / T, variance / T), of the flat prior, which has no a and b; each arm once first;
    - `families.Poisson`: Gamma of shape a + R and rate b + T;
    - `families.Exponential`: its inverse from Gamma of shape a + T and rate b + R.

    Scores are log(q / (1 - q)) for a draw q of the first, which orders the arms as q does and still tells apart draws
    close to 1, and logarithms of the last two. Except for Gaussian rewards, the policy does not begin with
    one play of each arm, because the prior makes it try all of them.

    Args:
      a, b: parameters of the prior Beta(a, b), or Gamma of shape a and rate b, at least 1e-30.
      family: None or one of these four; a family's rewards are not mapped to [0, 1].
      memory: None, or `Discounted` or `Window`: T and R are then what is remembered.

    Raises:
      ValueError: from `simulate` and `check_policy`: a or b is not a number of at least 1e-30, the family is another,
        or cannot have these rewards, or the memory is none.

    Source: Thompson 1933; Kaufmann, Korda and Munos 2012; Korda, Kaufmann and Munos 2013 for families.

    >>> state = Thompson().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> Thompson().scores(jax.random.key(0), state, 1)[0].shape
    (2,)
    """

    a: ArrayLike = 1.0
    b: ArrayLike = 1.0
    family: Family | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.number(self, "a", 1e-30)
        checks.number(self, "b", 1e-30)
        checks.family(self, task)
        checks.memory(self, task)
        if self.family is not None and not isinstance(self.family, Bernoulli | Gaussian | Poisson | Exponential):
            raise ValueError(
                f"family: Thompson has no prior for {type(self.family).__name__}; give Bernoulli, Gaussian, Poisson or "
                "Exponential"
            )

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, self.family, self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        if self.family is None or isinstance(self.family, Bernoulli):
            return self._log_odds(key, state), state
        rewards, plays = state.gained_and_missed()[0], state.mean_and_plays()[1]
        number = plays.astype(float)
        if isinstance(self.family, Poisson):
            return log_gamma(key, self.a + rewards) - log(self.b + number), state
        if isinstance(self.family, Exponential):
            return log(self.b + rewards) - log_gamma(key, self.a + number), state
        arms = jnp.arange(number.shape[0], dtype=jnp.uint32)
        noise = quantiles.normal(threefry(jax.random.key_data(key), arms, jnp.uint32(0)), number.dtype)
        played = positive(number)
        drawn = rewards / played + noise * jnp.sqrt(self.family.variance / played)  # type: ignore[attr-defined]
        return jnp.where(plays == 0, jnp.inf, drawn), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)

    def _log_odds(self, key: Array, state: Memory) -> Array:
        """log(q / (1 - q)) of draws q [K] from the beta laws."""
        # failures have a sum of their own: T less the total reward would lose a few failures among many plays
        gained, missed = state.gained_and_missed()
        # with independent gamma draws X and Y, X / (X + Y) has the beta law, and X / Y are its odds
        successes, failures = log_gamma(key, jnp.stack([self.a + gained, self.b + missed]))
        log_odds: Array = successes - failures
        return log_odds


def dirichlet(key: Array, parameters: Array | np.ndarray) -> Array:
    """Independent draws from Dirichlet laws: rows [..., S] that sum to 1, from their parameters [..., S].

    >>> float(dirichlet(jax.random.key(0), jnp.array([0.5, 2.0])).sum())
    1.0
    """
    return normalised(log_gamma(key, parameters))


def normalised(logs: Array) -> Array:
    """Rows [..., S] that sum to 1, from the logarithms of their weights.

    >>> normalised(jnp.log(jnp.array([1.0, 3.0]))).round(6).tolist()
    [0.25, 0.75]
    """
    weights = jnp.exp(logs - jnp.max(logs, axis=-1, keepdims=True))
    return computed_once(weights / total(weights)[..., None])


def log_gamma(key: Array, shape: Array | np.ndarray) -> Array:
    """Logarithms of independent draws from gamma laws of scale 1.

    A draw for shape + 3 is found by rejection and multiplied by u_0^(1 / shape) u_1^(1 / (shape + 1))
    u_2^(1 / (shape + 2)), u_n uniform, which makes it one for `shape`. With d = shape + 8/3 and w = x / sqrt(9 d), x
    normal, the proposal is d (1 + w)^3; it is refused with probability
    r(w) = 1 - exp(d (3 log(1 + w) - 3 w + 3 w^2 / 2 - w^3)), on average at most 0.0112 (0.008 from shape 1 on).
    There are four proposals. The first that is not refused counts, or the last one if all are refused, which changes no
    probability by more than 0.0112^4 = 2e-8. As the number of proposals is fixed, the program takes the same
    steps whatever is drawn, on every device.

    One uniform number u decides about all proposals: the first n are refused if u < r(w_1) ... r(w_n), which is as
    likely as if each had a number of its own.

    Args:
      key: a random key.
      shape: [...], positive; the logarithms returned are [...], too.

    Source: Marsaglia and Tsang 2000; the exponent is theirs, without the terms that cancel.

    >>> log_gamma(jax.random.key(0), jnp.array([0.5, 2.0])).shape
    (2,)
    """
    words, number = jax.random.key_data(key), jnp.arange(shape.size, dtype=jnp.uint32).reshape(shape.shape)
    pairs = [threefry(words, number, jnp.uint32(block)) for block in range(4)]
    u, *others = (uniform(word, shape.dtype) for pair in pairs[2:] for word in pair)
    d = shape + 8 / 3
    scale = 1 / (3 * jnp.sqrt(d))
    base, refused = jnp.zeros_like(shape), jnp.ones_like(shape)
    for x in (x for pair in pairs[:2] for x in normals(*pair, shape.dtype)):
        w = x * scale
        proposed = log(jnp.maximum(1 + w, 1e-30))  # where w <= -1, r(w) is 1
        base = jnp.where(u <= refused, proposed, base)
        refused = refused * exponential(d * excess(w, proposed))[0]
    factors = sum(log(other) / (shape + n) for n, other in enumerate(others))
    return computed_once(log(d) + 3 * base + factors)


def excess(w: Array, logarithm: Array) -> Array:
    """w^3 - 3 w^2 / 2 + 3 w - 3 log(1 + w), with the logarithm of 1 + w given: [...].

    Near w = 0 it is a series, because `log_gamma` multiplies it by d, which would magnify the rounding errors of the
    plain form.
    """
    series = w**4 * (3 / 4 + w * (-3 / 5 + w * (1 / 2 + w * (-3 / 7 + w * (3 / 8)))))
    return jnp.where(jnp.abs(w) < 0.1, series, w**3 - 3 * (logarithm - w + w * w / 2))


def uniform(word: Array, dtype: DTypeLike) -> Array:
    """A number between 2^-32 and 1, never 0, from the first 31 of 32 random bits."""
    return ((word >> 1).astype(jnp.int32).astype(dtype) + 0.5) * 2**-31


# `quantiles.normal` is accurate further out in the tails, and takes for one draw the 64 bits that give two here.
def normals(first: Array, second: Array, dtype: DTypeLike) -> tuple[Array, Array]:
    """Two independent normal numbers from two words of 32 random bits.

    They are the coordinates of a point in a uniform direction, at a distance from 0 of which half the square is
    -log(u), u uniform. 32 bits reach to a distance of 6.6; further away a probability of 2e-10 is missing.

    Source: Box and Muller 1958.
    """
    distance = jnp.sqrt(-2 * log(uniform(first, dtype)))
    quarters = jax.lax.bitcast_convert_type(second, jnp.int32).astype(dtype) * 2**-31
    cosine, sine = cosine_and_sine(quarters)  # from -1 to 1 quarter turns; the last bit turns half of them around
    return jnp.where((second & 1) == 0, distance, -distance) * cosine, distance * sine
