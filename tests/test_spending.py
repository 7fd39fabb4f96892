"""Arms that cost: exact laws, the linear programme, policies against loops, and what is refused."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_spending as reference
from against import check_law

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


@pytest.mark.slow
def test_rewards_and_spending_have_their_exact_law():
    """Chi-square at 1e-9 of 20,000 runs; a play too many or too few once the purse is low would be found."""
    order = np.array([0, 1, 0, 2, 0, 1, 0, 0, 2])
    result = simulate(RANDOM, {"p": Turns(order)}, key=jax.random.key(1), runs=20_000, horizon=9, times=[9])
    paid = np.einsum("rks,ks->r", result.visits["p"][0, 0, :, 0], RANDOM.reward)
    spent = np.einsum("rks,ks->r", result.visits["p"][0, 0, :, 0], RANDOM.cost)
    np.testing.assert_array_equal(result.recorded["spent"]["p"][0, 0, :, 0], spent)
    assert spent.max() <= 12 and result.visits["p"][0, 0, :, 0, :, -1].sum() > 0
    check_law(np.stack([paid, spent], -1).astype(int), reference.law_of_spending(OUTCOMES, order.tolist(), 12))
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


CHAINS = two_state([0.5, 0.3, 0.4], [0.2, 0.5, 0.6])
GAMES = {
    name: costly(CHAINS, cost, purse=purse, horizon=40, chance=chance)
    for name, cost, purse, chance in (
        ("known costs", [5, 2, 1], 80, 1.0),
        ("by state", [[0, 3], [1, 1], [0, 2]], 30, 1.0),
        ("random", 3, 54, [0.9, 0.5, 0.2]),
    )
}
LOOPS = {
    "RatioKLUCB": (RatioKLUCB, reference.ratio_kl_ucb, {}),
    "PrimalDualBwK": (PrimalDualBwK, reference.primal_dual, {}),
    "PrimalDualBwK C": (PrimalDualBwK, reference.primal_dual, {"C": 0.5}),
}


def histories(environment, policy, runs):
    """The plays (arm, state shown) of every round of some runs, in float64."""
    rounds = int(environment.horizon)
    with jax.enable_x64(True):
        result = simulate(
            environment, {"p": policy}, runs=runs, horizon=rounds, times=np.arange(1, rounds + 1), shuffle=True
        )
    played = np.diff(result.visits["p"][0, 0], axis=1, prepend=0)
    return [[tuple(map(int, np.argwhere(one)[0])) for one in run] for run in played]


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("RatioKLUCB", "by state"),
        ("RatioKLUCB", "random"),
        ("PrimalDualBwK", "random"),
        ("PrimalDualBwK", "known costs"),
        ("PrimalDualBwK C", "by state"),
    ],
)
def test_every_round_is_the_loops(name, game):
    (policy, loop, fields), environment = LOOPS[name], GAMES[game]
    reward, cost = environment.reward.tolist(), environment.cost.tolist()
    numbers = int(environment.purse), int(environment.horizon)
    for history in histories(environment, policy.of(environment, **fields), 2):
        for n, (arm, _) in enumerate(history):
            scores = loop(history[:n], reward, cost, *numbers, **fields)
            best = scores.max()
            assert scores[arm] == best or abs(scores[arm] - best) < 1e-9 * abs(best), n  # arms are shuffled


@pytest.mark.parametrize("game", ["by state", "random"])
def test_an_arm_of_an_optimistic_mixture_is_played(game):
    """Its reward less its cost at the programme's prices is that of the best arms, as of every arm of a solution."""
    environment = GAMES[game]
    reward, cost = environment.reward.tolist(), environment.cost.tolist()
    purse, horizon = int(environment.purse), int(environment.horizon)
    for history in histories(environment, MixtureKLUCB.of(environment), 2):
        for n, (arm, _) in enumerate(history):
            past = history[:n]
            scores = reference.masked(np.zeros(3), past, cost, purse, reference.averages(past, reward, cost)[0])
            if not np.isfinite(scores.max()):
                assert scores[arm] == scores.max()
                continue
            above, below = reference.kl_bounds(past, reward, cost, n + 1)
            left = purse - sum(cost[k][s] for k, s in past)
            solved = reference.mixture(np.where(scores == 0, above, 0), below, left / (horizon - n))
            assert above[arm] - below[arm] * solved.money - solved.time > -1e-9, n


def test_arms_of_the_mixture_are_drawn_by_their_shares():
    """Of 4,000 keys, within 6 standard deviations: a false fail below 1e-8."""
    arms = costly(COINS, [3, 2, 1], purse=12_000, horizon=6000)
    policy = MixtureKLUCB.of(arms)
    state = policy.init(jnp.asarray(arms.reward))._replace(counts=jnp.array([[20, 80, 0], [500, 400, 0], [70, 30, 0]]))
    keys = jax.random.split(jax.random.key(0), 4000)
    drawn = jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, jnp.int32(1101))[0])))(keys)
    history = [(k, s) for k, row in enumerate(state.counts.tolist()) for s in (0, 1) for _ in range(row[s])]
    above, below = reference.kl_bounds(history, arms.reward.tolist(), arms.cost.tolist(), 1101)
    shares = reference.mixture(above, below, (12_000 - 300 - 1800 - 100) / 4900).shares
    assert ((shares > 0.1) & (shares < 0.9)).sum() == 2
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


BAD = {
    "cost: .* whole numbers": lambda: costly(COINS, [0.5, 1, 1], 5, 9),
    "cost: shape": lambda: costly(COINS, [1, 1], 5, 9),
    "cost: no play costs anything": lambda: costly(COINS, 0, 5, 9),
    "purse: 5 cannot pay 6, the cost of arm 1": lambda: costly(COINS, [1, 6, 1], 5, 9),
    "chance: .* is not a probability": lambda: costly(COINS, 1, 5, 9, chance=1.5),
    "arms: RestlessArms are not rested": lambda: costly(environments.restless(COINS.transition, (0, 1)), 1, 5, 9),
    "horizon: the purse is for 9 rounds": lambda: simulate(RANDOM, {"r": RatioKLUCB.of(RANDOM)}, runs=1, horizon=8),
    r"policies\['r'\].*costly": lambda: simulate(COINS, {"r": RatioKLUCB.of(RANDOM)}, runs=1, horizon=9),
    "arms: one of environments.costly": lambda: RatioKLUCB.of(COINS),
    r"policies\['r'\].purse: is not that of": lambda: simulate(
        RANDOM, {"r": RatioKLUCB.of(costly(COINS, [4, 2, 1], 13, 9, chance=[0.75, 0.5, 1.0]))}, runs=1, horizon=9
    ),
    "one arm a round": lambda: simulate(RANDOM, {"m": MixtureKLUCB.of(RANDOM)}, runs=1, horizon=9, plays=2),
    "rewards of at least 0": lambda: simulate(
        debts := costly(two_state([0.5, 0.4], [0.4, 0.5], (-1, 1)), 1, 5, 9),
        {"r": RatioKLUCB.of(debts)},
        runs=1,
        horizon=9,
    ),
    "result: pseudo_regret is for arms with means of their own.*arms that cost": lambda: metrics.pseudo_regret(
        simulate(RANDOM, {"u": jaxbandit.Uniform()}, runs=2, horizon=9), "u"
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_errors_name_the_argument(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()
