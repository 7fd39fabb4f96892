"""Common random numbers: across policies always, across scenarios by default, and what averages over them are worth."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import qmc

from jaxbandit import UCB1, GradientBandit, advance, initial_carry, run_keys, simulate, stress, two_state
from jaxbandit.simulation.chance import RunKeys
from jaxbandit.stress.preparation import points_in_parts
from jaxbandit.stress.survey import interval_over_parts

KEY = jax.random.key(5)
ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
POLICIES = {"g": [GradientBandit(learning_rate=rate) for rate in (0.1, 0.5)]}
SCENARIOS = {"a": ARMS, "b": ARMS, "c": two_state([0.2, 0.4, 0.3], [0.4, 0.55, 0.65])}
SIZE = {"key": KEY, "runs": 9, "horizon": 40, "times": [1, 13, 40], "shuffle": True}
OWN = SIZE | {"random_numbers": "independent"}


@pytest.fixture(scope="module")
def independent():
    return simulate(SCENARIOS, POLICIES, **OWN)


def keys_in_jax(name, runs, arms):
    """Keys as the docstring says they are, by JAX's own functions, one run at a time."""
    first = hashlib.sha256(name.encode()).digest()
    key = KEY
    for word in (first[:4], first[4:8]):
        key = jax.random.fold_in(key, int.from_bytes(word, "big"))
    threes = [jax.random.split(jax.random.fold_in(key, run), 3) for run in range(runs)]
    orders = [jax.random.permutation(three[2], arms) for three in threes]
    environment, policy = (jnp.stack([three[n] for three in threes]) for n in (0, 1))
    return RunKeys(environment, policy, jnp.stack(orders, -1).astype(jnp.int32))


def test_a_scenario_has_keys_of_its_own_which_anybody_can_make():
    keys, expected = run_keys(KEY, np.arange(9), arms=3, scenario="Größe"), keys_in_jax("Größe", 9, 3)
    for left, right in zip(keys[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(jax.random.key_data(left), jax.random.key_data(right))
    np.testing.assert_array_equal(keys.order, expected.order)


@pytest.mark.slow
def test_anybody_can_play_a_scenario_with_these_keys(independent):
    keys, policy, arms = run_keys(KEY, np.arange(9), arms=3, scenario="c"), POLICIES["g"][1], SCENARIOS["c"]
    _, visits = advance(arms, policy, keys, initial_carry(arms, policy, keys), 1, 40, [1, 13, 40])
    np.testing.assert_array_equal(np.moveaxis(visits, -1, 0), independent.visits["g"][2, 1])


def test_scenarios_share_their_random_numbers_unless_asked_otherwise(independent):
    for asked in ({}, {"random_numbers": "common"}):
        common = simulate(SCENARIOS, POLICIES, **SIZE, **asked)
        assert "random_numbers" not in common.asked
        for visits in common.visits.values():  # a and b are the same arms
            np.testing.assert_array_equal(visits[0], visits[1])
    assert independent.asked["random_numbers"] == "independent"
    assert independent.to_xarray().attrs["random_numbers"] == "independent"
    for visits in independent.visits.values():
        assert (visits[0] != visits[1]).any()


def test_other_words_are_refused():
    for value in ("own", None, True, ["common"]):
        with pytest.raises(ValueError, match=r'^random_numbers: .*; give "common" or "independent"'):
            simulate(ARMS, POLICIES, **SIZE, random_numbers=value)
    with pytest.raises(ValueError, match=r"^scenario: 3 is not the name of a scenario"):
        run_keys(KEY, [0], scenario=3)


@pytest.mark.slow
def test_problems_of_a_survey_have_independent_runs():
    """The average over problems varies from run to run as one of independent runs does, and no more.

    Chi-squared with 399 degrees of freedom: 1 +- .4 fails in 1 of 10^7 times; groups of 32 with one key give 32.
    """
    space = stress.TwoStateSpace(slowest=0.9, least_mean=0.49, most_mean=0.51)
    size = {"problems": 64, "runs": 400, "horizon": 30, "progress": False}
    result = stress.over(space, {"UCB1": UCB1()}, panel={"UCB1": UCB1()}, **size)
    regret = result.regrets["UCB1"] - result.regrets["UCB1"].mean(1, keepdims=True)
    assert 0.6 < len(regret) * regret.mean(0).var(ddof=1) / regret.var(1, ddof=1).mean() < 1.4


def test_intervals_over_a_space_cover():
    """In 400 surveys 91 to 98.75 % of the intervals hold the mean (false alarm: 3 in 10^4), and none is too wide."""
    random, space = np.random.default_rng(2), stress.TwoStateSpace()

    def loss(points):
        return 30 * (points[:, 0] + points[:, 1]) * np.abs(points[:, 2] - points[:, 3])

    true = loss(qmc.Sobol(4, seed=0).random_base2(16)).mean()
    losses = [loss(points_in_parts(space, jax.random.key(number), 128)) for number in range(400)]
    for runs in (2, 64):
        intervals = [interval_over_parts(mean * (1 + random.standard_normal(128) / runs**0.5)) for mean in losses]
        mean, low, high = np.array(intervals).T
        assert 0.91 < np.mean((low < true) & (true < high)) < 0.9875
        assert (high - low).mean() / 2 / (1.96 * mean.std()) < 1.35
