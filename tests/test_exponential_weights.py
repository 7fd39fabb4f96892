"""Exp3 and its variants, Tsallis-INF: published steps, exact laws of short games, what is refused."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import state_after
from scipy import special, stats
from scipy.optimize import brentq

import jaxbandit
from jaxbandit import Exp3, Exp3IX, Exp3P, Exp3S, Exp4, Feedback, Rexp3, TsallisINF, simulate, sums
from jaxbandit.policies.changing.tsallis import tsallis
from jaxbandit.simulation.uneven_delays import delayed as late_policy

NO_TABLE = jnp.zeros((3, 0))
ARMS = jaxbandit.bernoulli([0.5, 0.4, 0.3])


def test_numbers_that_follow_from_the_horizon():
    """The decided values for K = 2 and 5."""
    table = jnp.zeros((5, 0))
    assert float(Exp3(horizon=1e5)._gamma(Exp3().init(table))) == pytest.approx(0.006843447144, rel=1e-6)
    for hardness, gamma in ((1, 0.02146961403), (3, 0.03499478974), (None, 0.02561480371)):
        policy = Exp3S(horizon=1e5, hardness=hardness)
        assert float(policy._gamma(policy.init(table))) == pytest.approx(gamma, rel=1e-6)
    default = Exp3P(horizon=1e5, delta=0.01)  # 2 sqrt(3 log 5 / 1e5), 2 sqrt(log 5e7)
    assert float(default._gamma(5)) == pytest.approx(0.01389721373, rel=1e-6)
    assert float(default._alpha(5)) == pytest.approx(8.420815534, rel=1e-6)
    experts = Exp4(np.ones((7, 5)) / 5, horizon=1e5)  # sqrt(5 log 7 / ((e - 1) 1e5))
    assert float(experts._gamma()) == pytest.approx(0.007524873356, rel=1e-6)
    for n, budget, arms, batch, gamma in ((1e4, 3, 2, 249, 0.05692209243), (1e5, 10, 5, 931, 0.0709251196)):
        policy = Rexp3(horizon=n, budget=budget)
        assert int(policy.rounds_between_restarts(arms)) == batch
        assert float(policy._gamma(policy.init(jnp.zeros((arms, 0))))) == pytest.approx(gamma, rel=1e-6)


def normalised(losses, eta):
    """w_k = 4 / (eta (L_k - z))^2 in float64, by bracketing the z for which they sum to 1, below the least L."""
    above = np.asarray(losses, float) - np.min(losses)
    few, many = 2 / eta, 2 * math.sqrt(len(above)) / eta  # how far z is below: one arm has all, or all have the same
    below = brentq(lambda z: (4 / (eta * (above + z)) ** 2).sum() - 1, few * (1 - 1e-9), many * (1 + 1e-9), xtol=1e-13)
    return 4 / (eta * (above + below)) ** 2


@pytest.mark.parametrize("arms", [2, 7, 40])
def test_tsallis_probabilities_of_many_arms(arms):
    """A bracketing search for other losses and numbers of arms."""
    random, probabilities = np.random.default_rng(arms), jax.jit(tsallis)
    for width in (0.01, 1.0, 100.0, 1e5):
        above, one = random.exponential(width, arms).astype(np.float32), np.full(arms, np.float32(width))
        above, one[0] = above - above.min(), 0
        for losses in (above, one):
            np.testing.assert_allclose(probabilities(losses), normalised(losses, 1.0), rtol=3e-6)


# Of every law of three arms here: `chances` are the probabilities of the plays, if their feedback was delayed, and t is
# the round.


def mixed(weights, gamma):
    """The weights' shares, and gamma of them spread evenly."""
    return (1 - gamma) * weights / weights.sum() + gamma / len(weights)


def exp3_law(gamma, alpha=0.0):
    """Exp3 in float64 as figure 1 has it, from the list of (arm, reward) so far; with alpha Exp3.S of section 8."""

    def law(past, chances=None, t=None):
        weights = np.ones(3)
        for number, (arm, paid) in enumerate(past):
            p = mixed(weights, gamma)[arm] if chances is None else chances[number]
            weights = weights * np.exp(gamma / 3 * paid / p * np.eye(3)[arm]) + math.e * alpha / 3 * weights.sum()
        return mixed(weights, gamma)

    return law


def exp3p_law(gamma, alpha, horizon):
    """Exp3.P in float64 as figure 3 has it: every arm's estimate is raised, and weights do not begin at 1."""

    def law(past, chances=None, t=None):
        weights = np.full(3, math.exp(alpha * gamma / 3 * math.sqrt(horizon / 3)))
        for number, (arm, paid) in enumerate(past):
            p = mixed(weights, gamma)
            p[arm] = p[arm] if chances is None else chances[number]
            estimates = np.eye(3)[arm] * paid / p
            weights = weights * np.exp(gamma / 9 * (estimates + alpha / (p * math.sqrt(3 * horizon))))
        return mixed(weights, gamma)

    return law


def exp3ix_law(horizon=None):
    """Exp3-IX in float64, with sums of estimated losses."""

    def eta(t):
        return math.sqrt((math.log(3) / t if horizon is None else 2 * math.log(3) / horizon) / 3)

    def law(past, chances=None, t=None):
        losses = np.zeros(3)
        for number, (arm, paid) in enumerate(past):
            rate = eta(number + 1)
            p = special.softmax(-rate * losses)[arm] if chances is None else chances[number]
            losses[arm] += (1 - paid) / (p + rate / 2)
        return special.softmax(-eta(t or len(past) + 1) * losses)

    return law


def exp4_law(gamma, advice):
    """Exp4 in float64 as section 7 has it; advice [n, E, K] by rounds."""

    def law(past, chances=None, t=None):
        weights = np.ones(len(advice[0]))
        for number, (arm, paid) in enumerate(past):
            p = mixed(weights @ advice[number], gamma)[arm] if chances is None else chances[number]
            weights = weights * np.exp(gamma / 3 * advice[number][:, arm] * paid / p)
        return mixed(weights @ advice[(t or len(past) + 1) - 1], gamma)

    return law


def tsallis_law(reduced):
    """Tsallis-INF in float64 with either estimate."""

    def law(past, chances=None, t=None):
        losses, rate = np.zeros(3), 4 if reduced else 2
        for number, (arm, paid) in enumerate(past):
            eta = rate / math.sqrt(number + 1)
            w = normalised(losses, eta)  # by what is known when the feedback arrives
            baseline = np.where(reduced & (w >= eta**2), 0.5, 0)
            losses += baseline
            losses[arm] += (1 - paid - baseline[arm]) / (w[arm] if chances is None else chances[number])
        return normalised(losses, rate / math.sqrt(t or len(past) + 1))

    return law


ADVICE = np.array([[[0.5, 0.5, 0], [0.1, 0.2, 0.7]], [[0, 1, 0], [1 / 3, 1 / 3, 1 / 3]], [[0.2, 0.2, 0.6], [1, 0, 0]]])
ADVICE = np.tile(ADVICE, (3, 1, 1))  # of two experts for nine rounds
LAWS = {
    "Exp3": (Exp3(gamma=0.3), exp3_law(0.3)),
    "Rexp3": (Rexp3(gamma=0.3, batch=2), lambda past: exp3_law(0.3)(past[len(past) // 2 * 2 :])),
    "Exp3S": (Exp3S(gamma=0.3, alpha=0.05), exp3_law(0.3, 0.05)),
    "Exp3S-horizon": (Exp3S(gamma=0.3, horizon=20), exp3_law(0.3, 1 / 20)),
    "Exp3P": (Exp3P(horizon=50, gamma=0.3, alpha=2.0), exp3p_law(0.3, 2.0, 50)),
    "Exp3IX": (Exp3IX(), exp3ix_law()),
    "Exp3IX-horizon": (Exp3IX(horizon=20), exp3ix_law(20)),
    "Exp4": (Exp4(ADVICE[0], gamma=0.3), exp4_law(0.3, ADVICE[[0] * 9])),
    "Exp4-rounds": (Exp4(ADVICE, gamma=0.3), exp4_law(0.3, ADVICE)),
    "TsallisINF": (TsallisINF(), tsallis_law(False)),
    "TsallisINF-reduced": (TsallisINF(reduced_variance=True), tsallis_law(True)),
}
GAME = np.array([[0.0, 1.0, 0.5], [1.0, 0.25, 0.0], [0.75, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.6, 1.0]])


def late_law(law, past, t, late):
    """The probabilities of round t from rounds up to t - 1 - late, with the probability of each play; float64."""
    if not late:
        return law(past)
    heard = past[: max(t - 1 - late, 0)]
    chances = [late_law(law, past, s, late)[arm] for s, (arm, _) in enumerate(heard, 1)]
    return law(heard, chances, t)


WHEN = [(name, 0) for name in LAWS] + [(name, 2) for name in ("Exp3S", "Exp3P", "Exp3IX", "Exp4-rounds")]
WHEN += [pytest.param("TsallisINF-reduced", 2, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("name", "late"), WHEN)
def test_exact_law_of_short_games(name, late):
    """The probabilities along all sequences of three arms in five rounds, computed from states and in float64.

    Feedback that is two rounds late is divided by the probability of its play: along 81 sequences of six rounds.
    """
    policy, law = LAWS[name]
    shape = jax.eval_shape(lambda: Feedback.of(0, 0.5, t=1, table=NO_TABLE))
    waiting = late_policy(policy, late, 1, shape, 1)
    sequences = np.array(list(itertools.product(range(3), repeat=5)))
    if late:
        sequences = np.random.default_rng(2).integers(0, 3, (81, 6))
    rounds = sequences.shape[1]
    game = GAME[np.arange(rounds) % 5]

    def step(state, play):
        result = policy.probabilities(state.policy if late else state, play.t)
        return waiting.update(state, play), result

    def along(arms):
        t, paid = jnp.arange(1, rounds + 1, dtype=jnp.int32), jnp.asarray(game, float)[jnp.arange(rounds), arms]
        plays = Feedback(arms[:, None], 0 * arms[:, None], 0 * arms[:, None], paid[:, None], t)
        return jax.lax.scan(step, waiting.init(NO_TABLE), plays)[1]

    result = np.asarray(jax.jit(jax.vmap(along))(jnp.asarray(sequences, jnp.int32)))
    known = {}
    for sequence, row in zip(sequences.tolist(), result):
        past = tuple((arm, game[n, arm]) for n, arm in enumerate(sequence))
        for t in range(1, rounds + 1):
            before = past[: t - 1]
            if before not in known:
                known[before] = late_law(law, before, t, late)
            np.testing.assert_allclose(row[t - 1], known[before], rtol=2e-5 if late else 1e-5)


@pytest.mark.parametrize("policy", [Exp3(gamma=0.3), TsallisINF()], ids=type)
def test_plays_are_drawn_with_their_probabilities(policy):
    """Chi-square at 1e-9 of 100,000 plays of three arms of which one has paid."""
    state = policy.update(policy.init(NO_TABLE), Feedback.of(1, 1.0, t=1, table=NO_TABLE))
    keys = jax.random.split(jax.random.key(0), 100_000)
    played = jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, 2)[0])))(keys)
    law = np.asarray(policy.probabilities(state, 2), float)
    assert stats.chisquare(np.bincount(played, minlength=3), 100_000 * law / law.sum()).pvalue > 1e-9


def test_tsallis_keeps_its_digits_for_long():
    """Where losses sum to 1e8, and floats are 8 apart, those of single rounds still count: a float64 loop, to 1e-4."""
    policy, start, behind = TsallisINF(), 10**6, np.array([0.0, 250.0, 700.0])
    state = policy.init(NO_TABLE)
    state = state._replace(gains=sums.add_to_each(state.gains, -jnp.asarray(1e8 + behind)))
    before, losses = policy.probabilities(state, jnp.int32(start)), behind + 0.0
    losses -= 1e8 + behind - np.asarray(1e8 + behind, np.float32)  # as they begin in the state
    paid = np.random.default_rng(1).random(200) * 0.5 + 0.1

    here, t = jnp.zeros((200, 1), jnp.int32), np.arange(start, start + 200, dtype=np.int32)
    plays = Feedback(here, here, here, jnp.asarray(paid, jnp.float32)[:, None], jnp.asarray(t))
    state, _ = jax.lax.scan(lambda state, play: (policy.update(state, play), None), state, plays)
    for one, x in zip(t.tolist(), paid):
        losses[0] += (1 - x) / normalised(losses, 2 / math.sqrt(one))[0]
    result = policy.probabilities(state, jnp.int32(start + 200))
    np.testing.assert_allclose(result, normalised(losses, 2 / math.sqrt(start + 200)), rtol=1e-4)
    assert abs(result - before).max() > 0.02


EACH = [Exp3(gamma=0.3), Exp3S(0.3, 0.05), Rexp3(0.3, 7), TsallisINF()]
EACH += [Exp3P(50, gamma=0.3, alpha=2.0), Exp3IX(), Exp4(np.eye(3), 0.3)]


@pytest.mark.parametrize("policy", EACH, ids=type)
def test_rewards_are_mapped(policy):
    """Rewards -1 and 3 are played as 0 and 1, and 0.5 among them as 0.375; those of [0, 1] are as they are."""
    tables = (((-1.0, 3.0, 0.5), (3.0, -1.0, 0.5)), ((0.0, 1.0, 0.375), (1.0, 0.0, 0.375)))
    states = [state_after(policy, np.tile(np.array(row), (3, 1)), (2, 0, 1), paid) for row, paid in tables]
    np.testing.assert_array_equal(*(policy.probabilities(state, 4) for state in states))


BAD = [
    (Exp3(), "gamma: missing; give it, or horizon"),
    (Exp3(gamma=0.0), "gamma: 0.0 lies outside"),
    (Exp3S(gamma=0.1), "alpha: missing; give it, or horizon"),
    (Exp3S(gamma=0.1, alpha=0.1, horizon=10), "horizon: 10 beside gamma and alpha"),
    (Exp3S(gamma=0.1, horizon=10, hardness=2), "hardness: 2 beside a gamma"),
    (Rexp3(), "batch: missing; give it, or horizon and budget"),
    (Rexp3(batch=0), "batch: 0 is not among"),
    (Rexp3(batch=3, budget=1.0), "budget: 1.0 beside batch"),
    (Rexp3(horizon=10, budget=11), "budget: 11 lies outside"),
    (Exp3P(horizon=0, delta=0.1), "horizon: 0 lies outside"),
    (Exp3P(horizon=9, delta=0.1), "horizon: Exp3P is made for 9 rounds"),
    (Exp3P(horizon=10), "alpha: missing; give it, or delta"),
    (Exp3P(horizon=10, delta=1.0), "delta: 1.0 lies outside"),
    (Exp3P(horizon=10, delta=0.1, alpha=1.0), "delta: 0.1 beside alpha"),
    (Exp3P(horizon=10, delta=0.1, gamma=1.5), "gamma: 1.5 lies outside"),
    (Exp3P(horizon=10, alpha=-1.0), "alpha: -1.0 lies outside"),
    (Exp3IX(horizon=9), "horizon: Exp3IX is made for 9 rounds"),
    (Exp4(np.eye(3)), "gamma: missing; give it, or horizon"),
    (Exp4(np.eye(3), gamma=2.0), "gamma"),
    (Exp4(np.eye(2), gamma=0.1), r"advice: shape \(2, 2\) is neither"),
    (Exp4(np.ones((2, 3)), gamma=0.1), "advice: row 0 sums to 3.0"),
    (Exp4(ADVICE, gamma=0.1), "advice: is for 9 rounds, and 10 will be played"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\].{message}"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10)


@pytest.mark.parametrize("policy", EACH, ids=type)
def test_tasks_that_they_are_not_for(policy):
    with pytest.raises(ValueError, match="plays one arm a round, and plays is 2"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10, plays=2)
    with pytest.raises(ValueError, match="plays rewards from 0 to 1"):
        simulate(jaxbandit.gaussian([0.0, 1.0]), {"p": policy}, runs=1, horizon=10)
    policy.validate(jaxbandit.Task(jaxbandit.environments.beta([1.0, 2.0, 1.0], [1.0] * 3)))


def test_advice_follows_the_arms_in_their_order():
    """An expert who names an arm in each round, in the environment's order, is followed."""
    advice = np.eye(3)[np.arange(12) % 3][:, None]
    result = simulate(ARMS, {"p": Exp4(advice, gamma=1e-30)}, runs=5, horizon=12, times=range(1, 13), shuffle=True)
    played = np.diff(result.visits["p"][0, 0].sum(-1), axis=1, prepend=0).argmax(-1)
    np.testing.assert_array_equal(played, np.tile(np.arange(12) % 3, (5, 1)))
