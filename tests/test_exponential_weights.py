"""Exp3 and its kin, Tsallis-INF: published steps, exact laws of short games, what the theorems promise."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import jaxbandit
from jaxbandit import Exp3, Exp3S, Feedback, Rexp3, TsallisINF, simulate, sums
from jaxbandit.policies.changing.tsallis import tsallis
from jaxbandit.simulation.delayed import delayed as late_policy
from jaxbandit.testing import check_policy

NO_TABLE = jnp.zeros((3, 0))
ARMS = jaxbandit.bernoulli([0.5, 0.4, 0.3])

# Arms and rewards of eight rounds, and the probabilities before some of the rounds.
PLAYED, PAID = [0, 1, 2, 0, 0, 1, 2, 0], [1, 0, 1, 1, 0, 1, 0.5, 1]
REXP3 = {4: [0.349308723, 0.2980744103, 0.3526168668], 5: [1 / 3] * 3, 9: [1 / 3] * 3}


def test_steps_of_rexp3():
    """The steps of Exp3, whose exact law is tested below, begun again every four rounds."""
    policy = Rexp3(gamma=0.2, batch=4)
    state = policy.init(NO_TABLE)
    for t in range(1, 10):
        if t in REXP3:
            np.testing.assert_allclose(policy.probabilities(state), REXP3[t], rtol=1e-6)
        if t < 9:
            state = policy.update(state, Feedback.of(PLAYED[t - 1], PAID[t - 1], t=t, table=NO_TABLE))


def test_numbers_that_follow_from_the_horizon():
    """The decided values for K = 2 and 5."""
    table = jnp.zeros((5, 0))
    assert float(Exp3(horizon=1e5)._gamma(Exp3().init(table))) == pytest.approx(0.006843447144, rel=1e-6)
    for hardness, gamma in ((1, 0.02146961403), (3, 0.03499478974), (None, 0.02561480371)):
        policy = Exp3S(horizon=1e5, hardness=hardness)
        assert float(policy._gamma(policy.init(table))) == pytest.approx(gamma, rel=1e-6)
    for n, budget, arms, batch, gamma in (
        (1e4, 3, 2, 249, 0.05692209243),
        (1e5, 3, 2, 1155, 0.02642953593),
        (1e5, 10, 5, 931, 0.0709251196),
    ):
        policy = Rexp3(horizon=n, budget=budget)
        assert int(policy.rounds_between_restarts(arms)) == batch
        assert float(policy._gamma(policy.init(jnp.zeros((arms, 0))))) == pytest.approx(gamma, rel=1e-6)
    short = Exp3S(gamma=0.2, horizon=100)  # alpha = 1 / n
    inputs = Exp3S(gamma=0.2, alpha=0.01)
    paid = Feedback.of(0, 1.0, t=1, table=NO_TABLE)
    for one, other in zip(*(p.update(p.init(NO_TABLE), paid) for p in (short, inputs))):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def normalised(losses, eta):
    """w_k = 4 / (eta (L_k - z))^2 in float64, by bracketing the z for which they sum to 1, below the least L."""
    above = np.asarray(losses, float) - np.min(losses)
    few, many = 2 / eta, 2 * math.sqrt(len(above)) / eta  # how far z is below: one arm has all, or all have the same
    below = brentq(lambda z: (4 / (eta * (above + z)) ** 2).sum() - 1, few * (1 - 1e-9), many * (1 + 1e-9), xtol=1e-13)
    return 4 / (eta * (above + below)) ** 2


@pytest.mark.parametrize(  # a sum of 1,000 is rounded often
    ("arms", "error"), [(2, 3e-6), (3, 3e-6), (7, 3e-6), (40, 3e-6), (1000, 1e-4)]
)
def test_tsallis_probabilities_of_many_arms(arms, error):
    """A bracketing search for other losses and numbers of arms."""
    random = np.random.default_rng(arms)
    for width in (0.01, 1.0, 100.0, 1e5):
        above = random.exponential(width, arms).astype(np.float32)
        above -= above.min()
        np.testing.assert_allclose(tsallis(jnp.asarray(above)), normalised(above, 1.0), rtol=error)
        one = np.full(arms, np.float32(width))
        one[0] = 0
        np.testing.assert_allclose(tsallis(jnp.asarray(one)), normalised(one, 1.0), rtol=error)


def exp3_law(gamma):
    """Exp3 in float64 as figure 1 has it: probabilities from the list of (arm, reward) so far."""

    def law(past, arms=3):
        weights = [1.0] * arms
        for arm, paid in past:
            p = [(1 - gamma) * w / sum(weights) + gamma / arms for w in weights]
            weights[arm] *= math.exp(gamma * (paid / p[arm]) / arms)
        return [(1 - gamma) * w / sum(weights) + gamma / arms for w in weights]

    return law


def exp3s_law(gamma, alpha):
    """Exp3.S in float64 as section 8 has it."""

    def law(past, arms=3):
        weights = [1.0] * arms
        for arm, paid in past:
            whole = sum(weights)
            p = (1 - gamma) * weights[arm] / whole + gamma / arms
            weights = [
                w * math.exp(gamma * (k == arm) * paid / p / arms) + math.e * alpha / arms * whole
                for k, w in enumerate(weights)
            ]
        return [(1 - gamma) * w / sum(weights) + gamma / arms for w in weights]

    return law


def tsallis_law(reduced):
    """Tsallis-INF in float64 with either estimate."""

    def law(past, arms=3):
        losses = [0.0] * arms
        for t, (arm, paid) in enumerate(past, 1):
            eta = (4 if reduced else 2) / math.sqrt(t)
            w = normalised(losses, eta)
            for k in range(arms):
                baseline = 0.5 if reduced and w[k] >= eta**2 else 0.0
                losses[k] += baseline + ((1 - paid - baseline) / w[k] if k == arm else 0)
        return normalised(losses, (4 if reduced else 2) / math.sqrt(len(past) + 1)).tolist()

    return law


LAWS = {
    "Exp3": (Exp3(gamma=0.3), exp3_law(0.3)),
    "Exp3S": (Exp3S(gamma=0.3, alpha=0.05), exp3s_law(0.3, 0.05)),
    "TsallisINF": (TsallisINF(), tsallis_law(False)),
    "TsallisINF-reduced": (TsallisINF(reduced_variance=True), tsallis_law(True)),
}
GAME = np.array([[0.0, 1.0, 0.5], [1.0, 0.25, 0.0], [0.75, 1.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.6, 1.0]])


@pytest.mark.parametrize("name", LAWS)
def test_exact_law_of_five_rounds(name):
    """The probabilities along all 243 sequences of three arms, computed from states and in float64."""
    policy, law = LAWS[name]
    sequences = list(itertools.product(range(3), repeat=5))

    @jax.vmap
    def along(arms):
        state, result = policy.init(NO_TABLE), []
        for t in range(1, 6):
            result.append(policy.probabilities(state, t))
            arm = arms[t - 1]
            paid = jnp.asarray(GAME, float)[t - 1, arm]
            here = jnp.zeros(1, jnp.int32)
            state = policy.update(state, Feedback(arm[None], here, here, paid[None], jnp.int32(t)))
        return jnp.stack(result)

    result = np.asarray(jax.jit(along)(jnp.array(sequences, jnp.int32)))
    for sequence, row in zip(sequences, result):
        past = []
        for t, arm in enumerate(sequence):
            np.testing.assert_allclose(row[t], law(past), rtol=1e-5)
            past.append((arm, GAME[t, arm]))


def late_law(name, past, t, late):
    """The probabilities of round t by rounds up to t - 1 - late, plays divided by those of their own round; float64."""
    losses, log_w = np.zeros(3), np.zeros(3)
    for s in range(1, t - late):
        arm, paid = past[s - 1]
        w = np.array(late_law(name, past, s, late))[arm]
        if name == "Exp3":
            log_w[arm] += 0.3 * paid / w / 3
            continue
        reduced = name.endswith("reduced")
        eta = (4 if reduced else 2) / math.sqrt(s)
        now = normalised(losses.tolist(), eta)  # by what is known when it is heard
        baseline = np.where(np.asarray(now) >= eta**2, 0.5, 0.0) if reduced else np.zeros(3)
        losses = losses + baseline
        losses[arm] += (1 - paid - baseline[arm]) / w
    if name == "Exp3":
        return (0.7 * np.exp(log_w) / np.exp(log_w).sum() + 0.1).tolist()
    return np.asarray(normalised(losses.tolist(), (4 if name.endswith("reduced") else 2) / math.sqrt(t))).tolist()


@pytest.mark.parametrize("name", ["Exp3", "TsallisINF", "TsallisINF-reduced"])
def test_late_feedback_is_divided_by_the_probability_of_its_play(name):
    """Along 81 sequences of six rounds, feedback two rounds late; from states and in float64."""
    policy, late = LAWS[name][0], 2
    shape = jax.eval_shape(lambda: Feedback.of(0, 0.5, t=1, table=NO_TABLE))
    waiting = late_policy(policy, late, 1, shape)
    sequences = np.random.default_rng(2).integers(0, 3, (81, 6))

    @jax.vmap
    def along(arms):
        state, result = waiting.init(NO_TABLE), []
        for t in range(1, 7):
            result.append(policy.probabilities(state.policy, t))
            arm, here = arms[t - 1], jnp.zeros(1, jnp.int32)
            paid = jnp.asarray(GAME, float)[(t - 1) % 5, arm]
            state = waiting.update(state, Feedback(arm[None], here, here, paid[None], jnp.int32(t)))
        return jnp.stack(result)

    result = np.asarray(jax.jit(along)(jnp.asarray(sequences, jnp.int32)))
    for sequence, row in zip(sequences, result):
        past = [(arm, GAME[n % 5, arm]) for n, arm in enumerate(sequence)]
        for t in range(1, 7):
            np.testing.assert_allclose(row[t - 1], late_law(name, past, t, late), rtol=2e-5)


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

    def following(state, round_and_paid):
        t, paid = round_and_paid
        here = jnp.zeros(1, jnp.int32)
        return policy.update(state, Feedback(here, here, here, paid[None], t)), None

    t = np.arange(start, start + 200, dtype=np.int32)
    state, _ = jax.lax.scan(following, state, (jnp.asarray(t), jnp.asarray(paid, jnp.float32)))
    for one, x in zip(t.tolist(), paid):
        losses[0] += (1 - x) / normalised(losses, 2 / math.sqrt(one))[0]
    result = policy.probabilities(state, jnp.int32(start + 200))
    np.testing.assert_allclose(result, normalised(losses, 2 / math.sqrt(start + 200)), rtol=1e-4)
    assert abs(result - before).max() > 0.02


@pytest.mark.parametrize(
    "policy",
    [Exp3(horizon=100), Exp3S(horizon=100, hardness=2), Rexp3(batch=10), TsallisINF(), TsallisINF(True)],
    ids=["Exp3", "Exp3S", "Rexp3", "TsallisINF", "TsallisINF-reduced"],
)
def test_contract(policy):
    check_policy(policy, rounds=20)


@pytest.mark.parametrize("policy", [Exp3(gamma=0.3), Exp3S(0.3, 0.05), Rexp3(0.3, 7), TsallisINF()], ids=type)
def test_rewards_are_mapped(policy):
    """Rewards -1 and 3 are played as 0 and 1, and 0.5 among them as 0.375; those of [0, 1] are as they are."""
    result = []
    for row, paid in (((-1.0, 3.0, 0.5), (3.0, -1.0, 0.5)), ((0.0, 1.0, 0.375), (1.0, 0.0, 0.375))):
        state = policy.init(table := jnp.tile(jnp.array(row), (3, 1)))
        for t, (arm, reward) in enumerate(zip((2, 0, 1), paid), 1):
            state = policy.update(state, Feedback.of(arm, reward, t=t, table=table))
        result.append(policy.probabilities(state, 4))
    np.testing.assert_array_equal(*result)


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
    (TsallisINF(reduced_variance=1), "reduced_variance: 1 is neither"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\].{message}"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10)


@pytest.mark.parametrize("policy", [Exp3(gamma=0.3), Exp3S(0.3, 0.05), Rexp3(0.3, 7), TsallisINF()], ids=type)
def test_tasks_that_they_are_not_for(policy):
    with pytest.raises(ValueError, match="plays one arm a round, and plays is 2"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10, plays=2)
    with pytest.raises(ValueError, match="plays rewards from 0 to 1"):
        simulate(jaxbandit.gaussian([0.0, 1.0]), {"p": policy}, runs=1, horizon=10)
    policy.validate(jaxbandit.Task(jaxbandit.environments.beta([1.0, 2.0], [1.0, 1.0])))
