"""The likelihood ratio for the order of two arms' means and the mixture over chains: other programs, enumeration."""

import itertools
import math

import jax
import numpy as np
import pytest
from reference_likelihood import least_of_two_states

from jaxbandit.confidence import chain_mixture, chain_order

REWARD = np.array([0.0, 1.0])
# counts of the leader and of the other arm; W, m, J-, J+, log M - L^ of each and Z, by other programs
KNOWN = [
    ([[10, 20], [15, 25]], [[40, 12], [14, 8]],
     (8.4210019919, 0.50417873, 2.7972051224, 5.6237968695, -4.0121729314, -3.9908073166, 0.4180217439)),
    ([[300, 290], [240, 360]], [[280, 190], [260, 210]],
     (15.1715559459, 0.48994133, 7.2175992642, 7.9539566817, -6.8409608516, -6.6053967859, 1.7251983084)),
]  # fmt: skip
PATHS = ("0110111001011101100111010111001101110101" * 3, "0000101100011111000001110000011110001110" * 3)
AFTER = {5: (1.97876397, -1.55151045), 20: (0.77505014, -4.80945848), 80: (1.69393638, -6.58033366)}
AFTER[110] = (2.26678797, -6.63605374)


def moves(path, states=2):
    counts = np.zeros((states, states))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    return counts


def all_of(leader, other, reward=REWARD):
    order = chain_order(leader, other, reward)
    first, second = chain_mixture(leader), chain_mixture(other)
    return [float(x) for x in (order.ratio, order.mean, *order[:2], first, second, order.ratio + first + second)]


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
def test_numbers_of_other_programs(double):
    within = 1e-8 if double else 1e-4
    with jax.enable_x64(double):
        for leader, other, expected in KNOWN:
            leader, other = np.array(leader, float), np.array(other, float)
            np.testing.assert_allclose(all_of(leader, other), expected, atol=within)
            # the better state first, and other rewards
            swapped = all_of(leader[::-1, ::-1], other[::-1, ::-1], np.array([3.0, 1.0]))
            np.testing.assert_allclose(swapped[0], expected[0], atol=within)
            np.testing.assert_allclose(swapped[1], 1 + 2 * expected[1], atol=within)
            assert float(chain_order(other, leader, REWARD).ratio) == 0
            assert float(chain_order(leader, other, np.ones(2)).ratio) == 0
        for plays, expected in AFTER.items():
            counts = [moves(list(map(int, path[: plays + 1]))) for path in PATHS]
            found = all_of(*counts)
            np.testing.assert_allclose([found[0], found[-1]], expected, atol=within)


def test_rows_that_were_not_seen_are_free():
    """The other arm may pay for ever where it was not left, so that its mean may be the larger one."""
    leader, other = np.array([[0.0, 5], [4, 0]]), np.array([[12.0, 1], [0, 0]])
    assert float(chain_order(leader, other, REWARD).ratio) == 0
    assert float(chain_order(np.zeros((2, 2)), other.T, REWARD).ratio) == 0
    assert 0 < float(chain_order(np.array([[1.0, 5], [1, 9]]), np.array([[9.0, 1], [3, 0]]), REWARD).ratio) < np.inf


def test_the_least_sum_over_means():
    """A grid of means, refined around the best one, with sections over chains for each; zeros among the counts."""
    random = np.random.default_rng(0)
    leader, other = random.poisson(np.exp(random.uniform(-1, 5, (2, 16, 1, 1))), (2, 16, 2, 2)).astype(float)
    with jax.enable_x64(True):
        order = jax.tree.map(np.asarray, chain_order(leader, other, REWARD))
    quick = chain_order(leader.astype(np.float32), other.astype(np.float32), REWARD)
    np.testing.assert_allclose(quick.ratio, order.ratio, rtol=1e-4, atol=2e-5)
    middle, width = np.full((16, 1), 0.5), 1 - 2e-7
    for _ in range(6):
        means = middle + width * np.linspace(-0.5, 0.5, 21)
        told = least_of_two_states(leader[:, None, ::-1, ::-1], 1 - means, 0 * means)
        told = told + least_of_two_states(other[:, None], means, 0 * means)
        middle, width = np.take_along_axis(means, told.argmin(1)[:, None], 1), width / 6
        middle = np.clip(middle, width / 2, 1 - width / 2)
    np.testing.assert_allclose(order.ratio, told.min(1), rtol=1e-7, atol=1e-7)
    assert (order.ratio > 0.1).sum() > 3


@pytest.mark.parametrize("states", [2, 3])
def test_the_mixture_predicts_move_by_move(states):
    """Its likelihood sums to 1 over all paths, and is the product of what the mixture predicts."""
    length = 7 if states == 2 else 5
    paths = list(itertools.product(range(states), repeat=length))
    counts = np.array([moves([0, *path], states) for path in paths])
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
    if states == 2:  # a number of another program, of the path 01100101110
        counts = moves(list(map(int, "01100101110")))
        likelihood = math.log(0.25) + 3 * math.log(0.75) + 6 * math.log(0.5)
        assert float(chain_mixture(counts)) + likelihood == pytest.approx(-8.5646262446509, abs=1e-5)


def test_large_counts_lose_no_digits():
    """Against logarithms of gamma functions in float64; in float32 these would be off by more than 1 here."""
    random = np.random.default_rng(1)
    counts = np.stack([random.poisson(size, (4, 4)) for size in (0.3, 3, 9, 1e3, 1e6)]).astype(float)
    gamma = np.vectorize(math.lgamma)
    rows = counts.sum(-1)
    exact = gamma(2.0) - gamma(rows + 2) + (gamma(counts + 0.5) - gamma(0.5)).sum(-1)
    exact -= np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / np.maximum(rows, 1)[..., None]), 0).sum(-1)
    np.testing.assert_allclose(chain_mixture(counts.astype(np.float32)), exact.sum(-1), rtol=2e-6, atol=3e-5)
