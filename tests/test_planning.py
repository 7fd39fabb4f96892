"""Planners of decision processes: rows, sweeps and steps against loops, linear programmes and published numbers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_processes as reference
from scipy.optimize import linprog

from jaxbandit import decision_processes
from jaxbandit.confidence import kl_ball_max
from jaxbandit.environments import grid, riverswim
from jaxbandit.fast import over_runs
from jaxbandit.planning import backward_induction, box_max, l1_ball_max, value_iteration
from jaxbandit.policies import KLUCRL, PSRL, TUCRL, UCBVI, UCRL2, UCRL2B
from jaxbandit.policies.processes.imed_rl import dual
from jaxbandit.policies.processes.moves import Moves

PLAN = jax.jit(lambda policy, seen, t: policy.plan(seen, t))
RIGHT = [[16, 24, 0, 0, 0, 0], [2, 20, 12, 0, 0, 0], [0, 1, 17, 10, 0, 0], [0, 0, 1, 13, 8, 0], [0, 0, 0, 1, 10, 6]]
LAST = [0, 0, 0, 0, 4, 6]
ROW, VALUES = np.array([0, 1, 17, 10, 0, 0]) / 28, np.array([0.0, 1, 3, 2, 5, 4])
B_214 = 11.53976212


def moves(times=1, last=0):
    """The counts of RiverSwim whose radii and plans were computed by two independent programs."""
    left = np.zeros((6, 6), int)
    left[np.arange(6), [0, 0, 1, 2, 3, 4]] = 12
    counts = times * np.array([left, [*RIGHT, np.multiply(LAST, last)]])
    reward = jnp.asarray(riverswim().reward, float)
    return Moves(jnp.asarray(counts, jnp.int32), jnp.asarray(counts.sum(-1), jnp.int32), jnp.int32(0), reward)


def seen_of(process, tries):
    """The moves of so many tries of every pair, which are those of the true rows."""
    counts = np.rint(process.transition * tries).astype(int)
    arrays = jnp.asarray(counts, jnp.int32), jnp.asarray(counts.sum(-1), jnp.int32), jnp.int32(0)
    return Moves(*arrays, jnp.asarray(process.reward, float))


def next_round(seen):
    return int(np.asarray(seen.counts, np.int64).sum()) + 1


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


PUBLISHED = [  # of l1 balls and KL balls by their radii, of boxes by how many states may be moved to
    ("l1", 0.3, 3.057142857, [0, 0, 0.6071428571, 0.2428571429, 0.15, 0]),
    ("l1", 0.8, 3.8, [0, 0, 0.6, 0, 0.4, 0]),
    ("l1", 2.5, 5, [0, 0, 0, 0, 1, 0]),
    ("kl", 0.05, 2.745988756, [0, 0.0201251004, 0.6842534134, 0.2683346719, 0.02728681423, 0]),
    ("kl", 0.5, 3.562778977, [0, 0.01283233057, 0.4362992393, 0.1710977409, 0.3797706893, 0]),
    ("box", 6, 2.669744953, None),
    ("box", 5, 2.656281416, None),
    ("box", 4, 2.636086111, [0, 0.0148861477, 0.6509722586, 0.3341415937, 0, 0]),
]


@pytest.mark.parametrize(("kind", "size", "value", "row"), PUBLISHED)
def test_published_rows(kind, size, value, row):
    if kind == "l1":
        best, reached = l1_ball_max(jnp.asarray(ROW, float), size, jnp.asarray(VALUES, float))
    elif kind == "kl":
        best, reached = kl_ball_max(ROW, VALUES, size)
        np.testing.assert_allclose(reference.best_in_kl(ROW, size, VALUES), row, atol=1e-9)
    else:
        number = 28_000
        off = np.sqrt(14 * ROW * (1 - ROW) * B_214 / number) + 49 * B_214 / (3 * (number - 1))
        low, high = np.maximum(ROW - off, 0), np.minimum(ROW + off, 1) * (np.arange(6) < size)
        best, reached = box_max(*(jnp.asarray(item, float) for item in (low, high, VALUES)))
    np.testing.assert_allclose(best, value, rtol=2e-6)
    if row is not None:
        np.testing.assert_allclose(reached, row, atol=2e-6)


@pytest.mark.parametrize("states", [2, 12])
def test_rows_are_the_best_of_their_set(states):
    """Linear programmes for random rows, radii and values with ties; alone and with the runs last."""
    random = np.random.default_rng(states)
    rows = random.dirichlet(np.full(states, 0.5), 8)
    values = np.round(random.random((8, states)) * 4)
    radius = random.random(8) * 2.2
    low, high = np.maximum(rows - random.random(rows.shape) / 4, 0), np.minimum(rows + random.random(rows.shape) / 4, 1)
    alone = [jnp.asarray(numbers, float) for numbers in (rows, radius, values, low, high)]
    last = [jnp.moveaxis(numbers, 0, -1) for numbers in alone]
    ball, box = jax.jit(over_runs(lambda p, d, u, low, high: (l1_ball_max(p, d, u), box_max(low, high, u))))(*last)
    np.testing.assert_allclose(jax.jit(jax.vmap(l1_ball_max))(*alone[:3])[0], ball[0], rtol=1e-6)
    for n in range(8):
        # q and its distances e, the sum of which is at most d
        off = np.eye(states)
        limits = np.block([[off, -off], [-off, -off], [np.zeros((1, states)), np.ones((1, states))]])
        costs, sums = np.r_[-values[n], np.zeros(states)], [[*[1] * states, *[0] * states]]
        best = linprog(costs, limits, np.r_[rows[n], -rows[n], radius[n]], sums, [1])
        np.testing.assert_allclose(ball[0][n], -best.fun, atol=2e-6)
        best = linprog(-values[n], A_eq=[[1] * states], b_eq=[1], bounds=list(zip(low[n], high[n])))
        np.testing.assert_allclose(box[0][n], -best.fun, atol=2e-6)
        for row in (ball[1][:, n], box[1][:, n]):
            assert row.sum() == pytest.approx(1, abs=1e-6) and (row >= 0).all()


def test_radii_of_ucrl2_and_constants_of_kl_ucrl():
    paid, rows = UCRL2().radii(moves(), 214)
    np.testing.assert_allclose(paid[[0, 1, 1], [0, 0, 5]], [1.834601851, 1.004852818, 6.355247235], rtol=1e-6)
    np.testing.assert_allclose(rows[[0, 1, 1], [0, 0, 5]], [8.260509582, 4.524467434, 28.61524458], rtol=1e-6)
    np.testing.assert_allclose(KLUCRL().constants(moves(), 214), [79.48846683, 2.072433518], rtol=1e-6)


@pytest.mark.slow
def test_plans_of_optimists():
    result = PLAN(UCRL2(), moves(), 214)
    assert (result.actions.tolist(), int(result.sweeps), float(result.gain)) == ([0] * 6, 1, 1)
    seen = moves(10_000, 1)
    result = PLAN(UCRL2(), seen, next_round(seen))
    assert (result.actions.tolist(), int(result.sweeps)) == ([1] * 6, 28)
    np.testing.assert_allclose(result.gain, 0.5473683802, rtol=1e-5)
    assert PLAN(KLUCRL(), seen, next_round(seen)).actions.tolist() == [1] * 6
    seen = moves(100, 1)
    assert PLAN(KLUCRL(), seen, next_round(seen)).actions.tolist() == [1] * 6


@pytest.mark.slow
def test_gains_of_optimists():
    """In float64, with a tolerance that none of them asks for."""
    with jax.enable_x64():
        several = [(UCRL2(), 10_000, 0.5476203922), (KLUCRL(), 10_000, 0.4564213983)]
        for policy, times, gain in (*several, (UCRL2(), 100, 1), (KLUCRL(), 100, 0.6996244722)):
            seen = moves(times, 1)
            plan = value_iteration(policy.worth(seen, next_round(seen)), jnp.zeros(6), 1e-10)
            assert plan.span < 1e-10
            np.testing.assert_allclose(plan.gain, gain, rtol=3e-8)


BOUNDS = {
    ("CH", 0): [1.051531747, 1.096593763, 1.553078488, 2.877124386, 4.385759244, 5],
    ("CH", 4): [0.1245978327, 0.1351453245, 0.1489228943, 0.1680076833, 0.1911243507, 5],
    ("BF", 0): [0.03575944811, 0.1114678275, 0.664318408, 2.118851866, 3.895951054, 5],
    ("BF", 3): [0.00838066175, 0.006863895345, 0.006817637061, 0.007165255139, 1.778607948, 5],
}


@pytest.mark.parametrize("bonus", ["CH", "BF"])
def test_bounds_of_ucbvi(bonus):
    seen = moves(1_000_000)
    met = jnp.asarray(1_000_000 * np.arange(1, 6)[:, None] * (6 - np.arange(6)), jnp.int32)
    visits = met if bonus == "BF" else None
    policy = UCBVI(steps=5, horizon=5e6, bonus=bonus)
    result = jax.jit(lambda seen, visits: policy.plan(seen, visits, jnp.full((5, 2, 6), 5.0)))(seen, visits)
    for kind, step in BOUNDS:
        if kind == bonus:
            np.testing.assert_allclose(result[step, 1], BOUNDS[kind, step], rtol=1e-5)


@pytest.mark.slow
def test_the_dual_of_imed_rl():
    """A published vector and random ones, whose maximum scipy finds."""
    law, v, U, m = np.array([0.018, 0.51, 0.45, 0.022]), np.array([0.78, 1.78, 1.92, 2.56]), 3.06, 2.329296
    result = dual(*(jnp.asarray(item, float) for item in (law, v - m)), 1 / (U - m))
    np.testing.assert_allclose(result, 0.4981941038, rtol=1e-5)
    np.testing.assert_allclose(37 * result + math.log(37), 22.0440997, rtol=1e-5)
    random = np.random.default_rng(0)
    laws, values = random.dirichlet(np.full(6, 0.3), 500), 3 * random.random((500, 6))
    upper = values.max(1) + random.random(500) * (random.random(500) < 0.7)
    best = np.minimum((laws * values).sum(1) + random.random(500) ** 3, upper - 0.02)
    result = dual(*(jnp.asarray(item, float) for item in (laws, values - best[:, None], 1 / (upper - best))))
    expected = [reference.imed_dual(*item) for item in zip(laws, values, best, upper)]
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("process", [riverswim(6), riverswim(20), grid()], ids=["6", "20", "rooms"])
@pytest.mark.slow
def test_sweeps_end_long_before_the_limit(process):
    """Plans of processes of 6 to 20 states, as near the truth as 200,000 tries of every pair bring them."""
    seen = seen_of(process, 200_000)
    t, words = next_round(seen), jnp.array([1, 2], jnp.uint32)
    drawn = jax.jit(lambda seen: PSRL().plan(seen, t, words))(seen)
    hoped = jax.jit(lambda seen: UCRL2().plan(seen, t))(seen)
    assert drawn.sweeps < 400 and hoped.sweeps < 200
    np.testing.assert_allclose(drawn.gain, process.comparator(1), rtol=0.02)
    assert hoped.span < 1 / math.sqrt(t) and hoped.gain > process.comparator(1)


@pytest.mark.parametrize("waiting", [0.0, 0.1])
def test_value_iteration_finds_the_best_policy(waiting):
    """Against policy iteration in float64."""
    random = np.random.default_rng(1)
    for _ in range(5):
        rows, paid = random.dirichlet(np.ones(4), (3, 4)), random.random((3, 4))
        best = decision_processes.optimal(rows, paid)
        inputs = [jnp.asarray(item, float) for item in (rows, paid)]
        plan = value_iteration(lambda u, inputs=inputs: inputs[1] + inputs[0] @ u, jnp.zeros(4), 1e-5, waiting=waiting)
        assert plan.actions.tolist() == best.policy.tolist()
        np.testing.assert_allclose(plan.gain, best.gain[0], atol=1e-5)
        np.testing.assert_allclose(plan.values, best.bias - best.bias.min(), atol=1e-3)


def test_states_that_take_turns_need_waiting():
    rows, paid = jnp.array([[[0.0, 1.0], [1.0, 0.0]]] * 2), jnp.array([[0.0, 1.0], [0.2, 0.5]])
    plan = value_iteration(lambda u: paid + rows @ u, jnp.zeros(2), 1e-4, most=200)
    assert plan.sweeps == 200 and plan.span > 0.1
    plan = value_iteration(lambda u: paid + rows @ u, jnp.zeros(2), 1e-4, waiting=0.1)
    assert plan.sweeps < 100 and plan.actions.tolist() == [1, 0]
    np.testing.assert_allclose(plan.gain, 0.6, atol=1e-4)


def test_backward_induction():
    """RiverSwim's best values of episodes; no turns leave the table as it is."""
    process = riverswim(steps=5)
    rows, paid = (jnp.asarray(item, float) for item in (process.transition, process.reward))
    table = jnp.full((5, 2, 6), 7.0)
    result = backward_induction(lambda h, after, old: paid + rows @ after, table)
    first = [0.025, 0.02623125, 0.1487125, 0.6293625, 1.6378375, 3.02205]
    np.testing.assert_allclose(result[0].max(0), first, rtol=1e-5)
    np.testing.assert_allclose(result.max(1), process.episode_values(), rtol=1e-5)
    same = backward_induction(lambda h, after, old: paid + rows @ after, table, jnp.int32(0))
    np.testing.assert_array_equal(same, table)


@pytest.mark.parametrize("kind", [UCRL2, KLUCRL, UCRL2B, TUCRL])
def test_plans_are_optimistic_where_the_truth_is_in_the_set(kind):
    """Rows seen are the true ones, so that no plan may promise less than the truth, but for the tolerance."""
    process = riverswim()
    for times in (1, 20, 2000):
        seen = seen_of(process, 100 * times)
        t = next_round(seen)
        result = PLAN(kind(), seen, t)
        assert result.span < 1 / math.sqrt(t) and result.gain >= process.comparator(1) - 1 / math.sqrt(t)
