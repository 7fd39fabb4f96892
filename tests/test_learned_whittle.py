"""Learning restless arms that are all seen: traced Whittle indices, posterior sampling and optimism, against loops."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_restless as reference

import jaxbandit
from jaxbandit import PosteriorWhittle, UCWhittle, Uniform, indices, simulate
from jaxbandit.environments import restless
from jaxbandit.planning import whittle
from jaxbandit.policies.restless.observed_arms import ObservedMoves, episode, nothing_seen
from jaxbandit.policies.restless.uc_whittle import nth_largest
from jaxbandit.pytrees import in_order
from jaxbandit.testing import check_policy

KEY = jax.random.key(5)
found_indices = jax.jit(whittle)


def random_arms(states, arms=200, seed=0, concentration=1.0):
    random = np.random.default_rng(seed)
    active, passive = random.dirichlet(np.full(states, concentration), (2, arms, states))
    return active, passive, random.random((arms, states))


def index_in_floats(active, passive, reward, discount, dtype=float):
    """Of arms that all pay."""
    earned, kept = (np.einsum("kst,kt->ks", rows, reward) for rows in (active, passive))
    return np.asarray(found_indices(*(jnp.asarray(item, dtype) for item in (active, passive, earned, kept)), discount))


@pytest.mark.parametrize("discount", [None, 0.9, 0.99999])
@pytest.mark.parametrize("states", [2, 5])
def test_traced_indices_are_those_of_the_host(states, discount):
    active, passive, reward = random_arms(states)
    exact = indices.whittle(active, passive, reward, discount=discount, passive_reward=reward)
    result = index_in_floats(active, passive, reward, discount)
    assert exact.indexable.mean() > 0.98 and np.isfinite(result).all()
    off = np.abs(result - exact.index) / (1 + np.abs(exact.index))
    assert off[exact.indexable].max() < 5e-6


@pytest.mark.parametrize("discount", [None, 0.999])
def test_float32_keeps_its_digits_where_states_are_rare_and_chains_slow(discount):
    """A first state that is hardly ever entered, and chains that move once in a thousand rounds."""
    active, passive, reward = random_arms(4)
    rare = np.array([1e-6, 1, 1, 1]) / (3 + 1e-6)
    seldom = [np.where(np.arange(4) == 0, rows * 1e-6, rows) for rows in (active, passive)]
    seldom = [rows / rows.sum(-1, keepdims=True) for rows in seldom]
    slow = [0.999 * np.eye(4) + 0.001 * (rows + rare) / 2 for rows in (active, passive)]
    for one, other, bound in ((*seldom, 5e-6), (*slow, 2e-4)):
        exact = indices.whittle(one, other, reward, discount=discount, passive_reward=reward)
        off = np.abs(index_in_floats(one, other, reward, discount) - exact.index) / (1 + np.abs(exact.index))
        assert off[exact.indexable].max() < bound


@pytest.mark.parametrize("discount", [None, 0.99])
def test_numbers_of_arms_that_are_not_indexable(discount):
    """The steps' numbers against a loop, where rows have few entries and half of the arms of five states have none."""
    active, passive, reward = random_arms(5, 150, 3, 0.2)
    exact = indices.whittle(active, passive, reward, discount=discount)
    bad = np.flatnonzero(~exact.indexable)
    assert len(bad) >= 3
    zero = np.zeros_like(reward)
    earned = np.einsum("kst,kt->ks", active, reward)
    arms = active, passive, earned, zero
    result = np.asarray(found_indices(*(jnp.asarray(item, float) for item in arms), discount))
    expected = np.array([reference.adaptive_greedy(*arm, discount) for arm in zip(*arms)])
    off = np.abs(result - expected) / (1 + np.abs(expected))
    assert np.quantile(off[bad], 0.9) < 1e-4 and np.quantile(off, 0.99) < 1e-4


def test_episodes():
    for n in (3, 4, 99, 40_000, 65_535, 65_536):  # near the last round that there can be
        first = 1 + n * (n - 1) // 2
        for t, e, b in ((first - 1, n - 1, False), (first, n, True), (first + 1, n, False)):
            assert [int(item) for item in episode(jnp.int32(t))] == [e, b]
    assert [int(item) for item in episode(jnp.int32(2**31 - 1))] == [65_536, False]


def test_the_nth_largest():
    random = np.random.default_rng(0)
    for _ in range(20):
        values = random.integers(4, size=6) / 4
        for n in range(1, 7):
            assert float(nth_largest(jnp.asarray(values, float), jnp.int32(n))) == np.sort(values)[-n]


RUNS, ROUNDS, PLAYS, STATES = 3, 105, 2, 3
REWARD = np.array([[0, 0.5, 1], [0.2, 0, 0.9], [1, 0.3, 0.1], [0, 0.4, 0.7]])
COST = np.array([0.1, 0.0, 0.3, 0.2])
ACTIVE, PASSIVE, _ = random_arms(STATES, len(REWARD), 7)
ALL_PAY = restless(ACTIVE, REWARD, PASSIVE, observed=True, paid="all", cost=COST)
PAID_IF_PLAYED = restless(ACTIVE, REWARD, PASSIVE, observed=True)


def game(policy, environment):
    """What was played, [run, round, arm], where the arms stood after it, and how the policy counted that in the end."""
    record = {
        "here": lambda arms, state, t: state.seen.here,
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
    that of rounds in which the arms to be played are clear.
    """
    K, judged, known = len(REWARD), [], []
    played, here, counted, index = game(policy, environment)
    for run in range(RUNS):
        counts, table, states = np.zeros((K, 2, STATES, STATES), int), np.zeros((K, STATES)), None
        for t in range(1, ROUNDS + 1):
            scores = table.mean(1) if states is None else table[np.arange(K), states]
            if (number := reference.begins(t)) is not None:
                price = 0.0 if t == 1 else np.sort(scores)[-PLAYS]
                table = np.array(plan(run, t, number, counts, price))
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
            if states is not None:
                np.add.at(counts, (np.arange(K), played[run, t - 1].astype(int), states, now), 1)
            states = now
        np.testing.assert_array_equal(counted[run], counts)
    return np.mean(known), np.mean(judged)


POSTERIOR = {
    "all": (PosteriorWhittle.of(ALL_PAY, prior=0.7), ALL_PAY),
    "played": (PosteriorWhittle(COST, "played", discount=0.9), PAID_IF_PLAYED),
}


@pytest.mark.parametrize("case", POSTERIOR)
def test_posterior_sampling_plays_as_its_loop(case):
    """With the rows that the policy draws; whether these have their law is tested below."""
    policy, arms = POSTERIOR[case]
    keys = jaxbandit.run_keys(KEY, jnp.arange(RUNS))
    draw = jax.jit(lambda seen, key, t: policy.draw(seen, jax.random.key_data(jax.random.fold_in(key, t))))

    def plan(run, t, number, counts, price):
        seen = nothing_seen(jnp.asarray(REWARD, float))._replace(counts=jnp.asarray(counts, jnp.int32))
        rows = np.asarray(draw(seen, keys.policy[run], t), np.float64)
        item = zip(rows, REWARD, COST, strict=True)
        return [reference.index_of_arm(*arm, policy.paid, policy.discount) for arm in item]

    assert min(check_loop(policy, arms, plan)) > 0.9


OPTIMISM = {
    "all": (UCWhittle.of(ALL_PAY, eta=0.01, scale=0.2, discount=0.8), ALL_PAY),
    "played": (UCWhittle(COST, "played", 0.01, 0.05, 0.8), PAID_IF_PLAYED),
}


@pytest.mark.parametrize("case", OPTIMISM)
def test_optimism_plays_as_its_loop(case):
    policy, arms = OPTIMISM[case]

    numbers = policy.eta, policy.scale, policy.discount

    def plan(run, t, number, counts, price):
        result = []
        for mine, reward, cost in zip(counts, REWARD, COST, strict=True):
            inputs = (mine, reward, len(REWARD), number, price + cost, policy.paid, *numbers)
            rows = reference.optimistic_arm(*inputs)
            arm = (rows, reward, cost, policy.paid, policy.discount)
            result.append(np.full(STATES, np.nan) if rows is None else reference.index_of_arm(*arm))
        return result

    assert min(check_loop(policy, arms, plan)) > 0.5


def seen_of(counts, here=0):
    number = len(counts)
    here = jnp.full(number, here, jnp.int32)
    return ObservedMoves(jnp.asarray(counts, jnp.int32), here, jnp.asarray(REWARD[:number], float))


def test_drawn_rows_have_their_law():
    """Means and variances of 4,000 draws within 5 standard errors of Dirichlet laws: fails by chance once in 20,000."""
    number, policy = 4000, PosteriorWhittle(prior=0.5)
    counts = np.random.default_rng(2).integers(0, 30, (2, 2, 3, 3)) * np.array([[[1]], [[0]]]) + np.arange(3)
    words = jax.random.bits(jax.random.key(7), (number, 2))
    rows = np.asarray(jax.jit(jax.vmap(lambda words: policy.draw(seen_of(counts), words)))(words), np.float64)
    a = 0.5 + counts
    total = a.sum(-1, keepdims=True)
    variance = a * (total - a) / (total**2 * (total + 1))
    off = rows - a / total
    assert (np.abs(off.mean(0)) <= 5 * np.sqrt(variance / number)).all()
    assert (np.abs((off**2).mean(0) - variance) <= 5 * (off**2 - variance).std(0) / math.sqrt(number)).all()


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
            (kind(paid="none"), PAID_IF_PLAYED, "paid: 'none'"),
            (kind([0.1, 0.2]), ALL_PAY, "cost: shape"),
        ):
            with pytest.raises(ValueError, match=message):
                check_policy(policy, arms)
        with pytest.raises(ValueError, match="arms: "):
            kind.of(Uniform())
