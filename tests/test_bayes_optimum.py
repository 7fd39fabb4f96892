"""The least Bayes regret: against published values, plain recursion over histories, and policies."""

from functools import cache
from itertools import product

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit.bounds import bayes_optimum

UNIFORM, CHAINS = np.ones((2, 2)), np.ones((2, 2, 2))


@pytest.mark.parametrize(
    ("horizon", "value"),
    [(1, 0.5), (2, 13 / 12), (3, 5 / 3), (5, 2.8888888889), (10, 6.0217857143), (20, 12.4312649059)],
)
def test_uniform_bernoulli_arms(horizon, value):
    assert bayes_optimum(UNIFORM, horizon).reward == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(
    ("horizon", "start", "value"),
    [
        (4, (0, 0), 2.1111111111),
        (4, (1, 0), 2.2416666667),
        (4, (1, 1), 2.3388888889),
        (6, (0, 0), 3.2331018519),
        (6, (0, 1), 3.4291997354),
        (6, (1, 1), 3.5560515873),
    ],
)
def test_uniform_chains(horizon, start, value):
    assert bayes_optimum(CHAINS, horizon, start=start).reward == pytest.approx(value, abs=1e-10)


def by_histories(prior, horizon, reward, start):
    """The same by recursion over the results of both arms, from which each chance is counted anew."""

    def chance(arm, results, result):
        if prior.ndim == 2:
            seen, before = list(results), prior[arm]
        else:
            states = [start[arm], *results]
            seen = [b for a, b in zip(states, results) if a == states[-1]]
            before = prior[arm, states[-1]]
        return (before[result] + seen.count(result)) / (before.sum() + len(seen))

    @cache
    def worth(first, second):
        if len(first) + len(second) == horizon:
            return 0.0
        played = []
        for arm, results in enumerate((first, second)):
            after = [(*results, result) for result in (0, 1)]
            later = [worth(a, second) if arm == 0 else worth(first, a) for a in after]
            played.append(sum(chance(arm, results, k) * (reward[k] + later[k]) for k in (0, 1)))
        return max(played)

    return worth((), ())


@pytest.mark.parametrize("kind", ["Bernoulli", "chains"])
@pytest.mark.parametrize(("start", "seed"), list(zip(product((0, 1), (0, 1)), range(4))))
def test_against_plain_recursion(start, seed, kind):
    """Any priors, rewards and starts; two numbers that pay the same, and the larger one for result 0, among them."""
    random = np.random.default_rng(seed)
    prior = random.uniform(0.2, 3, (2, 2) if kind == "Bernoulli" else (2, 2, 2))
    reward = [(0, 1), (2.0, -1.0), (0.5, 0.5), (-1, 3)][seed]
    for horizon in (1, 2, 6):
        exact = by_histories(prior, horizon, reward, start)
        assert bayes_optimum(prior, horizon, reward, start).reward == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("kind", ["Bernoulli", "chains"])
def test_the_expected_best_mean(kind):
    """Against 400,000 draws: it fails falsely once in 10^6, and notices errors of .005 of the rewards' range."""
    random = np.random.default_rng(0)
    for reward in ((0, 1), (2.0, -1.0)):
        prior = random.uniform(0.3, 4, (2, 2) if kind == "Bernoulli" else (2, 2, 2))
        drawn = random.beta(prior[..., 1, None], prior[..., 0, None], (*prior.shape[:-1], 400_000))
        share = drawn if kind == "Bernoulli" else drawn[:, 0] / (drawn[:, 0] + 1 - drawn[:, 1])
        best = (reward[0] + (reward[1] - reward[0]) * share).max(0)
        result = bayes_optimum(prior, 3, reward)
        assert abs(result.best_mean - best.mean()) < 5 * best.std() / np.sqrt(best.size)
        assert result.regret == pytest.approx(3 * result.best_mean - result.reward)
    assert bayes_optimum(UNIFORM, 1).best_mean == pytest.approx(2 / 3, abs=1e-12)


def test_nothing_changes_with_the_names_of_arms_and_results():
    random = np.random.default_rng(5)
    for shape in ((2, 2), (2, 2, 2)):
        prior = random.uniform(0.3, 3, shape)
        value = bayes_optimum(prior, 9, (0.2, 1.5), (0, 1))
        other = np.flip(prior, tuple(range(1, len(shape))))
        for same in (bayes_optimum(prior[::-1], 9, (0.2, 1.5), (1, 0)), bayes_optimum(other, 9, (1.5, 0.2), (1, 0))):
            np.testing.assert_allclose(same, value, rtol=1e-9)


@pytest.mark.slow
def test_no_policy_gets_more():
    """20 rounds with 400 pairs of arms drawn from the uniform prior; fails falsely less than once in 10^6."""
    least = bayes_optimum(UNIFORM, 20)
    means = np.random.default_rng(1).random((400, 2))
    arms = {str(n): jaxbandit.bernoulli(pair) for n, pair in enumerate(means)}
    policies = {"Thompson": jaxbandit.Thompson(), "KL-UCB": jaxbandit.KLUCB(exploration=0.0)}
    result = jaxbandit.simulate(arms, policies, runs=32, horizon=20, key=jax.random.key(2), progress=False)
    for label in policies:
        regret = jaxbandit.metrics.pseudo_regret(result, label)[..., -1].reshape(400, -1).mean(1)
        assert regret.mean() > least.regret - 5 * regret.std() / np.sqrt(len(regret))
        assert regret.mean() < 3 * least.regret


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"prior": np.ones((3, 2))}, r"prior: shape \(3, 2\) is neither"),
        ({"prior": [[1, 0], [1, 1]]}, "prior: 0.0 is not positive"),
        ({"horizon": 401}, "horizon: 401"),
        ({"prior": CHAINS, "horizon": 101}, "horizon: 101"),
        ({"reward": [1, 2, 3]}, r"reward: shape \(3,\) is not \[2\]"),
        ({"start": [0, 2]}, r"start: \[0.0, 2.0\] are not two states"),
    ],
)
def test_wrong_arguments_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        bayes_optimum(**{"prior": UNIFORM, "horizon": 3} | changed)
