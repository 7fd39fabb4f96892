"""Policies for independent rewards: published indices, DMED's lists by hand, K_inf, and regrets of scalar loops."""

import copy
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_law, check_same_arms
from reference_kl import kl

import jaxbandit
from jaxbandit import (
    ALL,
    DMED,
    KLUCB,
    MOSS,
    EmpiricalKLUCB,
    Feedback,
    RoundRobinKLUCB,
    bernoulli,
    bounds,
    markov,
    top_arms,
    two_state,
)
from jaxbandit.bounds.nearest import nearest_row
from jaxbandit.confidence import kl_ball_max
from jaxbandit.policies.parts.exploration import level
from jaxbandit.testing import check_policy


def scores(policy, successes_and_plays, t, values=(0.0, 1.0)):
    """The index of arms of which some plays paid 1 and the others 0."""
    state = policy.init(jnp.tile(jnp.array(values), (5, 1)))
    counts = [[plays - ones, ones] for ones, plays in successes_and_plays]
    counts += [[0, 0]] * (5 - len(counts))
    return np.asarray(policy.scores(None, state._replace(counts=jnp.array(counts, jnp.int32)), t)[0])


def test_kl_ucb_plus_plus_vectors():
    """Five arms, n = 10,000: bisection and a root of 40 digits; an arm with more than n / K plays is its mean."""
    found = scores(KLUCB(horizon=1e4), [(3, 7), (40, 100), (0, 12), (12, 12), (900, 2500)], 2632)
    np.testing.assert_allclose(found, [0.9685332934, 0.5622217211, 0.5041687196, 1, 0.36], rtol=2e-6)


AT = [(50, (3, 7)), (1000, (40, 100)), (200, (0, 12))]  # round; successes and plays


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (KLUCB(exploration=0.0, clock="arm"), [0.7760874895, 0.5069816488, 0.2089949232]),
        (MOSS(1e4), [1.327379553, 0.5730818383, 0.6529417923]),
        (MOSS(), [0.6543003887, 0.4832554611, 0.3167507964]),
        (KLUCB(exploration=2.0), [0.9397033652, 0.6293670704, 0.5129676167]),
    ],
    ids=["KL-UCB-plus", "MOSS", "MOSS-anytime", "Agrawal"],
)
def test_vectors(policy, expected):
    found = [scores(policy, [counts], t)[0] for t, counts in AT]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_agrawal_s_level_stays_below_the_gaussian_index():
    """By Pinsker's inequality; 1/4 is the largest variance of rewards in [0, 1]."""
    gaussian = [s / n + math.sqrt((math.log(t) + 2 * math.log(math.log(t))) / (2 * n)) for t, (s, n) in AT]
    np.testing.assert_allclose(gaussian, [1.117262333, 0.6320888272, 0.5997602282], rtol=1e-9)
    assert all(scores(KLUCB(exploration=2.0), [counts], t)[0] < g for (t, counts), g in zip(AT, gaussian))


def test_lai_and_robbins_s_rule():
    """All 1,024 trajectories of ten rounds at 1e-9, and 900 rounds one by one.

    Of rewards 0 and 1 the index of an arm without a success, 1 - t^(-1/T), would tie with a mean.
    """
    fields, reward = {"exploration": 0.0, "delta": 0.25}, (0.1, 0.83)
    arms = two_state([0.5, 0.3], [0.4, 0.6], reward)
    law = reference.exact_law("RoundRobinKLUCB", arms.transition.tolist(), arms.reward.tolist(), 0, 10, **fields)
    result = jaxbandit.simulate(arms, {"p": RoundRobinKLUCB(**fields)}, runs=20_000, horizon=10, times=[10])
    check_law(result.visits["p"][0, 0, :, 0], law)
    check_same_arms(reference.play, "RoundRobinKLUCB", fields, arms, runs=3, rounds=300)


# Empirical KL-UCB

VALUES = (0.0, 0.25, 0.5, 1.0)
BALL = [
    ((5, 3, 2, 0), 0.1, 0.2774249998, (0.3612875001, 0.2890300001, 0.2890300001, 0.06065249971)),
    ((5, 3, 2, 0), 0.6, 0.5617361084, (0.2191319458, 0.1753055566, 0.1753055566, 0.430256941)),
    ((1, 1, 1, 1), 0.05, 0.5585037973, None),
    ((0, 4, 0, 0), 0.3, 0.4443863345, (0, 0.7408182207, 0, 0.2591817793)),
    ((2, 0, 6, 2), 0.2, 0.7031166851, (0.08330711343, 0, 0.4271524029, 0.4895404836)),
]


@pytest.mark.parametrize(("counts", "radius", "index", "law"), BALL)
def test_empirical_kl_ucb_vectors(counts, radius, index, law):
    """By the multiplier's form and by a general solver; the policy has this radius in round exp(radius T)."""
    p = np.array(counts) / sum(counts)
    maximum, row = kl_ball_max(p, jnp.array(VALUES), radius)
    assert float(maximum) == pytest.approx(index, abs=2e-6)
    if law is not None:
        assert row.tolist() == pytest.approx(law, abs=2e-6)
    policy, t = EmpiricalKLUCB(exploration=0.0), math.exp(radius * sum(counts))
    state = policy.init(jnp.array([VALUES] * 2))._replace(counts=jnp.array([counts, (0, 0, 0, 0)], jnp.int32))
    assert policy.scores(None, state, t)[0].tolist() == pytest.approx([index, math.inf], abs=2e-6)


def test_empirical_kl_ucb_of_two_states_is_kl_ucb():
    """The same arms in every round in float64, and the same index but for rounding in float32."""
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
    pair = {"one": EmpiricalKLUCB(), "top": EmpiricalKLUCB(top=True), "other": KLUCB(exploration=1.0)}
    with jax.enable_x64(True):
        result = jaxbandit.simulate(arms, pair, runs=20, horizon=400, times=range(1, 401), progress=False)
    for label in ("one", "top"):
        np.testing.assert_array_equal(result.visits[label], result.visits["other"])
    counted = [(0, 3), (3, 3), (1, 7), (40, 100), (9999, 20_000)]
    for t in (1, 2, 3, 50, 10**6):
        one, top, other = (scores(policy, counted, t) for policy in pair.values())
        np.testing.assert_allclose(one, other, atol=2e-6)
        np.testing.assert_allclose(top, other, atol=2e-6)


def test_the_arms_clock_counts_in_float64_under_x64():
    """t / T of large integers against Python's floats; float32 would be off by 1e-8."""
    with jax.enable_x64(True):
        found = level(jnp.int32(2**31 - 1), 3.0, "arm", jnp.array([3, 1_000_003, 2**24 + 1], jnp.int32))
    logs = [math.log((2**31 - 1) / T) for T in (3, 1_000_003, 2**24 + 1)]
    np.testing.assert_allclose(found, [each + 3 * math.log(each) for each in logs], rtol=1e-14)


OF_ALL = [{}, {"clock": "arm"}, {"horizon": 300.0}, {"solver": "bisection"}]  # each for the policies that have it
WITH = [(name, each) for each in OF_ALL for name in ALL if each.keys() <= ALL[name].__annotations__.keys()]


@pytest.mark.parametrize(("name", "fields"), WITH)
def test_no_policy_computes_in_float32_under_x64(name, fields):
    """No number of its program has that type, for arms with two and three states."""

    def one_round(policy, key, t, reward, arm, paid):
        state = policy.init(reward)
        return policy.scores(key, state, t)[0], policy.update(state, Feedback(arm, arm, arm, paid, t))

    for values in ((0.0, 1.0), (0.0, 0.5, 1.0)):
        with jax.enable_x64(True):
            policy, reward = jax.tree.map(jnp.asarray, ALL[name](**fields)), jnp.tile(jnp.array(values), (3, 1))
            arm = jnp.array([1], jnp.int32)
            program = jax.make_jaxpr(one_round)(policy, jax.random.key(0), jnp.int32(5), reward, arm, jnp.ones(1))
        assert "f64[" in str(program) and "f32[" not in str(program)


# Three arms whose laws have close means; rewards without symmetry, so that no two arms tie
LAWS = np.array([[0.2, 0.5, 0.3], [0.35, 0.3, 0.35], [0.15, 0.2, 0.65]])
LOW, OUTSIDE = (0.1, 0.83, 0.37), (3.0, -2.0, 0.43)
OF_MORE = [({}, LOW), ({"top": True}, LOW), ({"exploration": None}, OUTSIDE), ({"exploration": 3.0}, LOW)]


def independent(reward, arms=3):
    return markov(np.repeat(LAWS[:arms, None], 3, axis=1), reward)


@pytest.mark.parametrize(("fields", "reward"), OF_MORE)
def test_empirical_kl_ucb_of_three_states_in_every_round(fields, reward):
    """In float64, against a root of the divergence by its multiplier; the chain's rows do not matter to it."""
    check_same_arms(reference.play, "EmpiricalKLUCB", fields, independent(reward), runs=3, rounds=200)


@pytest.mark.parametrize("fields", [{}, {"top": True}])
def test_exact_law_of_empirical_kl_ucb_with_three_states(fields):
    """All trajectories of six rounds against 20,000 runs, chi-square at 1e-9 (false fails below 2e-9)."""
    arms = independent(LOW, 2)
    law = reference.exact_law("EmpiricalKLUCB", arms.transition, arms.reward, 0, 6, **fields)
    result = jaxbandit.simulate(arms, {"p": EmpiricalKLUCB(**fields)}, runs=20_000, horizon=6, times=[6])
    check_law(result.visits["p"][0, 0, :, 0], law)


def test_empirical_kl_ucb_of_many_states_keeps_the_contract():
    check_policy(EmpiricalKLUCB(top=True), states=4, plays=2, rounds=8)


# DMED


class Lists:
    """DMED as its source's lists: what is left of the current one, and the next one."""

    def __init__(self, arms, reward, plus=True):
        self.reward, self.plus = reward, plus
        self.left, self.next = list(range(arms)), []
        self.counts = [[[0, 0], [0, 0]] for _ in range(arms)]

    def arm(self):
        return min(self.left)

    def see(self, k, before, after):
        arms = range(len(self.counts))
        self.counts[k][before][after] += 1
        self.left.remove(k)
        n = sum(map(reference.plays, self.counts))
        if n < len(arms):
            return
        if n == len(arms):
            self.left = list(arms)
            return
        means = [reference.sample_mean(self.counts[j], self.reward[j]) for j in arms]
        for j in arms:
            number = reference.plays(self.counts[j])
            most = math.log(n) - (math.log(number) if self.plus else 0)
            if j not in self.left and number * kl(means[j], max(means)) <= most * (1 + 1e-5):
                self.next.append(j)
        if not self.left:
            self.left, self.next = sorted(set(self.next)), []


def play(policy, draws, reward, initial_state, horizon, **fields):
    """The arms of one run, as the plays of `reference`."""
    lists, states, chosen = Lists(len(reward), reward, **fields), [initial_state] * len(reward), []
    for _ in range(horizon):
        k = lists.arm()
        after = int(draws(k, reference.plays(lists.counts[k]) + 1, states[k]))
        lists.see(k, states[k], after)
        states[k] = after
        chosen.append(k)
    return chosen


def exact_law(transition, reward, horizon, **fields):
    """The probability of every final count of visits, both arms beginning in state 0."""
    law = {}

    def walk(lists, states, rounds, probability):
        if rounds == 0:
            key = tuple(number for count in lists.counts for number in reference.visits(count))
            law[key] = law.get(key, 0.0) + probability
            return
        k = lists.arm()
        for after, chance in enumerate(transition[k][states[k]]):
            if chance > 0:
                following = copy.deepcopy(lists)
                following.see(k, states[k], after)
                walk(
                    following, [after if j == k else s for j, s in enumerate(states)], rounds - 1, probability * chance
                )

    walk(Lists(len(reward), reward, **fields), [0] * len(reward), horizon, 1.0)
    return law


@pytest.mark.parametrize("plus", [True, False])
def test_exact_law_of_dmed(plus):
    """All 1,024 trajectories of ten rounds against 20,000 runs, chi-square at 1e-9 (false fails below 2e-9)."""
    arms = two_state([0.5, 0.3], [0.4, 0.6])
    law = exact_law(arms.transition.tolist(), arms.reward.tolist(), 10, plus=plus)
    assert abs(sum(law.values()) - 1) < 1e-12
    result = jaxbandit.simulate(arms, {"p": DMED(plus)}, runs=20_000, horizon=10, times=[10])
    check_law(result.visits["p"][0, 0, :, 0], law)


@pytest.mark.parametrize("plus", [True, False])
@pytest.mark.parametrize("reward", [(0.0, 1.0), (0.1, 0.83)])
def test_dmed_in_every_round(plus, reward):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward)
    check_same_arms(play, "DMED", {"plus": plus}, arms, runs=10, rounds=1500)


SHOWN = ("0110010111010110", "1011101011110110", "0001001010000100")
LISTED = {
    True: "012012010101101010120101011010110101010111010101011111111111",
    False: "012012012010101010101201201201010101010120120120120120101201",
}


@pytest.mark.parametrize("plus", [True, False])
def test_dmed_vectors(plus):
    """The n-th play of an arm pays the n-th bit, repeated; found by lists and by masks, in two programs."""
    policy, played = DMED(plus), []
    state, update = policy.init(jnp.tile(jnp.array([0.0, 1.0]), (3, 1))), jax.jit(policy.update)
    for t in range(1, 61):
        arms = top_arms(policy.scores(None, state, t)[0], 1)
        bit = int(SHOWN[int(arms[0])][played.count(int(arms[0])) % 16])
        played.append(int(arms[0]))
        state = update(state, Feedback(arms, jnp.array([0]), jnp.array([bit]), jnp.array([float(bit)]), t))
    assert "".join(map(str, played)) == LISTED[plus]
    assert bool(state.now.any())


def test_dmed_fills_up_a_list_with_the_best_means():
    """Two plays a round of four arms, by hand: the list holds arm 3 alone, arm 1 has the best mean of the others."""
    policy = DMED()
    state = policy.init(jnp.tile(jnp.array([0.0, 1.0]), (4, 1)))
    state = state._replace(
        now=jnp.array([False, False, False, True]),
        counts=jnp.array([[15, 15], [10, 30], [15, 5], [8, 2]], jnp.int32),
    )
    arms = top_arms(policy.scores(None, state, 51)[0], 2)
    assert sorted(arms.tolist()) == [1, 3]
    state = policy.update(state, Feedback(arms, jnp.array([0, 0]), jnp.array([0, 0]), jnp.zeros(2), jnp.int32(51)))
    # means 1/2, 30/41, 1/4, 2/11, the second largest arm 0's: 20 d(1/4, 1/2) = 2.6 and 11 d(2/11, 1/2) = 2.3 are more
    # than log 51/20 and log 51/11
    assert state.now.tolist() == [True, True, False, False] and not bool(state.following.any())


def test_the_same_bits_however_the_work_is_cut():
    """Lists and laws, in tiles, chunks, on one device, two plays a round, stopped and continued."""
    arms = independent(LOW)
    policies = {"lists": DMED(), "law": EmpiricalKLUCB(), "share": KLUCB(horizon=50.0), "moss": MOSS()}
    asked = {"runs": 21, "horizon": 90, "times": [40, 90], "plays": 2, "progress": False}
    whole = jaxbandit.simulate(arms, policies, **asked)
    cut = jaxbandit.simulate(arms, policies, **asked, tile=4, chunk=13, devices=jax.local_devices()[:1])
    begun = jaxbandit.simulate(arms, policies, **asked | {"horizon": 40, "times": [40]})
    continued = jaxbandit.simulate(arms, policies, **asked, resume=begun)
    for label in policies:
        np.testing.assert_array_equal(whole.visits[label], cut.visits[label])
        np.testing.assert_array_equal(whole.visits[label], continued.visits[label])


# the lower bound for laws on finitely many values

K_INF = [
    ((5, 3, 2, 0), 0.5, 0.4682131227),
    ((5, 3, 2, 0), 0.9, 2.077651035),
    ((1, 1, 1, 1), 0.7, 0.2354846947),
    ((2, 6, 2, 0), 0.45, 0.2865983212),
]


@pytest.mark.parametrize(("counts", "mean", "information"), K_INF)
def test_information_of_laws_on_four_values(counts, mean, information):
    """Maximum of the dual and inverse of the ball; the best arm has any law with this mean."""
    law, values = np.array(counts) / sum(counts), np.array(VALUES)
    assert nearest_row(law[None], values[None] - mean).cost[0] == pytest.approx(information, rel=1e-9)
    assert float(kl_ball_max(law, values, information)[0]) == pytest.approx(mean, abs=2e-6)
    laws = np.array([[1 - mean, 0, 0, mean], law])
    bound = bounds.lai_robbins(markov(np.repeat(laws[:, None], 4, axis=1), VALUES))
    assert bound.per_arm.tolist() == pytest.approx([0, (mean - law @ values) / information], rel=1e-6)


def test_information_at_its_ends():
    law, values = np.array([[0.5, 0.3, 0.2, 0.0]]), np.array([VALUES])
    assert nearest_row(law, values - 0.175).cost[0] == pytest.approx(0, abs=1e-12)
    assert nearest_row(law, values - 0.1).cost[0] == 0
    assert nearest_row(law, values - 1.0).cost[0] == math.inf


# regrets

REGRETS = {
    "KL-UCB+": (KLUCB(exploration=0.0, clock="arm"), [(27.18, 0.40), (42.62, 0.50)]),
    "KL-UCB++": (KLUCB(horizon=1e4), [(40.94, 0.44), (51.39, 0.54)]),
    "DMED": (DMED(), [(30.10, 0.50), (42.48, 0.52)]),
}


def test_regrets_of_scalar_loops():
    """Mean regret at 1,000 and 10,000 against 500 runs of a loop written apart, within 5 combined standard errors.

    False-fail rate 4e-6 over keys. Finds a difference of 3 in the mean.
    """
    arms = bernoulli([5 / 9, 8 / 19, 6 / 19, 4 / 17, 1 / 8])
    asked = {"runs": 2000, "horizon": 10_000, "times": [1000, 10_000], "progress": False}
    result = jaxbandit.simulate(arms, {name: policy for name, (policy, _) in REGRETS.items()}, **asked)
    for name, (_, expected) in REGRETS.items():
        regret = jaxbandit.metrics.pseudo_regret(result, name)[0, 0]
        for values, (mean, error) in zip(regret.T, expected, strict=True):
            apart = values.mean() - mean
            assert abs(apart) < 5 * math.hypot(error, values.std(ddof=1) / math.sqrt(2000)), (name, apart)
