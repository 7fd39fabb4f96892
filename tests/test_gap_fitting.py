"""Visible chains that are seen in some steps only: against a search over the rows by powers of matrices."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandit.environments import fit


def chain(rows, steps, seed):
    random, states = np.random.default_rng(seed), [0]
    for _ in range(steps - 1):
        states.append(int(random.choice(len(rows), p=rows[states[-1]])))
    return np.array(states)


def log_likelihood(rows, states):
    """By powers of the rows, from each state that was seen to the next one."""
    seen = [(step, int(state)) for step, state in enumerate(states) if state == state]
    cells = Counter((after[0] - before[0], before[1], after[1]) for before, after in itertools.pairwise(seen))
    return sum(n * np.log(np.linalg.matrix_power(rows, g)[s, t]) for (g, s, t), n in cells.items())


def two(numbers):
    p01, p10 = numbers
    return np.array([[1 - p01, p01], [p10, 1 - p10]])


@pytest.mark.parametrize("days", [(1, 6, 11, 13), (1, 3, 5, 7, 9, 11, 13)])
def test_powers_over_gaps(days):
    """The maximum by a search, errors by second differences; the chances to leave, .1 and .3, are near."""
    states = chain(two((0.1, 0.3)), 14 * 300, 1)
    data = np.where(np.isin(np.arange(len(states)) % 14 + 1, days), states, np.nan)
    fitted = fit([data, states], (0, 1), gaps="steps")
    at = fitted.transition[0, [0, 1], [1, 0]]
    best = minimize(lambda p: -log_likelihood(two(p), data), (0.2, 0.2), bounds=[(0.01, 0.99)] * 2)
    np.testing.assert_allclose(at, best.x, atol=2e-4)
    assert log_likelihood(fitted.transition[0], data) > -best.fun - 1e-6
    step, second = 1e-3, np.zeros((2, 2))
    for i, j, a, b in itertools.product((0, 1), (0, 1), (1, -1), (1, -1)):
        moved = at + step * (a * np.eye(2)[i] + b * np.eye(2)[j])
        second[i, j] += a * b * log_likelihood(two(moved), data) / (4 * step**2)
    covariance = np.linalg.inv(-second)
    np.testing.assert_allclose(fitted.standard_errors[0, [0, 1], [1, 0]], np.sqrt(np.diag(covariance)), rtol=1e-2)
    slopes = np.array([at[1], -at[0]]) / at.sum() ** 2
    assert fitted.means_standard_errors[0] == pytest.approx(np.sqrt(slopes @ covariance @ slopes), rel=1e-2)
    assert (np.abs(at - (0.1, 0.3)) < 4 * fitted.standard_errors[0, 0]).all()  # four standard errors
    assert fitted.counts[0].sum() == len(days) * 300 - 1 and "gaps, over which powers" in str(fitted)
    np.testing.assert_array_equal(fitted.standard_errors[1], fit([states], (0, 1)).standard_errors[0])  # no gaps


def test_three_states_and_a_prior():
    """The gaps are drawn; the maximum is one of the likelihood times the prior's density."""
    rows = np.array([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])
    states = chain(rows, 900, 2)
    states = np.where(np.random.default_rng(3).random(900) < 0.5, np.nan, states)

    def of(numbers):
        weights = np.exp(np.append(numbers.reshape(3, 2), np.zeros((3, 1)), axis=1))
        return weights / weights.sum(axis=1, keepdims=True)

    best = minimize(lambda z: -log_likelihood(of(z), states) - 2 * np.log(of(z)).sum(), np.zeros(6))
    fitted = fit([states], (0, 1, 2), gaps="steps", prior=2)
    np.testing.assert_allclose(fitted.transition[0], of(best.x), atol=1e-4)


def test_even_gaps_leave_the_mirror():
    """P and L - (P - L), L the stationary law in both rows, have the same square, and not the same third power."""
    even, odd = (chain(two(leave), 6000, 4).astype(float) for leave in ((0.3, 0.4), (0.1, 0.12)))
    even[np.arange(6000) % 2 == 1] = odd[np.arange(6000) % 3 > 0] = np.nan
    with pytest.warns(UserWarning, match="arm every second leave its rows undecided: .* are as likely as"):
        fitted = fit({"every second": even}, (0, 1), gaps="steps")
    rows = fitted.transition[0]
    law = fitted.counts[0].sum(0) / fitted.counts.sum()
    assert log_likelihood(2 * law - rows, even) == pytest.approx(log_likelihood(rows, even), abs=0.2)
    assert rows[0, 1] + rows[1, 0] < 1
    fit({"every third": odd}, (0, 1), gaps="steps")  # without a warning, which would be an error here


def test_a_state_that_is_never_left_and_one_never_seen():
    fitted = fit([[0, None, 0, 1, None, 0, 0, 1, 1, 0, None, 2]], (0, 1, 2, 9), gaps="steps")
    followers = np.array([4, 3, 1, 0]) / 8
    np.testing.assert_allclose(fitted.transition[0, 3], followers)
    assert np.isnan(fitted.standard_errors[0, 2:]).all() and (fitted.transition[0, :, 3] == 0).all()
