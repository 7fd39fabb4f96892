"""Learning restless arms that are all seen: traced Whittle indices, posterior sampling and optimism, against loops."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_processes as reference

import jaxbandit
from jaxbandit import Discounted, PosteriorWhittle, UCWhittle, Uniform, Window, indices, simulate
from jaxbandit.environments import restless
from jaxbandit.planning import whittle
from jaxbandit.policies.restless.observed_arms import episode, moves_of, nothing_seen
from jaxbandit.policies.restless.posterior_whittle import PaidRewards
from jaxbandit.pytrees import in_order
from jaxbandit.testing import check_policy

KEY = jax.random.key(5)
found_indices = jax.jit(whittle)


def random_arms(states, arms=200, seed=0, concentration=1.0):
    random = np.random.default_rng(seed)
    active, passive = random.dirichlet(np.full(states, concentration), (2, arms, states))
    return active, passive, random.random((arms, states))


def check_indices(active, passive, reward, discount, bound):
    """Compare the traced indices of arms that all pay with those of the host."""
    exact = indices.whittle(active, passive, reward, discount=discount, passive_reward=reward)
    earned, kept = (np.einsum("kst,kt->ks", rows, reward) for rows in (active, passive))
    result = np.asarray(
        found_indices(*(jnp.asarray(item, float) for item in (active, passive, earned, kept)), discount)
    )
    assert exact.indexable.mean() > 0.9 and np.isfinite(result).all()
    off = np.abs(result - exact.index) / (1 + np.abs(exact.index))
    assert off[exact.indexable].max() < bound


@pytest.mark.parametrize(("states", "discount"), [(5, None), (2, 0.9), (5, 0.99999)])
def test_traced_indices_are_those_of_the_host(states, discount):
    check_indices(*random_arms(states), discount, 5e-6)


@pytest.mark.parametrize("discount", [None, 0.999])
def test_float32_keeps_its_digits_where_states_are_rare_and_chains_slow(discount):
    """A first state that is hardly ever entered, and chains that move once in a thousand rounds."""
    active, passive, reward = random_arms(4)
    rare = np.array([1e-6, 1, 1, 1]) / (3 + 1e-6)
    seldom = [np.where(np.arange(4) == 0, rows * 1e-6, rows) for rows in (active, passive)]
    check_indices(*(rows / rows.sum(-1, keepdims=True) for rows in seldom), reward, discount, 5e-6)
    slow = [0.999 * np.eye(4) + 0.001 * (rows + rare) / 2 for rows in (active, passive)]
    check_indices(*slow, reward, discount, 2e-4)


@pytest.mark.parametrize("discount", [None, 0.99])
def test_numbers_of_arms_that_are_not_indexable(discount):
    """The steps' numbers against a loop, where rows have few entries and half of the arms of five states have none."""
    active, passive, reward = random_arms(5, 150, 3, 0.2)
    exact = indices.whittle(active, passive, reward, discount=discount)
    bad = np.flatnonzero(~exact.indexable)
    assert len(bad) >= 3
    arms = active, passive, np.einsum("kst,kt->ks", active, reward), np.zeros_like(reward)
    result = np.asarray(found_indices(*(jnp.asarray(item, float) for item in arms), discount))
    expected = np.array([reference.adaptive_greedy(*arm, discount) for arm in zip(*arms)])
    off = np.abs(result - expected) / (1 + np.abs(expected))
    assert np.quantile(off[bad], 0.9) < 1e-4 and np.quantile(off, 0.99) < 1e-4


def test_episodes():
    def numbers(rounds, memory=None):
        found = jax.jit(jax.vmap(lambda t: episode(t, memory)))(jnp.array(rounds, jnp.int32))
        return [(int(number), bool(begins)) for number, begins in zip(*found)]

    for n in (3, 99, 40_000, 65_535, 65_536):  # near the last round that there can be
        first = 1 + n * (n - 1) // 2
        assert numbers([first - 1, first, first + 1]) == [(n - 1, False), (n, True), (n, False)]
    assert numbers([2**31 - 1, 1, 2]) == [(65_536, False), (1, True), (2, True)]
    for memory, longest in ((Window(35), 4), (Discounted(0.98), 5), (Window(3), 1)):
        expected = [reference.begins(t, longest) for t in range(1, 40)]
        assert [number if begins else None for number, begins in numbers(range(1, 40), memory)] == expected


RUNS, ROUNDS, PLAYS, STATES = 2, 80, 2, 3
REWARD = np.array([[0, 0.5, 1], [0.2, 0, 0.9], [1, 0.3, 0.1], [0, 0.4, 0.7]])
COST = np.array([0.1, 0.0, 0.3, 0.2])
ACTIVE, PASSIVE, _ = random_arms(STATES, len(REWARD), 7)
ALL_PAY = restless(ACTIVE, REWARD, PASSIVE, observed=True, paid="all", cost=COST)
PAID_IF_PLAYED = restless(ACTIVE, REWARD, PASSIVE, observed=True)
KEPT = REWARD[::-1] / 2
LEFT = restless(ACTIVE, REWARD, PASSIVE, observed=True, paid="present", cost=COST, passive_reward=KEPT)


def game(policy, environment):
    """What was played, [run, round, arm], where the arms stood after it, and how the policy counted that in the end."""
    record = {
        "here": lambda arms, state, t: moves_of(state.seen).here,
        "counts": lambda arms, state, t: state.seen.counts,
        "indices": lambda arms, state, t: state.indices,
    }
    sizes = {"key": KEY, "runs": RUNS, "horizon": ROUNDS, "times": range(1, ROUNDS + 1), "plays": PLAYS}
    result = simulate(environment, {"p": policy}, **sizes, record=record, progress=False)
    played = np.diff(result.visits["p"][0, 0].sum(-1), axis=1, prepend=0) > 0
    here, counts, index = (result.recorded[name]["p"][0, 0] for name in record)
    return played, here, counts[:, -1], index


def check_loop(policy, environment, plan):
    """Compare the plays of every round with the largest indices, which `plan` computes where an episode begins.

    `plan` returns NaN for an arm whose indices rounding decides. Returned are the share of indices that it knows, and
    that of rounds in which the arms to be played are clear. `plan` reads what the policy's memory keeps of the moves,
    and of which states of each arm a play has shown the reward.
    """
    K, judged, known, memory = len(REWARD), [], [], policy.memory
    longest = math.inf if memory is None else math.ceil(np.float32(memory.rounds) / 10)
    played, here, counted, index = game(policy, environment)
    for run in range(RUNS):
        moves, counts = [], np.zeros((K, 2, STATES, STATES))
        table, states, shown = np.zeros((K, STATES)), None, np.zeros((K, STATES), bool)
        for t in range(1, ROUNDS + 1):
            scores = table.mean(1) if states is None else table[np.arange(K), states]
            if (number := reference.begins(t, longest)) is not None:
                price = 0.0 if t == 1 else np.sort(scores)[-PLAYS]
                table = np.array(plan(run, t, number, counts, price, shown))
                known.append(np.isfinite(table))
                table = np.where(known[-1], table, index[run, t - 1])
                np.testing.assert_allclose(index[run, t - 1], table, atol=1e-4, rtol=1e-4)
                scores = table.mean(1) if states is None else table[np.arange(K), states]
            arms = np.argsort(-scores, kind="stable")[:PLAYS]
            now = here[run, t - 1]
            gap = np.sort(scores)[-PLAYS] - np.sort(scores)[-PLAYS - 1]
            judged.append(gap > 1e-3)
            if judged[-1]:
                assert set(np.flatnonzero(played[run, t - 1])) == set(arms)
            moves.append(np.zeros(counts.shape))
            if states is not None:
                np.add.at(moves[-1], (np.arange(K), played[run, t - 1].astype(int), states, now), 1)
            pays = states if environment is LEFT and states is not None else np.where(environment is LEFT, -1, now)
            shown = shown | (played[run, t - 1][:, None] & (pays[:, None] == np.arange(STATES)))
            states, ages = now, np.arange(t)[::-1]
            if isinstance(memory, Discounted):
                weights = memory.discount**ages
            else:
                weights = ages < (math.inf if memory is None else memory.length)
            counts = np.einsum("t,tkpsn->kpsn", weights, moves)
        np.testing.assert_allclose(counted[run], counts, rtol=1e-5, atol=1e-6)
    return np.mean(known), np.mean(judged)


POSTERIOR = {
    "all": (PosteriorWhittle.of(ALL_PAY, prior=0.7), ALL_PAY),
    "window": (PosteriorWhittle.of(ALL_PAY, memory=Window(25)), ALL_PAY),
    "played": (PosteriorWhittle(COST, "played", discount=0.9), PAID_IF_PLAYED),
    "left": (PosteriorWhittle.of(LEFT, discount=0.9, memory=Discounted(0.96), unknown_rewards=(-0.5, 2.0)), LEFT),
}


@pytest.mark.parametrize("case", POSTERIOR)
@pytest.mark.slow
def test_posterior_sampling_plays_as_its_loop(case):
    """With the rows that the policy draws; whether these have their law is tested below."""
    policy, arms = POSTERIOR[case]
    keys = jaxbandit.run_keys(KEY, jnp.arange(RUNS))

    @jax.jit
    def draw(seen, paid, key, t):
        words = jax.random.key_data(jax.random.fold_in(key, t))
        return policy.draw(seen, words), policy.rewards(paid, words)

    def plan(run, t, number, counts, price, shown):
        kind = float if isinstance(policy.memory, Discounted) else jnp.int32
        seen = nothing_seen(jnp.asarray(REWARD, float))._replace(counts=jnp.asarray(counts, kind))
        paid = PaidRewards(jnp.asarray(shown, jnp.int32), jnp.asarray(REWARD, float))
        rows, rewards = (np.asarray(each, np.float64) for each in draw(seen, paid, keys.policy[run], t))
        if policy.unknown_rewards is None:
            rewards = REWARD
        else:  # what was shown is known, and the rest within the prior
            assert (np.abs(rewards - REWARD)[shown] < 1e-6).all() and ((rewards > -0.5) & (rewards < 2))[~shown].all()
        item = zip(rows, rewards, COST, strict=True)
        kept = KEPT if arms is LEFT else [None] * len(REWARD)
        return [reference.index_of_arm(*arm, policy.paid, policy.discount, own) for arm, own in zip(item, kept)]

    assert min(check_loop(policy, arms, plan)) > 0.9


OPTIMISM = {
    "all": (UCWhittle.of(ALL_PAY, eta=0.01, scale=0.2, discount=0.8), ALL_PAY),
    "window": (UCWhittle(COST, "played", 0.01, 0.05, 0.8, memory=Window(40)), PAID_IF_PLAYED),
    "left": (UCWhittle.of(LEFT, eta=0.01, scale=0.2, discount=0.8), LEFT),
}


@pytest.mark.parametrize("case", OPTIMISM)
@pytest.mark.slow
def test_optimism_plays_as_its_loop(case):
    policy, arms = OPTIMISM[case]
    numbers = policy.eta, policy.scale, policy.discount

    def plan(run, t, number, counts, price, shown):
        result = []
        for mine, reward, cost, kept in zip(counts, REWARD, COST, KEPT if arms is LEFT else [None] * len(REWARD)):
            inputs = (mine, reward, len(REWARD), number, price + cost, policy.paid, *numbers)
            rows = reference.optimistic_arm(*inputs, kept)
            arm = (rows, reward, cost, policy.paid, policy.discount, kept)
            result.append(np.full(STATES, np.nan) if rows is None else reference.index_of_arm(*arm))
        return result

    assert min(check_loop(policy, arms, plan)) > 0.5


def test_unknown_rewards_are_learned_and_drawn_uniformly():
    """What a play pays is known exactly; all else has the mean and spread of a uniform law, to 5 standard errors."""
    policy, number = PosteriorWhittle(unknown_rewards=(-1.0, 3.0)), 4000
    state = policy.init(jnp.asarray(REWARD, float))
    assert not np.asarray(moves_of(state.seen).reward).any()  # the table is not read
    feedback = jaxbandit.Feedback(
        jnp.array([2, 0]), jnp.array([0, 0]), jnp.array([1, 2]), jnp.array([0.3, 1.0]), jnp.int32(1),
        shown=jnp.array([2, 0, 1, 1]),
    )  # fmt: skip
    update = jax.jit(policy.update)
    for _ in range(2):
        state = update(state, feedback)
    words = jax.random.bits(jax.random.key(3), (number, 2))
    drawn = np.asarray(jax.jit(jax.vmap(lambda words: policy.rewards(state.paid, words)))(words))
    assert (drawn[:, 2, 1] == np.float32(0.3)).all() and (drawn[:, 0, 2] == 1).all()
    others = np.delete(drawn.reshape(number, -1), [2 * STATES + 1, 2], axis=1)
    reference.check_moments(others, 1, 16 / 12)
    assert len(np.unique(others)) > others.size * 0.99  # each state has a draw of its own


def test_drawn_rows_have_their_law():
    """Means and variances of 4,000 draws within 5 standard errors of Dirichlet laws: fails by chance once in 20,000."""
    number, policy = 4000, PosteriorWhittle(prior=0.5)
    counts = np.random.default_rng(2).integers(0, 30, (2, 2, 3, 3)) * np.array([[[1]], [[0]]]) + np.arange(3)
    words = jax.random.bits(jax.random.key(7), (number, 2))
    seen = nothing_seen(jnp.asarray(REWARD[:2], float))._replace(counts=jnp.asarray(counts, jnp.int32))
    rows = np.asarray(jax.jit(jax.vmap(lambda words: policy.draw(seen, words)))(words), np.float64)
    a = 0.5 + counts
    total = a.sum(-1, keepdims=True)
    reference.check_moments(rows, a / total, a * (total - a) / (total**2 * (total + 1)))


def test_costs_go_with_their_arms():
    order = jnp.array([2, 0, 3, 1])
    for policy in (PosteriorWhittle(COST, prior=2.0, discount=0.5), UCWhittle(COST, "played", 0.1, 0.2, 0.5)):
        turned = in_order(policy, order)
        np.testing.assert_allclose(turned.cost, COST[np.asarray(order)], rtol=1e-6)
        assert {**vars(turned), "cost": 0} == {**vars(policy), "cost": 0}
        assert float(in_order(type(policy)(0.25), order).cost) == 0.25
    unknown = in_order(UCWhittle(COST), order)  # nothing is known, so that a play is worth what it costs less
    state = unknown.init(jnp.asarray(REWARD, float))
    scores = jax.jit(lambda policy, state: policy.scores(None, state, 1)[0])(unknown, state)
    np.testing.assert_allclose(scores, -COST[np.asarray(order)], atol=1e-6)


def test_who_may_not_play():
    hidden = restless(ACTIVE, REWARD, PASSIVE)
    many = restless(*(np.full((2, 9, 9), 1 / 9),), np.arange(9), observed=True)
    for kind in (PosteriorWhittle, UCWhittle):
        name = kind.__name__
        for policy, arms, message in (
            (kind(), hidden, f"{name} needs observed arms"),
            (kind(paid="played"), many, f"{name} is for arms of up to 8 states"),
            (kind(), PAID_IF_PLAYED, f"{name}: assumes that all arms pay"),
            (kind(COST), LEFT, f"{name}: assumes that the state moved to pays; in .* the state left pays"),
            (kind(COST, passive_reward=KEPT), ALL_PAY, "passive_reward: is not that of .*; make it with .*of"),
        ):
            with pytest.raises(ValueError, match=message):
                check_policy(policy, arms)
        with pytest.raises(ValueError, match="arms: "):
            kind.of(Uniform())
