"""Families of laws: divergences and bounds against 40 digits, what takes a family, arms of families of chains."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
import reference_families
from against import reference_draws
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, xlogy

from jaxbandit import IMED, KLUCB, RoundRobinKLUCB, Thompson, bernoulli, bounds, chains, simulate, two_state
from jaxbandit.confidence import family_upper, kl_upper
from jaxbandit.divergences import bernoulli_kl
from jaxbandit.environments import exponential_family, fit_exponential_family, gaussian
from jaxbandit.families import Bernoulli, Exponential, Gaussian, Poisson, TabledChains, TwoStateChains, chain_family
from jaxbandit.families.table import tabulated
from jaxbandit.families.tilting import largest_cycle
from jaxbandit.policies import FamilyGLR, Identify, RoundRobin
from jaxbandit.policies.identify.evidence import against_all

G2, G3 = reference_families.G2, reference_families.G3
FAMILY_2, FAMILY_3 = chain_family(G2), chain_family(G3, (0, 0.5, 1))
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
    for _ in range(85):
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
    mean, radius = (10 ** random.uniform(*ends, 40) for ends in ((-6, 6), (-8, 1.8)))
    near = mean * (1 + random.choice([-0.999, 1], 40) * 10 ** random.uniform(-6, 0, 40))
    other = np.where(np.arange(40) < 20, near, 10 ** random.uniform(-6, 6, 40))
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


@pytest.mark.slow
def test_bernoulli_family_is_no_family():
    """On rewards 0 and 1 the same counts, bit for bit."""
    policies = {"K": KLUCB(), "of K": KLUCB(family=Bernoulli()), "T": Thompson(), "of T": Thompson(family=Bernoulli())}
    result = simulate(bernoulli([0.7, 0.5, 0.6]), policies, runs=8, horizon=200, plays=2, progress=False)
    for label in ("K", "T"):
        np.testing.assert_array_equal(result.visits[label], result.visits[f"of {label}"])


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


@pytest.mark.parametrize("kappa", [1e-6, 1 / 36, 20.0])
def test_two_states_against_40_digits(kappa, accuracy):
    """Found: at most 7 units of the last digit for kappa up to 10, 10 units up to 100, over 40,000 pairs each."""
    odds = kappa**0.5  # of leaving either state
    leave = odds / (1 + odds)
    result = chain_family([[1 - leave, leave], [leave, 1 - leave]])
    assert isinstance(result, TwoStateChains) and result.kappa == pytest.approx(kappa, rel=1e-9)
    random = np.random.default_rng(0)
    share, radius = 1 / (1 + np.exp(-random.uniform(-12, 12, 12))), 10 ** random.uniform(-7, 1, 12)
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
def test_three_states_against_the_definition(accuracy):
    """Float32 within 3 units of the last digit of 1, float64 within 1e-8 (found: 1 unit, 3e-9)."""
    generator = reference_families.MIDDLE
    family = chain_family(generator, (0, 0.5, 1))
    random = np.random.default_rng(0)
    mean, radius = random.uniform(0.02, 0.97 * family.range[1], 15), 10 ** random.uniform(-5, -0.5, 15)
    other = random.uniform(0.02, 0.97 * family.range[1], 15)
    exact = [reference_families.upper(*map(float, pair), generator) for pair in zip(mean, radius, strict=True)]
    rates = [reference_families.divergence(*map(float, pair), generator) for pair in zip(mean, other, strict=True)]
    with jax.enable_x64(True):
        error = np.abs(family_upper(mean, radius, family) - np.array(exact)).max()
        accuracy("bound of a family of three-state chains, float64", "its definition", error, 1e-8)
        np.testing.assert_allclose(divergence(family, mean, other), rates, rtol=1e-6, atol=1e-8)
    error = np.abs(family_upper(mean, radius, family) - np.array(exact)).max()
    accuracy("bound of a family of three-state chains, float32", "its definition", error, 3 * 1.2e-7)
    np.testing.assert_allclose(divergence(family, mean, other), rates, rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("generator", [[[0.9995, 0.0005], [0.001, 0.999]], [[0.1, 0.9], [0.7, 0.3]]])
@pytest.mark.slow
def test_the_general_way_is_the_closed_form(generator):
    """Bounds within 3 units of the last digit of 1 in float32, 1e-7 in float64 (found: 1 unit, 3e-8)."""
    closed, general = chain_family(generator), tabulated(np.array(generator), np.array([0.0, 1.0]))
    random = np.random.default_rng(0)
    mean, radius = 1 / (1 + np.exp(-random.uniform(-12, 12, 2000))), 10 ** random.uniform(-7, 1.3, 2000)
    mean[:2] = 0, 1
    with jax.enable_x64(True):
        np.testing.assert_allclose(family_upper(mean, radius, general), family_upper(mean, radius, closed), atol=1e-7)
        inner = random.uniform(0.05, 0.95, (2, 100))
        rates = [divergence(family, *inner) for family in (general, closed)]
        np.testing.assert_allclose(*rates, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(family_upper(mean, radius, general), family_upper(mean, radius, closed), atol=4e-7)


@pytest.mark.parametrize(
    "family",
    [
        *INDEPENDENT.values(),
        FAMILY_2,
        TwoStateChains(100.0, -3.0, 5.0, 2),
        pytest.param(FAMILY_3, marks=pytest.mark.slow),
        pytest.param(chain_family([[0, 1], [0.3, 0.7]]), marks=pytest.mark.slow),
    ],
)
def test_the_edges(family):
    """No NaN, never below the mean, 0 between equal means, the ends of the range with every radius allowed.

    Means that a family of chains does not have are its ends; these families' bounds and divergences are rounded.
    """
    low, high = (np.float32(end) for end in family.range)
    chains = isinstance(family, TwoStateChains | TabledChains)
    numbers = np.array([-3e38, -1, 0, 2e-38, 1e-20, 0.5, 1, 1e5, 1e30, 3e38], np.float32)
    means = np.clip(numbers, low, high)
    radii = np.array([0, 1e-45, 1e-30, 1e-9, 1e-3, 1, 50, 1e10, 3e38, np.inf], np.float32)
    if chains:
        means = np.array([low - 1, low, low + 1e-7, (low + high) / 2, high - 1e-7, high, high + 1], np.float32)
    bound, inside = np.asarray(family_upper(means[:, None], radii[None], family)), np.clip(means, low, high)
    assert not np.isnan(bound).any() and (bound >= inside[:, None]).all() and (bound <= high).all()
    np.testing.assert_allclose(bound[:, 0], inside, rtol=0, atol=1e-6 * (high - low) if chains else 0)
    np.testing.assert_allclose(bound[:, -1], high, rtol=1e-6 if chains else 0)
    between = np.asarray(divergence(family, means[:, None], means[None]))
    assert not np.isnan(between).any() and (between >= 0).all()
    assert (np.diag(between) <= (1e-6 if chains else 0)).all()


def test_ends_of_the_means_are_those_of_cycles():
    """The best state without a loop: 0, .5, 1 by way of the middle pays .75 at most; two states without a loop."""
    generator = np.array(reference_families.MIDDLE)
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


def test_same_arms_as_the_reference_in_every_round():
    arms = exponential_family([0.4, 0.0, -0.3], G2)
    key, rounds = jax.random.key(7), 120
    with jax.enable_x64(True):
        tried = {"policy": RoundRobinKLUCB(family=FAMILY_2, exploration=3.0, delta=0.1)}
        asked = {"key": key, "runs": 2, "horizon": rounds, "plays": 2, "times": np.arange(1, rounds + 1)}
        result = simulate(arms, tried, **asked, progress=False)
    counts = np.diff(result.visits["policy"][0, 0].sum(-1), axis=1, prepend=0)  # [R, T, K]
    for run in range(2):
        expected = reference_families.play(G2, reference_draws(arms, key, run), 3, rounds, 2, 3.0, 0.1)
        assert [np.flatnonzero(item).tolist() for item in counts[run]] == expected


@pytest.mark.slow
def test_constants_of_the_lower_bound():
    """Computed twice elsewhere, arm by arm from the (M+1)-th; of coins those of Lai and Robbins."""
    coins = bernoulli([0.7, 0.5, 0.2])
    known = bounds.lai_robbins(coins).per_arm
    np.testing.assert_allclose(bounds.family_lower(coins, Bernoulli()).per_arm, known, rtol=1e-9)
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


# --- the stopping rule `FamilyGLR` ---

DRAW = np.random.default_rng(4)
NORMAL = lambda x, m: stats.norm.logpdf(x, m, 2**0.5)
FAMILIES = {  # the family, n rewards with a mean, their log densities at a mean, means of the mixture
    "Bernoulli": (Bernoulli(), lambda m, n: DRAW.binomial(1, m, n), stats.bernoulli.logpmf, [0.2, 0.5, 0.7, 0.9]),
    "Gaussian": (Gaussian(2.0), lambda m, n: DRAW.normal(m, 2**0.5, n), NORMAL, [-1.0, 0.0, 1.0, 1.5]),
    "Poisson": (Poisson(), DRAW.poisson, stats.poisson.logpmf, [0.3, 1.0, 2.0, 4.0]),
    "Exponential": (Exponential(), DRAW.exponential, lambda x, m: stats.expon.logpdf(x, scale=m), [0.2, 1.0, 3.0, 6.0]),
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
    density = lambda x, m: float(log_density(x, m).sum())
    ends = (b.mean(), a.mean())
    assert ends[0] < ends[1]
    asked = {"bounds": ends, "method": "bounded", "options": {"xatol": 1e-9}}
    common = minimize_scalar(lambda m: -density(a, m) - density(b, m), **asked)
    largest = [density(x, x.mean()) for x in rewards]
    ratio = sum(largest) + common.fun
    price = sum(
        logsumexp([density(x, m) for m in means]) - np.log(len(means)) - best for x, best in zip(rewards, largest)
    )
    for mixture, expected in ((means, ratio + price - np.log(1 / 0.1)), (None, ratio - np.log((1 + np.log(65)) / 0.1))):
        rule = FamilyGLR(family, mixture)

        @jax.jit
        def of_memory(memory, rule=rule):
            evidence = against_all(rule.pair, jnp.int32(0), rule.compared(memory))
            excess = rule.excess(memory, jnp.int32(0), evidence, 0.1, jnp.int32(65))
            return jnp.argmax(rule.means(memory)), excess[1], evidence.share[1]

        leader, excess, share = of_memory(memory_of(rule, rewards))
        assert leader == 0
        assert float(excess) == pytest.approx(expected, rel=1e-4, abs=1e-3)
        assert float(share) == pytest.approx((largest[0] - density(a, common.x)) / ratio, rel=1e-3)


def test_mixture_is_a_law_of_all_paths():
    """What an arm's mixture gives to all paths of 12 rewards 0 and 1 adds up to 1, so that Ville's inequality holds."""
    ones = np.arange(13)
    rule = FamilyGLR(Bernoulli(), [0.1, 0.35, 0.5, 0.8])
    memory = rule.begin(jnp.array([[0.0, 1.0]] * 2))

    def gained(count):  # of arm 1; arm 0 was not played, and loses nothing
        now = memory._replace(counts=jnp.zeros_like(memory.counts).at[1].set(count))
        evidence = against_all(rule.pair, jnp.int32(0), rule.compared(now))
        return rule.excess(now, jnp.int32(0), evidence, 1.0, jnp.int32(12))[1]

    lost = np.asarray(jax.jit(jax.vmap(gained))(np.stack([12 - ones, ones], 1)), float)
    likeliest = (ones / 12) ** ones * (1 - ones / 12) ** (12 - ones)
    assert (stats.binom.pmf(ones, 12, 0.5) * 2**12 * likeliest * np.exp(lost)).sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_chains_of_a_family_are_told_apart():
    """Without a mixture: two arms of one family of chains that are far apart stop with the right answer."""
    arms, policy = two_state([0.1, 0.1 * 0.5], [0.2, 0.35]), Identify(RoundRobin(), FamilyGLR(FAMILY_2))
    result = simulate(arms, {"R": policy}, until="stopped", runs=8, horizon=4000, progress=False)
    assert (result.stopped["R"] > 0).all() and (result.answers["R"] == 0).sum() >= 7


# --- arms of an exponential family of chains ---

THREE = np.array(reference_families.LAST)
PAID = np.array(reference_families.REWARD[reference_families.LAST])
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


log_eigenvalue = lambda theta: mp.log(eigenvalue(theta))


def test_chains_by_their_formula():
    """Means are derivatives of the logarithm of the eigenvalue, and rise in theta."""
    arms = exponential_family(THETAS, THREE, PAID)
    assert (np.diff(arms.means()) > 0).all()
    with mp.workdps(40):
        expected = [float(mp.diff(log_eigenvalue, theta)) for theta in THETAS]
        np.testing.assert_allclose(arms.means(), expected, rtol=1e-13)
        np.testing.assert_allclose(arms.transition, [member(theta) for theta in THETAS], rtol=1e-13)


def one_way_back(length):
    """A cycle with one way back, which pays in the last state."""
    generator = np.roll(np.eye(length), 1, axis=1)
    generator[1] = 0
    generator[1, [0, 2]] = 0.5
    return generator, np.eye(length)[-1]


PERIODIC = np.array([[0, 0, 0.4, 0.6]] * 2 + [[0.5, 0.5, 0, 0]] * 2), np.array([0.0, 1, 0, 1])


@pytest.mark.parametrize(
    ("generator", "reward", "theta"), [(*one_way_back(5), 34.0), (*one_way_back(8), 30.0), (*PERIODIC, 1.5)]
)
def test_generators_with_few_moves(generator, reward, theta):
    """Cycles tilted so hard that rho is a small part of a row's sum, and a generator of period 2; v at 60 digits."""
    rows = exponential_family([theta, 0.0], generator, reward).transition[0]
    with mp.workdps(60):
        np.testing.assert_allclose(rows, member(theta, generator, reward), rtol=1e-12)


def test_rare_moves():
    nearly = np.array([[1 - 1e-7, 1e-7], [2e-7, 1 - 2e-7]])
    np.testing.assert_allclose(exponential_family([0.0, 0.0], nearly).transition[1], nearly, rtol=1e-8)


@pytest.mark.slow
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
    counts = np.random.default_rng(3).poisson(40 * THREE * [[1], [0.5], [0.2]], (5, 3, 3))
    loss = lambda theta, moves: -xlogy(moves, reference_families.law(theta, reference_families.LAST)[0]).sum()
    expected = [minimize_scalar(loss, (-1, 1), args=(moves,), tol=1e-12).x for moves in counts]
    np.testing.assert_allclose(fit_exponential_family(counts, THREE, PAID).theta, expected, atol=1e-6)


# --- what is refused ---

UNIT, STICKY = exponential_family([1.0, 0.0], G2), two_state([0.1, 0.2], [0.3, 0.1], reward=(-1, 1))
NORMAL_ARMS, COINS = gaussian([0.0, 1.0], 1.0), bernoulli([0.5, 0.4])
HALVES, MOVED = ((0.5, 0.5), (0.4, 0.6)), [[3, 1], [1, 2]]


def play(arms, policy):
    simulate(arms, {"p": policy}, runs=2, horizon=10, progress=False)


def identify(arms, *family):
    policy = Identify(RoundRobin(), FamilyGLR(*family))
    simulate(arms, {"p": policy}, until="stopped", runs=2, horizon=10, progress=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chain_family([[0.5, 0.5], [0.0, 1.0]]), "generator: not irreducible"),
        (lambda: chain_family([[0, 1], [1, 0]]), "reward: all cycles of states pay the same"),
        (lambda: chain_family(G2, (1, 1)), "reward: every state pays 1"),
        (lambda: bounds.family_lower(UNIT, FAMILY_2, 2), "plays: 2 is not among"),
        (lambda: bounds.family_lower(UNIT, FAMILY_3), "family: every arm's states must pay"),
        (lambda: bounds.family_lower(UNIT, TwoStateChains(1 / 36, 0.0, 2.0)), "family: every arm's two states must"),
        (lambda: bounds.family_lower(UNIT, Bernoulli()), "environment: arm 1 or 0 is not of the family"),
        (lambda: bounds.family_lower(bernoulli([0.5, 0.5]), Bernoulli()), "environment: arms 0 and 1 have the mean"),
        (lambda: play(UNIT, KLUCB(family=FAMILY_3)), r"policies\['p'\].family: every arm's states must"),
        (lambda: play(UNIT, KLUCB(family=TwoStateChains(-1.0))), r"policies\['p'\].family: kappa: -1.0 lies outside"),
        (lambda: play(STICKY, RoundRobinKLUCB(family=Poisson())), r"policies\['p'\].family: rewards from -1 to 1; Poi"),
        (
            lambda: play(STICKY, IMED(family=Poisson())),
            r"policies\['p'\].family: rewards from -1 to 1; Poisson's means",
        ),
        (lambda: play(STICKY, KLUCB(family=Gaussian(0.0))), r"policies\['p'\].family: variance: 0.0 lies outside"),
        (lambda: identify(COINS, Bernoulli(), [0.5, 1.5]), "mixture: .* is not a list of means from 0 to 1"),
        (lambda: identify(NORMAL_ARMS, Poisson()), "plays rewards from 0 to inf"),
        (lambda: identify(two_state([0.1, 0.2], [0.3, 0.1]), Bernoulli()), "depend on the state before"),
        (lambda: identify(two_state([0.1, 0.2], [0.3, 0.1]), FAMILY_2, [0.5]), "mixture: for families of independent"),
        (lambda: exponential_family([0.0, 50.0], HALVES), "theta: with 50.0 arm 1 has a move of probability below"),
        (lambda: exponential_family([1e3, 0], np.roll(np.eye(3), 1, 1), (0, 0, 1)), "theta: 1000.0 of arm 0 is too"),
        (lambda: exponential_family([0, 1], [[0.5, 0.6], [0.5, 0.5]]), "generator: row 0 sums to 1.1"),
        (lambda: fit_exponential_family([[[3, 1], [1, -2]]], HALVES), "counts: negative count -2"),
        (lambda: fit_exponential_family([MOVED, [[0, 0], [0, 0]]], HALVES), "counts: arm 1 was never seen to move"),
        (lambda: fit_exponential_family([MOVED], [[0, 1], [0.5, 0.5]]), "counts: arm 0 moved from 0 to 0"),
        (lambda: fit_exponential_family([MOVED, [[0, 1], [0, 9]]], HALVES), "counts: no theta is the most likely for"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
