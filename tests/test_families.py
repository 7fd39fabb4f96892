"""One-parameter exponential families: divergences and bounds against 40 digits, the policies that take a family."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import reference_families
from against import reference_draws

import jaxbandit
from jaxbandit import IMED, KLUCB, RoundRobinKLUCB, Thompson, bernoulli, bounds, simulate
from jaxbandit.confidence import family_upper, kl_upper
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.environments import exponential_family
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson, TabledChains, TwoStateChains, chain_family
from jaxbandit.families.table import tabulated
from jaxbandit.families.tilting import largest_cycle, tilted
from jaxbandit.testing import check_policy

G2, G3 = reference_families.G2, reference_families.G3
FAMILY_2, FAMILY_3 = chain_family(G2), chain_family(G3, (0, 0.5, 1))
GENERAL_2 = tabulated(np.array(G2), np.array([0.0, 1.0]))  # two states as if there were no closed form
THETA = (2.0, 1.0, 0.5, 0.0, -1.0)
divergence = jax.jit(lambda family, mean, other: family.divergence(mean, other))
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
        low, high = (middle, high) if exact_divergence(name, mean, mean + middle) <= radius else (low, middle)
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
def test_independent_families_against_40_digits(name, accuracy):
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
                exact = [exact_upper(name, *pair) for pair in zip(means, radii, strict=True)]
                accuracy(f"{name} bound, {kind.__name__}, ULP", "mpmath, 40 digits", units(bound, exact), most)
                result = np.asarray(divergence(family, means, others))
                exact = [exact_divergence(name, *map(float, pair)) for pair in zip(means, others, strict=True)]
                accuracy(f"{name} divergence, {kind.__name__}, ULP", "mpmath, 40 digits", units(result, exact), most)


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
    between = np.asarray(divergence(family, means[:, None], means[None]))
    assert not np.isnan(between).any() and (between >= 0).all() and (np.diag(between) == 0).all()


@pytest.mark.slow
def test_what_the_families_say_of_certain_laws():
    assert float(divergence(Poisson(), 0.0, 0.7)) == float(Poisson().upper(0.0, 0.7)) == np.float32(0.7)
    assert float(divergence(Poisson(), 0.7, 0.0)) == float(divergence(Exponential(), 0.0, 0.7)) == np.inf
    assert float(Exponential().upper(0.0, 0.7)) == 0
    p, c = np.random.default_rng(0).random((2, 100), np.float32)
    assert (np.asarray(family_upper(p, c, Bernoulli())) == np.asarray(kl_upper(p, c))).all()
    assert (np.asarray(family_upper(p, c)) == np.asarray(kl_upper(p, c))).all()
    assert family_upper(jnp.array([-0.3, 1.3]), 0.1).tolist() == [float(kl_upper(0.0, 0.1)), 1]
    assert (np.asarray(divergence(Bernoulli(), p, c)) == np.asarray(bernoulli_kl(p, c))).all()


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED, Thompson])
def test_bernoulli_family_is_no_family(policy):
    """On rewards 0 and 1 the same counts, bit for bit."""
    policies = {"none": policy(), "Bernoulli": policy(family=Bernoulli())}
    result = simulate(bernoulli([0.7, 0.5, 0.6]), policies, runs=20, horizon=300, plays=2, progress=False)
    assert (result.visits["none"] == result.visits["Bernoulli"]).all()


def test_rewards_of_a_family_are_not_mapped():
    state = KLUCB(family=Gaussian()).init(jnp.array([[-2.0, 3.0]]))
    assert state.reward.tolist() == [[-2, 3]]
    counted = state._replace(counts=jnp.array([[3, 1]]))
    scores = KLUCB(family=Gaussian(), exploration=0).scores(None, counted, 8)[0]
    assert float(scores[0]) == pytest.approx(-0.75 + np.sqrt(2 * np.log(8) / 4), rel=1e-6)


def test_who_does_not_lead_stands_behind_whatever_rewards_are():
    """Two arms with few plays stand behind the leader, in the order of their means."""
    for unit, start in ((1e-9, 0), (1.0, -5.0), (1e8, 0)):
        reward = jnp.asarray(start + unit * np.array([[0.0, 1.0]] * 4))
        policy = RoundRobinKLUCB(family=Gaussian(unit**2), delta=0.1)
        state = policy.init(reward)._replace(counts=jnp.array([[90, 10], [0, 2], [2, 1], [50, 0]]))
        scores = np.asarray(policy.scores(None, state, 155)[0])  # the candidate is arm 3
        assert scores[0] > scores[1] > scores[2] and scores[0] == pytest.approx(start + 0.1 * unit, rel=1e-5)


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED])
def test_errors_begin_with_the_name(policy):
    arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.5], reward=(-1, 1))
    for family, message in (
        (Poisson(), r"^policies\['policy'\].family: rewards from -1 to 1; Poisson's means lie in"),
        (Gaussian(0.0), r"^policies\['policy'\].family: variance: 0.0 lies outside"),
        (Gaussian, r"^policies\['policy'\].family: .* is not a family"),
    ):
        with pytest.raises(ValueError, match=message):
            simulate(arms, {"policy": policy(family=family)}, runs=2, horizon=3, progress=False)


@pytest.mark.slow
def test_vectors_of_two_states():
    """Computed twice elsewhere: by eigenvectors and the Bregman form, and by the rows' divergences in 40 digits."""
    rows, log_rho = tilted(-1.0, np.array(G2), np.array([0.0, 1.0]))
    np.testing.assert_allclose([rows[0, 1], rows[1, 0], log_rho], [0.01306375907, 0.67726795, -0.092210675], rtol=1e-8)
    means = {-1: 0.01892388665, 0: 1 / 3, 0.5: 0.8778160582, 2: 0.9942171481}
    with jax.enable_x64(True):
        for family, least in ((FAMILY_2, 2e-9), (GENERAL_2, 3e-8)):
            for one, other, rate in ((-1, 0.5, 0.3907694217), (0.5, -1, 0.8975688355), (0, 2, 1.115137286)):
                assert float(divergence(family, means[one], means[other])) == pytest.approx(rate, abs=least)
            assert float(divergence(family, 1.0, 0.7)) == pytest.approx(0.09663721198, abs=least)
            for mean, radius, bound in (
                *((0.2, 0.01, 0.3508436442), (0.5, 0.1, 0.8912449821), (0.05, 0.5, 0.9299331445)),
                *((0.9, 0.02, 0.9701706978), (0.0, 0.1, 0.3129332601), (1.0, 0.1, 1.0)),
            ):
                assert float(family_upper(mean, radius, family)) == pytest.approx(bound, abs=least)


@pytest.mark.parametrize("kappa", [1e-6, 1 / 36, 1.0, 20.0])
def test_two_states_against_40_digits(kappa, accuracy):
    """Found: at most 7 units of the last digit for kappa up to 10, 10 units up to 100, over 40,000 pairs each."""
    odds = kappa**0.5  # of leaving either state
    leave = odds / (1 + odds)
    result = chain_family([[1 - leave, leave], [leave, 1 - leave]])
    assert isinstance(result, TwoStateChains) and result.kappa == pytest.approx(kappa, rel=1e-9)
    random = np.random.default_rng(0)
    share, radius = 1 / (1 + np.exp(-random.uniform(-12, 12, 15))), 10 ** random.uniform(-7, 1, 15)
    with mp.workdps(40):
        for kind in (np.float32, np.float64):
            with jax.enable_x64(kind == np.float64):
                x, c, family = share.astype(kind), radius.astype(kind), TwoStateChains(kind(kappa), steps=result.steps)
                got = np.asarray(family_upper(x, c, family))
                assert got.dtype == kind
                numbers = [map(mp.mpf, map(float, (*pair, family.kappa))) for pair in zip(x, c, strict=True)]
                exact = [reference_families.exact_upper_of_two_states(*three) for three in numbers]
                what = f"bound of a family of two-state chains, kappa {kappa:.2g}, {kind.__name__}, ULP"
                accuracy(what, "mpmath, 40 digits", units(got, exact), 12)


@pytest.mark.slow
def test_one_chain_of_equal_rows_is_the_bernoulli_family():
    """kappa = 1: the bound and the divergence are those of Bernoulli rewards, to rounding."""
    family = chain_family([[0.3, 0.7], [0.3, 0.7]])
    assert family.kappa == pytest.approx(1, rel=1e-14)
    p, c = np.random.default_rng(0).random((2, 1000))
    with jax.enable_x64(True):
        np.testing.assert_allclose(family_upper(p, c, family), kl_upper(p, c), rtol=2e-14)
        np.testing.assert_allclose(divergence(family, p, c), bernoulli_kl(p, c), rtol=1e-9)
    np.testing.assert_allclose(family_upper(p, c, family), kl_upper(p, c), rtol=2e-6)


@pytest.mark.parametrize("generator", [G3, ((0.5, 0.5, 0.0), (0.3, 0.4, 0.3), (0.0, 1.0, 0.0))])
@pytest.mark.slow
def test_three_states_against_the_definition(generator, accuracy):
    """Float32 within 3 units of the last digit of 1, float64 within 1e-8 (found: 1 unit, 3e-9)."""
    reference_families.REWARD[generator] = (0.0, 0.5, 1.0)
    family = chain_family(generator, (0, 0.5, 1))
    random = np.random.default_rng(0)
    mean, radius = random.uniform(0.02, 0.97 * family.range[1], 25), 10 ** random.uniform(-5, -0.5, 25)
    other = random.uniform(0.02, 0.97 * family.range[1], 25)
    exact = [reference_families.upper(*map(float, pair), generator) for pair in zip(mean, radius, strict=True)]
    rates = [reference_families.divergence(*map(float, pair), generator) for pair in zip(mean, other, strict=True)]
    with jax.enable_x64(True):
        error = np.abs(family_upper(mean, radius, family) - np.array(exact)).max()
        accuracy("bound of a family of three-state chains, float64", "its definition", error, 1e-8)
        np.testing.assert_allclose(divergence(family, mean, other), rates, rtol=1e-6, atol=1e-8)
    error = np.abs(family_upper(mean, radius, family) - np.array(exact)).max()
    accuracy("bound of a family of three-state chains, float32", "its definition", error, 3 * 1.2e-7)
    np.testing.assert_allclose(divergence(family, mean, other), rates, rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("generator", [G2, [[0.9995, 0.0005], [0.001, 0.999]], [[0.1, 0.9], [0.7, 0.3]]])
@pytest.mark.slow
def test_the_general_way_is_the_closed_form(generator):
    """Bounds within 3 units of the last digit of 1 in float32, 1e-7 in float64 (found: 1 unit, 3e-8)."""
    closed, general = chain_family(generator), tabulated(np.array(generator), np.array([0.0, 1.0]))
    random = np.random.default_rng(0)
    mean, radius = 1 / (1 + np.exp(-random.uniform(-12, 12, 2000))), 10 ** random.uniform(-7, 1.3, 2000)
    mean[:2] = 0, 1
    with jax.enable_x64(True):
        np.testing.assert_allclose(family_upper(mean, radius, general), family_upper(mean, radius, closed), atol=1e-7)
    np.testing.assert_allclose(family_upper(mean, radius, general), family_upper(mean, radius, closed), atol=4e-7)


@pytest.mark.parametrize(
    "family", [FAMILY_2, FAMILY_3, TwoStateChains(100.0, -3.0, 5.0, 2), chain_family([[0, 1], [0.3, 0.7]])]
)
def test_chains_at_the_edges(family):
    """No NaN, never below the mean, no mean beyond the ends; means that the family does not have are its ends."""
    low, high = (float(end) for end in family.range)
    mean = np.array([low - 1, low, low + 1e-7, (low + high) / 2, high - 1e-7, high, high + 1], np.float32)
    radius = np.array([0, 1e-45, 1e-30, 1e-9, 1e-3, 1, 50, 1e10, np.inf], np.float32)
    bound = np.asarray(family_upper(mean[:, None], radius[None], family))
    inside = np.clip(mean, np.float32(low), np.float32(high))
    assert not np.isnan(bound).any() and (bound >= inside[:, None]).all() and (bound <= np.float32(high)).all()
    np.testing.assert_allclose(bound[:, 0], inside, atol=1e-6 * (high - low))
    np.testing.assert_allclose(bound[:, -1], high, rtol=1e-6)
    between = np.asarray(divergence(family, mean[:, None], mean[None]))
    assert not np.isnan(between).any() and (between >= 0).all() and (np.diag(between) < 1e-6).all()


def test_ends_of_the_means_are_those_of_cycles():
    """The best state without a loop: 0, .5, 1 by way of the middle pays .75 at most; two states without a loop."""
    generator = np.array([[0.5, 0.5, 0], [0.3, 0.4, 0.3], [0, 1, 0]])
    assert largest_cycle(generator, np.array([0, 0.5, 1])) == 0.75
    result = chain_family(generator, (0, 0.5, 1))
    assert isinstance(result, TabledChains) and [float(end) for end in result.range] == [0, 0.75]
    assert float(family_upper(0.9, 0.1, result)) == 0.75
    assert [float(end) for end in chain_family([[0, 1], [0.3, 0.7]]).range] == [0.5, 1]


@pytest.mark.slow
def test_rewards_in_other_units():
    """Twice the reward less 3 has half the theta: the same divergence, bounds moved with the means."""
    for generator, reward in ((G2, (0, 1)), (G3, (0, 0.5, 1))):
        one = chain_family(generator, reward)
        other = chain_family(generator, 2 * np.array(reward) - 3)
        with jax.enable_x64(True):
            assert float(divergence(other, -2.5, -1.4)) == pytest.approx(float(divergence(one, 0.25, 0.8)), rel=1e-9)
            bound = float(family_upper(0.25, 0.1, one))
            assert float(family_upper(-2.5, 0.1, other)) == pytest.approx(2 * bound - 3, rel=1e-9)
    turned = chain_family(np.array(G2)[::-1, ::-1], (1, 0))
    assert turned.kappa == pytest.approx(FAMILY_2.kappa) and turned.range == (0, 1)


ARMS_2 = exponential_family([0.4, 0.0, -0.3], G2)
ARMS_3 = exponential_family([0.6, 0.0, -0.5], G3, (0, 0.5, 1))


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB])
@pytest.mark.parametrize(("generator", "family", "arms"), [(G2, FAMILY_2, ARMS_2), (G3, FAMILY_3, ARMS_3)])
def test_same_arms_as_the_reference_in_every_round(generator, family, arms, policy, plays):
    delta = {"delta": 0.1} if policy is RoundRobinKLUCB else {}
    fields = {"exploration": 3.0, "delta": delta.get("delta", 0.0)}
    key, rounds = jax.random.key(7), 200
    with jax.enable_x64(True):
        tried = {"policy": policy(family=family, exploration=3.0, **delta)}
        asked = {"key": key, "runs": 2, "horizon": rounds, "plays": plays, "times": np.arange(1, rounds + 1)}
        result = simulate(arms, tried, **asked, progress=False)
    counts = np.diff(result.visits["policy"][0, 0].sum(-1), axis=1, prepend=0)  # [R, T, K]
    for run in range(2):
        draws = reference_draws(arms, key, run)
        expected = reference_families.play(policy.__name__, generator, draws, 3, rounds, plays, **fields)
        assert [np.flatnonzero(item).tolist() for item in counts[run]] == expected


@pytest.mark.parametrize("policy", [KLUCB, RoundRobinKLUCB, IMED])
@pytest.mark.parametrize(("family", "arms"), [(FAMILY_2, ARMS_2), (FAMILY_3, ARMS_3)])
@pytest.mark.slow
def test_policies_on_chains_keep_the_contract(policy, family, arms):
    check_policy(policy(family=family), arms, rounds=20)
    check_policy(policy(family=family), arms, rounds=20, plays=2)


@pytest.mark.slow
def test_constants_of_the_lower_bound():
    """Computed twice elsewhere, arm by arm from the (M+1)-th."""
    for generator, reward, plays, constants in (
        (G2, (0, 1), 1, (1.488285099, 0.842660053, 0.5926479394, 0.5366884223)),
        (G2, (0, 1), 2, (3.07626981, 1.376095545, 1.118345468)),
        (G3, (0, 0.5, 1), 1, (1.693107079, 1.069245325, 0.7875293003, 0.558105258)),
        (G3, (0, 0.5, 1), 2, (3.738388362, 1.822650539, 0.9728237566)),
    ):
        arms = exponential_family(THETA, generator, reward)
        result = bounds.family_lower(arms, chain_family(generator, reward), plays)
        np.testing.assert_allclose(result.per_arm[plays:], constants, rtol=1e-7)
        assert not result.per_arm[:plays].any() and float(result.total) == pytest.approx(sum(constants), rel=1e-7)


def test_the_bernoulli_family_has_the_constant_of_lai_and_robbins():
    arms = bernoulli([0.7, 0.5, 0.2])
    expected = bounds.lai_robbins(arms).per_arm
    np.testing.assert_allclose(bounds.family_lower(arms, Bernoulli()).per_arm, expected, rtol=1e-9)


def test_errors_of_chains_and_bounds():
    arms = exponential_family([1.0, 0.0], G2)
    play = lambda family: simulate(arms, {"k": KLUCB(family=family)}, runs=2, horizon=2)
    for call, message in (
        (lambda: chain_family([[0.5, 0.5], [0.0, 1.0]]), "^generator: not irreducible"),
        (lambda: chain_family([[0, 1], [1, 0]]), "^reward: all cycles of states pay the same"),
        (lambda: chain_family(G2, (1, 1)), "^reward: every state pays 1"),
        (lambda: bounds.family_lower(arms, FAMILY_2, 2), "^plays: 2 is not among the integers from 1 to 1"),
        (lambda: bounds.family_lower(arms, FAMILY_3), "^family: every arm's states must pay"),
        (lambda: bounds.family_lower(arms, TwoStateChains(1 / 36, 0.0, 2.0)), "^family: every arm's two states must"),
        (lambda: bounds.family_lower(arms, Bernoulli()), "^environment: arm 1 or 0 is not of the family"),
        (lambda: bounds.family_lower(bernoulli([0.5, 0.5]), Bernoulli()), "^environment: arms 0 and 1 have the mean"),
        (lambda: play(FAMILY_3), r"^policies\['k'\].family: every arm's states must"),
        (lambda: play(TwoStateChains(-1.0)), r"^policies\['k'\].family: kappa: -1.0 lies outside"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
