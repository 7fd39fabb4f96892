"""One-parameter exponential families of Markov chains: arms from parameters, parameters from observed transitions."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import chains
from jaxbandit.arguments import finite
from jaxbandit.base import described
from jaxbandit.environments.rested.markov_arms import InitialState, MarkovArms, markov
from jaxbandit.families.tilting import generator_and_reward, perron, tilted


@described
class FamilyFit(NamedTuple):
    """Maximum-likelihood parameters of arms of one exponential family.

    Fields:
      theta: [K], the parameter of each arm.
      standard_errors: [K], of theta.
    """

    theta: np.ndarray
    standard_errors: np.ndarray


def exponential_family(
    theta: ArrayLike, generator: ArrayLike, reward: ArrayLike = (0.0, 1.0), *, initial_state: InitialState = 0
) -> MarkovArms:
    """Arms of the family that tilts the chain P = `generator` along f = `reward`.

    Arm k moves from x to y with probability P(x, y) exp(theta_k f(y)) v(y) / (v(x) rho), where rho and v are the
    largest eigenvalue of the matrix of P(x, y) exp(theta_k f(y)) and its right eigenvector. With A = log rho the arm's
    mean is A'(theta_k), which grows with theta_k; theta_k = 0 is P itself, and equal rows of P give i.i.d. arms.

    Args:
      theta: [K], K >= 2.
      generator: [S, S], row-stochastic and irreducible.
      reward: [S], what the state moved to pays, not all equal; the same for every arm.
      initial_state: every arm's state before its first play: an integer, [K] integers,
        "stationary", or a law [K, S].

    Raises:
      ValueError: the argument and what is wrong with it; theta so large that a move has probability below 2^-31.

    Source: Moulos and Anantharam 2019, section 2; Moulos 2020.

    >>> arms = exponential_family([-1.0, 0.0, 1.0], [[0.9, 0.1], [0.1, 0.9]], (-1, 1))
    >>> arms.transition[1].round(6).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    >>> arms.means().round(4).tolist()  # sinh theta / sqrt(sinh^2 theta + 1/81)
    [-0.9956, 0.0, 0.9956]
    """
    theta, (generator, reward) = finite("theta", theta), generator_and_reward(generator, reward)
    if theta.ndim != 1 or len(theta) < 2:
        raise ValueError(f"theta: shape {theta.shape} is not [K] with K >= 2")
    transition = np.empty((len(theta), *generator.shape))
    for arm, value in enumerate(theta):
        rows, _ = tilted(value, generator, reward)
        if not np.isfinite(rows).all():
            raise ValueError(f"theta: {value} of arm {arm} is too large for this generator and reward")
        if ((rows < chains.RAREST) & (generator > 0)).any():
            raise ValueError(
                f"theta: with {value} arm {arm} has a move of probability below 2^-31, too rare to be drawn"
            )
        transition[arm] = rows
    return markov(transition, reward, initial_state=initial_state)


def fit_exponential_family(counts: ArrayLike, generator: ArrayLike, reward: ArrayLike = (0.0, 1.0)) -> FamilyFit:
    """Maximum-likelihood theta of each arm of `exponential_family(theta, generator, reward)` from observed transitions.

    The likelihood is that of the transitions given each sequence's first state, and depends on their counts alone. It
    is maximised by `optax.lbfgs` in float64, until a Newton step would move theta by less than 1e-8 of 1 or of itself,
    in the unit in which rewards range over 1. `standard_errors` are 1 / sqrt(n A''(theta)), the Fisher information of n
    transitions: right as n grows.

    Args:
      counts: [K, S, S], how often each arm moved from each state to each.
      generator: [S, S], row-stochastic and irreducible.
      reward: [S], what the state moved to pays, not all equal; the same for every arm.

    Raises:
      ValueError: the argument and what is wrong with it; an arm that was never seen, that made a move that
        the generator cannot, or whose likelihood has no maximum: all rewards are extreme, or theta has no effect.

    Source: Moulos and Anantharam 2019; Billingsley 1961 for the asymptotic law.

    >>> estimates = fit_exponential_family([[[60, 20], [20, 20]], [[20, 20], [20, 60]]], [[0.5, 0.5], [0.5, 0.5]])
    >>> estimates.theta.round(6).tolist()  # the log odds of 1, as equal rows mean i.i.d. arms
    [-0.693147, 0.693147]
    >>> estimates.standard_errors.round(6).tolist()
    [0.193649, 0.193649]
    """
    counts, (generator, reward) = finite("counts", counts), generator_and_reward(generator, reward)
    if counts.ndim != 3 or counts.shape[1:] != generator.shape:
        raise ValueError(f"counts: shape {counts.shape} is not [K, S, S] with S = {len(generator)}")
    if (counts < 0).any():
        raise ValueError(f"counts: negative count {counts.min()}")
    for arm, moves in enumerate(counts):
        if not moves.any():
            raise ValueError(f"counts: arm {arm} was never seen to move")
        if (impossible := np.argwhere((moves > 0) & (generator == 0))).size:
            raise ValueError(f"counts: arm {arm} moved from {impossible[0][0]} to {impossible[0][1]}, generator cannot")
    seen = counts.sum((1, 2))
    scale = np.ptp(reward)
    with jax.enable_x64(True):
        estimates = _most_likely(counts / seen[:, None, None], generator, (reward - reward.min()) / scale)
        theta, step, information = map(np.asarray, estimates)
    rounding = np.finfo(float).eps / np.maximum(information, 1e-300)  # a Newton step's, as the gradient is of order 1
    far = ~(np.abs(step) + rounding <= 1e-8 * np.maximum(1, np.abs(theta)))
    if far.any():
        raise ValueError(
            f"counts: no theta is the most likely for arm {np.argmax(far)}: its rewards are as low or as high as the "
            "generator permits, or theta changes nothing"
        )
    return FamilyFit(theta / scale, 1 / (scale * np.sqrt(seen * information)))


@jax.custom_jvp
def eigen(theta: Array, generator: Array, reward: Array) -> tuple[Array, Array]:
    """A(theta) = log rho, and log v [S] with v_0 = 1, differentiable in theta as often as need be.

    >>> A, _ = eigen(0.0, jnp.array([[0.5, 0.5], [0.4, 0.6]]), jnp.array([0.0, 1.0]))
    >>> round(float(A), 6)
    0.0
    """
    largest = jnp.max(theta * reward)
    weights = generator * jnp.exp(theta * reward - largest)[None]
    vector = perron(weights)
    return jnp.log(jnp.sum(weights @ vector) / jnp.sum(vector)) + largest, jnp.log(vector / vector[0])


@eigen.defjvp
def _derivatives(values: tuple[Array, ...], changes: tuple[Array, ...]) -> tuple[Any, Any]:
    """The derivatives m = A' and h = (log v)' solve Poisson's equation h + m = P_theta (f + h), h_0 = 0."""
    theta, generator, reward = values
    value, log_vector = eigen(theta, generator, reward)
    tilt = theta * reward + log_vector
    moves = generator * jnp.exp(tilt - jnp.max(tilt))[None]
    rows = moves / jnp.sum(moves, axis=1, keepdims=True)
    unknowns = (jnp.eye(len(reward)) - rows).at[:, 0].set(1)  # h_0 makes room for m
    solution = jnp.linalg.solve(unknowns, rows @ reward)
    return (value, log_vector), (solution[0] * changes[0], solution.at[0].set(0) * changes[0])


def _fit(counts: Array, generator: Array, reward: Array) -> tuple[Array, Array, Array]:
    """One arm, shares of moves [S, S] and rewards in [0, 1]: theta, the Newton step left there, and A''(theta)."""
    import optax  # a tenth of a second, which an import of the package need not take

    arrived, left = jnp.sum(counts, axis=0), jnp.sum(counts, axis=1)

    def loss(theta: Array) -> Array:
        value, log_vector = eigen(theta, generator, reward)
        return value - theta * jnp.sum(arrived * reward) - jnp.sum((arrived - left) * log_vector)

    optimiser = optax.lbfgs()
    value_and_gradient = optax.value_and_grad_from_state(loss)

    def step(loop: tuple[Array, Any, Array, Array]) -> tuple[Array, Any, Array, Array]:
        theta, state, _, number = loop
        value, gradient = value_and_gradient(theta, state=state)
        change, state = optimiser.update(gradient, state, theta, value=value, grad=gradient, value_fn=loss)
        return theta + change, state, change, number + 1

    def moving(loop: tuple[Array, Any, Array, Array]) -> Array:
        theta, _, change, number = loop
        return (jnp.abs(change) > 1e-12 * jnp.maximum(1, jnp.abs(theta))) & (number < 100)

    start = jnp.zeros(())
    theta, *_ = jax.lax.while_loop(moving, step, (start, optimiser.init(start), jnp.ones(()), jnp.int32(0)))
    information = jax.grad(jax.grad(lambda theta: eigen(theta, generator, reward)[0]))(theta)
    return theta, jax.grad(loss)(theta) / information, information


_most_likely = jax.jit(jax.vmap(_fit, in_axes=(0, None, None)))
