"""Arms that cost: exact laws, the linear programme, policies against loops, and what is refused."""

import itertools
import math
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from against import check_law
from reference_kl import lower, upper
from scipy.optimize import linprog

import jaxbandit
from jaxbandit import MixtureKLUCB, PrimalDualBwK, RatioKLUCB, environments, indices, metrics, simulate, two_state
from jaxbandit.environments import costly

COINS = jaxbandit.bernoulli([0.8, 0.5, 0.3])
RANDOM = costly(COINS, [4, 2, 1], purse=12, horizon=9, chance=[0.75, 0.5, 1.0])
OUTCOMES = [  # of the same arms: probability, reward, cost
    [(q * c, paid, cost) for q, paid in ((m, 1), (1 - m, 0)) for c, cost in ((p, price), (1 - p, 0)) if c > 0]
    for m, p, price in ((0.8, 0.75, 4), (0.5, 0.5, 2), (0.3, 1.0, 1))
]


@jaxbandit.pytree
class Turns:
    """Plays the arms of `order` in the rounds from 1 on."""

    order: np.ndarray

    def init(self, reward):
        return jnp.zeros(())

    def scores(self, key, state, t):
        return (jnp.arange(3) == jnp.asarray(self.order)[t - 1]).astype(float), state

    def update(self, state, feedback):
        return state


def law_of_spending(arms, order, purse):
    """The probability of every (reward, money spent) after the arms of `order` were chosen."""
    law = {(0, 0): 1.0}
    for arm in order:
        following = defaultdict(float)
        for (paid, spent), chance in law.items():
            most = max(cost for _, _, cost in arms[arm])
            for p, more, cost in arms[arm] if most <= purse - spent else [(1.0, 0, 0)]:
                following[paid + more, spent + cost] += chance * p
        law = following
    return dict(law)


@pytest.mark.slow
def test_rewards_and_spending_have_their_exact_law():
    """Chi-square at 1e-9 of 20,000 runs; a play too many or too few once the purse is low would be found."""
    order = np.array([0, 1, 0, 2, 0, 1, 0, 0, 2])
    result = simulate(RANDOM, {"p": Turns(order)}, key=jax.random.key(1), runs=20_000, horizon=9, times=[9])
    paid = np.einsum("rks,ks->r", result.visits["p"][0, 0, :, 0], RANDOM.reward)
    spent = np.einsum("rks,ks->r", result.visits["p"][0, 0, :, 0], RANDOM.cost)
    np.testing.assert_array_equal(result.recorded["spent"]["p"][0, 0, :, 0], spent)
    assert spent.max() <= 12 and result.visits["p"][0, 0, :, 0, :, -1].sum() > 0
    check_law(np.stack([paid, spent], -1).astype(int), law_of_spending(OUTCOMES, order.tolist(), 12))
    assert metrics.regret_name(result) == "regret against the best mixture"
    regret = metrics.regret(result, "p")[0, 0, :, 0]
    np.testing.assert_allclose(regret, RANDOM.best_mixture().value - paid, atol=1e-9)


def test_programme_against_all_pairs_of_arms():
    """At one play a round the best mixture has at most two arms, or one and rounds without a play."""
    random, of_programme = np.random.default_rng(3), jax.jit(MixtureKLUCB.shares)
    for _ in range(40):
        means, costs = random.random(4), np.round(random.random(4) * 3, 1)
        purse, horizon = float(random.integers(1, 40)), int(random.integers(1, 30))
        rate, value = purse / horizon, 0.0
        points = [(0.0, 0.0), *zip(costs, means)]
        for (c, m), (d, w) in itertools.product(points, points):
            if c <= rate:
                share = (rate - c) / (d - c) if d > rate else 0.0
                value = max(value, (1 - share) * m + share * w)
        mixture = indices.best_mixture(means, costs, purse, horizon)
        np.testing.assert_allclose(mixture.value, horizon * value, atol=1e-9)
        np.testing.assert_allclose(mixture.shares @ means * horizon, mixture.value, atol=1e-9)
        assert mixture.shares @ costs <= rate + 1e-9 and mixture.shares.sum() <= 1 + 1e-9
        more = indices.best_mixture(means, costs, purse + 0.5, horizon).value - mixture.value
        assert more <= 0.5 * mixture.price + 1e-9
        shares = of_programme(jnp.asarray(means), jnp.asarray(costs), rate)
        np.testing.assert_allclose(shares, mixture.shares / mixture.shares.sum(), atol=1e-4)
    two = indices.best_mixture([0.9, 0.5, 0.2], [2, 1, 1], purse=25, horizon=10, plays=2)
    np.testing.assert_allclose(two.shares, [0.75, 1, 0], atol=1e-9)  # arm 1 pays more for its money


# policies


def averages(history, reward, cost):
    """Plays, mean reward and mean cost of each arm, of plays that were made; a history is a list of (arm, state)."""
    plays, paid, spent = (np.zeros(len(reward)) for _ in range(3))
    for arm, state in history:
        if state < len(reward[arm]) - 1:
            plays[arm] += 1
            paid[arm] += reward[arm][state]
            spent[arm] += cost[arm][state]
    return plays, paid / np.maximum(plays, 1), spent / np.maximum(plays, 1)


def kl_bounds(history, reward, cost, t):
    """Upper bounds of rewards and lower bounds of costs, in money."""
    plays, mean, spent = averages(history, reward, cost)
    above, below = [], []
    for k, T in enumerate(plays):
        radius = math.log1p(t * math.log(t) ** 2) / max(T, 1)
        least, most = min(cost[k][:-1]), max(cost[k][:-1])
        above.append(upper(min(mean[k], 1.0), radius))
        spread = most - least
        below.append(least + spread * lower((spent[k] - least) / spread, radius) if spread else most)
    return np.array(above), np.array(below, float)


def masked(scores, history, cost, purse, plays):
    """The scores after the rule that every arm is played once, and none that the purse cannot pay for."""
    left = purse - sum(cost[arm][state] for arm, state in history)
    scores = np.where(plays == 0, math.inf, scores)
    return np.where(np.max(cost, axis=1) <= left, scores, -math.inf)


def ratio_kl_ucb(history, reward, cost, purse, horizon):
    """The scores of the next round."""
    above, below = kl_bounds(history, reward, cost, len(history) + 1)
    return masked(above / np.maximum(below, 1e-30), history, cost, purse, averages(history, reward, cost)[0])


def primal_dual(history, reward, cost, purse, horizon, C=None):
    """The scores of the next round, from Badanidiyuru, Kleinberg and Slivkins: all weights found anew."""
    arms, dearest = len(reward), np.max(cost)
    money = purse / dearest
    B = min(money, horizon)
    amount = math.log(2 * horizon * arms) if C is None else C

    def bounds(past):
        plays, mean, spent = averages(past, reward, cost)
        N, used = np.maximum(plays, 1), spent / dearest
        above = np.minimum(1, mean + np.sqrt(amount * mean / N) + amount / N)
        return plays, above, B / money * np.maximum(0, used - np.sqrt(amount * used / N) - amount / N)

    v = np.ones(2)
    for n, (arm, _) in enumerate(history):
        plays, _, lowest = bounds(history[:n])
        if plays[arm]:
            v = v * (1 + math.sqrt(math.log(2) / B)) ** np.array([B / horizon, lowest[arm]])
    plays, above, lowest = bounds(history)
    y = v / v.sum()
    return masked(above / (y[0] * B / horizon + y[1] * lowest), history, cost, purse, plays)


CHAINS = two_state([0.5, 0.3, 0.4], [0.2, 0.5, 0.6])
GAMES = {
    name: costly(CHAINS, cost, purse=purse, horizon=40, chance=chance)
    for name, cost, purse, chance in (
        ("known costs", [5, 2, 1], 80, 1.0),
        ("by state", [[0, 3], [1, 1], [0, 2]], 30, 1.0),
        ("random", 3, 54, [0.9, 0.5, 0.2]),
    )
}


@pytest.mark.parametrize(
    ("policy", "game", "fields"),
    [
        (RatioKLUCB, "by state", {}),
        (RatioKLUCB, "random", {}),
        (PrimalDualBwK, "random", {}),
        (PrimalDualBwK, "known costs", {}),
        (PrimalDualBwK, "by state", {"C": 0.5}),
    ],
)
def test_every_round_is_the_loops(policy, game, fields):
    environment, loop = GAMES[game], ratio_kl_ucb if policy is RatioKLUCB else primal_dual
    reward, cost = environment.reward.tolist(), environment.cost.tolist()
    asked = {"runs": 2, "horizon": 40, "times": np.arange(1, 41), "shuffle": True}
    with jax.enable_x64(True):
        result = simulate(environment, {"p": policy.of(environment, **fields)}, **asked)
    for played in np.diff(result.visits["p"][0, 0], axis=1, prepend=0):
        history = [tuple(map(int, np.argwhere(one)[0])) for one in played]  # arm, state shown
        for n, (arm, _) in enumerate(history):
            scores = loop(history[:n], reward, cost, int(environment.purse), 40, **fields)
            best = scores.max()
            assert scores[arm] == best or abs(scores[arm] - best) < 1e-9 * abs(best), n  # arms are shuffled


@pytest.mark.parametrize(
    ("counts", "purse", "horizon", "several"),
    [([[20, 80], [500, 400], [70, 30]], 2220, 1110, True), ([[0, 400], [70, 30], [98, 2]], 1502, 602, False)],
    ids=["ten-rounds-left", "arm-0-too-dear"],
)
def test_arms_of_the_mixture_are_drawn_by_their_shares(counts, purse, horizon, several):
    """Of 4,000 keys, within 6 standard deviations: a false fail below 1e-8. The purse may be too low for an arm."""
    arms, plays = costly(COINS, [3, 2, 1], purse=purse, horizon=horizon), np.sum(counts, axis=1)
    policy = MixtureKLUCB.of(arms)
    state = policy.init(jnp.asarray(arms.reward))._replace(counts=jnp.pad(jnp.array(counts), ((0, 0), (0, 1))))
    keys, t = jax.random.split(jax.random.key(0), 4000), int(plays.sum()) + 1
    drawn = jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, jnp.int32(t))[0])))(keys)
    history = [(k, s) for k, row in enumerate(counts) for s in (0, 1) for _ in range(row[s])]
    above, below = kl_bounds(history, arms.reward.tolist(), arms.cost.tolist(), t)
    left = purse - plays @ [3, 2, 1]
    above, rate = np.where(left >= np.array([3, 2, 1]), above, 0), left / (horizon - t + 1)
    solved = linprog(-above, A_ub=[below, np.ones(3)], b_ub=[rate, 1], method="highs-ds")
    shares = solved.x / solved.x.sum()
    assert ((shares > 0.1) & (shares < 0.9)).sum() == 2 * several
    deviation = np.sqrt(4000 * shares * (1 - shares))
    assert (np.abs(np.bincount(drawn, minlength=3) - 4000 * shares) <= 6 * deviation + 1e-9).all()


def test_several_plays_share_the_purse():
    """The purse of 5 holds the costs 3 and 1 but not 3, 3 and 1: the second play of 3 is not made."""
    arms, key = costly(COINS, [3, 3, 1], purse=5, horizon=2), jax.random.key(0)
    step = jax.jit(arms.step)
    state, feedback = step(key, arms.init(key), jnp.array([0, 1, 2]), jnp.int32(1))
    assert (feedback.states == 2).tolist() == [False, True, False] and int(state.left) == 1
    _, again = step(key, state, jnp.array([0, 1, 2]), jnp.int32(2))
    assert (again.states == 2).tolist() == [True, True, False] and again.before.tolist() == feedback.states.tolist()


def test_means_where_the_purse_is_ample():
    ample = costly(CHAINS, 3, purse=10**9, horizon=10, chance=[0.9, 0.5, 1.0])
    np.testing.assert_allclose(ample.means(), CHAINS.means(), rtol=1e-12)
    np.testing.assert_allclose(ample.mean_costs(), [2.7, 1.5, 3], rtol=1e-12)


def play(arms, policy, **given):
    return simulate(arms, {"r": policy}, **{"runs": 1, "horizon": 9} | given)


TOLD, DEBTS = RatioKLUCB.of(RANDOM), costly(two_state([0.5, 0.4], [0.4, 0.5], (-1, 1)), 1, 5, 9)
OTHER = RatioKLUCB.of(costly(COINS, [4, 2, 1], 13, 9, chance=[0.75, 0.5, 1.0]))
BAD = {
    "cost: .* whole numbers": lambda: costly(COINS, [0.5, 1, 1], 5, 9),
    "cost: no play costs anything": lambda: costly(COINS, 0, 5, 9),
    "purse: 5 cannot pay 6, the cost of arm 1": lambda: costly(COINS, [1, 6, 1], 5, 9),
    "arms: RestlessArms are not rested": lambda: costly(environments.restless(COINS.transition, (0, 1)), 1, 5, 9),
    "horizon: the purse is for 9 rounds": lambda: play(RANDOM, TOLD, horizon=8),
    r"policies\['r'\].*costly": lambda: play(COINS, TOLD),
    "arms: one of environments.costly": lambda: RatioKLUCB.of(COINS),
    r"policies\['r'\].purse: is not that of": lambda: play(RANDOM, OTHER),
    "one arm a round": lambda: play(RANDOM, MixtureKLUCB.of(RANDOM), plays=2),
    "rewards of at least 0": lambda: play(DEBTS, RatioKLUCB.of(DEBTS)),
    "result: pseudo_regret is for arms with means of their own.*arms that cost": lambda: metrics.pseudo_regret(
        play(RANDOM, jaxbandit.Uniform()), "r"
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_errors_name_the_argument(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()
