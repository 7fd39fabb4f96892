"""Full information: what all arms show, Hedge and regret matching, internal and swap regret."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import jaxbandit
from jaxbandit import Feedback, Hedge, RegretMatching, Task, environments, metrics, simulate
from jaxbandit.environments import full_information, rewards_table
from jaxbandit.testing import check_environment

NO_TABLE = jnp.zeros((3, 0))
TABLE = np.random.default_rng(5).integers(0, 2, (60, 3)).astype(float)
RESTED = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
ARMS = full_information(RESTED)
FIXED = [jaxbandit.Oracle(row) for row in np.eye(3)]  # each plays one arm


def games(arms, rounds):
    """All tables of zeros and ones, [2^(K n), n, K]."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=arms * rounds))).reshape(-1, rounds, arms)


def along(policy, tables, plays):
    """The policy's probabilities in each round of each game, [.., n, K], for arms played [.., n]."""

    def step(state, play):
        return policy.update(state, play), policy.probabilities(state, play.t)

    def one(table, played):
        t, arms = jnp.arange(len(played), dtype=jnp.int32), played[:, None]
        rounds = Feedback(arms, 0 * arms, 0 * arms, table[t, played][:, None], 1 + t, all_rewards=table)
        return jax.lax.scan(step, policy.init(jnp.zeros((table.shape[1], 0))), rounds)[1]

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(tables, float), jnp.asarray(plays, jnp.int32)), float)


def of_pairs(pairs, goal):
    """The regret, from those of pairs [.., K, K]."""
    return {"external": pairs.sum(-2).max(-1), "internal": pairs.max((-2, -1)), "swap": pairs.max(-1).sum(-1)}[goal]


# The loops in float64, from their definitions; stationary laws by linear algebra


def flow(rates):
    """The matrix F with F p = 0 for stationary laws p of the chain that moves from i to j at rates[i, j]."""
    rates = np.array(rates, float)
    np.fill_diagonal(rates, 0)
    return rates.T - np.diag(rates.sum(1))


def stationary(rates):
    system = np.vstack([flow(rates), np.ones(len(rates))])
    return np.linalg.lstsq(system, np.append(np.zeros(len(rates)), 1.0), rcond=None)[0]


def hedge_of(table, eta, regret):
    """Probabilities of all arms in each round of a table, [n, K]."""
    n, arms = table.shape
    gains, rows = np.zeros((arms, arms)), []
    for t in range(n):
        if regret == "external":
            p = special.softmax(eta * table[:t].sum(0))
        else:
            rates = np.exp(eta * gains)
            p = stationary(rates if regret == "internal" else rates / rates.sum(1, keepdims=True))
        rows.append(p)
        gains += p[:, None] * (table[t] - table[t][:, None])
    return np.array(rows)


def pair_regrets(table, played):
    """[K, K] for one run: what replacing plays of arm i by arm j would have gained."""
    sums = np.zeros((table.shape[1],) * 2)
    for x, i in zip(table, played):
        sums[i] += x - x[i]
    return sums


def positive_regrets(table, played, regret):
    """What regret matching goes by after these rounds: [K], or [K, K]."""
    sums = pair_regrets(table, played)
    return np.maximum(sums.sum(0) if regret == "external" else sums, 0)


HEDGE = [("external", 2, 4, math.log(2)), ("internal", 3, 3, math.log(6)), ("swap", 3, 3, 3 * math.log(3))]


@pytest.mark.parametrize(("goal", "arms", "rounds", "logarithm"), HEDGE)
def test_hedge_in_all_short_games(goal, arms, rounds, logarithm):
    """Its law in float64, and its bound sqrt(n L / 2) with the logarithm L, in every game of zeros and ones."""
    tables = games(arms, rounds)
    result = along(Hedge(horizon=rounds, regret=goal), tables, np.zeros(tables.shape[:2]))
    eta = math.sqrt(8 * logarithm / rounds)
    np.testing.assert_allclose(result, [hedge_of(table, eta, goal) for table in tables], rtol=2e-5)
    pairs = np.einsum("gti,gtij->gij", result, tables[:, :, None] - tables[..., None])
    worst = of_pairs(pairs, goal).max()
    assert 0.4 < worst / math.sqrt(rounds * logarithm / 2) <= 1


@pytest.mark.parametrize(("goal", "arms", "rounds"), [("external", 2, 4), ("internal", 3, 3)])
def test_regret_matching_in_all_short_games(goal, arms, rounds):
    """Its law along every sequence of arms; and the exact expectation of its realised regret stays below its bound."""
    sequences = np.array(list(itertools.product(range(arms), repeat=rounds)))
    tables, plays = (np.repeat(games(arms, rounds), len(sequences), 0), np.tile(sequences, (2 ** (arms * rounds), 1)))
    result = along(RegretMatching(goal), tables, plays)
    np.testing.assert_allclose(result.sum(-1), 1, rtol=1e-5)
    for table, played, rows in zip(tables[:: arms + 4], plays[:: arms + 4], result[:: arms + 4]):
        for t in range(rounds):
            regrets = positive_regrets(table[:t], played[:t], goal)
            if not regrets.any():
                np.testing.assert_allclose(rows[t], 1 / arms, rtol=1e-6)
            elif goal == "external":
                np.testing.assert_allclose(rows[t], regrets / regrets.sum(), rtol=1e-6)
            else:  # any stationary law is right where there are several
                np.testing.assert_allclose(flow(regrets) @ rows[t], 0, atol=1e-5)
    chances = np.take_along_axis(result, plays[..., None], 2)[..., 0].prod(1)
    pairs = np.array([pair_regrets(*game) for game in zip(tables, plays)])
    expected = (chances * of_pairs(pairs, goal)).reshape(-1, len(sequences)).sum(1)
    assert 0.3 < expected.max() / math.sqrt(rounds * (arms - 1)) <= 1


def test_hedge_keeps_its_digits():
    """After 1e7 rounds of which the last few make the difference, and for rates that differ by more than floats do."""
    state = Hedge(eta=1e-3).init(NO_TABLE)
    behind = np.array([0.0, 250.0, 700.0])
    state = state._replace(gains=jaxbandit.sums.add_to_each(state.gains, jnp.asarray(1e7 - behind)))
    policy = Hedge(eta=1e-3)
    feedback = Feedback.of(0, 0.5, t=1, table=NO_TABLE)._replace(all_rewards=jnp.array([0.1, 0.3, 0.2]))
    state = jax.jit(lambda state: jax.lax.fori_loop(0, 200, lambda _, now: policy.update(now, feedback), state))(state)
    weights = np.exp(1e-3 * (200 * np.array([0.1, 0.3, 0.2]) - behind))
    np.testing.assert_allclose(jax.jit(policy.probabilities)(state), weights / weights.sum(), rtol=1e-4)

    policy, regrets = Hedge(eta=1.0, regret="internal"), np.full((3, 3), -300.0)
    np.fill_diagonal(regrets, 0)
    regrets[2, :2] = 0  # arms 0 and 1 hardly wish for another one, arm 0 less so
    regrets[0, 1] -= math.log(3)
    state = policy.init(NO_TABLE)
    state = state._replace(gains=state.gains._replace(high=jnp.asarray(regrets, float)))
    # p0 (1/3 + 1) = p1 + p2 / e and p2 (2 / e) = p0 + p1 with e = exp(-300), so that arm 2 has nothing: p2 / e = 1/2
    np.testing.assert_allclose(jax.jit(policy.probabilities)(state), [9 / 14, 5 / 14, 0], rtol=1e-4, atol=1e-30)


def test_arms_without_probability_are_not_played():
    policy = RegretMatching()
    state = policy.init(NO_TABLE)
    state = state._replace(regrets=jaxbandit.sums.add_to_each(state.regrets, jnp.array([-3.0, 1.0, 3.0])))
    keys = jax.random.split(jax.random.key(0), 100_000)
    played = np.asarray(jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, 2)[0])))(keys))
    assert 0 not in played and abs((played == 1).mean() - 0.25) < 7 * math.sqrt(0.1875 / 100_000)


@pytest.mark.slow
def test_regrets_of_pairs_by_a_loop():
    """Every round of five runs, with arms in another order in each run and feedback a round late."""
    n, every = len(TABLE), np.arange(1, len(TABLE) + 1)
    asked = {"runs": 5, "horizon": n, "times": every, "shuffle": True, "delay": 1}
    result = simulate(full_information(rewards_table(TABLE)), {"Hedge": Hedge(0.3), "UCB1": jaxbandit.UCB1()}, **asked)
    assert result.problem == "changing"
    np.testing.assert_array_equal(metrics.external_regret(result, "UCB1"), metrics.regret(result, "UCB1"))
    for label in result.visits:
        played = np.diff(result.visits[label][0, 0].sum(-1), axis=1, prepend=0).argmax(-1)
        pairs = metrics.pair_regrets(result, label)[0, 0]
        for run, t in itertools.product(range(5), (1, 7, n)):
            expected = pair_regrets(TABLE[:t], played[run, :t])
            np.testing.assert_array_equal(pairs[run, t - 1], expected)
            for goal in ("external", "internal", "swap"):
                value = getattr(metrics, f"{goal}_regret")(result, label)[0, 0, run, t - 1]
                np.testing.assert_allclose(value, of_pairs(expected, goal), atol=1e-5)


@pytest.mark.slow
def test_the_orders_of_arms_make_no_difference():
    """Arm 1 alone pays, and Hedge with a large rate plays it from the second round on."""
    arms = full_information(rewards_table(np.tile([0.0, 1.0, 0.0], (9, 1))))
    result = simulate(arms, {"p": Hedge(90.0)}, runs=20, horizon=9, times=[1, 9], shuffle=True)
    assert (np.diff(result.visits["p"][0, 0].sum(-1), axis=1)[:, 0] == [0, 8, 0]).all()


@pytest.mark.slow
def test_arms_move_as_if_all_were_played():
    """Outcomes of all arms, whoever is played, are those of the rested arms alone; and what policies are shown."""
    fixed = {"arms": FIXED}
    asked = {"runs": 4, "horizon": 50, "times": [20, 50]}
    alone = simulate(RESTED, fixed, **asked)
    result = simulate(ARMS, fixed, **asked)
    assert result.problem == "observed"
    for i, j in itertools.product(range(3), repeat=2):
        outcomes = result.recorded["outcomes"]["arms"][0, i, ..., i, j, :]
        np.testing.assert_array_equal(outcomes, alone.visits["arms"][0, j, ..., j, :])
    _, feedback = ARMS.step(jax.random.key(0), ARMS.init(jax.random.key(0)), jnp.array([2, 0]), jnp.int32(1))
    np.testing.assert_array_equal(feedback.all_rewards, feedback.shown)
    np.testing.assert_array_equal(feedback.rewards, feedback.all_rewards[jnp.array([2, 0])])
    without = simulate(full_information(RESTED, pairs=False), {"U": jaxbandit.Uniform()}, **asked)
    assert "outcomes" not in without.recorded
    with pytest.raises(ValueError, match=r"^result: the outcomes of all arms were not recorded; make the arms with"):
        metrics.internal_regret(without, "U")
    twice = simulate(ARMS, {"U": jaxbandit.Uniform()}, **asked, plays=2)
    with pytest.raises(ValueError, match="^result: 2 arms were played a round"):
        metrics.swap_regret(twice, "U")


def test_arms_that_cannot_show_all_rewards():
    hidden = environments.hidden(RESTED.transition, [[0.2, 0.7]] * 3)
    waiting = environments.restless(RESTED.transition, (0, 1), RESTED.transition[::-1])
    words = r"^environment: \w+ cannot show the rewards of all arms; rested, restless or changing arms can"
    paying = environments.restless(RESTED.transition, (0, 1), RESTED.transition[::-1], paid="all")
    for arms in (hidden, environments.restarting(RESTED, 0.9), environments.riverswim(3), paying, ARMS):
        with pytest.raises(ValueError, match=words):
            full_information(arms)
    with pytest.raises(ValueError, match=r"^environment: arms of RestlessArms move by another law .* leave `passive`"):
        full_information(waiting)
    with pytest.raises(ValueError, match="made for 60 rounds"):
        simulate(full_information(rewards_table(TABLE)), {"U": jaxbandit.Uniform()}, runs=1, horizon=50)


BAD = [
    (Hedge(), ARMS, "eta: missing; give it, or horizon"),
    (Hedge(eta=0.0), ARMS, "eta: 0.0 lies outside"),
    (Hedge(eta=0.1, horizon=10), ARMS, "horizon: 10 beside eta"),
    (RegretMatching("swap"), ARMS, "regret: 'swap' is not one of external, internal"),
    (Hedge(0.1), full_information(jaxbandit.gaussian([0.0, 1.0])), "Hedge plays rewards from 0 to 1"),
    (Hedge(0.4), RESTED, "Hedge needs the reward of every arm in every round"),
    (RegretMatching(), RESTED, "RegretMatching needs the reward of every arm in every round"),
]


@pytest.mark.parametrize(("policy", "arms", "message"), BAD)
def test_bad_fields(policy, arms, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\](: |\.){message}"):
        simulate(arms, {"p": policy}, runs=1, horizon=10)
    RegretMatching().validate(Task(full_information(jaxbandit.gaussian([0.0, 1.0]))))


@pytest.mark.parametrize("policy", [Hedge(0.4), RegretMatching()])
def test_feedback_without_all_rewards(policy):
    feedback = Feedback.of(0, 0.5, t=1, table=NO_TABLE)
    with pytest.raises(ValueError, match=r"^all_rewards: None; this policy needs the reward of every arm"):
        policy.update(policy.init(NO_TABLE), feedback)
    with pytest.raises(ValueError, match=r"^all_rewards: \[0.5, nan\] is not a finite number for each of 3 arms"):
        policy.update(policy.init(NO_TABLE), feedback._replace(all_rewards=jnp.array([0.5, jnp.nan])))
    with pytest.raises(ValueError, match="plays one arm a round"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10, plays=2)


@jaxbandit.pytree
class Boasting(environments.MarkovArms):
    """Declares that all arms show their rewards, and shows none, or others."""

    declares = jaxbandit.Declares(pairing="play", shows="all")
    lies: bool = jaxbandit.static(False)

    def step(self, key, state, arms, t):
        state, feedback = super().step(key, state, arms, t)
        return state, feedback._replace(all_rewards=jnp.full(3, 0.5) if self.lies else None)


def test_an_environment_shows_what_it_declares():
    fields = {name: getattr(RESTED, name) for name in RESTED.__dataclass_fields__}
    with pytest.raises(ValueError, match=r"step: all_rewards is not \[K\] = \(3,\), but NoneType"):
        simulate(Boasting(**fields), {"U": jaxbandit.Uniform()}, runs=1, horizon=3)
    with pytest.raises(AssertionError, match="step: all_rewards are not the rewards of the arms that were played"):
        check_environment(Boasting(**fields, lies=True))
