"""Exponential families of chains against mpmath at 40 digits, closed forms and brute-force likelihoods."""

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize, stats

import jaxbandit
from jaxbandit import bernoulli, chains
from jaxbandit.environments import exponential_family, fit_exponential_family
from jaxbandit.testing import check_environment

THREE = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])
PAID = np.array([0.0, 0.35, 1.0])
THETAS = np.array([-3.0, -0.7, 0.0, 0.4, 2.5])


def eigenvalue(theta, generator=THREE, reward=PAID):
    """The largest eigenvalue at 40 digits, from the characteristic equation that numpy's eigenvalue starts."""
    theta = mp.mpf(theta)
    tilted = mp.matrix(generator.tolist()) * mp.diag([mp.exp(theta * mp.mpf(float(f))) for f in reward])
    start = max(np.linalg.eigvals(np.array(tilted.tolist(), float)).real)
    size = len(reward)
    return mp.findroot(lambda x: mp.det(tilted - x * mp.eye(size)), mp.mpf(start))


def log_eigenvalue(theta):
    return mp.log(eigenvalue(theta))


def drawn(rows, sets, length, seed):
    """Counts [sets, S, S] of independent sequences from state 0."""
    random = np.random.default_rng(seed)
    ends = rows.cumsum(1)[:, :-1]
    states, counts = np.zeros(sets, int), np.zeros((sets, *rows.shape))
    for _ in range(length):
        following = (random.random(sets)[:, None] > ends[states]).sum(1)
        counts[np.arange(sets), states, following] += 1
        states = following
    return counts


def test_theta_0_is_the_generator_and_rows_are_laws():
    for states in (2, 3, 6):
        generator = np.random.default_rng(states).dirichlet(np.ones(states), states)
        reward = np.random.default_rng(states + 10).normal(size=states)
        arms = exponential_family(np.linspace(-2, 2, 9), generator, reward)
        np.testing.assert_allclose(arms.transition.sum(-1), 1, rtol=1e-14)
        np.testing.assert_allclose(arms.transition[4], generator, rtol=1e-13)
        assert (np.diff(arms.means()) > 0).all()


def test_means_are_derivatives_of_the_log_eigenvalue():
    arms = exponential_family(THETAS, THREE, PAID)
    with mp.workdps(40):
        expected = [float(mp.diff(log_eigenvalue, theta)) for theta in THETAS]
    np.testing.assert_allclose(arms.means(), expected, rtol=1e-13)


def test_probabilities_by_their_formula():
    """v from its own equation at 40 digits: the null space of tilted - rho, with v_0 = 1."""
    arms = exponential_family(THETAS, THREE, PAID)
    with mp.workdps(40):
        for theta, rows in zip(THETAS, arms.transition, strict=True):
            rho = eigenvalue(theta)
            tilted = mp.matrix(THREE.tolist()) * mp.diag([mp.exp(mp.mpf(theta) * mp.mpf(float(f))) for f in PAID])
            equations = tilted - rho * mp.eye(3)
            rest = mp.lu_solve(equations[:2, 1:], -equations[:2, 0])
            v = [mp.mpf(1), rest[0], rest[1]]
            expected = [[float(tilted[x, y] * v[y] / (v[x] * rho)) for y in range(3)] for x in range(3)]
            np.testing.assert_allclose(rows, expected, rtol=1e-13)


@pytest.mark.parametrize(("length", "theta"), [(5, 34.0), (8, 30.0), (6, 30.0)])
def test_an_eigenvalue_far_below_the_largest_row(length, theta):
    """A cycle with one way back, tilted hard, so that rho is a small part of a row's sum; v at 60 digits."""
    generator = np.roll(np.eye(length), 1, axis=1)
    generator[1] = 0
    generator[1, [0, 2]] = 0.5
    reward = np.eye(length)[-1]
    rows = exponential_family([theta, 0.0], generator, reward).transition[0]
    with mp.workdps(60):
        rho = eigenvalue(theta, generator, reward)
        tilted = mp.matrix(generator.tolist()) * mp.diag([mp.exp(mp.mpf(theta) * mp.mpf(float(f))) for f in reward])
        equations = tilted - rho * mp.eye(length)
        rest = mp.lu_solve(equations[: length - 1, 1:], -equations[: length - 1, 0])
        v = [mp.mpf(1), *rest]
        back = float(tilted[1, 0] * v[0] / (v[1] * rho))
    np.testing.assert_allclose(rows[1, 0], back, rtol=1e-12)


def test_information_between_members_in_closed_form():
    """I(theta || other) = (theta - other) A'(theta) - A(theta) + A(other)."""
    arms = exponential_family(THETAS, THREE, PAID)
    with mp.workdps(40):
        values = [log_eigenvalue(theta) for theta in THETAS]
        slopes = [mp.diff(log_eigenvalue, theta) for theta in THETAS]
        for i, theta in enumerate(THETAS):
            for j, other in enumerate(THETAS):
                expected = float((mp.mpf(theta) - mp.mpf(other)) * slopes[i] - values[i] + values[j])
                found = chains.kl_rate(arms.transition[i], arms.transition[j])
                np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)


def test_symmetric_two_states_are_the_ising_chain():
    """Mean sinh theta / sqrt(sinh^2 theta + (p / (1 - p))^2) for f = -1 and 1: the magnetisation in one dimension."""
    for p in (0.01, 0.1, 0.5, 0.8):
        arms = exponential_family(THETAS, [[1 - p, p], [p, 1 - p]], (-1, 1))
        expected = np.sinh(THETAS) / np.sqrt(np.sinh(THETAS) ** 2 + (p / (1 - p)) ** 2)
        np.testing.assert_allclose(arms.means(), expected, rtol=1e-11, atol=1e-13)


def test_equal_rows_are_bernoulli_arms():
    arms = exponential_family(THETAS, [[0.7, 0.3]] * 2)
    expected = bernoulli(0.3 * np.exp(THETAS) / (0.7 + 0.3 * np.exp(THETAS)))
    np.testing.assert_allclose(arms.transition, expected.transition, rtol=1e-14)


def test_a_periodic_generator():
    """States 0, 1 and 2, 3 in turn, by hand: from the second two steps pay f independently, with law softmax."""
    generator = np.array([[0, 0, 0.4, 0.6], [0, 0, 0.4, 0.6], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    arms = exponential_family([0.0, 1.5], generator, (0, 1, 0, 1))
    first = np.array([0.4, 0.6 * np.exp(1.5)])
    second = np.array([1, np.exp(1.5)])
    np.testing.assert_allclose(arms.transition[1, 0, 2:], first / first.sum(), rtol=1e-14)
    np.testing.assert_allclose(arms.transition[1, 2, :2], second / second.sum(), rtol=1e-14)


def test_contract_and_rare_moves():
    check_environment(exponential_family([-1.0, 1.0], THREE, PAID, initial_state="stationary"))
    nearly = np.array([[1 - 1e-7, 1e-7], [2e-7, 1 - 2e-7]])
    np.testing.assert_allclose(exponential_family([0.0, 0.0], nearly).transition[1], nearly, rtol=1e-8)


def test_expected_counts_give_theta_back():
    """Counts n law_x P(x, y): every sequence ends where it began, and theta solves A'(theta) = mean exactly."""
    arms = exponential_family(THETAS, THREE, PAID)
    laws = np.stack([chains.stationary(rows) for rows in arms.transition])
    counts = 5000 * laws[:, :, None] * arms.transition
    found = fit_exponential_family(counts, THREE, PAID)
    np.testing.assert_allclose(found.theta, THETAS, rtol=1e-8, atol=1e-8)
    with mp.workdps(40):
        curvature = [float(mp.diff(log_eigenvalue, theta, 2)) for theta in THETAS]
    np.testing.assert_allclose(found.standard_errors, 1 / np.sqrt(5000 * np.array(curvature)), rtol=1e-7)
    scaled = fit_exponential_family(counts, THREE, 100 * PAID - 7)
    np.testing.assert_allclose(scaled.theta, found.theta / 100, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(scaled.standard_errors, found.standard_errors / 100, rtol=1e-8)


def test_short_sequences_against_brute_force():
    """Where first and last state matter: the sum of N log P_theta, searched in one dimension."""
    rows = exponential_family([1.2, 0.0], THREE, PAID).transition[0]
    counts = drawn(rows, 5, 25, seed=3)

    def loss(theta, moves):
        tilted = THREE * np.exp(theta * PAID)
        values, vectors = np.linalg.eig(tilted)
        v = np.abs(vectors[:, values.real.argmax()].real)
        member = tilted * v / (v[:, None] * values.real.max())
        return -np.sum(moves[moves > 0] * np.log(member[moves > 0]))

    expected = [optimize.minimize_scalar(loss, (-1, 1), args=(moves,), tol=1e-12).x for moves in counts]
    np.testing.assert_allclose(fit_exponential_family(counts, THREE, PAID).theta, expected, atol=1e-6)


@pytest.mark.parametrize("theta", [-0.8, 1.2])
def test_errors_are_calibrated(theta):
    """1,000 data sets of 2,000 moves: z = (estimate - theta) / error has mean 0 and mean square 1.

    Bounds at 2e-10 each of the normal and the chi-square law, so false fails below 1e-9; they find errors that are 15 %
    too small and estimates that are off by a fifth of their error.
    """
    rows = exponential_family([theta, 0.0], THREE, PAID).transition[0]
    found = fit_exponential_family(drawn(rows, 1000, 2000, seed=5), THREE, PAID)
    z = (found.theta - theta) / found.standard_errors
    assert abs(z.mean()) < stats.norm.isf(1e-10) / np.sqrt(1000)
    assert stats.chi2.ppf(1e-10, 1000) < (z**2).sum() < stats.chi2.isf(1e-10, 1000)


FAMILY = [
    ({"theta": [0.0]}, r"theta: shape \(1,\) is not \[K\]"),
    ({"theta": [0.0, np.nan]}, "theta: NaN"),
    ({"theta": [0.0, 50.0]}, r"theta: with 50.0 arm 1 has a move of probability below 2\^-31"),
    ({"theta": [0.0, 1e5]}, "theta: with 100000.0 arm 1"),
    (
        {"theta": [1000, 0], "generator": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "reward": [0, 0, 1]},
        "theta: 1000.0 of arm 0 is too large for this generator",
    ),
    ({"generator": [0.5, 0.5]}, r"generator: shape \(2,\)"),
    ({"generator": [[0.5, 0.6], [0.5, 0.5]]}, "generator: row 0 sums to 1.1"),
    ({"generator": [[1.5, -0.5], [0.5, 0.5]]}, "generator: negative probability -0.5"),
    ({"generator": [[1.0, 0.0], [0.5, 0.5]]}, r"generator: not irreducible, recurrent classes \[\[0\]\]"),
    ({"reward": (0, 1, 2)}, r"reward: shape \(3,\)"),
    ({"reward": (1, 1)}, "reward: every state pays 1.0"),
    ({"initial_state": 5}, "initial_state: 5 is out of range"),
]


@pytest.mark.parametrize(("change", "message"), FAMILY)
def test_bad_families(change, message):
    arguments = {"theta": [0.0, 1.0], "generator": [[0.5, 0.5], [0.4, 0.6]], "reward": (0, 1)}
    with pytest.raises(ValueError, match=f"^{message}"):
        exponential_family(**arguments | change)


FIT = [
    ({"counts": [[3, 1], [1, 2]]}, r"counts: shape \(2, 2\) is not \[K, S, S\] with S = 2"),
    ({"counts": [[[3, 1], [1, -2]]]}, "counts: negative count -2"),
    ({"counts": [[[3, 1], [1, 2]], [[0, 0], [0, 0]]]}, "counts: arm 1 was never seen to move"),
    ({"counts": [[[3, 1], [1, 2]]], "generator": [[0, 1], [0.5, 0.5]]}, "counts: arm 0 moved from 0 to 0"),
    ({"counts": [[[3, 1], [1, 2]], [[0, 1], [0, 9]]]}, "counts: no theta is the most likely for arm 1"),
    ({"counts": [[[0, 5], [5, 0]]], "generator": [[0, 1], [1, 0]]}, "counts: no theta is the most likely for arm 0"),
    ({"reward": (1, 1)}, "reward: every state pays 1.0"),
]


@pytest.mark.parametrize(("change", "message"), FIT)
def test_bad_counts(change, message):
    arguments = {"counts": [[[3, 1], [1, 2]]], "generator": [[0.5, 0.5], [0.4, 0.6]]}
    with pytest.raises(ValueError, match=f"^{message}"):
        fit_exponential_family(**arguments | change)


def test_arms_are_played():
    arms = exponential_family([0.0, 1.0, 2.0], THREE, PAID)
    result = jaxbandit.simulate(arms, {"U": jaxbandit.UCB1()}, runs=20, horizon=500)
    assert jaxbandit.metrics.pseudo_regret(result, "U").shape[-2:] == (20, len(result.times))
