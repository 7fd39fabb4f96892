"""Rewards that are not a finite table: their laws to the far tails, their sums, and the policies that play them."""

import math
import re

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats
from scipy.optimize import brentq

import jaxbandit
from jaxbandit import Task, bounds, families, metrics, pytree, quantiles, simulate
from jaxbandit.environments import beta, exponential, gaussian, poisson, uniform
from jaxbandit.environments.independent import inverse_laws
from jaxbandit.policies import IMED, KLUCB, UCB1, Oracle, Thompson
from jaxbandit.policies.parts.memory import Sums
from jaxbandit.simulation.asking.contracts import check_task
from jaxbandit.sums import TwoFloats, add_rewards, no_sums
from jaxbandit.testing import check_environment

ARMS = {
    "gaussian": gaussian([0.5, 0.2, -0.1], [1.0, 0.5, 2.0]),
    "poisson": poisson([0.3, 4.0, 100.0]),
    "exponential": exponential([1.0, 0.5, 3.0]),
    "beta": beta([0.5, 2.0, 30.0], [0.5, 3.0, 0.7]),
    "uniform": uniform([0.0, 0.1, -2.0], [1.0, 0.5, 3.0]),
}
FAMILIES = {"gaussian": families.Gaussian(1.0), "poisson": families.Poisson(), "exponential": families.Exponential()}


def words(number, seed=0, above=None, zeros=0):
    """64 random bits, many times; above or below the middle, with so many zeros behind that bit, as a tail has them."""
    first, second = np.random.default_rng(seed).integers(0, 2**32, (2, number), dtype=np.uint64)
    rest = (first & 0x7FFFFFFF) >> np.uint64(min(zeros, 31))
    second = second >> np.uint64(max(zeros - 31, 0))
    side = first >> 31 if above is None else np.uint64(above)
    return jnp.asarray((side << 31 | rest).astype(np.uint32)), jnp.asarray(second.astype(np.uint32))


def tails(bits):
    """Whether each draw is above the middle, and the probability of what lies further out: exact integers over 2^64."""
    first, second = (np.asarray(word).astype(object) for word in bits)
    return (first >> 31).astype(bool), 2 * ((first & 0x7FFFFFFF) << 31 | second >> 1) + 1


def everywhere():
    """Bits on both sides, from the middle to the last tail."""
    parts = [words(40, zeros, above, zeros) for zeros in (0, 0, 1, 3, 10, 24, 40, 55, 62) for above in (0, 1)]
    ends = [(jnp.full(1, a, jnp.uint32), jnp.full(1, b, jnp.uint32)) for a, b in ((0, 0), (2**31, 0), (2**31 - 1, -1))]
    return [jnp.concatenate(item) for item in zip(*parts, *[(a, b) for a, b in ends], strict=True)]


@pytest.mark.parametrize("name", ["normal", "exponential", "log_odds"])
def test_quantiles_against_mpmath(name, accuracy):
    """In float32, on both sides, to probabilities of 2^-64."""
    bits = everywhere()
    answer = np.asarray(jax.jit(lambda *bits: getattr(quantiles, name)(bits, jnp.float32))(*bits), float)
    worst = 0.0
    with mp.workdps(50):
        for above, tail, value in zip(*tails(bits), answer, strict=True):
            p = mp.mpf(tail) / 2**64
            if name == "normal":
                size = mp.findroot(lambda z, p=p: mp.ncdf(-z) / p - 1, -special.ndtri(float(p)))
            elif name == "exponential":
                size = -mp.log(p) if above else mp.log1p(-p)
            else:
                size = mp.log((1 - p) / p)
            worst = max(worst, abs(value / (size if above else -size) - 1))
    accuracy(f"{name} quantile, relative", "mpmath, 50 digits", float(worst), 5e-7)


@pytest.mark.parametrize("mean", [0.0, 0.3, 3000.0])
def test_poisson_draws_are_exact(mean):
    """Thresholds from mpmath's sums; draws at random, at each threshold, and one below it."""
    with mp.workdps(60):
        probability, below, exact = mp.exp(-mp.mpf(mean)), mp.mpf(0), []
        while (below := below + probability) * 2**65 < 2**65 - 3:
            exact.append(below * 2**64)
            probability = probability * mp.mpf(mean) / len(exact)
        near = [int(mp.nint(threshold)) for threshold in exact]
        assert all(abs(threshold - exactly) <= 0.51 for threshold, exactly in zip(near, exact, strict=True))
    bits = everywhere()
    inputs = [int(a) << 32 | int(b) for a, b in zip(*bits, strict=True)]
    inputs += [n - less for n in near if n < 2**64 - 1 for less in (0, 1) if n >= less]
    inputs = np.array(inputs, np.uint64)
    law = poisson([mean, 1.0]).law
    pair = (inputs >> np.uint64(32)).astype(np.uint32), inputs.astype(np.uint32)
    answer = jax.jit(law.draw)(tuple(map(jnp.asarray, pair)), jnp.zeros(len(inputs), jnp.int32))
    np.testing.assert_array_equal(answer, np.searchsorted(np.array(near, np.uint64), inputs, side="right"))


SHAPES = [(1.0, 1.0), (0.1, 0.1), (0.01, 3.0), (2.0, 5.0), (30.0, 0.2), (1e4, 2e4), (1e6, 1e6)]


def test_beta_log_odds_give_their_probability():
    """The quantile put into the law, by mpmath, or by scipy in float64 where that takes too long: below 1e-9 off."""
    odds = np.array([-44.0, -20.3, -3.3, -0.4, 0.0, 0.7, 5.1, 30.0, 43.9])
    for a, b in SHAPES:
        for log_odds, value in zip(odds, inverse_laws._quantile(odds, a, b).tolist(), strict=True):
            first, second, sign = (a, b, 1) if log_odds < 0 else (b, a, -1)  # from the end that is nearer
            with mp.workdps(40):
                x = 1 / (1 + mp.exp(-sign * mp.mpf(value)))
                answer = special.betainc(first, second, float(x))
                if a + b < 100:
                    answer = mp.betainc(first, second, 0, x, regularized=True)
                assert abs(answer * (1 + mp.exp(abs(log_odds))) - 1) < 1e-9, (a, b, log_odds, value)


def test_beta_draws_are_their_quantiles():
    """Against the quantile in float64: the reward to a float's digits of its log-odds."""
    a, b = np.array(SHAPES).T
    bits, draw = everywhere(), jax.jit(beta(a, b).law.draw)
    above, tail = tails(bits)
    p = tail.astype(float) / 2**64
    odds = np.where(above, 1, -1) * (np.log1p(-p) - np.log(p))
    for arm in range(len(SHAPES)):
        answer = np.asarray(draw(tuple(bits), np.full(len(p), arm, np.int32)), float)
        exact = inverse_laws._quantile(odds, a[arm], b[arm])
        slope = inverse_laws._quantile(odds * (1 + 1e-6), a[arm], b[arm]) - exact  # of log-odds that are off by so much
        error = np.abs(answer - special.expit(exact))
        assert (error <= (1e-6 * np.maximum(1, np.abs(exact)) + np.abs(slope)) * special.expit(exact) + 1e-37).all()
        assert (error <= 2e-7 + 1e-6 * np.abs(slope)).all() or a[arm] < 1


def first_draws(environment, keys, plays):
    """What the first plays of every arm pay, [R, K, n] float64, if all arms are played in every round."""

    def one(key):
        def body(state, _):
            state, feedback = environment.step(key, state, jnp.arange(environment.arms, dtype=jnp.int32), 1)
            return state, feedback.rewards

        return jax.lax.scan(body, environment.init(key), None, plays)[1]

    return np.moveaxis(np.asarray(jax.jit(jax.vmap(one))(keys), float), 1, 2)


KNOWN = {
    "gaussian": lambda law: stats.norm(law.mean, law.deviation),
    "exponential": lambda law: stats.expon(scale=law.mean),
    "beta": lambda law: stats.beta(law.a, law.b),
    "uniform": lambda law: stats.uniform(law.low, law.high - law.low),
}


@pytest.mark.parametrize("name", KNOWN)
def test_rewards_have_their_law(name):
    """Kolmogorov-Smirnov of 100,000 rewards of the simulator's draws, at 1e-9: finds a shift of 0.02 deviations."""
    rewards = first_draws(ARMS[name], jax.random.split(jax.random.key(1), 100), 1000)
    shares = KNOWN[name](ARMS[name].law).cdf(np.swapaxes(rewards, 1, 2).reshape(-1, 3))
    for share in shares.T:
        assert stats.kstest(share, "uniform").pvalue > 1e-9
        # independent from play to play: Spearman's correlation with the next, at 1e-9
        assert stats.spearmanr(*share.reshape(-1, 2).T).pvalue > 1e-9


@pytree
class Wrong:
    """Gaussian arms with something wrong."""

    arms_given: object
    what: str = jaxbandit.static("")
    reward = None
    arms = 3

    @property
    def reward_range(self):
        return (0.0, 1.0) if self.what == "range" else (-math.inf, math.inf)

    def means(self):
        return self.arms_given.means() + 0.1 * (self.what == "means")

    def init(self, key):
        return self.arms_given.init(key)

    def step(self, key, state, arms, t):
        following, feedback = self.arms_given.step(key, state, arms, t)
        if self.what == "repeats":
            feedback = self.arms_given.step(key, self.init(key), arms, t)[1]
        if self.what == "order":
            feedback = feedback._replace(rewards=feedback.rewards + state.plays.sum())
        return following, feedback

    def records(self, state):
        return {"rewards": state.rewards.high + (self.what == "records")}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        pytest.param("range", "reward_range: 0 to 1, and arm 0 pays from -", marks=pytest.mark.slow),
        ("means", r"means\(\): 0.6 for arm 0, which paid 0.5"),
        pytest.param("repeats", "step: repeats its draw", marks=pytest.mark.slow),
        ("records", r'records: "rewards" are not the sums'),
        ("order", "the n-th play of an arm depends on the plays of other arms"),
    ],
)
def test_a_broken_environment_is_found(what, message):
    with pytest.raises(AssertionError, match=message):
        check_environment(Wrong(ARMS["gaussian"], what), runs=16, plays=8, settle=2000)


ASKED = {"key": jax.random.key(4), "runs": 23, "horizon": 50, "times": [1, 7, 30, 50], "progress": False}


DIVERGENCES = {
    "gaussian": lambda m, n: (m - n) ** 2 / 2,
    "poisson": lambda m, n: n - m + (m * math.log(m / n) if m > 0 else 0),
    "exponential": lambda m, n: m / n - 1 - math.log(m / n),
}


def index(kind, divergence, mean, plays, t, best):
    if kind == "UCB1":
        return mean + math.sqrt(2 * math.log(t - 1) / plays)
    if kind == "MOSS":
        return mean + math.sqrt(max(0, math.log(t / (3 * plays))) / plays)
    if kind == "IMED":
        return -plays * divergence(mean, best) - math.log(plays)
    radius = math.log(1 + t * math.log(t) ** 2) / plays
    return brentq(lambda upper: divergence(mean, upper) - radius, mean + 1e-12, mean + 1e6, xtol=1e-12)


LOOPS = [("gaussian", kind) for kind in ("UCB1", "MOSS", "KLUCB", "IMED")]
LOOPS += [pytest.param(*case, marks=pytest.mark.slow) for case in (("poisson", "IMED"), ("exponential", "KLUCB"))]


@pytest.mark.parametrize(("name", "kind"), LOOPS)
def test_round_by_round_in_float64(name, kind):
    """Every choice as by the definitions, on the same draws, unless two scores are equal but for rounding."""
    environment = gaussian([0.5, 0.2, -0.1]) if name == "gaussian" else ARMS[name]
    policy = getattr(jaxbandit, kind)() if kind in ("UCB1", "MOSS") else getattr(jaxbandit, kind)(family=FAMILIES[name])
    rounds, runs = 120, 3
    asked = ASKED | {"runs": runs, "horizon": rounds, "times": np.arange(1, rounds + 1)}
    result = simulate(environment, {"p": policy}, **asked)
    played = np.diff(result.visits["p"][0, 0, ..., 0], axis=1, prepend=0).argmax(-1)
    draws = first_draws(environment, jaxbandit.run_keys(ASKED["key"], np.arange(runs)).environment, rounds)
    for run in range(runs):
        counts = [0, 0, 0]
        for t, arm in enumerate(played[run], 1):
            if min(counts) == 0:
                assert arm == t - 1
            else:
                means = [math.fsum(draws[run, k, :n]) / n for k, n in enumerate(counts)]
                scores = [index(kind, DIVERGENCES[name], m, n, t, max(means)) for m, n in zip(means, counts)]
                assert scores[arm] >= max(scores) - 1e-5 * (1 + abs(scores[arm])), (run, t, scores)
            counts[arm] += 1
        paid = [math.fsum(draws[run, k, :n]) for k, n in enumerate(counts)]
        np.testing.assert_allclose(result.recorded["rewards"]["p"][0, 0, run, -1], paid, rtol=1e-13, atol=1e-13)


def test_sums_lose_nothing():
    """Against math.fsum for 200,000 rewards of all sizes, and 1e6 times one float: within 2^-40 of what is added."""
    random = np.random.default_rng(0)
    rewards = (random.normal(size=(200_000, 2)) * 10.0 ** random.integers(-4, 5, (200_000, 2))).astype(np.float32)
    arms = jnp.arange(2, dtype=jnp.int32)

    def add(sums, reward):
        return add_rewards(sums, arms, reward), None

    high, low = (np.asarray(x, float) for x in jax.jit(lambda r: jax.lax.scan(add, no_sums(2), r)[0])(rewards))
    for arm in range(2):
        exact = math.fsum(rewards[:, arm].astype(float))
        assert abs(high[arm] + low[arm] - exact) <= 2.0**-40 * np.abs(rewards[:, arm].astype(float)).sum()
        assert abs(low[arm]) <= np.spacing(np.float32(abs(high[arm]))) / 2
    tenth = jnp.full(1, 0.1, jnp.float32)
    many = jax.jit(lambda: jax.lax.fori_loop(0, 10**6, lambda _, s: add_rewards(s, arms[:1], tenth), no_sums(1)))()
    exact = 10**6 * float(np.float32(0.1))
    assert abs(float(many.high[0]) + float(many.low[0]) - exact) < 2.0**-40 * exact


@pytest.mark.slow
def test_regret_of_what_was_collected():
    policies = {"ucb": [UCB1(), UCB1(0.5)], "t": Thompson(family=families.Gaussian())}
    result = simulate({"a": ARMS["gaussian"], "b": gaussian([0.0, 0.3, 0.2])}, policies, **ASKED)
    for label in policies:
        collected = result.recorded["rewards"][label].sum(-1)
        best = np.array([0.5, 0.3])[:, None, None, None]
        np.testing.assert_allclose(metrics.realised_regret(result, label), result.times * best - collected, atol=1e-12)
        gaps = best - result.means[:, None, None]
        expected = (result.visits[label][..., 0] * gaps[:, :, :, None]).sum(-1)
        np.testing.assert_allclose(metrics.regret(result, label), expected, atol=1e-12)
    np.testing.assert_array_equal(metrics.best_arms(result), [[True, False, False], [False, True, False]])
    assert metrics.regret_name(result) == "pseudo-regret"


@pytest.mark.slow
def test_shuffled_arms_keep_their_numbers():
    environment = gaussian([0.0, 100.0, 200.0], 0.01)
    policies = {"ucb": UCB1(), "o": Oracle(environment.means())}
    result = simulate(environment, policies, **ASKED, shuffle=True, plays=2)
    for label in policies:
        plays, sums = result.visits[label][..., 0], result.recorded["rewards"][label]
        np.testing.assert_allclose(sums, plays * environment.means(), atol=1.0)
    assert (result.visits["o"][0, 0, :, -1, :, 0] == [0, 50, 50]).all()
    assert result.to_xarray().rewards.dims[-1] == "arm"


POSTERIORS = [  # the share of the posterior below these scores, after n plays that paid r together
    (Thompson(family=families.Gaussian(4.0)), lambda z, r, n: stats.norm(r / n, np.sqrt(4 / n)).cdf(z)),
    (Thompson(2.0, 3.0, families.Poisson()), lambda z, r, n: stats.gamma(2 + r, scale=1 / (3 + n)).cdf(np.exp(z))),
    (Thompson(2.0, 3.0, families.Exponential()), lambda z, r, n: stats.invgamma(2 + n, scale=3 + r).cdf(np.exp(z))),
    (Thompson(2.0, 3.0), lambda z, r, n: stats.beta(2 + r, 3 + n - r).cdf(special.expit(z))),
]


@pytest.mark.parametrize(("policy", "below"), POSTERIORS, ids=["Gaussian", "Poisson", "Exponential", "Bernoulli"])
def test_thompson_draws_from_the_posterior(policy, below):
    """Kolmogorov-Smirnov of 100,000 scores of each arm at 1e-9."""
    rewards, plays = np.array([3.0, 0.25, 7.0]), np.array([4, 1, 40])
    state = Sums(jnp.asarray(plays, jnp.int32), TwoFloats(jnp.asarray(rewards, jnp.float32), jnp.zeros(3)))
    keys = jax.random.split(jax.random.key(2), 100_000)
    scores = np.asarray(jax.jit(jax.vmap(lambda key: policy.scores(key, state, 50)[0]))(keys), float)
    for share in below(scores, rewards, plays).T:
        assert stats.kstest(share, "uniform").pvalue > 1e-9


def test_lai_robbins_of_families():
    answer = bounds.lai_robbins(gaussian([1.0, 0.5, 1.0, 0.0], [1.0, 3.0, 0.5, 2.0])).per_arm
    np.testing.assert_allclose(answer, [0, 2 * 9 / 0.5, 0, 2 * 4 / 1.0], rtol=1e-12)
    means = [3.0, 2.999, 0.5]
    of_poisson, of_exponential = lambda m: 3 - m + m * mp.log(m / 3), lambda m: m / 3 - 1 - mp.log(m / 3)
    for make, divergence in ((poisson, of_poisson), (exponential, of_exponential)):
        with mp.workdps(40):
            exact = [0] + [float((3 - m) / divergence(m)) for m in map(mp.mpf, means[1:])]
        np.testing.assert_allclose(bounds.lai_robbins(make(means)).per_arm, exact, rtol=1e-9)


BAD_ARMS = [
    (gaussian, [0.5, 0.1], 0.0, "deviation: 0.0 is not positive"),
    (poisson, [1.0, 3001.0], None, r"means: \[1.0, 3001.0\] lie outside 0 to 3000"),
    (beta, [0.02, 1.0], [0.02, 1.0], r"a and b: Beta\(0.02, 0.02\)"),  # no polynomials meet it
    (beta, [1.0, 1.0], [1.0, 1e7], "b: "),
    (beta, [1.0, 1.0], [1.0, 1.0, 1.0], "a and b: shapes"),
    (uniform, [0.0, 1.0], [1.0, 1.0], "low: "),
]


@pytest.mark.parametrize(("make", "one", "other", "message"), BAD_ARMS)
def test_bad_arms(make, one, other, message):
    with pytest.raises(ValueError, match=message):
        make(one) if other is None else make(one, other)


def refusal(policy):
    """What is said of a policy for rewards in [0, 1] that no table lists; nothing if it plays them."""
    try:
        check_task("policies['p']", policy, Task(ARMS["beta"]))
    except ValueError as error:
        return str(error)
    return ""


def test_policies_that_need_states_are_refused_by_name():
    texts = {name: refusal(policy()) for name, policy in jaxbandit.ALL.items()}
    assert list(texts.values()).count("") >= 8
    for name, text in texts.items():
        assert re.match(rf"policies\['p'\]: {name} needs rewards that tell the states.*UCB1, UCBSM|$", text)


@pytree
class Mine(jaxbandit.Uniform):
    """A policy that keeps a number for each state."""

    def init(self, reward):
        return jnp.zeros(reward.shape)


def test_refusals():
    arms = ARMS["gaussian"]
    for policy, message in (
        (Mine(), r"state.* an array with no entries, because these rewards have no finite table"),
        (KLUCB(), "KLUCB plays rewards from 0 to 1; those of scenarios.*-inf to inf"),
        ([Thompson()], "Thompson plays rewards from 0 to 1"),
        (IMED(families.Poisson()), "IMED plays rewards from 0 to inf"),
        (jaxbandit.Gittins.of(jaxbandit.bernoulli([0.5, 0.4, 0.3]), 0.9), "Gittins needs rewards"),
    ):
        with pytest.raises(ValueError, match=rf"^policies\['p'\].*{message}"):
            simulate(arms, {"p": policy}, runs=2, horizon=5)
    with pytest.raises(ValueError, match="^family: Thompson has no prior for TwoStateChains"):
        Thompson(family=families.chain_family([[0.5, 0.5], [0.5, 0.5]])).validate(Task(jaxbandit.bernoulli([0.5, 0.4])))
    with pytest.raises(ValueError, match="^record: the name 'rewards'"):
        simulate(arms, {"p": UCB1()}, runs=2, horizon=5, record={"rewards": lambda arms, state, t: state.plays})
    with pytest.raises(ValueError, match="^scenarios"):
        simulate({"a": arms, "b": jaxbandit.bernoulli([0.5, 0.4, 0.3])}, {"p": UCB1()}, runs=2, horizon=5)
    for bound in (bounds.lower, bounds.lower_paper, bounds.upper_asymptotic, bounds.ucb_sm_upper):
        with pytest.raises(ValueError, match="^environment: IndependentArms has no transition"):
            bound(arms)
    for name in ("beta", "uniform"):
        with pytest.raises(ValueError, match="^environment: the laws"):
            bounds.lai_robbins(ARMS[name])
