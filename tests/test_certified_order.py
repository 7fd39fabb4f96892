"""The likelihood ratio for the order of two arms' means with three and more states: what it is at least."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandit import environments, simulate
from jaxbandit.confidence import chain_mixture, chain_order, chain_order_lower
from jaxbandit.confidence.chain.certified_order import Convex, _least
from jaxbandit.confidence.chain.order_of_means import _of_many
from jaxbandit.policies import ChainGLR, Identify, RoundRobin, TopTwo

ROWS = np.array(
    [[[0.5, 0.3, 0.2], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]], [[0.8, 0.15, 0.05], [0.4, 0.5, 0.1], [0.5, 0.3, 0.2]]]
)
REWARD = np.array([0, 0.5, 1])


def law_of(rows):
    return np.linalg.lstsq(rows.T - np.eye(len(rows)) + 1, np.ones(len(rows)), rcond=None)[0]


def loss(rows, counts):
    seen, estimated = counts > 0, counts / counts.sum(1, keepdims=True)
    return (counts[seen] * np.log(estimated[seen] / rows[seen])).sum()


def rows_of(parameters):
    powers = np.exp(np.maximum(parameters - parameters.max(-1, keepdims=True), -200))
    return powers / powers.sum(-1, keepdims=True)


def least_loss(a, b, reward, random, starts=2):
    """The least loss of likelihood of two chains of which the second has the larger mean: sequential programming."""

    def pair(x):
        return rows_of(x.reshape(2, *a.shape))

    def order(x):
        return (law_of(pair(x)[1]) - law_of(pair(x)[0])) @ reward

    best = np.inf
    for n in range(starts):
        start = np.log(np.array([a, b]) + 0.3)
        if n:
            start = start + random.normal(size=start.shape) + n * np.array([-1, 1])[:, None, None] * reward
        least = minimize(
            lambda x: sum(map(loss, pair(x), (a, b))),
            start.ravel(),
            method="SLSQP",
            constraints={"type": "ineq", "fun": order},
            options={"maxiter": 100, "ftol": 1e-9},
        )
        if order(least.x) > -1e-8:
            best = min(best, least.fun)
    return best


@pytest.mark.parametrize("states", [3, 4])
@pytest.mark.slow
def test_is_at_most_the_least_loss_of_likelihood(states):
    """Chains of all kinds, some rows hardly seen; it is nearly the loss where the outer states were left often."""
    random = np.random.default_rng(states)
    shares, both = [], jax.jit(partial(_of_many, certain=True))
    for n in range({3: 6, 4: 3}[states]):
        rare = n % 2
        reward = np.sort(np.append(random.uniform(0.1, 0.9, states - 2), [0, 1]))
        often = np.exp(random.uniform(2.5, 6))
        rows = random.dirichlet(np.full(states, 0.4 if rare else 2), (2, states))
        counts = random.poisson(often * rows * np.exp(rare * random.normal(size=(2, states, 1)))) + np.eye(states)
        means = [law_of(n / n.sum(1, keepdims=True)) @ reward for n in counts]
        a, b = counts if means[0] > means[1] else counts[::-1]
        least = least_loss(a, b, reward, random)
        with jax.enable_x64(True):
            first, second, _, lower = map(float, both(a, b, jnp.asarray(reward)))
            assert float(both(b, a, jnp.asarray(reward))[3]) == 0
        assert 0 <= lower <= least * (1 + 1e-5)
        if not rare and abs((first + second) / least - 1) < 1e-3:
            shares.append(lower / least)
    assert len(shares) >= 2
    assert min(shares) > 0.93


def test_a_convex_function_is_below_the_loss_of_every_chain():
    """B(y) for any alpha and beta, at the law of any chain; equal where the chain is the one they belong to."""
    random = np.random.default_rng(0)
    counts = random.poisson(8, (4, 4)) * (random.random((4, 4)) < 0.8) + np.eye(4)
    with jax.enable_x64(True):
        value = jax.jit(lambda alpha, beta, y: Convex(jnp.asarray(counts), alpha, beta, 0.0, jnp.ones(4)).at(y)[0])
        for _ in range(50):
            rows = random.dirichlet(np.full(4, 0.7), 4)
            alpha, beta = counts.sum(1) * random.uniform(0, 1, 4), counts.sum(1) * random.uniform(0, 0.5, 4)
            y = np.log(law_of(rows))
            assert float(value(alpha, beta, y)) <= loss(rows, counts) + 1e-9
        rows = counts / counts.sum(1, keepdims=True)
        y = np.log(law_of(rows))
        assert abs(float(value(counts.sum(1), np.zeros(4), y))) < 1e-9


@pytest.mark.parametrize("far", [0.0, 2.0, 6.0])
def test_what_newtons_steps_leave_is_taken_off(far):
    """From far away the steps do not arrive; the bound is then lower than the minimum, which SciPy computes."""
    random = np.random.default_rng(1)
    counts, price = random.poisson(20, (3, 3)) + 1.0, 9.0
    alpha, beta, weights = counts.sum(1) * 0.6, counts.sum(1) * 0.4, np.array([0.3, 0.7])
    with jax.enable_x64(True):
        convex = Convex(jnp.asarray(counts), jnp.asarray(alpha), jnp.asarray(beta), price, jnp.array([0.0, 0.5, 1]))

        def function(z):
            y = np.append(z, 0)
            whole = alpha[:, None] + beta * np.exp(y[:, None] - y)
            value = (counts * np.log(whole / counts.sum(1)[:, None])).sum() + counts.sum() - (alpha + beta).sum()
            return value + price * (np.log(np.array([0, 0.5, 1]) @ np.exp(y)) - weights @ z)

        least = minimize(function, np.zeros(2), method="BFGS", options={"gtol": 1e-9}).fun
        for start in far * random.normal(size=(8, 3)) * [1, 1, 0]:
            lower = float(jax.jit(_least)(convex, jnp.asarray(weights), jnp.asarray(start)))
            assert lower <= least + 1e-8
            assert far > 2 or lower > least - 1e-3


@pytest.mark.slow
def test_two_states_the_general_way():
    """The grid of weights is then one point, and the bound is the ratio that is known in closed form."""
    random = np.random.default_rng(2)
    a, b = random.poisson(60, (2, 16, 2, 2)) + np.array([[[[0, 30], [0, 30]]], [[[20, 0], [20, 0]]]])
    with jax.enable_x64(True):
        order = jax.tree.map(np.asarray, chain_order(a, b, REWARD[[0, 2]]))
        first, second, mean, lower = map(np.asarray, _of_many(a, b, jnp.array([0.0, 1.0]), certain=True))
    assert (order.ratio > 1).all()
    np.testing.assert_allclose(first + second, order.ratio, rtol=1e-6)
    np.testing.assert_allclose(lower, order.ratio, rtol=1e-6)
    np.testing.assert_allclose(mean, order.mean, atol=1e-5)


def test_rewards_in_another_order_and_units():
    random = np.random.default_rng(3)
    a, b = random.poisson(40, (2, 3, 3)) + 30 * np.stack([np.eye(3)[[2, 2, 2]], np.eye(3)[[0, 0, 0]]])
    order = np.array([2, 0, 1])
    turned = [n[order][:, order] for n in (a, b)]
    expected = chain_order(a, b, REWARD)
    found = chain_order(*turned, 3 + 2 * REWARD[order])
    np.testing.assert_allclose(found.ratio, expected.ratio, rtol=1e-5)
    np.testing.assert_allclose(found.mean, 3 + 2 * expected.mean, rtol=1e-5)
    np.testing.assert_allclose(
        chain_order_lower(*turned, 3 + 2 * REWARD[order]), chain_order_lower(a, b, REWARD), rtol=1e-5
    )


@pytest.mark.slow
def test_stops_where_the_bound_suffices():
    """The first round in which it does, recomputed from the recorded counts."""
    arms = environments.markov(ROWS, np.tile(REWARD, (2, 1)))
    delta, horizon, runs = 0.1, 2000, 4
    result = simulate(
        arms,
        {"exact": Identify(RoundRobin(), ChainGLR(), delta)},
        until="stopped",
        runs=runs,
        horizon=horizon,
        times=range(1, horizon + 1),
        record={"counts": lambda arms, state, t: state.memory.counts},
        progress=False,
    )
    ends, answers = result.stopped["exact"][0, 0], result.answers["exact"][0, 0]
    assert (ends > 0).all()
    assert (answers == 0).all()
    for end, counts in zip(ends, result.recorded["counts"]["exact"][0, 0]):
        near = np.asarray(counts[end - 40 : end], float)
        gained = np.asarray(chain_mixture(near)).sum(1)
        lower = np.asarray(chain_order_lower(near[:, 0], near[:, 1], REWARD)) + gained - np.log(1 / delta)
        assert lower[-1] >= -1e-3
        assert (lower[:-1] < 1e-3).all()


@pytest.mark.parametrize(
    ("rewards", "rule", "words"),
    [
        (np.linspace(0, 1, 7), ChainGLR(), "at most 6 states; those of"),
        ([0, 1, 1], ChainGLR(), "one state alone pays the most"),
        ([0, 0, 1], ChainGLR(threshold="heuristic"), "one state alone pays the most"),
    ],
)
def test_arms_that_are_refused(rewards, rule, words):
    states = len(rewards)
    arms = environments.markov(np.full((2, states, states), 1 / states), np.tile(rewards, (2, 1)))
    with pytest.raises(ValueError, match=words):
        simulate(arms, {"refused": Identify(TopTwo(), rule)}, until="stopped", runs=2, horizon=10)


def test_more_than_six_states():
    with pytest.raises(ValueError, match="^reward: 7 states; the bound is for at most 6"):
        chain_order_lower(np.ones((7, 7)), np.ones((7, 7)), np.arange(7.0))
    assert float(chain_order(np.ones((7, 7)), np.ones((7, 7)) + np.eye(7), np.arange(7.0)).ratio) >= 0
