"""The textbooks' policies: UCB2, UCB1-Normal, -Tuned and -V, epsilon-greedy, Boltzmann, exploring first, gradients."""

import math
from fractions import Fraction
from itertools import permutations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import reference
from against import check_law, check_same_arms, reference_draws, state_after
from scipy import special, stats

import jaxbandit
from jaxbandit import UCB2, UCBV, Boltzmann, EpsilonGreedy, GradientBandit, UCB1Tuned, run_keys, simulate, two_state
from jaxbandit.policies.means import gradient

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
TABLE = jnp.tile(jnp.array([0.0, 1.0]), (3, 1))
NO_TABLE = jnp.zeros((3, 0))


scores = jax.jit(lambda policy, state, t: policy.scores(None, state, t)[0])

# UCB2 and UCB1-Normal


def by_epochs(name, draws, reward, initial_state, horizon, /, alpha=0.001):
    """The arms that UCB2 plays: each once, then epochs of tau(r + 1) - tau(r) plays, some of which are of none."""
    arms = range(len(reward))
    states, paid, epochs, chosen = [initial_state] * len(reward), [[] for _ in arms], [0] * len(reward), []

    def tau(r):
        return math.ceil((1 + alpha) ** r)

    def play(arm):
        states[arm] = int(draws(arm, len(paid[arm]) + 1, states[arm]))
        paid[arm].append(reward[arm][states[arm]])
        chosen.append(arm)

    def score(arm):
        of_epoch = tau(epochs[arm])
        width = (1 + alpha) * math.log(math.e * len(chosen) / of_epoch) / (2 * of_epoch)
        return math.fsum(paid[arm]) / len(paid[arm]) + math.sqrt(width)

    for arm in arms:
        play(arm)
    while len(chosen) < horizon:
        arm = max(arms, key=score)
        for _ in range(tau(epochs[arm] + 1) - tau(epochs[arm])):
            play(arm)
        epochs[arm] += 1
    return chosen[:horizon]


@pytest.mark.parametrize("alpha", [0.001, 0.1, 0.5])
def test_ucb2_plays_the_epochs_of_the_paper(alpha):
    check_same_arms(by_epochs, "UCB2", {"alpha": alpha}, ARMS, runs=3, rounds=1000)


def test_plays_under_way_begin_no_epoch():
    """With delayed feedback the first arm, which is played at first, is left for the better one in all runs."""
    arms = jaxbandit.bernoulli([0.2, 0.8])
    result = simulate(arms, {"p": UCB2(alpha=0.5)}, runs=20, horizon=1000, delay=20, times=[1000])
    assert result.visits["p"][0, 0, :, -1, 1].sum(-1).min() > 700


@pytest.mark.parametrize("alpha", [0.25, 2.0**-10])
def test_epochs_in_single_precision(alpha):
    """The plays at which epochs end against exact powers: equal to 10,000, and to one in a million above."""
    policy, wanted, power = UCB2(alpha), [1], Fraction(1)
    while power < 10**6:
        power *= 1 + Fraction(alpha)
        if (end := math.ceil(power)) > wanted[-1]:
            wanted.append(end)
    wanted = np.array(wanted[1:])

    def step(now, _):
        now = policy.epoch(*now)
        return now, now[1]

    ends = np.asarray(jax.lax.scan(step, (jnp.int32(0), jnp.int32(1)), length=len(wanted))[1])
    near = wanted <= 10_000
    np.testing.assert_array_equal(ends[near], wanted[near])
    assert (abs(ends - wanted) <= 1 + wanted * 1e-6).all()


def test_ucb1_normal_keeps_the_digits_of_a_variance():
    """Rewards around 1,000 with deviation 1, whose squares lose it in single precision: 3,000 plays in float64."""
    rewards = np.random.default_rng(0).normal(1000, 1, 3000).astype(np.float32)
    state = state_after(jaxbandit.UCB1Normal(), NO_TABLE, np.zeros(3000), rewards)
    assert float(state.squared_differences()[0]) == pytest.approx(3000 * rewards.astype(float).var(), rel=1e-4)


# Epsilon-greedy, Boltzmann, UCB1-Tuned and UCB-V, explore-then-commit

BY_CHANCE = [
    ("EpsilonGreedy", {"epsilon": 0.3}),
    ("EpsilonGreedy", {"c": 0.4, "d": 0.5}),  # epsilon = 3.2 / t
    ("Boltzmann", {"temperature": 0.4}),
]


@pytest.mark.parametrize(("name", "fields"), BY_CHANCE)
def test_exact_law_of_six_rounds(name, fields):
    """All 4,096 trajectories against 20,000 runs, chi-square at 1e-9 (3 cases: false fails below 4e-9)."""
    arms = two_state([0.5, 0.3], [0.4, 0.6])
    law = reference.exact_law(name, arms.transition.tolist(), arms.reward.tolist(), 0, 6, **fields)
    result = simulate(arms, {"p": getattr(jaxbandit, name)(**fields)}, runs=20_000, horizon=6, times=[6])
    check_law(result.visits["p"][0, 0, :, 0], law)


@pytest.mark.parametrize("m", [1, 7])
def test_explore_then_commit_plays_as_the_loop(m):
    check_same_arms(reference.play, "ExploreThenCommit", {"m": m}, ARMS, runs=3, rounds=100)


@pytest.mark.parametrize("more", [{"plays": 2}, {"delay": 4}])
def test_explore_then_commit_keeps_its_arms(more):
    """With two plays a round, and with late feedback: at least m plays of each, and at last the same arms."""
    plays = more.get("plays", 1)
    result = simulate(ARMS, {"p": jaxbandit.ExploreThenCommit(5)}, runs=20, horizon=90, times=[30, 90], **more)
    counts = result.visits["p"][0, 0].sum(-1)
    assert counts[:, 0].min() >= 5 and counts[:, 0].sum(-1).tolist() == [30 * plays] * 20
    later = np.sort(counts[:, 1] - counts[:, 0], axis=-1)
    np.testing.assert_array_equal(later, [[0] * (3 - plays) + [60] * plays] * 20)


def test_probabilities():
    """By hand in 50 digits where arms pay 1/4, 3/4 and 1/2 of the time, where two are new, and of all temperatures."""
    law = jax.jit(lambda policy, counts: policy.probabilities(policy.init(TABLE)._replace(counts=counts), 5))
    seen, new = np.array([((3, 1), (1, 3), (2, 2)), ((3, 1), (0, 0), (0, 0))], np.int32)
    np.testing.assert_allclose(law(Boltzmann(0.2), seen), [0.0599777953, 0.730679129, 0.209343075], rtol=2e-6)
    assert law(Boltzmann(0.2), new).tolist() == [0, 1, 0]
    np.testing.assert_allclose(law(EpsilonGreedy(0.3), new), [0.1, 0.8, 0.1], rtol=2e-6)
    coldest = Boltzmann(1e-30)
    assert law(coldest, seen).tolist() == [0, 1, 0]
    state = coldest.init(TABLE)._replace(counts=jnp.asarray(seen))
    assert int(coldest.scores(jax.random.key(0), state, 9)[0].argmax()) == 1
    np.testing.assert_allclose(law(Boltzmann(1e30), seen), np.ones(3) / 3, rtol=1e-6)


@pytest.mark.parametrize("policy", [UCB1Tuned(), UCBV()])
def test_variances_of_real_rewards_are_those_of_the_table(policy):
    """The same rewards with and without a table, which are remembered as counts and as sums, and lie in [0, 1]."""
    t = np.arange(1, 31)
    arms, paid = t % 3, (t % 4 == 0) | (t % 7 == 0)
    with_table, without = state_after(policy, TABLE, arms, paid, paid), state_after(policy, NO_TABLE, arms, paid)
    np.testing.assert_allclose(scores(policy, with_table, 31), scores(policy, without, 31), rtol=1e-5)
    with pytest.raises(ValueError, match=r"plays rewards from 0 to 1; those of scenario"):
        simulate(jaxbandit.gaussian([0.5, 0.2]), {"p": policy}, runs=1, horizon=5)


# Gradient bandits


def textbook(draws, noise, reward, horizon, rate):
    """Sutton and Barto 2018, equation 2.12: the arms played, where draws(k, n, s) is where the n-th play of k moves."""
    preferences, states, plays = np.zeros(3), [0] * 3, [0] * 3
    baseline, played = 0.0, []
    for t in range(1, horizon + 1):
        policy = special.softmax(preferences)
        action = int(np.argmax(np.log(policy) + noise[t - 1]))
        plays[action] += 1
        states[action] = draws(action, plays[action], states[action])
        paid = reward[action][states[action]]
        baseline = paid if t == 1 else baseline
        preferences += rate * (paid - baseline) * (np.eye(3)[action] - policy)
        baseline += (paid - baseline) / t
        played.append(action)
    return played


@pytest.mark.parametrize(("policy", "rate"), [(GradientBandit(), 0.1), (GradientBandit(optax.sgd(0.4)), 0.4)])
@pytest.mark.slow
def test_plain_steps_are_the_textbooks_action_for_action(policy, rate):
    """Three runs of 1,500 rounds in float64, against plain loops fed with the same noise."""
    rounds, key = 1500, jax.random.key(11)
    environment = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward=(-0.5, 3.0))
    with jax.enable_x64(True):
        result = simulate(environment, {"g": policy}, key=key, runs=3, horizon=rounds, times=np.arange(1, rounds + 1))
        chance = run_keys(key, jnp.arange(3, dtype=jnp.int32)).policy
        keys = jax.vmap(lambda t: jax.vmap(jax.random.fold_in, (0, None))(chance, t))(jnp.arange(1, rounds + 1))
        noise = jax.vmap(jax.vmap(lambda key: jax.random.gumbel(key, (3,), mode="high")))(keys)  # [T, R, K]
    chosen = np.diff(result.visits["g"][0, 0].sum(-1), axis=1, prepend=0).argmax(-1)
    assert all(len(set(arms)) == 3 for arms in chosen.tolist())
    for run in range(3):
        draws = reference_draws(environment, key, run)
        expected = textbook(draws, np.asarray(noise[:, run]), environment.reward.tolist(), rounds, rate)
        np.testing.assert_array_equal(chosen[run], expected)


@pytest.mark.slow
def test_a_grid_of_learning_rates_is_one_program():
    """Each variant has the bits of that learning rate alone, with numbers that optax injects or plain ones."""
    injected = optax.inject_hyperparams(optax.adam)
    policies = {"g": [GradientBandit(optax.adam, rate) for rate in (0.01, 0.1)], "i": GradientBandit(injected, 0.1)}
    policies |= {"alone": GradientBandit(optax.adam, 0.1)}
    result = simulate(ARMS, policies, runs=20, horizon=300, times=[10, 300]).visits
    for label in ("i", "alone"):
        np.testing.assert_array_equal(result["g"][0, 1], result[label][0, 0])
    assert (result["g"][0, 0] != result["g"][0, 1]).any()


@pytest.mark.slow
def test_plays_are_drawn_with_their_probabilities():
    """Pairs of three arms in order against the law of draws without replacement: chi-square at 1e-9."""
    policy = GradientBandit()
    state = policy.init(jnp.zeros((3, 2)))._replace(preferences=jnp.array([0.0, 1.0, -1.5]))
    keys = jax.random.split(jax.random.key(0), 100_000)
    pairs = np.asarray(jax.jit(jax.vmap(lambda key: jaxbandit.top_arms(policy.scores(key, state, 1)[0], 2)))(keys))
    weights = np.exp(np.array([0.0, 1.0, -1.5]))
    pi = weights / weights.sum()
    orders = list(permutations(range(3), 2))
    expected = [pi[a] * pi[b] / (1 - pi[a]) for a, b in orders]
    result = [int((pairs == order).all(1).sum()) for order in orders]
    assert stats.chisquare(result, np.array(expected) / sum(expected) * 100_000).pvalue > 1e-9


@pytest.mark.parametrize("arms", [[1], [2, 0], [0, 1, 2]])
def test_log_gradient(arms):
    """Against jax.grad of the log-probability written as a product of quotients."""
    preferences = jnp.array([0.3, -1.0, 0.8])

    def log_probability(preferences):
        weights, left, value = jnp.exp(preferences), [0, 1, 2], 0.0
        for arm in arms:
            value += jnp.log(weights[arm] / sum(weights[k] for k in left))
            left.remove(arm)
        return value

    result = jax.jit(gradient.log_gradient)(preferences, np.array(arms))
    np.testing.assert_allclose(result, jax.jit(jax.grad(log_probability))(preferences), atol=1e-6)


class Steps:
    """A user's optimiser: steps of a tenth down the gradient."""

    def init(self, preferences):
        return ()

    def update(self, gradient, state, preferences):
        return -0.1 * gradient, state


def test_an_optimiser_of_ones_own_is_taken_by_what_it_can_do():
    own, plain = GradientBandit(Steps()), GradientBandit(learning_rate=0.1)
    visits = simulate(ARMS, {"own": own, "plain": plain}, runs=4, horizon=30, progress=False).visits
    np.testing.assert_array_equal(visits["own"], visits["plain"])


# What is refused

BAD = [
    (GradientBandit(optax.lbfgs), r"\.optimiser: .* from a gradient alone"),  # its line search wants the value too
    (GradientBandit(optax.adam, -0.1), r"\.learning_rate: -0.1 lies outside"),
    (GradientBandit(optax.adam(0.1), 0.1), r"\.learning_rate: 0.1 beside a ready optimiser"),
    # ready optimisers that were made apart need programs of their own
    ([GradientBandit(optax.sgd(rate)) for rate in (0.1, 0.2)], ".* are not alike"),
    (EpsilonGreedy(c=1.0), r"\.epsilon: missing; give it, or c and d"),
    (EpsilonGreedy(0.1, c=1.0, d=0.5), r"\.c: 1.0 beside epsilon"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\]{message}"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10)
