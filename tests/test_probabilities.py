"""Rows of probabilities wherever they are given: those of float32 are divided by their sums, worse ones are refused."""

import jax
import numpy as np
import pytest

from jaxbandit import bounds, chains, confidence, families, indices, markov, simulate
from jaxbandit.environments import RestlessArms, hidden, restless
from jaxbandit.policies import HiddenMyopic, Myopic
from jaxbandit.probabilities import stochastic

PAYS = (0.0, 0.5, 1.0)
ROWS = jax.random.dirichlet(jax.random.key(0), np.ones(3), (4, 3))  # float32, as JAX draws them
EXACT = np.asarray(ROWS, float) / np.asarray(ROWS, float).sum(-1, keepdims=True)
BARELY = np.float32(np.eye(3) + 1e-6 * np.array([[-3, 1, 2], [1, -2, 1], [2, 1, -3]]))  # hardly moves: digits count


def own_arms(rows) -> RestlessArms:
    """Arms whose author fills the fields by hand, so that no function has seen the rows."""
    arms = markov(EXACT, PAYS)
    return type(arms)(rows, arms.reward, arms.initial, arms.transition_thresholds, arms.initial_thresholds)


# what is made of rows [4, 3, 3], everywhere they are taken
TAKEN = {
    "markov": lambda rows: markov(rows, PAYS).transition,
    "restless": lambda rows: restless(EXACT, PAYS, rows).passive,
    "hidden": lambda rows: hidden(EXACT, rows, PAYS).emission,
    "gittins": lambda rows: indices.gittins(rows, PAYS, 0.99),
    "with_start": lambda rows: indices.with_start(EXACT, PAYS, rows[:, 0])[0],
    "gittins_value": lambda rows: indices.gittins_value(rows, PAYS, 0.99, rows[:, 0]),
    "whittle": lambda rows: indices.whittle(rows, EXACT, PAYS, discount=0.9).index,
    "chain_family": lambda rows: families.chain_family(rows[0], PAYS).divergence(0.4, 0.5),
    "stationary": lambda rows: chains.stationary(rows[0]),
    "relative_values": lambda rows: chains.relative_values(rows[0], np.array(PAYS)),
    "reward_gap": lambda rows: chains.reward_gap(rows[0], np.array(PAYS)),
    "kl_rate": lambda rows: chains.kl_rate(rows[0], rows[1]),
    "eigenvalue_gap": lambda rows: chains.eigenvalue_gap(rows[0], symmetrise=True),
    "thresholds": lambda rows: chains.thresholds(rows[0]),
    "lower": lambda rows: bounds.lower(own_arms(rows)).per_arm,
}


@pytest.mark.parametrize("name", TAKEN)
def test_rows_of_float32_are_those_divided_by_their_sums(name):
    """What comes of them is what comes of the rows that were divided by hand; some are off by more than 1e-8."""
    assert np.abs(np.asarray(ROWS, float).sum(-1) - 1)[:2].max() > 2e-8
    np.testing.assert_allclose(TAKEN[name](ROWS), TAKEN[name](EXACT), rtol=1e-13)


@pytest.mark.parametrize("name", TAKEN)
def test_rows_off_by_more_are_refused_with_the_remedy(name):
    with pytest.raises(ValueError, match=r"^\w+: row \d( of arm \d)? sums to 1.00000\d*, not to 1; .* rows.sum\(-1"):
        TAKEN[name](EXACT * (1 + 2e-6))


def test_a_chain_of_float32_that_hardly_moves_keeps_its_digits():
    """Rows off by 3e-8 beside moves of 1e-6; relative values of the divided rows from float64 least squares."""
    rows = np.asarray(BARELY, float)
    rows /= rows.sum(-1, keepdims=True)
    law = chains.stationary(rows)
    whole = np.vstack([np.eye(3) - rows, law])
    reward = np.array(PAYS)
    values = np.linalg.lstsq(whole, np.append(reward - law @ reward, 0), rcond=None)[0]
    assert np.abs(np.asarray(BARELY, float).sum(-1) - 1).max() > 1e-8
    np.testing.assert_allclose(chains.relative_values(BARELY, reward), values, rtol=1e-8, atol=1e-5)  # of 1e5


def test_what_rounding_made_negative_is_zero():
    """1 - 0.8 - 0.2 is -5.6e-17 in float64; a probability below -1e-6 is not a rounding error."""
    left = 1 - 0.8 - 0.2
    assert left < 0
    assert markov([[[0.8, 0.2, left], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]] * 2, PAYS).transition[0, 0, 2] == 0
    with pytest.raises(ValueError, match="^transition: negative probability -2e-06"):
        markov([[[0.8, 0.200002, -2e-6], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]] * 2, PAYS)


@pytest.mark.slow
def test_policies_and_confidence_take_rows_of_float32():
    arms = restless(ROWS, PAYS)
    simulate(arms, {"myopic": Myopic(ROWS, ROWS[:, 0])}, runs=1, horizon=2)
    simulate(hidden(ROWS, ROWS, PAYS), {"myopic": HiddenMyopic(ROWS, ROWS, ROWS[:, 0])}, runs=1, horizon=2)
    assert 0 < confidence.stationary_mean_upper(ROWS[0], np.array(PAYS), 0, 0.1) < 1
    with pytest.raises(ValueError, match=r"^policies\['myopic'\].initial: row 1 sums to 0\.[89].*; mend it"):
        simulate(arms, {"myopic": Myopic(ROWS, EXACT[:, 0] * [[1], [0.9], [1], [1]])}, runs=1, horizon=2)


def test_one_row_alone_is_named_as_such():
    with pytest.raises(ValueError, match="^law: it sums to 0.5, not to 1"):
        stochastic("law", np.array([0.25, 0.25]))
    row = np.array([0.7, 0.2, 0.1])  # the sum is 1 - 1.1e-16
    assert (stochastic("law", row, 1e-12) == row).all() and (stochastic("law", row) != row).any()


def test_arms_with_different_numbers_of_states_are_told_to_be_padded():
    """The message says how, and what it says works: a padded arm is played as the arm it stands for."""
    two, three = [[0.5, 0.5], [0.4, 0.6]], EXACT[0].tolist()
    arrays = [np.array(two), np.array(three)]
    for transition, reward in (([two, three], PAYS), (arrays, PAYS), (EXACT[:2], [[0, 1], PAYS])):
        with pytest.raises(ValueError, match="lists of different lengths have to be padded: .*columns of 0"):
            markov(transition, reward)
    with pytest.raises(ValueError, match="^transition: .* padded"):
        indices.gittins([two, three], PAYS, 0.9)
    padded = markov([[[0.5, 0.5, 0], [0.4, 0.6, 0], [1, 0, 0]], three], [[0, 1, 0], PAYS])
    assert padded.means()[0] == pytest.approx(5 / 9, rel=1e-15)
    with pytest.raises(ValueError, match="is not an array of numbers$"):
        markov("chain", PAYS)
