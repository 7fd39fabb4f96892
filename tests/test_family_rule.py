"""`FamilyGLR`: its statistic against likelihoods written anew, its mixture by enumeration, its errors by simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from jaxbandit import bernoulli, simulate, two_state
from jaxbandit.environments import gaussian, poisson
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson, chain_family
from jaxbandit.policies import FamilyGLR, Identify, RoundRobin, TopTwo
from jaxbandit.policies.identify.evidence import against_all

DRAW = np.random.default_rng(4)
FAMILIES = {  # the family, n rewards with a mean, their log densities at a mean, means of the mixture
    "Bernoulli": (
        Bernoulli(),
        lambda m, n: DRAW.binomial(1, m, n),
        lambda x, m: stats.bernoulli.logpmf(x, m),
        [0.2, 0.5, 0.7, 0.9],
    ),
    "Gaussian": (
        Gaussian(2.0),
        lambda m, n: DRAW.normal(m, 2**0.5, n),
        lambda x, m: stats.norm.logpdf(x, m, 2**0.5),
        [-1.0, 0.0, 1.0, 1.5],
    ),
    "Poisson": (Poisson(), DRAW.poisson, lambda x, m: stats.poisson.logpmf(x, m), [0.3, 1.0, 2.0, 4.0]),
    "Exponential": (
        Exponential(),
        DRAW.exponential,
        lambda x, m: stats.expon.logpdf(x, scale=m),
        [0.2, 1.0, 3.0, 6.0],
    ),
}


def memory_of(rule, rewards):
    """The memory after these rewards of each arm, as a table of no states would give it."""
    memory = rule.begin(jnp.zeros((len(rewards), 0)))
    sums = memory.rewards._replace(high=jnp.array([x.sum() for x in rewards], float))
    return memory._replace(plays=jnp.array([len(x) for x in rewards], jnp.int32), rewards=sums)


@pytest.mark.parametrize("name", FAMILIES)
def test_statistic_is_that_of_the_densities(name):
    """The largest densities with one common mean by a search, the mixture as a sum of densities."""
    family, draw, log_density, means = FAMILIES[name]
    rewards = a, b = draw(0.9, 40), draw(0.2, 25)

    def density(x, m):
        return float(log_density(x, m).sum())

    ends = (b.mean(), a.mean())
    assert ends[0] < ends[1]
    common = minimize_scalar(
        lambda m: -density(a, m) - density(b, m), bounds=ends, method="bounded", options={"xatol": 1e-9}
    )
    largest = [density(x, x.mean()) for x in rewards]
    ratio = sum(largest) + common.fun
    price = sum(
        logsumexp([density(x, m) for m in means]) - np.log(len(means)) - best for x, best in zip(rewards, largest)
    )
    for mixture, expected in ((means, ratio + price - np.log(1 / 0.1)), (None, ratio - np.log((1 + np.log(65)) / 0.1))):
        rule = FamilyGLR(family, mixture)
        memory = memory_of(rule, rewards)
        assert int(jnp.argmax(rule.means(memory))) == 0
        evidence = against_all(rule.pair, jnp.int32(0), rule.compared(memory))
        excess = rule.excess(memory, jnp.int32(0), evidence, 0.1, jnp.int32(65))
        assert float(excess[1]) == pytest.approx(expected, rel=1e-4, abs=1e-3)


@pytest.mark.slow
def test_mixture_is_a_law_of_all_paths():
    """What an arm's mixture gives to all paths of 12 rewards 0 and 1 adds up to 1, so that Ville's inequality holds."""
    ones = np.arange(13)
    rule = FamilyGLR(Bernoulli(), [0.1, 0.35, 0.5, 0.8])
    reward = jnp.array([[0.0, 1.0]] * 2)
    memory = rule.begin(reward)

    def gained(k):  # of arm 1; arm 0 was not played, and loses nothing
        now = memory._replace(counts=jnp.array([[0, 0], [0, 0]]).at[1].set(jnp.array([12 - k, k])))
        evidence = against_all(rule.pair, jnp.int32(0), rule.compared(now))
        return rule.excess(now, jnp.int32(0), evidence, 1.0, jnp.int32(12))[1]

    lost = np.asarray(jax.vmap(gained)(jnp.asarray(ones)), float)
    likeliest = (ones / 12) ** ones * (1 - ones / 12) ** (12 - ones)
    assert (stats.binom.pmf(ones, 12, 0.5) * 2**12 * likeliest * np.exp(lost)).sum() == pytest.approx(1, abs=1e-5)


ERRORS = {
    "Gaussian": (gaussian([0.0, 0.3], 1.0), FamilyGLR(Gaussian(), np.linspace(-1, 1, 21))),
    "Poisson": (poisson([1.0, 1.3]), FamilyGLR(Poisson(), np.linspace(0.5, 2, 16))),
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.slow
def test_errors_stay_below_delta(name):
    """Wrong answers among 200 runs with delta = .3: more than 81 would be seen once in 1,000 at an error of delta."""
    arms, rule = ERRORS[name]
    result = simulate(
        arms, {"T": Identify(TopTwo(), rule, 0.3)}, until="stopped", runs=200, horizon=1500, progress=False
    )
    assert (result.answers["T"] == 0).sum() <= stats.binom.isf(1e-3, 200, 0.3)
    assert (result.stopped["T"] > 0).mean() > 0.9


STICKY, COINS = two_state([0.1, 0.2], [0.3, 0.1]), bernoulli([0.5, 0.4])


@pytest.mark.parametrize(
    ("arms", "rule", "words"),
    [
        (COINS, FamilyGLR(None), "family: None is not a family"),
        (COINS, FamilyGLR(Gaussian(np.ones(2))), "variance: .* is not one number"),
        (COINS, FamilyGLR(Bernoulli(), [0.5, 1.5]), "mixture: .* is not a list of means from 0 to 1"),
        (gaussian([0.0, 1.0], 1.0), FamilyGLR(Poisson()), "plays rewards from 0 to inf"),
        (STICKY, FamilyGLR(Bernoulli()), "depend on the state before"),
        (
            STICKY,
            FamilyGLR(chain_family(np.asarray(STICKY.transition[0])), [0.5]),
            "mixture: for families of independent",
        ),
    ],
)
def test_what_cannot_be_played_is_refused(arms, rule, words):
    with pytest.raises(ValueError, match=words):
        simulate(arms, {"p": Identify(RoundRobin(), rule)}, until="stopped", runs=2, horizon=10, progress=False)


def test_chains_of_a_family_are_told_apart():
    """Without a mixture: two arms of one family of chains that are far apart stop with the right answer."""
    arms = two_state([0.1, 0.1 * 0.5], [0.2, 0.35])
    family = chain_family([[0.9, 0.1], [0.2, 0.8]])
    result = simulate(
        arms, {"R": Identify(RoundRobin(), FamilyGLR(family))}, until="stopped", runs=20, horizon=4000, progress=False
    )
    assert (result.stopped["R"] > 0).all() and (result.answers["R"] == 0).mean() > 0.8
