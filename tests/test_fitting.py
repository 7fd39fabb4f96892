"""Fitted arms: calibration on 1,000 data sets a chain, and errors against mpmath."""

from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from jaxbandit.environments import EXAMPLE, fit
from jaxbandit.environments.rested.example import P01, P10, STEPS, generate


def two_states(p01, p10):
    return np.array([[1 - p01, p01], [p10, 1 - p10]])


def observed(transition, steps, seed, sets):
    """States [sets, steps + 1] of independent chains that start in state 0."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(transition, axis=-1)
    states = np.zeros((sets, steps + 1), int)
    for step in range(steps):
        above = rng.random((sets, 1)) >= cumulative[states[:, step]]
        states[:, step + 1] = np.minimum(above.sum(-1), len(transition) - 1)
    return states


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
    reward = rng.uniform(-3, 5, (4, 3)).tolist()
    fitted = fit(sequences, reward, prior=prior)
    with mp.workdps(60):
        step = mp.mpf(10) ** -25
        for arm, states in enumerate(sequences):
            seen = list(pairwise(states.tolist()))
            counts = [[mp.mpf(prior) + seen.count((s, f)) for f in range(3)] for s in range(3)]
            left = [sum(row) for row in counts]
            rows = [[count / total for count in row] for row, total in zip(counts, left)]
            mean = mean_of(rows, reward[arm])
            variance = mp.mpf(0)
            for s in range(3):
                slopes = []
                for f in range(3):
                    changed_rows = [list(row) for row in rows]
                    changed_rows[s][f] += step
                    changed_rows[s][2] -= step
                    slopes.append((mean_of(changed_rows, reward[arm]) - mean) / step)
                for a in range(3):
                    for b in range(3):
                        covariance = rows[s][a] * ((a == b) - rows[s][b]) / left[s]
                        variance += slopes[a] * slopes[b] * covariance
                    error = mp.sqrt(rows[s][a] * (1 - rows[s][a]) / left[s])
                    np.testing.assert_allclose(fitted.transition[arm, s, a], float(rows[s][a]), rtol=1e-14)
                    np.testing.assert_allclose(fitted.standard_errors[arm, s, a], float(error), rtol=1e-13)
            np.testing.assert_allclose(fitted.means[arm], float(mean), rtol=1e-12)
            np.testing.assert_allclose(fitted.means_standard_errors[arm], float(mp.sqrt(variance)), rtol=1e-11)


def test_a_row_without_transitions_is_that_of_an_independent_arm():
    """The state that is seen last only, the one that is never seen, and an arm that always shows the same state."""
    fitted = fit([[0, 0, 1, 0, 0, 2], [1, 1, 1]], (0, 0.5, 1, 7))
    np.testing.assert_allclose(fitted.transition[0, 2:], [[3 / 5, 1 / 5, 1 / 5, 0]] * 2)
    np.testing.assert_allclose(fitted.transition[1], [[0, 1, 0, 0]] * 4)
    assert np.isnan(fitted.standard_errors[0, 2:]).all() and np.isfinite(fitted.standard_errors[0, :2]).all()
    assert np.isnan(fitted.means_standard_errors[0]) and fitted.means_standard_errors[1] == 0
    np.testing.assert_allclose(fitted.averages, [1.5 / 6, 0.5])
    first, second = fitted.reasons
    assert first.startswith("no transitions from state 2, which pays 1; ") and second.startswith("only state 1 was se")
    assert " ".join(str(fitted).split()).endswith("environments.markov with equal rows makes independent arms.")
    assert max(map(len, str(fitted).splitlines())) <= 80


def test_example_is_what_its_function_makes():
    assert EXAMPLE.read_bytes() == generate().encode()
    fitted = fit(EXAMPLE)
    assert fitted.counts.sum((1, 2)).tolist() == [STEPS - 1] * 4
    assert fitted.verdicts.tolist() == ["i.i.d.", "Markovian", "Markovian", "i.i.d."]
    z = (fitted.transition - np.stack([two_states(*arm) for arm in zip(P01, P10)])) / fitted.standard_errors
    assert (np.abs(z) < 4).all()


def test_many_states_take_no_minutes():
    """64 states have 2,016 pairs of rows."""
    data = np.random.default_rng(0).integers(0, 64, (2, 4000))
    fitted = fit(data, np.arange(64), prior=0.01)
    rows = fitted.transition[1]
    expected = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    np.testing.assert_allclose(fitted.distance[1], expected, rtol=1e-5)
