"""The likelihood ratio for the order of two means: searches, enumeration, what it is at least; the mixture."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference_likelihood import least_of_pair, least_of_two_states
from scipy.optimize import minimize

from jaxbandit import chains, environments, simulate
from jaxbandit.confidence import chain_mixture, chain_order, chain_order_lower
from jaxbandit.confidence.chain.certified_order import Convex, _least
from jaxbandit.confidence.chain.order_of_means import _of_many
from jaxbandit.policies import ChainGLR, Identify, RoundRobin, TopTwo

PAYS = np.array([0.0, 1.0])


def test_rows_that_were_not_seen_are_free():
    """The other arm may pay for ever where it was not left, so that its mean may be the larger one."""
    leader, other = np.array([[0.0, 5], [4, 0]]), np.array([[12.0, 1], [0, 0]])
    assert float(chain_order(leader, other, PAYS).ratio) == 0
    assert float(chain_order(np.zeros((2, 2)), other.T, PAYS).ratio) == 0
    assert 0 < float(chain_order(np.array([[1.0, 5], [1, 9]]), np.array([[9.0, 1], [3, 0]]), PAYS).ratio) < np.inf


def test_the_least_sum_over_means():
    """A grid of means, refined around the best one, with sections over chains for each; zeros among the counts."""
    random = np.random.default_rng(0)
    leader, other = random.poisson(np.exp(random.uniform(-1, 5, (2, 16, 1, 1))), (2, 16, 2, 2)).astype(float)
    with jax.enable_x64(True):
        order = jax.tree.map(np.asarray, chain_order(leader, other, PAYS))
        # the better state first, and other rewards
        turned = chain_order(leader[..., ::-1, ::-1], other[..., ::-1, ::-1], np.array([3.0, 1.0]))
        assert (np.asarray(chain_order(leader, other, np.ones(2)).ratio) == 0).all()
    np.testing.assert_allclose(turned.ratio, order.ratio, rtol=1e-7, atol=1e-7)
    assert (np.asarray(chain_order(other, leader, PAYS).ratio)[order.ratio > 0] == 0).all()
    quick = chain_order(leader.astype(np.float32), other.astype(np.float32), PAYS)
    np.testing.assert_allclose(quick.ratio, order.ratio, rtol=1e-4, atol=2e-5)
    middle, width = np.full((16, 1), 0.5), 1 - 2e-7
    for _ in range(5):
        means = middle + width * np.linspace(-0.5, 0.5, 21)
        told = least_of_two_states(leader[:, None, ::-1, ::-1], 1 - means, 0 * means)
        told = told + least_of_two_states(other[:, None], means, 0 * means)
        middle, width = np.take_along_axis(means, told.argmin(1)[:, None], 1), width / 6
        middle = np.clip(middle, width / 2, 1 - width / 2)
    np.testing.assert_allclose(order.ratio, told.min(1), rtol=1e-7, atol=1e-7)
    apart = order.ratio > 0.1
    assert apart.sum() > 3
    means = order.mean[apart]
    np.testing.assert_allclose(means, middle[apart, 0], atol=1e-4)
    np.testing.assert_allclose(np.asarray(turned.mean)[apart], 1 + 2 * means, atol=1e-7)
    of_other = least_of_two_states(other[apart], means, 0 * means)
    np.testing.assert_allclose(order.other[apart], of_other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("states", [2, 3])
def test_the_mixture_predicts_move_by_move(states):
    """Its likelihood sums to 1 over all paths, and is the product of what the mixture predicts."""
    length = 7 if states == 2 else 5
    paths = list(itertools.product(range(states), repeat=length))
    counts = np.zeros((len(paths), states, states))
    for number, path in enumerate(paths):
        np.add.at(counts[number], ([0, *path[:-1]], path), 1)
    with jax.enable_x64(True):
        ratio = np.asarray(chain_mixture(counts))
    rows = np.maximum(counts.sum(-1, keepdims=True), 1)
    likeliest = np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / rows), 0).sum((1, 2))
    assert np.exp(ratio + likeliest).sum() == pytest.approx(1, rel=1e-9)
    seen, product = np.zeros((states, states)), 0.0
    for s, to in itertools.pairwise([0, *paths[-2]]):
        product += math.log((seen[s, to] + 0.5) / (seen[s].sum() + states / 2))
        seen[s, to] += 1
    assert ratio[-2] + likeliest[-2] == pytest.approx(product, rel=1e-9)


def test_large_counts_lose_no_digits():
    """Against logarithms of gamma functions in float64; in float32 these would be off by more than 1 here."""
    random = np.random.default_rng(1)
    counts = np.stack([random.poisson(size, (4, 4)) for size in (0.3, 3, 9, 1e3, 1e6)]).astype(float)
    gamma = np.vectorize(math.lgamma)
    rows = counts.sum(-1)
    exact = gamma(2.0) - gamma(rows + 2) + (gamma(counts + 0.5) - gamma(0.5)).sum(-1)
    exact -= np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / np.maximum(rows, 1)[..., None]), 0).sum(-1)
    np.testing.assert_allclose(chain_mixture(counts.astype(np.float32)), exact.sum(-1), rtol=2e-6, atol=3e-5)


# --- three and more states ---

ROWS = np.array(
    [[[0.1, 0.2, 0.7], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]], [[0.8, 0.15, 0.05], [0.6, 0.3, 0.1], [0.5, 0.3, 0.2]]]
)
REWARD = np.array([0, 0.5, 1])
of_pairs = jax.jit(partial(_of_many, certain=True))


@pytest.mark.parametrize("states", [3, 4])
@pytest.mark.slow
def test_is_at_most_the_least_loss_of_likelihood(states):
    """Chains of all kinds, some rows hardly seen; it is nearly the loss where the outer states were left often."""
    random = np.random.default_rng(states)
    shares = []
    for n in range({3: 4, 4: 3}[states]):
        rare = n % 2
        reward = np.sort(np.append(random.uniform(0.1, 0.9, states - 2), [0, 1]))
        often = np.exp(random.uniform(2.5, 6))
        rows = random.dirichlet(np.full(states, 0.4 if rare else 2), (2, states))
        counts = random.poisson(often * rows * np.exp(rare * random.normal(size=(2, states, 1)))) + np.eye(states)
        means = [chains.stationary(n / n.sum(1, keepdims=True)) @ reward for n in counts]
        a, b = counts if means[0] > means[1] else counts[::-1]
        least = least_of_pair(np.array([a, b]), np.array([reward, reward]))
        with jax.enable_x64(True):
            first, second, _, lower = map(float, of_pairs(a, b, jnp.asarray(reward)))
            assert float(of_pairs(b, a, jnp.asarray(reward))[3]) == 0
        assert 0 <= lower <= least * (1 + 1e-5)
        if not rare and abs((first + second) / least - 1) < 1e-3:
            shares.append(lower / least)
    assert len(shares) >= 2 and max(shares) > 0.98
    assert min(shares) > {3: 0.93, 4: 0.75}[states]


@pytest.mark.parametrize("far", [2.0, 6.0])
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
        first, second, mean, lower = map(np.asarray, of_pairs(a, b, jnp.array([0.0, 1.0])))
    assert (order.ratio > 1).all()
    np.testing.assert_allclose(first + second, order.ratio, rtol=1e-6)
    np.testing.assert_allclose(lower, order.ratio, rtol=1e-6)
    np.testing.assert_allclose(mean, order.mean, atol=1e-5)


@pytest.mark.slow
def test_rewards_in_another_order_and_units():
    random = np.random.default_rng(3)
    a, b = random.poisson(40, (2, 3, 3)) + 30 * np.stack([np.eye(3)[[2, 2, 2]], np.eye(3)[[0, 0, 0]]])
    order = np.array([2, 0, 1])
    turned = [n[order][:, order] for n in (a, b)]
    *expected, mean, lower = of_pairs(a, b, jnp.asarray(REWARD, float))
    *found, turned_mean, turned_lower = of_pairs(*turned, jnp.asarray(3 + 2 * REWARD[order], float))
    np.testing.assert_allclose(sum(found), sum(expected), rtol=1e-5)
    np.testing.assert_allclose(turned_mean, 3 + 2 * mean, rtol=1e-5)
    np.testing.assert_allclose(turned_lower, lower, rtol=1e-5)


@pytest.mark.slow
def test_stops_where_the_bound_suffices():
    """The first round in which it does, recomputed from the recorded counts."""
    arms = environments.markov(ROWS, np.tile(REWARD, (2, 1)))
    size = {"until": "stopped", "runs": 2, "horizon": 400, "times": range(1, 401), "progress": False}
    record = {"counts": lambda arms, state, t: state.memory.counts}
    result = simulate(arms, {"exact": Identify(RoundRobin(), ChainGLR(), 0.1)}, record=record, **size)
    ends, answers = result.stopped["exact"][0, 0], result.answers["exact"][0, 0]
    assert (ends > 0).all() and (answers == 0).all()
    near = np.array([counts[end - 8 : end] for end, counts in zip(ends, result.recorded["counts"]["exact"][0, 0])])
    lower = np.asarray(chain_order_lower(near[:, :, 0].astype(float), near[:, :, 1].astype(float), REWARD))
    lower = lower + np.asarray(chain_mixture(near.astype(float))).sum(-1) - np.log(1 / 0.1)
    assert (lower[:, -1] >= -1e-3).all() and (lower[:, :-1] < 1e-3).all()


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
    counts, reward = np.ones((7, 7)), np.arange(7.0)
    with pytest.raises(ValueError, match="^reward: 7 states; the bound is for at most 6"):
        chain_order_lower(counts, counts, reward)
    assert jax.eval_shape(lambda *given: chain_order(*given).ratio, counts, counts, reward).shape == ()
