"""Thompson's draws: how often a proposal is refused, by quadrature, and the laws of draws, from SciPy."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats

from jaxbandit import (
    Feedback,
    PlugInGittins,
    PosteriorGittins,
    PosteriorWhittle,
    Task,
    Thompson,
    ThompsonMC,
    bernoulli,
    markov,
    restless,
    two_state,
)
from jaxbandit.fast import cosine_and_sine
from jaxbandit.policies.parts.posteriors import excess, log_gamma, normals, uniform
from jaxbandit.policies.restless.observed_arms import nothing_seen
from jaxbandit.pytrees import in_order

SMALLEST = 1e-9  # p-value that fails a test; there are eleven, which fail by chance once in 90 million times


def refused(shape):
    """Probability that a proposal for shape + 3 is refused: the formula of the docstring over normal numbers."""
    d = shape + 8 / 3

    def lost(x):
        w = x / np.sqrt(9 * d)
        exponent = d * (3 * np.log1p(w) - 3 * w + 3 * w**2 / 2 - w**3) if w > -1 else -np.inf
        return stats.norm.pdf(x) * -np.expm1(exponent)

    pieces = [-np.inf, -np.sqrt(9 * d), -2, 0, 2, np.inf]
    return sum(integrate.quad(lost, *ends, epsabs=1e-12)[0] for ends in pairwise(pieces))


def test_four_proposals_are_enough():
    shapes = np.concatenate([[1e-30], np.geomspace(1e-3, 300, 40)])
    chances = np.array([refused(shape) for shape in shapes])
    assert chances.max() <= 0.0112 and 0.0112**4 <= 2e-8
    assert chances[shapes >= 1].max() <= 0.008
    assert (np.diff(chances) < 0).all()


def test_what_is_accepted_has_the_law():
    """Density of a proposal times the probability that it counts, over that of the gamma law: one number for all w."""
    for d in (8 / 3, 5.0, 1000.0):
        w = np.linspace(-0.9, 6, 200) / np.sqrt(d)
        counts = np.exp(d * (3 * np.log1p(w) - 3 * w + 3 * w**2 / 2 - w**3))
        proposed = stats.norm.pdf(w * np.sqrt(9 * d)) / (1 + w) ** 2  # x to d (1 + w)^3, up to a factor
        ratio = proposed * counts / stats.gamma(d + 1 / 3).pdf(d * (1 + w) ** 3)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@pytest.mark.parametrize("shape", [1.0, 2.0, 6.0])
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


@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 3), (2, 1e4), (1e6, 1e6 + 3), (1e-3, 1e-3), (1e-3, 2)])
def test_log_odds_have_the_law_of_a_beta_draw(a, b):
    """Kolmogorov-Smirnov with 200,000 draws, which finds a distance of 0.0075."""
    policy = Thompson(float(a), float(b))
    scores, _ = jax.jit(policy.scores)(jax.random.key(1), policy.init(jnp.tile(jnp.array([0.0, 1.0]), (200_000, 1))), 1)
    draws = np.asarray(scores, float)
    assert stats.kstest(draws, lambda z: log_odds_law(z, a, b)).pvalue > SMALLEST


def test_the_smallest_prior_is_a_fair_coin():
    """Beta(e, e) for e to 0 is 0 or 1, each with probability 1/2: exact binomial test; no score is infinite."""
    policy = Thompson(1e-30, 1e-30)
    scores, _ = jax.jit(policy.scores)(jax.random.key(2), policy.init(jnp.tile(jnp.array([0.0, 1.0]), (50_000, 1))), 1)
    assert jnp.isfinite(scores).all() and jnp.abs(scores).min() > 1e20
    assert stats.binomtest(int((scores > 0).sum()), 50_000).pvalue > SMALLEST


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


@pytest.mark.slow
def test_words_at_both_ends():
    words = jnp.array([0, 1, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], jnp.uint32)
    numbers = uniform(words, jnp.float32)
    assert float(numbers.min()) == 2**-32 and float(numbers.max()) == 1
    first, second = (item.ravel() for item in jnp.meshgrid(words, words))
    x, y = normals(first, second, jnp.float32)
    distance = np.sqrt(-2 * np.log(np.asarray(uniform(first, jnp.float32), float)))
    np.testing.assert_allclose(np.hypot(x, y), distance, atol=2e-6)
    assert 6.6 < distance.max() < 6.7


def test_cosine_and_sine():
    """Against float64."""
    x = np.linspace(-1, 1, 200_001).astype(np.float32)
    exact = np.cos(x.astype(float) * np.pi / 2), np.sin(x.astype(float) * np.pi / 2)
    np.testing.assert_allclose(cosine_and_sine(jnp.asarray(x)), exact, rtol=0, atol=3e-7)


def test_float64_draws_the_same():
    """The same words in float64, as near as float32's last digits allow, but for 1 of 100,000 draws."""
    shapes = jnp.repeat(jnp.array([1e-3, 0.5, 1.0, 7.0, 300.0, 1e5, 1e8]), 100_000)
    single = np.asarray(jax.jit(log_gamma)(jax.random.key(4), shapes), float)
    with jax.enable_x64(True):
        key, wide = jax.random.key(4), jnp.asarray(np.asarray(shapes, float))
        double = np.asarray(jax.jit(log_gamma)(key, wide))
    assert double.dtype == np.float64
    parted = np.abs(single - double) > 1e-5 + 1e-6 * np.abs(double) + 1e-7 / np.asarray(shapes, float)
    assert parted.sum() <= 7
    assert np.isfinite(single).all()


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_draws_of_two_arms_and_of_two_keys_differ(kind):
    """Scores are asked of any key; simulations take the default kind alone."""
    first, second = (log_gamma(jax.random.key(n, impl=kind), jnp.ones(3)) for n in (0, 1))
    assert len(np.unique(np.concatenate([first, second]))) == 6


VALUES = [3.0, 1.0, 0.5]
PRIORS = {
    "Thompson": lambda x: Thompson(a=x, b=x),
    "ThompsonMC": lambda x: ThompsonMC(leaving=x, staying=x),
    "PlugInGittins": lambda x: PlugInGittins(prior=x, discount=0.5),
    "PosteriorGittins": lambda x: PosteriorGittins(prior=x, discount=0.5),
}


@pytest.mark.parametrize("make", PRIORS.values(), ids=PRIORS)
def test_a_prior_for_each_arm_is_that_of_a_policy_with_one_prior(make):
    """Arm k with the k-th prior has the score of arm k where all arms have this prior, bit for bit, also reordered."""
    table, key, order = jnp.array([[0.0, 1.0]] * 3), jax.random.key(3), np.array([2, 0, 1])
    plays = [Feedback.of(arm, state=arm % 2, before=0, t=arm + 1, table=table) for arm in (0, 1, 2)]

    @jax.jit
    def scores(policy):
        state = policy.init(table)
        for feedback in plays:
            state = policy.update(state, feedback)
        return policy.scores(key, state, jnp.int32(4))[0]

    several = scores(make(jnp.array(VALUES)))
    for k, value in enumerate(VALUES):
        np.testing.assert_array_equal(several[k], scores(make(value))[k])
    reordered = scores(in_order(make(np.array(VALUES)), order))
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
        (PlugInGittins(initial_state=[0, 1, 2]), r"initial_state: .* is not all within \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=words):
            policy.validate(Task(arms))


def test_the_law_of_the_first_states():
    """[K, S] for each constructor; a law that puts everything on one state is that state, bit for bit."""
    law, transition = np.array([[0.25, 0.75], [1.0, 0.0]]), two_state([0.5, 0.4], [0.4, 0.55]).transition
    for make in (markov, restless):
        np.testing.assert_array_equal(make(transition, (0, 1), initial_state=law).initial, law)
    one, other = (two_state([0.5, 0.4], [0.4, 0.55], initial_state=first) for first in ([1, 0], [[0, 1], [1, 0]]))
    assert all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))
    with pytest.raises(ValueError, match="initial_state: row 0 sums to 1.1, not to 1"):
        markov(transition, (0, 1), initial_state=[[0.5, 0.6], [1.0, 0.0]])
