"""Thompson's draws: their laws, from SciPy and NumPy, those of whole chains as well; digits by mpmath; priors."""

import itertools

import chex
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from against import state_after
from scipy import special, stats

from jaxbandit import ALL, Task, Thompson, ThompsonMC, bernoulli, markov, restless, two_state
from jaxbandit.fast import cosine_and_sine
from jaxbandit.policies import PosteriorWhittle
from jaxbandit.policies.parts.posteriors import excess, log_gamma, normals, uniform
from jaxbandit.policies.parts.stationary_law import NEVER, log_stationary
from jaxbandit.policies.restless.observed_arms import nothing_seen
from jaxbandit.pytrees import in_order

SMALLEST = 1e-9  # p-value that fails a test; there are fourteen, which fail by chance once in 70 million times
DRAW = jax.jit(lambda policy, key, state: policy.scores(key, state, 1)[0])
GAMMA = jax.jit(log_gamma)


@pytest.mark.parametrize("shape", [1.0, 6.0])
def test_fine_law_of_gamma_draws(shape):
    """Chi-square of 32 equally likely cells, 4,000,000 draws. Finds refusals that are left out, with p below 1e-13."""
    optimised = {"xla_backend_optimization_level": 3}  # which the quick tests are not, and four millions take long
    draws = jax.jit(log_gamma, compiler_options=optimised)(jax.random.key(0), jnp.full(4_000_000, shape))
    ends = np.log(stats.gamma(shape).ppf(np.arange(1, 32) / 32))
    assert stats.chisquare(np.bincount(np.searchsorted(ends, draws), minlength=32)).pvalue > SMALLEST


def log_odds_law(z, a, b):
    """P(log(q / (1 - q)) <= z) for q from Beta(a, b); by the leading term of its series where q is below exp(-50)."""
    leading = np.exp(np.minimum(a * z - np.log(a) - special.betaln(a, b), 0))
    below = np.where(z < -50, leading, special.betainc(a, b, special.expit(np.minimum(z, 0))))
    if a == b and (z > 0).all():
        return 1 - log_odds_law(-z, b, a)
    return below if (z <= 0).all() else np.where(z <= 0, below, 1 - log_odds_law(-np.abs(z), b, a))


SHAPES = [(1, 1), (0.5, 3), (2, 1e4), (1e-3, 1e-3), (1e-3, 2), pytest.param(1e6, 1e6 + 3, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_log_odds_have_the_law_of_a_beta_draw(a, b):
    """Kolmogorov-Smirnov with 200,000 draws, which finds a distance of 0.0075."""
    draws = log_odds(a, b, 1)
    assert stats.kstest(draws, lambda z: log_odds_law(z, a, b)).pvalue > SMALLEST


def log_odds(a, b, seed):
    policy = Thompson(np.float32(a), np.float32(b))
    state = policy.init(np.tile(np.array([0.0, 1.0]), (200_000, 1)))
    return np.asarray(DRAW(policy, jax.random.key(seed), state), float)


def test_the_smallest_prior_is_a_fair_coin():
    """Beta(e, e) for e to 0 is 0 or 1, each with probability 1/2: exact binomial test; no score is infinite."""
    scores = log_odds(1e-30, 1e-30, 2)
    assert np.isfinite(scores).all() and np.abs(scores).min() > 1e20
    assert stats.binomtest(int((scores > 0).sum()), len(scores)).pvalue > SMALLEST


def test_the_exponent_of_a_refusal():
    """Against 40 digits: 1e-5 where it is a series, the size of the first term left out; 2e-3 where numbers cancel."""
    w = np.concatenate([np.linspace(-0.99, 2, 400), -np.geomspace(1e-6, 0.0999, 50), np.geomspace(1e-6, 0.0999, 50)])
    w = w.astype(np.float32)
    with mp.workdps(40):
        exact = [float(x**3 - 3 * x * x / 2 + 3 * x - 3 * mp.log(1 + x)) for x in map(mp.mpf, w.tolist())]
    error = np.abs(np.asarray(excess(jnp.asarray(w), jnp.log1p(w)), float) / exact - 1)
    assert error[np.abs(w) < 0.1].max() < 1e-5 and error.max() < 2e-3


@pytest.mark.slow
def test_pairs_of_normal_numbers():
    """Chi-square of 16 x 16 equally likely cells, 1,000,000 pairs: finds a dependence of 1 in 100."""
    words = jax.random.bits(jax.random.key(3), (2, 1_000_000))
    cells = [np.floor(16 * stats.norm.cdf(np.asarray(x, float))).astype(int) for x in normals(*words, jnp.float32)]
    counts = np.bincount(16 * cells[0] + cells[1], minlength=256)
    assert stats.chisquare(counts).pvalue > SMALLEST


def test_words_at_both_ends():
    words = np.array([0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    first, second = (item.ravel() for item in np.meshgrid(words, words))
    both = jax.jit(lambda *words: (uniform(words[0], jnp.float32), normals(*words, jnp.float32)))
    numbers, (x, y) = both(first, second)
    assert float(numbers.min()) == 2**-32 and float(numbers.max()) == 1
    distance = np.sqrt(-2 * np.log(np.asarray(numbers, float)))
    np.testing.assert_allclose(np.hypot(x, y), distance, atol=2e-6)
    assert 6.6 < distance.max() < 6.7


def test_cosine_and_sine():
    """Against float64."""
    x = np.linspace(-1, 1, 200_001).astype(np.float32)
    exact = np.cos(x.astype(float) * np.pi / 2), np.sin(x.astype(float) * np.pi / 2)
    np.testing.assert_allclose(jax.jit(cosine_and_sine)(x), exact, rtol=0, atol=3e-7)


def test_float64_draws_the_same():
    """The same words in float64, as near as float32's last digits allow, but for 1 of 100,000 draws."""
    shapes = np.repeat(np.array([1e-3, 0.5, 1.0, 7.0, 300.0, 1e5, 1e8], np.float32), 100_000)
    single = np.asarray(GAMMA(jax.random.key(4), shapes), float)
    with jax.enable_x64(True):
        key, wide = jax.random.key(4), jnp.asarray(np.asarray(shapes, float))
        double = np.asarray(GAMMA(key, wide))
    assert double.dtype == np.float64
    parted = np.abs(single - double) > 1e-5 + 1e-6 * np.abs(double) + 1e-7 / np.asarray(shapes, float)
    assert parted.sum() <= 7
    assert np.isfinite(single).all()


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_draws_of_two_arms_and_of_two_keys_differ(kind):
    """Scores are asked of any key; simulations take the default kind alone."""
    first, second = (GAMMA(jax.random.key(n, impl=kind), jnp.ones(3)) for n in (0, 1))
    assert len(np.unique(np.concatenate([first, second]))) == 6


# Priors for each arm

VALUES = [3.0, 1.0, 0.5]
PRIORS = {
    "Thompson": lambda x: Thompson(a=x, b=x),
    "ThompsonMC": lambda x: ThompsonMC(leaving=x, staying=x),
    "PlugInGittins": lambda x: ALL["PlugInGittins"](prior=x, discount=0.5),
    "PosteriorGittins": lambda x: ALL["PosteriorGittins"](prior=x, discount=0.5),
}


@pytest.mark.parametrize("make", PRIORS.values(), ids=PRIORS)
def test_a_prior_for_each_arm_is_that_of_a_policy_with_one_prior(make):
    """Arm k with the k-th prior has the score of arm k where all arms have this prior, bit for bit, also reordered."""

    def scores(policy):
        state = state_after(policy, jnp.array([[0.0, 1.0]] * 3), [0, 1, 2], [0, 1, 0], states=[0, 1, 0])
        return DRAW(policy, jax.random.key(3), state)

    several = scores(make(jnp.array(VALUES)))
    for k, value in enumerate(VALUES):
        np.testing.assert_array_equal(several[k], scores(make(value))[k])
    reordered = scores(in_order(make(np.array(VALUES)), np.array([2, 0, 1])))
    np.testing.assert_array_equal(reordered, scores(make(jnp.array([0.5, 3.0, 1.0]))))


def test_rows_of_restless_arms_with_a_prior_for_each_arm():
    """The same of `PosteriorWhittle`; and a prior of another number of arms, or out of range, is refused."""
    seen, words = nothing_seen(jnp.array([[0.0, 1.0]] * 3)), jnp.array([3, 4], jnp.uint32)
    draw = jax.jit(lambda prior: PosteriorWhittle(prior=prior).draw(seen, words))
    drawn = draw(VALUES)
    for k, value in enumerate(VALUES):
        np.testing.assert_array_equal(drawn[k], draw(value)[k])
    arms = bernoulli([0.5, 0.4, 0.3])
    for policy, words in (
        (Thompson(a=[1.0, 2.0]), r"a: shape \(2,\) is neither a number nor \[K\] = \(3,\)"),
        (ThompsonMC(leaving=[1.0, 2.0, 0.0]), r"leaving: .* is not all within \[1e-30"),
    ):
        with pytest.raises(ValueError, match=words):
            policy.validate(Task(arms))


def test_the_law_of_the_first_states():
    """[K, S] for each constructor; a law that puts everything on one state is that state, bit for bit."""
    law, transition = np.array([[0.25, 0.75], [1.0, 0.0]]), two_state([0.5, 0.4], [0.4, 0.55]).transition
    for make in (markov, restless):
        np.testing.assert_array_equal(make(transition, (0, 1), initial_state=law).initial, law)
    one, other = (two_state([0.5, 0.4], [0.4, 0.55], initial_state=first) for first in ([1, 0], [[0, 1], [1, 0]]))
    chex.assert_trees_all_equal(one, other)
    with pytest.raises(ValueError, match="initial_state: row 0 sums to 1.1, not to 1"):
        markov(transition, (0, 1), initial_state=[[0.5, 0.6], [1.0, 0.0]])


# Whole chains

DRAWS = 100_000
KEY = jax.random.key(0)


def scores(policy, counts, reward, number, key=KEY):
    """Scores [number] of arms that all have these counts and rewards."""
    state = policy.init(jnp.tile(jnp.asarray(reward, float), (number, 1)))
    state = state._replace(counts=jnp.tile(jnp.asarray(counts, jnp.int32), (number, 1, 1)))
    return np.asarray(DRAW(policy, key, state), float)


def drawn_log_odds(counts, reward, leaving, staying):
    """log(m / (1 - m)) of chains drawn by NumPy, whose stationary laws solve linear systems in float64."""
    states = len(reward)
    parameters = np.where(np.eye(states, dtype=bool), staying, leaving) + counts
    rng = np.random.default_rng(0)
    rows = np.stack([rng.dirichlet(row, DRAWS) for row in parameters], axis=1)
    equations = np.eye(states) - np.swapaxes(rows, -1, -2)
    equations[:, -1] = 1
    law = np.linalg.solve(equations, np.eye(states)[:, -1:])[..., 0]
    return np.log(law @ reward) - np.log(law @ (1 - np.asarray(reward)))


LAWS = [  # counts, rewards, and the prior's leaving and staying, which are 1 by default
    ([[900, 1], [1, 50]], (1.0, 0.0), ()),
    ([[0, 3], [2, 9]], (0.7, 0.2), (0.5, 4.0)),
    ([[5, 1, 0], [2, 3, 1], [0, 1, 9]], (0.0, 0.5, 1.0), ()),
    ([[900, 1, 0], [0, 500, 2], [3, 0, 700]], (0.9, 0.0, 0.4), (0.5, 2.0)),
    pytest.param(np.arange(16).reshape(4, 4) % 5, (0.3, 1.0, 0.0, 0.6), (2.0, 0.5), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("counts", "reward", "prior"), LAWS)
def test_scores_have_the_law_of_drawn_chains(counts, reward, prior):
    """Kolmogorov-Smirnov of 100,000 scores and draws at 1e-9: finds a distance of 0.015."""
    leaving, staying = prior or (1.0, 1.0)
    result = scores(ThompsonMC(*prior), counts, reward, DRAWS)
    assert stats.ks_2samp(result, drawn_log_odds(counts, reward, leaving, staying)).pvalue > SMALLEST


def exact_log_odds(logs, reward):
    """log(m / (1 - m)) of the chain with rows exp(logs) over their sums, from a linear system with 120 digits."""
    states = len(reward)
    with mp.workdps(120):
        rows = mp.matrix([[mp.exp(mp.mpf(float(x))) for x in row] for row in logs])
        rows = mp.matrix([[rows[s, j] / mp.fsum(rows[s, :]) for j in range(states)] for s in range(states)])
        system = mp.eye(states) - rows.T
        for s in range(states):
            system[states - 1, s] = 1
        law = mp.lu_solve(system, mp.matrix([0] * (states - 1) + [1]))
        gained = mp.fsum(law[s] * float(reward[s]) for s in range(states))
        return float(mp.log(gained) - mp.log(mp.fsum(law[s] * (1 - float(reward[s])) for s in range(states))))


@pytest.mark.parametrize("states", [2, 5])
@pytest.mark.slow
def test_slow_chains_keep_their_digits(states):
    """Against 120 digits from the same gamma draws: chains that leave a state once in ten million plays or far less."""
    key, counts = jax.random.key(3), 10**7 * np.eye(states, dtype=int)
    reward = np.linspace(1, 0, states).astype(np.float32)
    for prior in (1.0, 0.02):
        result = scores(ThompsonMC(prior, prior), counts, reward, 4, key)
        drawn = GAMMA(key, jnp.tile(jnp.asarray(counts + prior, float), (4, 1, 1)))
        exact = np.array([exact_log_odds(item, reward) for item in np.asarray(drawn)])
        np.testing.assert_allclose(result, exact, rtol=2e-6, atol=1e-5)
        assert len(np.unique(exact)) == 4 and np.abs(exact).max() > (1 if prior == 1 else 20)


def test_stationary_law_of_rates_of_all_sizes():
    """Rates from exp(-60) to exp(60), against 120 digits; the logarithm of a share q is -log(1 + (1 - q) / q)."""
    states = 6
    logs = np.random.default_rng(1).uniform(-60, 60, (1, states, states)).astype(np.float32)
    law = np.asarray(jax.jit(log_stationary)(jnp.asarray(logs)), float)[0]
    inside = np.where(np.eye(states, dtype=bool), -np.inf, logs[0].astype(float))
    fastest = np.logaddexp.reduce(inside, axis=1)  # a row's rates over their sum are a chain that never stays
    exact = [exact_log_odds(inside, np.eye(states)[s]) for s in range(states)]
    shares = -np.logaddexp(0, -np.array(exact)) - fastest
    np.testing.assert_allclose(law - law[0], shares - shares[0], rtol=1e-6, atol=1e-4)


@pytest.mark.slow
def test_what_one_misses_another_gains():
    """With the same draws, rewards r and 1 - r have opposite scores, to the last bit."""
    counts, reward = np.arange(9).reshape(3, 3), np.arange(3) / 64
    np.testing.assert_array_equal(scores(ThompsonMC(), counts, reward, 9), -scores(ThompsonMC(), counts, 1 - reward, 9))


def test_no_prior_gives_nan():
    """An arm that always pays r has the log odds of r whatever is drawn, and sure losses and gains are finite."""
    rewards = [(0.3, 0.3, 0.3), (0.0, 0.5, 1.0), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)]
    state = ThompsonMC().init(jnp.array(rewards))
    for leaving, staying in itertools.product((1e-30, 1e-3, 1.0, 1e30), repeat=2):
        for number, key in itertools.product((0, 10**9), range(2)):
            counts = np.asarray(state.counts) + number * np.eye(3, dtype=np.int32)
            drawn = DRAW(ThompsonMC(leaving, staying), jax.random.key(key), state._replace(counts=counts))
            result = np.asarray(drawn, float)
            assert np.isfinite(result).all()
            assert result[0] == pytest.approx(np.log(0.3 / 0.7), abs=1e-6)
            assert result[2] <= 0.9 * NEVER and result[3] >= -0.9 * NEVER
