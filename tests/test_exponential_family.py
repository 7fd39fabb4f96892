"""Exponential families of chains against mpmath at 40 digits, closed forms and brute-force likelihoods."""

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize

from jaxbandit import chains
from jaxbandit.environments import exponential_family, fit_exponential_family
from jaxbandit.testing import check_environment

THREE = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])
PAID = np.array([0.0, 0.35, 1.0])
THETAS = np.array([-3.0, -0.7, 0.0, 0.4, 2.5])


def tilted(theta, generator, reward):
    return mp.matrix(generator.tolist()) * mp.diag([mp.exp(mp.mpf(theta) * mp.mpf(float(f))) for f in reward])


def eigenvalue(theta, generator=THREE, reward=PAID):
    """The largest eigenvalue at 40 digits, from the characteristic equation that numpy's eigenvalue starts."""
    moves = tilted(theta, generator, reward)
    start = max(np.linalg.eigvals(np.array(moves.tolist(), float)).real)
    return mp.findroot(lambda x: mp.det(moves - x * mp.eye(len(reward))), mp.mpf(start))


def member(theta, generator=THREE, reward=PAID):
    """The rows by their formula; v from its own equation, the null space of tilted - rho, with v_0 = 1."""
    moves, rho, size = tilted(theta, generator, reward), eigenvalue(theta, generator, reward), len(reward)
    equations = moves - rho * mp.eye(size)
    v = [mp.mpf(1), *mp.lu_solve(equations[: size - 1, 1:], -equations[: size - 1, 0])]
    return [[float(moves[x, y] * v[y] / (v[x] * rho)) for y in range(size)] for x in range(size)]


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


def test_means_are_derivatives_of_the_log_eigenvalue():
    arms = exponential_family(THETAS, THREE, PAID)
    with mp.workdps(40):
        expected = [float(mp.diff(log_eigenvalue, theta)) for theta in THETAS]
    np.testing.assert_allclose(arms.means(), expected, rtol=1e-13)


def test_probabilities_by_their_formula():
    arms = exponential_family(THETAS, THREE, PAID)
    assert (np.diff(arms.means()) > 0).all()
    with mp.workdps(40):
        np.testing.assert_allclose(arms.transition, [member(theta) for theta in THETAS], rtol=1e-13)


@pytest.mark.parametrize(("length", "theta"), [(5, 34.0), (8, 30.0), (6, 30.0)])
def test_an_eigenvalue_far_below_the_largest_row(length, theta):
    """A cycle with one way back, tilted hard, so that rho is a small part of a row's sum; v at 60 digits."""
    generator = np.roll(np.eye(length), 1, axis=1)
    generator[1] = 0
    generator[1, [0, 2]] = 0.5
    reward = np.eye(length)[-1]
    rows = exponential_family([theta, 0.0], generator, reward).transition[0]
    with mp.workdps(60):
        np.testing.assert_allclose(rows[1, 0], member(theta, generator, reward)[1][0], rtol=1e-12)


def test_a_periodic_generator():
    """States 0, 1 and 2, 3 in turn, by hand: from the second two steps pay f independently, with law softmax."""
    generator = np.array([[0, 0, 0.4, 0.6], [0, 0, 0.4, 0.6], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    arms = exponential_family([0.0, 1.5], generator, (0, 1, 0, 1))
    first = np.array([0.4, 0.6 * np.exp(1.5)])
    second = np.array([1, np.exp(1.5)])
    np.testing.assert_allclose(arms.transition[1, 0, 2:], first / first.sum(), rtol=1e-14)
    np.testing.assert_allclose(arms.transition[1, 2, :2], second / second.sum(), rtol=1e-14)


@pytest.mark.slow
def test_contract_and_rare_moves():
    check_environment(exponential_family([-1.0, 1.0], THREE, PAID, initial_state="stationary"))
    nearly = np.array([[1 - 1e-7, 1e-7], [2e-7, 1 - 2e-7]])
    np.testing.assert_allclose(exponential_family([0.0, 0.0], nearly).transition[1], nearly, rtol=1e-8)


def test_expected_counts_give_theta_back():
    """Counts n law_x P(x, y): every sequence ends where it began, and theta solves A'(theta) = mean exactly."""
    arms = exponential_family(THETAS, THREE, PAID)
    laws = np.stack([chains.stationary(rows) for rows in arms.transition])
    counts = 5000 * laws[:, :, None] * arms.transition
    result = fit_exponential_family(counts, THREE, PAID)
    np.testing.assert_allclose(result.theta, THETAS, rtol=1e-8, atol=1e-8)
    with mp.workdps(40):
        curvature = [float(mp.diff(log_eigenvalue, theta, 2)) for theta in THETAS]
    np.testing.assert_allclose(result.standard_errors, 1 / np.sqrt(5000 * np.array(curvature)), rtol=1e-7)
    scaled = fit_exponential_family(counts, THREE, 100 * PAID - 7)
    np.testing.assert_allclose(scaled.theta, result.theta / 100, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(scaled.standard_errors, result.standard_errors / 100, rtol=1e-8)


@pytest.mark.slow
def test_short_sequences_against_brute_force():
    """Where first and last state matter: the sum of N log P_theta, searched in one dimension."""
    rows = exponential_family([1.2, 0.0], THREE, PAID).transition[0]
    counts = drawn(rows, 5, 25, seed=3)

    def loss(theta, moves):
        scaled = THREE * np.exp(theta * PAID)
        values, vectors = np.linalg.eig(scaled)
        v = np.abs(vectors[:, values.real.argmax()].real)
        law = scaled * v / (v[:, None] * values.real.max())
        return -np.sum(moves[moves > 0] * np.log(law[moves > 0]))

    expected = [optimize.minimize_scalar(loss, (-1, 1), args=(moves,), tol=1e-12).x for moves in counts]
    np.testing.assert_allclose(fit_exponential_family(counts, THREE, PAID).theta, expected, atol=1e-6)


FAMILY = [
    ({"theta": [0.0]}, r"theta: shape \(1,\) is not \[K\]"),
    ({"theta": [0.0, 50.0]}, r"theta: with 50.0 arm 1 has a move of probability below 2\^-31"),
    ({"theta": [1000, 0], "generator": np.roll(np.eye(3), 1, 1), "reward": [0, 0, 1]}, "theta: 1000.0 of arm 0 is too"),
    ({"generator": [[0.5, 0.6], [0.5, 0.5]]}, "generator: row 0 sums to 1.1"),
    ({"generator": [[1.0, 0.0], [0.5, 0.5]]}, r"generator: not irreducible, recurrent classes \[\[0\]\]"),
    ({"reward": (1, 1)}, "reward: every state pays 1.0"),
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
]


@pytest.mark.parametrize(("change", "message"), FIT)
@pytest.mark.slow
def test_bad_counts(change, message):
    arguments = {"counts": [[[3, 1], [1, 2]]], "generator": [[0.5, 0.5], [0.4, 0.6]]}
    with pytest.raises(ValueError, match=f"^{message}"):
        fit_exponential_family(**arguments | change)
