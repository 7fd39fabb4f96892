"""One-parameter exponential families: divergences and bounds against 40 digits, the policies that take a family."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import IMED, KLUCB, RoundRobinKLUCB, bernoulli, simulate
from jaxbandit.confidence import family_upper, kl_upper
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson
from jaxbandit.testing import check_policy

INDEPENDENT = {"Bernoulli": Bernoulli(), "Gaussian": Gaussian(0.3), "Poisson": Poisson(), "Exponential": Exponential()}


def exact_divergence(name, mean, other):
    mean, other = mp.mpf(mean), mp.mpf(other)
    if name == "Gaussian":
        return (mean - other) ** 2 / (2 * mp.mpf(0.3))
    if name == "Poisson":
        return (mean * mp.log(mean / other) if mean else 0) - mean + other
    return mean / other - 1 - mp.log(mean / other)


def exact_upper(name, mean, radius):
    """By bisection in the logarithm of the distance, from the definition."""
    mean, radius = mp.mpf(float(mean)), mp.mpf(float(radius))
    low, high = mp.mpf(10) ** -20, mp.mpf(10) ** 40
    for _ in range(170):
        middle = mp.sqrt(low * high)
        if exact_divergence(name, mean, mean + middle) <= radius:
            low = middle
        else:
            high = middle
    return mean + low


def units(got, exact):
    """The largest relative error in units of the last digit."""
    eps = np.finfo(got.dtype).eps
    errors = [
        abs(mp.mpf(float(value)) - true) / (abs(true) * eps) if true else float(value != 0)
        for value, true in zip(got.ravel(), exact, strict=True)
    ]
    return float(max(errors))


@pytest.mark.parametrize("name", ["Gaussian", "Poisson", "Exponential"])
def test_independent_families_against_40_digits(name):
    """Found: at most 2 units of the last digit of the bound, 7 of the divergence, over 200,000 pairs."""
    random, family = np.random.default_rng(0), INDEPENDENT[name]
    mean, radius = (10 ** random.uniform(*ends, 60) for ends in ((-6, 6), (-8, 1.8)))
    near = mean * (1 + random.choice([-0.999, 1], 60) * 10 ** random.uniform(-6, 0, 60))
    other = np.where(np.arange(60) < 30, near, 10 ** random.uniform(-6, 6, 60))
    with mp.workdps(40):
        for kind, most in ((np.float32, 10), (np.float64, 40)):
            with jax.enable_x64(kind == np.float64):
                means, radii, others = (x.astype(kind) for x in (mean, radius, other))
                bound = np.asarray(family_upper(means, radii, family))
                assert bound.dtype == kind
                assert units(bound, [exact_upper(name, *pair) for pair in zip(means, radii, strict=True)]) < most
                found = np.asarray(family.divergence(means, others))
                assert (
                    units(
                        found, [exact_divergence(name, *map(float, pair)) for pair in zip(means, others, strict=True)]
                    )
                    < most
                )


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_families_at_the_edges(name):
    """No NaN, never below the mean, 0 between equal means, the ends of the range with every radius allowed."""
    family, (low, high) = INDEPENDENT[name], INDEPENDENT[name].range
    numbers = np.array([-3e38, -1, 0, 2e-38, 1e-20, 0.5, 1, 1e5, 1e30, 3e38], np.float32)
    means, radii = np.unique(np.clip(numbers, low, high)), np.append(numbers[2:], np.inf).astype(np.float32)
    bound = np.asarray(family_upper(means[:, None], radii[None], family))
    assert not np.isnan(bound).any() and (bound >= means[:, None]).all() and (bound <= high).all()
    assert (bound[:, 0] == means).all()
    assert (bound[:, -1] == high).all()
    between = np.asarray(family.divergence(means[:, None], means[None]))
    assert not np.isnan(between).any() and (between >= 0).all() and (np.diag(between) == 0).all()


def test_what_the_families_say_of_certain_laws():
    assert float(Poisson().divergence(0.0, 0.7)) == float(Poisson().upper(0.0, 0.7)) == np.float32(0.7)
    assert float(Poisson().divergence(0.7, 0.0)) == float(Exponential().divergence(0.0, 0.7)) == np.inf
    assert float(Exponential().upper(0.0, 0.7)) == 0
    p, c = np.random.default_rng(0).random((2, 100), np.float32)
    assert (np.asarray(family_upper(p, c, Bernoulli())) == np.asarray(kl_upper(p, c))).all()
    assert (np.asarray(family_upper(p, c)) == np.asarray(kl_upper(p, c))).all()
    assert (np.asarray(Bernoulli().divergence(p, c)) == np.asarray(bernoulli_kl(p, c))).all()


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED])
def test_bernoulli_family_is_no_family(policy):
    """On rewards 0 and 1 the same counts, bit for bit."""
    policies = {"none": policy(), "Bernoulli": policy(family=Bernoulli())}
    result = simulate(bernoulli([0.7, 0.5, 0.6]), policies, runs=20, horizon=300, plays=2, progress=False)
    assert (result.visits["none"] == result.visits["Bernoulli"]).all()


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED])
@pytest.mark.parametrize("name", INDEPENDENT)
def test_policies_with_a_family_keep_the_contract(policy, name):
    check_policy(policy(family=INDEPENDENT[name]), rounds=20)


def test_rewards_of_a_family_are_not_mapped():
    state = KLUCB(family=Gaussian()).init(jnp.array([[-2.0, 3.0]]))
    assert state.reward.tolist() == [[-2, 3]]
    counted = state._replace(counts=jnp.array([[3, 1]]))
    scores = KLUCB(family=Gaussian(), exploration=0).scores(None, counted, 8)
    assert float(scores[0]) == pytest.approx(-0.75 + np.sqrt(2 * np.log(8) / 4), rel=1e-6)


def test_who_does_not_lead_stands_behind_whatever_rewards_are():
    """Two arms with few plays stand behind the leader, in the order of their means."""
    for unit, start in ((1e-9, 0), (1.0, -5.0), (1e8, 0)):
        reward = jnp.asarray(start + unit * np.array([[0.0, 1.0]] * 4))
        policy = RoundRobinKLUCB(family=Gaussian(unit**2), delta=0.1)
        state = policy.init(reward)._replace(counts=jnp.array([[90, 10], [0, 2], [2, 1], [50, 0]]))
        scores = np.asarray(policy.scores(None, state, 155))  # the candidate is arm 3
        assert scores[0] > scores[1] > scores[2] and scores[0] == pytest.approx(start + 0.1 * unit, rel=1e-5)


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED])
def test_errors_begin_with_the_name(policy):
    arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.5], reward=(-1, 1))
    for family, message in (
        (Poisson(), "^family: rewards from -1 to 1; Poisson's means lie in"),
        (Gaussian(0.0), "^variance: 0.0 is no positive number"),
        (Gaussian(np.nan), "^variance: nan"),
        (Gaussian, "^family: .* is none"),
        ("Poisson", "^family: 'Poisson' is none"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(arms, {"policy": policy(family=family)}, runs=2, horizon=3, progress=False)
