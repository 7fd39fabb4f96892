"""Planners of decision processes and the policies that learn these, against float64 loops."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_processes as reference

import jaxbandit
from jaxbandit import decision_processes, simulate
from jaxbandit.environments import decision_process, random_decision_process, riverswim
from jaxbandit.fast import over_runs
from jaxbandit.planning import backward_induction, box_max, l1_ball_max, value_iteration
from jaxbandit.policies import IMEDRL, KLUCRL, PSRL, TUCRL, UCBVI, UCRL2, UCRL2B
from jaxbandit.policies.processes.imed_rl import dual
from jaxbandit.policies.processes.moves import Moves, doubled
from jaxbandit.testing import check_policy

# planners


def test_rows_of_values_that_are_computed_beside_them():
    """What states pay plus discounted values, which XLA rounds in two ways if it computes them twice."""
    best = jax.vmap(jax.vmap(l1_ball_max))
    result = jax.jit(lambda rows, radius, paid, values: best(rows, radius, paid + 0.8 * values[:, None])[1])
    random = np.random.default_rng(0)
    for _ in range(30):
        inputs = random.dirichlet([1, 1, 1], (2, 2, 3)), np.full((2, 2, 3), 0.4), *random.random((2, 2, 1, 3))
        rows, radius, paid, values = (jnp.asarray(item, float) for item in inputs)
        paid = jnp.broadcast_to(paid, (2, 2, 3))
        np.testing.assert_allclose(result(rows, radius, paid, values[:, 0]).sum(-1), 1, atol=1e-6)


def test_rows_are_the_best_of_their_set():
    """Loops over the states for random rows, radii and values with ties; alone and with the runs last."""
    states, random = 6, np.random.default_rng(6)
    rows = random.dirichlet(np.full(states, 0.5), 8)
    values = np.round(random.random((8, states)) * 4)
    radius = random.random(8) * 2.2
    low, high = np.maximum(rows - random.random(rows.shape) / 4, 0), np.minimum(rows + random.random(rows.shape) / 4, 1)
    alone = [jnp.asarray(numbers, float) for numbers in (rows, radius, values, low, high)]
    last = [jnp.moveaxis(numbers, 0, -1) for numbers in alone]
    ball, box = jax.jit(over_runs(lambda p, d, u, low, high: (l1_ball_max(p, d, u), box_max(low, high, u))))(*last)
    np.testing.assert_allclose(jax.jit(jax.vmap(l1_ball_max))(*alone[:3])[0], ball[0], rtol=1e-6)
    for n in range(8):
        best = reference.best_in_l1(rows[n], radius[n], values[n]), reference.best_in_box(low[n], high[n], values[n])
        for (most, row), expected in zip((ball, box), best):
            np.testing.assert_allclose(most[n], expected @ values[n], atol=2e-6)
            assert row[:, n].sum() == pytest.approx(1, abs=1e-6) and (row[:, n] >= 0).all()
            assert row[:, n] @ values[n] == pytest.approx(float(most[n]), abs=1e-6)


def test_value_iteration_finds_the_best_policy():
    """Against policy iteration in float64; states that take turns need waiting."""

    @jax.jit
    def plan(rows, paid, tolerance, waiting, most):
        start = jnp.zeros(rows.shape[1])
        return value_iteration(lambda u: paid + rows @ u, start, tolerance, waiting=waiting, most=most)

    random = np.random.default_rng(1)
    for waiting in (0.0, 0.1, 0.1):
        rows, paid = random.dirichlet(np.ones(4), (3, 4)), random.random((3, 4))
        best = decision_processes.optimal(rows, paid)
        result = plan(*(jnp.asarray(item, float) for item in (rows, paid)), 1e-5, waiting, 1000)
        assert result.actions.tolist() == best.policy.tolist()
        np.testing.assert_allclose(result.gain, best.gain[0], atol=1e-5)
        np.testing.assert_allclose(result.values, best.bias - best.bias.min(), atol=1e-3)
    rows, paid = jnp.array([[[0.0, 1.0], [1.0, 0.0]]] * 2), jnp.array([[0.0, 1.0], [0.2, 0.5]])
    result = plan(rows, paid, 1e-4, 0.0, 200)
    assert result.sweeps == 200 and result.span > 0.1
    result = plan(rows, paid, 1e-4, 0.1, 1000)
    assert result.sweeps < 100 and result.actions.tolist() == [1, 0]
    np.testing.assert_allclose(result.gain, 0.6, atol=1e-4)


def test_backward_induction():
    """RiverSwim's best values of episodes; no turns leave the table as it is."""
    process = riverswim(steps=5)
    rows, paid = (jnp.asarray(item, float) for item in (process.transition, process.reward))
    table = jnp.full((5, 2, 6), 7.0)
    induction = jax.jit(lambda turns: backward_induction(lambda h, after, old: paid + rows @ after, table, turns))
    np.testing.assert_allclose(induction(None).max(1), process.episode_values(), rtol=1e-5)
    np.testing.assert_array_equal(induction(jnp.int32(0)), table)


def test_the_dual_of_imed_rl():
    """Random laws, whose maximum SciPy finds."""
    random = np.random.default_rng(0)
    laws, values = random.dirichlet(np.full(6, 0.3), 100), 3 * random.random((100, 6))
    upper = values.max(1) + random.random(100) * (random.random(100) < 0.7)
    best = np.minimum((laws * values).sum(1) + random.random(100) ** 3, upper - 0.02)
    inputs = laws, values - best[:, None], 1 / (upper - best)
    result = jax.jit(dual)(*(jnp.asarray(item, float) for item in inputs))
    expected = [reference.imed_dual(*item) for item in zip(laws, values, best, upper)]
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)


# what policies plan from given counts

RIVER = riverswim()
PLAN = jax.jit(lambda policy, seen, t: policy.plan(seen, t))


def moves_of(counts, reward, here=0):
    arrays = (jnp.asarray(item, jnp.int32) for item in (counts, counts.sum(-1), here))
    return Moves(*arrays, jnp.asarray(reward, float))


@pytest.mark.parametrize(
    ("policy", "delta"),
    [(UCRL2(), 0.05), (UCRL2(0.2, "known"), 0.2), (KLUCRL(), 0.05), (TUCRL(), 0.05), (UCRL2B(), 0.05)],
)
def test_optimists_plan_as_their_loops(policy, delta):
    """After 20,000 tries of each pair: what an optimist adds to the gain of the river, to four digits."""
    kind, counts = type(policy).__name__, np.rint(RIVER.transition * 20_000).astype(int)
    t, truth = int(counts.sum()) + 1, RIVER.comparator(1)
    result = PLAN(policy, moves_of(counts, RIVER.reward), t)
    expected = reference.optimistic(kind, counts, RIVER.reward, t, 0, policy.rewards, delta)
    assert truth + 0.05 < expected[1] < 0.7 and int(result.sweeps) == expected[4]
    np.testing.assert_allclose(result.gain - truth, expected[1] - truth, rtol=3e-5)
    assert result.actions.tolist() == expected[0].tolist()
    counts[1, 5] = 0  # never tried
    result = PLAN(policy, moves_of(counts, RIVER.reward), t)
    expected = reference.optimistic(kind, counts, RIVER.reward, t, 0, policy.rewards, delta)
    np.testing.assert_allclose(result.gain, expected[1], rtol=1e-5)


def test_states_out_of_reach():
    """UCRL2 is optimistic for ever about a state that no action reaches; TUCRL is not, once pairs are known."""
    counts = np.pad(np.rint(RIVER.transition * 10_000).astype(int), ((0, 0), (0, 1), (0, 1)))
    reward = np.pad(RIVER.reward, ((0, 0), (0, 1)))
    seen, t = moves_of(counts, reward), int(counts.sum()) + 1
    assert PLAN(UCRL2(), seen, t).gain > 0.99
    result, expected = PLAN(TUCRL(), seen, t), reference.optimistic("TUCRL", counts, reward, t, 0)
    np.testing.assert_allclose(result.gain, expected[1], rtol=1e-4)
    assert result.gain < 0.7 and result.actions[:6].tolist() == expected[0][:6].tolist() == [1] * 6


@pytest.mark.parametrize("bonus", ["CH", "BF"])
def test_bounds_of_ucbvi(bonus):
    counts = np.rint(RIVER.transition * 10_000_000).astype(int)
    visits = 1_000_000 * np.arange(1, 6)[:, None] * (6 - np.arange(6))
    policy, table = UCBVI(steps=5, horizon=5e6, bonus=bonus), np.full((5, 2, 6), 5.0)
    met = jnp.asarray(visits, jnp.int32) if bonus == "BF" else None
    result = jax.jit(policy.plan)(moves_of(counts, RIVER.reward), met, jnp.asarray(table, float))
    expected = reference.ucbvi(counts, visits, table, RIVER.reward, 5, 5e6, bonus)
    assert (expected < 1).any()
    np.testing.assert_allclose(result, expected, rtol=2e-5)


# what policies play

KEY = jax.random.key(3)
PROCESSES = {
    "riverswim": RIVER,
    "random": random_decision_process(jax.random.key(1), states=4, actions=3),
    "two": decision_process(
        [[[0.9, 0.1], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5]]], [[0.2, 1.0], [0.0, 0.7]], reward_axes="action, state"
    ),
}
RUNS, ROUNDS = 2, 300


@functools.cache
def rounds(name, policy, steps=None):
    """Of each run the actions and the states before and after every round."""
    process = PROCESSES[name] if steps is None else riverswim(4, steps=steps)
    record = {"counts": lambda process, state, t: state.seen.counts}
    size = {"runs": RUNS, "horizon": ROUNDS, "times": range(1, ROUNDS + 1)}
    result = simulate(process, {"p": policy}, **size, record=record, key=KEY)
    counts = result.recorded["counts"]["p"][0, 0]
    changes = np.diff(counts, axis=1, prepend=0)
    return [[tuple(map(int, np.argwhere(change)[0])) for change in changes[run]] for run in range(RUNS)]


def walk(played, reward):
    """Of every round its number, the moves counted before it, the state, and the action played."""
    counts = np.zeros((*reward.shape, reward.shape[1]), int)
    for t, (a, s, following) in enumerate(played, 1):
        yield t, counts, s, a
        counts[a, s, following] += 1


@pytest.mark.parametrize(
    ("policy", "process"),
    [(UCRL2(), "two"), pytest.param(TUCRL(), "two", marks=pytest.mark.slow)],
)
def test_optimists_play_as_their_loops(policy, process):
    """Round by round, with the episodes' ends; episodes are as few as the theorem says."""
    kind = type(policy).__name__
    reward = np.asarray(PROCESSES[process].reward)
    for played in rounds(process, policy):
        before, plan, episodes, sure = np.zeros(reward.shape, int), None, 0, []
        for t, counts, s, a in walk(played, reward):
            left = counts.sum(-1)
            new = kind == "TUCRL" and left[:, s].sum() == 0
            if plan is None or new or left[plan[0][s], s] - before[plan[0][s], s] >= max(1, before[plan[0][s], s]):
                plan = reference.optimistic(kind, counts, reward, t, s, policy.rewards, float(policy.delta))
                before, episodes = left, episodes + 1
            # exact ties go to the lowest action; what nearly ties may go either way in float32
            sure.append(plan[3][s] == 0 or plan[3][s] > 2e-5)
            assert not sure[-1] or plan[0][s] == a, t
            plan[0][s] = a
        assert np.mean(sure) >= 0.9
        if kind != "TUCRL":
            assert episodes <= reward.size * math.log2(8 * ROUNDS / reward.size)


@pytest.mark.parametrize(
    ("policy", "process"),
    [(PSRL(), "two"), (PSRL(tsde=True, rewards="learned"), "random")],
)
@pytest.mark.slow
def test_posterior_sampling_plays_as_its_loop(policy, process):
    """With the rows that the policy draws; whether these have their law is tested below."""
    reward = np.asarray(PROCESSES[process].reward)
    draw = jax.jit(lambda seen, key, t: policy.draw(seen, jax.random.key_data(jax.random.fold_in(key, t))))
    keys = jaxbandit.run_keys(KEY, jnp.arange(RUNS))
    for run, played in enumerate(rounds(process, policy)):
        before, began, length, sure = np.zeros(reward.shape, int), 0, 0, []
        for t, counts, s, a in walk(played, reward):
            left = counts.sum(-1)
            if policy.tsde:
                ends = (left > 2 * before).any() or t > began + length
            else:
                ends = t == 1 or (left >= np.maximum(2 * before, 1))[played[t - 2][:2]]
            if ends:
                drawn = draw(moves_of(counts, reward, s), keys.policy[run], t)
                rows, paid = (np.asarray(item, float) for item in drawn)
                tolerance = min(max(1 / t, 1e-6), 0.01)
                worth = functools.partial(lambda rows, paid, u: paid + rows @ u, rows, paid)
                plan = reference.iterate(worth, len(left[0]), tolerance, waiting=0.1)
                before, began, length = left, t, t - began
            sure.append(plan[3][s] > 1e-4)
            assert not sure[-1] or plan[0][s] == a, t
        assert np.mean(sure) >= 0.9


def test_drawn_processes_have_their_law():
    """Means and variances of 4,000 draws within 5 standard errors of Dirichlet and beta laws: by chance 1 in 50,000."""
    policy, number = PSRL(prior=0.5, rewards="learned"), 4000
    counts = np.array([[[3, 1, 0], [0, 0, 0], [10, 20, 30]], [[1, 1, 1], [0, 5, 0], [2, 0, 0]]])
    left, paid = counts.sum(-1), np.array([[0.25, 0, 1.0], [0.5, 0.9, 0.0]])
    seen = moves_of(counts, paid)
    words = jax.random.bits(jax.random.key(7), (number, 2))
    rows, rewards = jax.jit(jax.vmap(lambda words: policy.draw(seen, words)))(words)
    a = 0.5 + counts
    total = a.sum(-1, keepdims=True)
    gained, missed = 1 + left * paid, 1 + left * (1 - paid)
    for draws, mean, variance in (
        (rows, a / total, a * (total - a) / (total**2 * (total + 1))),
        (rewards, gained / (gained + missed), gained * missed / ((gained + missed) ** 2 * (gained + missed + 1))),
    ):
        reference.check_moments(draws, mean, variance)
    together = np.corrcoef(np.asarray(rows).reshape(number, -1)[:, ::3].T)
    assert np.abs(together - np.eye(6)).max() < 5 / math.sqrt(number)


@pytest.mark.parametrize(
    ("policy", "process"),
    [(IMEDRL(), "riverswim"), (IMEDRL(normalised=False, rewards="known"), "two")],
)
@pytest.mark.slow
def test_imed_rl_plays_as_its_loop(policy, process):
    reward = np.asarray(PROCESSES[process].reward)
    for played in rounds(process, policy):
        phi, sure = np.zeros(reward.shape[1]), []
        for t, counts, s, a in walk(played, reward):
            index, phi = reference.imed_rl(counts, reward, phi, s, policy.rewards, policy.normalised)
            best = np.sort(index)
            sure.append(best[0] == -np.inf or best[1] - best[0] > 1e-3 * max(1, abs(best[0])))
            assert not sure[-1] or index.argmin() == a, t
        assert np.mean(sure) >= 0.8


def test_ucbvi_plays_as_its_loop():
    """Episodes of five steps, with a bonus that lets the policy settle."""
    policy, steps = UCBVI(steps=5, horizon=ROUNDS, scale=0.01), 5
    reward = np.asarray(riverswim(4).reward)
    A, S = reward.shape
    for played in rounds("episodes", policy, steps):
        visits, Q, sure = np.zeros((steps, S), int), np.full((steps, A, S), float(steps)), []
        for t, counts, s, a in walk(played, reward):
            h = (t - 1) % steps
            if h == 0:
                Q = reference.ucbvi(counts, visits, Q, reward, steps, ROUNDS, "BF", 0.05, 0.01)
            visits[h, s] += 1
            best = np.sort(Q[h, :, s])
            sure.append(best[-1] == best[-2] or best[-1] - best[-2] > 1e-5)
            assert not sure[-1] or Q[h, :, s].argmax() == a, t
        assert np.mean(sure) >= 0.9


def test_who_may_not_play():
    arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    for policy in (UCRL2(), KLUCRL(), TUCRL(), UCRL2B(), PSRL(), IMEDRL(), UCBVI(steps=5, horizon=9)):
        with pytest.raises(ValueError, match=f"{type(policy).__name__} is for decision processes"):
            check_policy(policy, arms)
    with pytest.raises(ValueError, match="episodes"):
        check_policy(UCBVI(steps=5, horizon=100), riverswim())
    with pytest.raises(ValueError, match="steps: 4, and episodes of .* have 5 rounds"):
        check_policy(UCBVI(steps=4, horizon=100), riverswim(steps=5))


def test_counts_double_up_to_the_largest_integer():
    result = doubled(jnp.array([0, 1, 3, 2**30 - 1, 2**30, 2**31 - 1]))
    assert result.tolist() == [1, 2, 6, 2**31 - 2, 2**31 - 1, 2**31 - 1]
