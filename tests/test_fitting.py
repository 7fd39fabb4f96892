"""Fitted arms: calibration on 1,000 data sets a chain, and errors against mpmath."""

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import jaxbandit
from jaxbandit import TVKLUCB
from jaxbandit.environments import EXAMPLE, fit
from jaxbandit.environments.rested.example import P01, P10, STEPS, generate

SETS = 1000


def two_states(p01, p10):
    return np.array([[1 - p01, p01], [p10, 1 - p10]])


def observed(transition, steps, seed, sets=SETS):
    """States [sets, steps + 1] of independent chains that start in state 0."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(transition, axis=-1)
    states = np.zeros((sets, steps + 1), int)
    for step in range(steps):
        above = rng.random((sets, 1)) >= cumulative[states[:, step]]
        states[:, step + 1] = np.minimum(above.sum(-1), len(transition) - 1)
    return states


def calibrated(z):
    """Whether |z| < 1.96 in 95 % of cases and z has mean square 1; 0.5 and 3 percent points are left to finite samples.

    Refuses a calibrated z less often than 4e-10: four tails at 1e-10, of the binomial law and of chi-square's.
    """
    inside, square = int((np.abs(z) < 1.959964).sum()), float((z**2).sum())
    likely = [stats.binom(z.size, 0.955).cdf(inside), stats.binom(z.size, 0.945).sf(inside - 1)]
    likely += [stats.chi2(z.size).cdf(square / 0.97), stats.chi2(z.size).sf(square / 1.03)]
    return min(likely) > 1e-10


CHAINS = {
    2: [two_states(*arm) for arm in ((0.5, 0.4), (0.05, 0.1), (0.9, 0.8), (0.3, 0.7), (0.2, 0.05))],
    3: list(0.1 + 0.7 * np.random.default_rng(5).dirichlet(np.ones(3), (5, 3))),
}


@pytest.mark.parametrize("states", CHAINS)
def test_intervals_are_calibrated(states):
    """5 chains, 1,000 data sets of 2,000 transitions each; false-fail rate below 1e-9.

    One entry of each row: the others of a row are bound to it. Errors 15 % too small or large are noticed.
    """
    reward = np.linspace(0, 1, states)
    rows, means = [], []
    for seed, chain in enumerate(CHAINS[states]):
        fitted = fit(observed(chain, 2000, [states, seed]), reward)
        rows.append((fitted.transition - chain)[..., 0] / fitted.standard_errors[..., 0])
        law = np.linalg.matrix_power(chain, 1 << 14)[0]
        means.append((fitted.means - law @ reward) / fitted.means_standard_errors)
    for name, z in (("transition", np.stack(rows)), ("means", np.stack(means))):
        print(f"{states} states, {name}: coverage {np.mean(np.abs(z) < 1.959964):.4f}, variance of z {z.var():.4f}")
        assert calibrated(z)
        assert not calibrated(z * 1.15) and not calibrated(z / 1.15)


def test_reward_may_differ_between_arms_and_a_rare_state_is_calibrated_too():
    chain = CHAINS[3][0]
    reward = np.random.default_rng(0).uniform(-3, 5, (SETS, 3))
    fitted = fit(observed(chain, 1000, 9), reward)
    np.testing.assert_array_equal(fitted.reward, reward)
    np.testing.assert_allclose(fitted.means, fitted.arms.means(), rtol=1e-14)
    law = np.linalg.matrix_power(chain, 1 << 14)[0]
    assert calibrated((fitted.means - reward @ law) / fitted.means_standard_errors)


def mean_of(rows, reward):
    """Long-run mean by mpmath: the stationary law as the solution of its linear equations."""
    size = len(reward)
    equations = mp.matrix(size, size)
    for s in range(size):
        for following in range(size):
            equations[following, s] = rows[s][following] - (s == following)
    for s in range(size):
        equations[size - 1, s] = 1
    law = mp.lu_solve(equations, mp.matrix([0] * (size - 1) + [1]))
    return mp.fsum(law[s] * reward[s] for s in range(size))


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_errors_against_differences(prior):
    """The delta method by finite differences of 60 digits and the multinomial covariance; 3 states, 4 arms."""
    rng = np.random.default_rng(1)
    sequences = [observed(chain, 400, [8, seed], 1)[0] for seed, chain in enumerate(rng.dirichlet(np.ones(3), (4, 3)))]
    reward = [-1.0, 0.25, 2.0]
    fitted = fit(sequences, reward, prior=prior)
    with mp.workdps(60):
        step = mp.mpf(10) ** -25
        for arm, states in enumerate(sequences):
            counts = [
                [mp.mpf(prior) + sum(a == s and b == f for a, b in pairwise(states)) for f in range(3)]
                for s in range(3)
            ]
            left = [sum(row) for row in counts]
            rows = [[count / total for count in row] for row, total in zip(counts, left)]
            mean = mean_of(rows, reward)
            variance = mp.mpf(0)
            for s in range(3):
                slopes = []
                for f in range(3):
                    moved = [list(row) for row in rows]
                    moved[s][f] += step
                    moved[s][2] -= step
                    slopes.append((mean_of(moved, reward) - mean) / step)
                for a in range(3):
                    for b in range(3):
                        covariance = rows[s][a] * ((a == b) - rows[s][b]) / left[s]
                        variance += slopes[a] * slopes[b] * covariance
                    error = mp.sqrt(rows[s][a] * (1 - rows[s][a]) / left[s])
                    np.testing.assert_allclose(fitted.transition[arm, s, a], float(rows[s][a]), rtol=1e-14)
                    np.testing.assert_allclose(fitted.standard_errors[arm, s, a], float(error), rtol=1e-13)
            np.testing.assert_allclose(fitted.means[arm], float(mean), rtol=1e-12)
            np.testing.assert_allclose(fitted.means_standard_errors[arm], float(mp.sqrt(variance)), rtol=1e-11)


def test_errors_of_two_states_in_closed_form():
    """mean = p01 / (p01 + p10), its derivatives p10 / (p01 + p10)^2 and -p01 / (p01 + p10)^2."""
    fitted = fit(EXAMPLE)
    p01, p10 = fitted.transition[:, 0, 1], fitted.transition[:, 1, 0]
    e01, e10 = fitted.standard_errors[:, 0, 1], fitted.standard_errors[:, 1, 0]
    np.testing.assert_allclose(fitted.means, p01 / (p01 + p10), rtol=1e-13)
    np.testing.assert_allclose(
        fitted.means_standard_errors, np.hypot(p10 * e01, p01 * e10) / (p01 + p10) ** 2, rtol=1e-12
    )


def test_counts_by_hand():
    fitted = fit([[0, 1, 1, 0, 1], [1, 0, 0, 0, 1, 1]], (2, 5))
    assert fitted.counts.tolist() == [[[0, 2], [1, 1]], [[2, 1], [1, 1]]]
    np.testing.assert_allclose(fitted.transition, [[[0, 1], [1 / 2, 1 / 2]], [[2 / 3, 1 / 3], [1 / 2, 1 / 2]]])
    np.testing.assert_allclose(fitted.standard_errors[1], [[np.sqrt(2 / 27)] * 2, [np.sqrt(1 / 8)] * 2])
    assert fitted.standard_errors[0, 0].tolist() == [0, 0]
    assert fitted.reward.tolist() == [[2, 5], [2, 5]]


def test_prior_is_added_to_every_transition():
    fitted = fit([[0, 1, 1], [0, 0, 0, 2]], (0, 1, 2), prior=0.5)
    assert fitted.counts[1].tolist() == [[2, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(fitted.transition[1], [[2.5 / 4.5, 0.5 / 4.5, 1.5 / 4.5], [1 / 3] * 3, [1 / 3] * 3])
    np.testing.assert_allclose(fitted.standard_errors[1, 2], np.sqrt(2 / 9 / 1.5))


def test_a_row_without_transitions_is_that_of_an_independent_arm():
    """The state that is seen last only, the one that is never seen, and an arm that always shows the same state."""
    fitted = fit([[0, 0, 1, 0, 0, 2], [1, 1, 1]], (0, 0.5, 1, 7))
    np.testing.assert_allclose(fitted.transition[0, 2:], [[3 / 5, 1 / 5, 1 / 5, 0]] * 2)
    np.testing.assert_allclose(fitted.transition[1], [[0, 1, 0, 0]] * 4)
    assert np.isnan(fitted.standard_errors[0, 2:]).all() and np.isfinite(fitted.standard_errors[0, :2]).all()
    assert np.isnan(fitted.means_standard_errors[0]) and fitted.means_standard_errors[1] == 0
    np.testing.assert_allclose(fitted.averages, [1.5 / 6, 0.5])
    assert fitted.reasons == (
        "no transitions from state 2, which pays 1; 10 are needed",
        "only state 1 was seen, which pays 0.5",
    )
    assert " ".join(str(fitted).split()).endswith("environments.markov with equal rows makes independent arms.")
    assert max(map(len, str(fitted).splitlines())) <= 80


def test_example_is_what_its_function_makes():
    assert EXAMPLE.read_bytes() == generate().encode()
    fitted = fit(EXAMPLE)
    assert fitted.counts.sum((1, 2)).tolist() == [STEPS - 1] * 4
    assert fitted.verdicts.tolist() == ["i.i.d.", "Markovian", "Markovian", "i.i.d."]
    z = (fitted.transition - np.stack([two_states(*arm) for arm in zip(P01, P10)])) / fitted.standard_errors
    assert (np.abs(z) < 4).all()


def test_fitted_arms_are_played():
    arms = fit(EXAMPLE, initial_state="stationary").arms
    result = jaxbandit.simulate(arms, {"TV": TVKLUCB()}, runs=4, horizon=500, progress=False)
    assert result.visits["TV"][..., -1, :, :].sum() == 4 * 500
    assert jaxbandit.environments.fit is fit


def test_many_states_take_no_minutes():
    """64 states have 2,016 pairs of rows."""
    data = np.random.default_rng(0).integers(0, 64, (2, 4000))
    fitted = fit(data, np.arange(64), prior=0.01)
    rows = fitted.transition[1]
    expected = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    np.testing.assert_allclose(fitted.distance[1], expected, rtol=1e-5)
