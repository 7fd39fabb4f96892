"""With which probability a policy that chooses by chance plays each arm, also where it draws from a posterior law."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, has, integer
from jaxbandit.base import Feedback, Policy, State
from jaxbandit.families import Bernoulli, Exponential, Poisson
from jaxbandit.live.largest_draw import of_betas, of_chains, of_gammas, of_normals
from jaxbandit.policies import DiscountedThompson, GradientBandit, Thompson, ThompsonMC, Uniform
from jaxbandit.selection import top_arms


class ChoiceLaw(NamedTuple):
    """The probabilities of a policy's choices in two steps, so that those of many rounds are computed together.

    Fields:
      numbers: what they depend on, arrays with the first axis K, from the policy, its state and the round. Traced.
      probabilities: [rounds, K] float64 from the numbers of many rounds, each with one more axis in front. On the host.
    """

    numbers: Callable[[Any, State, Array], tuple[Array, ...]]
    probabilities: Callable[..., np.ndarray]

    @property
    def certain(self) -> bool:
        """Whether nothing is left to chance."""
        return self.numbers is _certain


def choice_probabilities(policy: Policy, state: State, t: int) -> np.ndarray:
    """The probability with which a policy plays each arm in a round, [K] float64, with one play a round.

    Of a policy with `probabilities` it is what that method returns, of a policy without random numbers 1 for the arm
    that it plays. Thompson sampling plays arm k with the probability that its draw is the largest: the integral of its
    density times the distribution functions of all other arms, computed by Gauss-Legendre quadrature over panels as
    narrow as the narrowest posterior law. The error is below 1e-9 for priors with parameters of at least 0.01, and
    below 1e-6 for others; for `ThompsonMC` with `leaving` or `staying` below 1, whose density has a peak without bound,
    it may be 1e-3.

    Args:
      policy: one with `probabilities`; or `Thompson`, `DiscountedThompson`, `ThompsonMC` for arms of two states that
        pay the same in all arms, `GradientBandit`, `Uniform`; or one without random numbers, such as `KLUCB`.
      state: the state before the round.
      t: the round, from 1.

    Raises:
      ValueError: a policy whose choice probabilities are not known.

    >>> table = jnp.array([[0.0, 1.0]] * 2)
    >>> state = Thompson().init(table)._replace(counts=jnp.array([[0, 1], [0, 0]]))
    >>> choice_probabilities(Thompson(), state, 2).round(6).tolist()  # of Beta(2, 1) and Beta(1, 1)
    [0.666667, 0.333333]
    """
    has("policy", policy, "a policy", "init", "scores", "update")
    t = integer("t", t, 1, LARGEST_INTEGER)
    law = choice_law(policy, state)
    numbers = jax.jit(law.numbers)(policy, state, np.int32(t))
    return law.probabilities(*(np.asarray(each, float)[None] for each in numbers))[0]


def choice_law(policy: Any, state: State) -> ChoiceLaw:
    """The law of a policy's choices; `state` is one of its states, or the shapes of one."""
    if members.probabilities(policy) is not None:
        return ChoiceLaw(_own, _shares)
    if isinstance(policy, Uniform):
        return ChoiceLaw(_uniform, _shares)
    if isinstance(policy, GradientBandit):
        return ChoiceLaw(_softmax, _shares)
    if isinstance(policy, DiscountedThompson):
        return ChoiceLaw(_gained_and_missed, of_betas)
    if isinstance(policy, Thompson):
        return _thompson(policy)
    if isinstance(policy, ThompsonMC):
        if state.counts.shape[-1] != 2:
            raise ValueError("policy: choice probabilities of ThompsonMC are known for arms of two states only")
        return ChoiceLaw(_beta_rows, of_chains)
    try:
        jax.eval_shape(lambda now: policy.scores(None, now, jnp.int32(1)), state)
    except Exception:  # whatever a policy raises that needs a key
        raise ValueError(
            f"policy: {type(policy).__name__} chooses by chance, with probabilities that are not known; give it a "
            "method probabilities(state, t), which returns [K]"
        ) from None
    return ChoiceLaw(_certain, _shares)


def _own(policy: Any, state: State, t: Array) -> tuple[Array]:
    return (policy.probabilities(state, t),)


def _uniform(policy: Any, state: State, t: Array) -> tuple[Array]:
    return (jnp.ones(state.arms.shape),)


def _softmax(policy: Any, state: State, t: Array) -> tuple[Array]:
    return (jax.nn.softmax(state.preferences),)


def _certain(policy: Any, state: State, t: Array) -> tuple[Array]:
    """1 for the arm that a policy plays that needs no key."""
    scores, _ = policy.scores(None, state, t)
    return (jnp.zeros(len(scores)).at[top_arms(scores, 1)].set(1.0),)


def _shares(weights: np.ndarray) -> np.ndarray:
    """Probabilities that sum to 1 in float64."""
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def _thompson(policy: Any) -> ChoiceLaw:
    family = policy.family
    if family is None or isinstance(family, Bernoulli):
        return ChoiceLaw(_gained_and_missed, of_betas)
    if isinstance(family, Poisson):
        return ChoiceLaw(_poisson, of_gammas)
    if isinstance(family, Exponential):
        return ChoiceLaw(_exponential, partial(of_gammas, sign=-1.0))
    return ChoiceLaw(_gaussian, of_normals)


def _gained_and_missed(policy: Any, state: State, t: Array) -> tuple[Array, Array]:
    gained, missed = state.gained_and_missed()
    return policy.a + gained, policy.b + missed


def _poisson(policy: Any, state: State, t: Array) -> tuple[Array, Array]:
    return policy.a + state.gained_and_missed()[0], policy.b + state.mean_and_plays()[1].astype(float)


def _exponential(policy: Any, state: State, t: Array) -> tuple[Array, Array]:
    return policy.a + state.mean_and_plays()[1].astype(float), policy.b + state.gained_and_missed()[0]


def _gaussian(policy: Any, state: State, t: Array) -> tuple[Array, ...]:
    plays = state.mean_and_plays()[1].astype(float)
    gained = state.gained_and_missed()[0]
    return gained, plays, jnp.broadcast_to(policy.family.variance, plays.shape)


def _beta_rows(policy: Any, state: State, t: Array) -> tuple[Array, ...]:
    """Parameters of the laws of P01 and of P10, and the rewards of the two states."""
    counts = state.counts.astype(float)
    leaves = policy.leaving + counts[:, 0, 1], policy.leaving + counts[:, 1, 0]
    stays = policy.staying + counts[:, 0, 0], policy.staying + counts[:, 1, 1]
    return leaves[0], stays[0], leaves[1], stays[1], state.reward[:, 0], state.reward[:, 1]


@partial(jax.jit, static_argnames="numbers")
def taught(policy: Any, table: Array, rows: Array, real: Array, learns: Array, numbers: Any) -> tuple[Array, ...]:
    """The numbers of `ChoiceLaw` before each round of one sequence of plays, from which the policy learns.

    Args:
      table: [K, S], the reward of each state of each arm; [K, 0] if rewards are real numbers.
      rows: [n, 3] int32, arm, state and round, from 1.
      real: [n, 2], the reward, and the probability with which the arm was chosen; NaN for that of the policy.
      learns: the number of rounds, of the first ones, that teach the policy.
    """
    own = members.probabilities(policy)

    def step(carry: tuple[Any, Array], row: tuple[Array, Array]) -> tuple[tuple[Any, Array], tuple[Array, ...]]:
        (state, last), ((arm, shown, t), paid) = carry, row
        now = jnp.minimum(t, learns + 1)
        # some policies plan in `scores`; its draws are not used, so that any key will do
        _, planned = policy.scores(jax.random.fold_in(jax.random.key(0), now), state, now)
        chances = None if own is None else jnp.where(jnp.isnan(paid[1:]), own(planned, now)[arm], paid[1:])
        feedback = Feedback(arm[None], last[arm][None], shown[None], paid[:1], now, chances=chances)
        new = policy.update(planned, feedback)
        kept = jax.tree.map(lambda old, one: jnp.where(t <= learns, one, old).astype(old.dtype), state, new)
        return (kept, last.at[arm].set(shown)), numbers(policy, planned, now)

    state = jax.tree.map(jnp.asarray, policy.init(table))
    return jax.lax.scan(step, (state, jnp.zeros(len(table), jnp.int32)), (rows, real))[1]
