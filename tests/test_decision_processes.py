"""Gains, biases, episodes and hitting times, against all policies, linear programmes, and numbers found elsewhere."""

import itertools
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.optimize import linprog

from jaxbandit import chains
from jaxbandit.decision_processes import diameter, discounted, episodes, hitting_times, long_run, optimal, structure
from jaxbandit.decision_processes.gymnasium_tables import from_gymnasium
from jaxbandit.environments import decision_process, riverswim

OSBAND = {"up": 0.35, "down": 0.05, "up_first": 0.6, "down_last": 0.4}
EVEN, FAST = {"down": 0.05, "down_last": 0.05}, {"reward_left": 0.1, "reward_right": 0.99}
SWIMS = [  # numbers of RiverSwim; its gain, span of the bias and diameter, by enumeration and a linear programme
    ({"states": 3} | OSBAND, 0.4468085106, 2.127659574, 4.761904762),
    ({"states": 6} | OSBAND, 0.4286224338, 6.310324308, 14.72233791),
    ({"states": 12} | OSBAND, 0.428571429, 14.8809524, 34.72222222),
    ({"states": 20} | OSBAND, 0.4285714286, 26.30952381, 61.38888889),
    ({"states": 6, "up": 0.4, "up_first": 0.4} | EVEN, 0.8750033379, 12.142914, 13.877563),
    ({"states": 6, "up": 0.6, "up_first": 0.6} | FAST | EVEN, 0.9075003039, 8.100003, 8.925620),
    ({"states": 25, "up": 0.4, "up_first": 0.4, "reward_right": 0.99} | EVEN, 0.8662500000, 59.046429, 68.163265),
]
CASES = range(40)
AXES: dict[str, Any] = {"reward_axes": "action, state"}  # needed where there are as many actions as states


def random_process(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two to four states, two or three actions, with many moves that cannot be made: classes of every kind occur."""
    random = np.random.default_rng(seed)
    states, actions = int(random.integers(2, 5)), int(random.integers(2, 4))
    moves = (random.random((actions, states, states)) + 0.1) * (random.random((actions, states, states)) < 0.2)
    nowhere = moves.sum(-1) == 0
    moves[nowhere] = np.eye(states)[random.integers(states, size=nowhere.sum())]
    return moves / moves.sum(-1, keepdims=True), random.random((actions, states))


def all_policies(moves: np.ndarray) -> list[np.ndarray]:
    return [np.array(item) for item in itertools.product(range(len(moves)), repeat=moves.shape[1])]


def reachable(rows: np.ndarray) -> np.ndarray:
    """[S, S], whether one state can be reached from another in some number of steps, 0 included."""
    return np.linalg.matrix_power((rows > 0) + np.eye(len(rows)), len(rows)) > 0


@pytest.mark.parametrize(("numbers", "gain", "span", "far"), SWIMS, ids=lambda item: str(item) if item == 1 else None)
def test_riverswim(numbers, gain, span, far):
    process = riverswim(**numbers)
    result = optimal(process.transition, process.reward)
    np.testing.assert_allclose(result.gain, gain, rtol=2e-9)
    assert result.span == pytest.approx(span, rel=1e-6) and result.policy.min() == 1
    assert diameter(process.transition) == pytest.approx(far, rel=1e-6)
    assert structure(process.transition).kind == "communicating"


def test_gain_and_bias_are_what_small_discounts_of_the_future_leave():
    """Of the value with discount b: g / (1 - b) + h + O(1 - b), with every kind of chain."""
    discount = 1 - 1e-6
    for seed in CASES:
        moves, reward = random_process(seed)
        every = np.arange(moves.shape[1])
        for policy in all_policies(moves)[:8]:
            rows, paid = moves[policy, every], reward[policy, every]
            result = long_run(moves, reward, policy, **AXES)
            value = np.linalg.solve(np.eye(len(rows)) - discount * rows, paid)
            np.testing.assert_allclose((1 - discount) * value, result.gain, atol=1e-3)
            np.testing.assert_allclose(result.gain + result.bias, paid + rows @ result.bias, atol=1e-9)
            np.testing.assert_allclose(value - result.gain / (1 - discount), result.bias, atol=1e-2)


@pytest.mark.parametrize("seed", CASES)
def test_no_policy_has_a_larger_gain(seed):
    """All policies, and the linear programme that is dual to them: least g with g >= P_a g and g + h >= r_a + P_a h."""
    moves, reward = random_process(seed)
    actions, states = reward.shape
    result = optimal(moves, reward, **AXES)
    gains = np.array([long_run(moves, reward, policy, **AXES).gain for policy in all_policies(moves)])
    np.testing.assert_allclose(result.gain, gains.max(0), rtol=1e-9)
    np.testing.assert_allclose(long_run(moves, reward, result.policy, **AXES).gain, result.gain, rtol=1e-12)
    leaving = (moves - np.eye(states)).reshape(-1, states)
    rounds = np.tile(np.eye(states), (actions, 1))
    above = np.block([[leaving, np.zeros_like(leaving)], [-rounds, leaving]])
    costs = np.r_[np.ones(states), np.zeros(states)]
    limits = np.r_[np.zeros(len(leaving)), -reward.reshape(-1)]
    solved = linprog(costs, A_ub=above, b_ub=limits, bounds=(None, None))
    np.testing.assert_allclose(solved.x[:states], result.gain, atol=1e-7)
    if structure(moves).kind != "multichain":
        assert np.ptp(result.gain) < 1e-9
    solves_both_equations(moves, reward, result)


def solves_both_equations(moves, reward, found):
    """g = max P_a g, and g + h = max (r_a + P_a h) over the actions with P_a g = g: Puterman 1994, section 9.1."""
    gains = moves @ found.gain
    np.testing.assert_allclose(gains.max(0), found.gain, atol=1e-9)
    best = np.where(gains >= found.gain - 1e-9, reward + moves @ found.bias, -np.inf).max(0)
    np.testing.assert_allclose(found.gain + found.bias, best, atol=1e-9)


def test_an_action_that_loses_gain_has_no_part_in_the_equation_of_the_bias():
    """State 0 pays 1 for ever, or 100 once and then nothing: with all actions the equation would not hold."""
    moves, reward = np.array([[[1.0, 0], [0, 1]], [[0, 1], [0, 1]]]), np.array([[1.0, 0], [100, 0]])
    result = optimal(moves, reward, **AXES)
    assert result.gain.tolist() == [1, 0] and result.policy[0] == 0
    solves_both_equations(moves, reward, result)
    assert (reward + moves @ result.bias).max(0)[0] > result.gain[0] + result.bias[0] + 90


def test_no_policy_collects_more_in_an_episode():
    """All policies that may depend on the round."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        moves, reward = random.dirichlet(np.ones(2), (2, 2)), random.random((2, 2))
        result = episodes(moves, reward, 3, **AXES)
        values = []
        for plan in itertools.product(all_policies(moves), repeat=3):
            value = np.zeros(2)
            for policy in reversed(plan):
                value = reward[policy, range(2)] + moves[policy, range(2)] @ value
            values.append(value)
        np.testing.assert_allclose(result.values[0], np.max(values, axis=0), rtol=1e-12)
        np.testing.assert_array_equal(result.policy[2], reward.argmax(0))


@pytest.mark.parametrize("seed", CASES)
def test_no_policy_comes_to_a_state_sooner(seed):
    """All policies: of each, mean times are solved for where the target is reached with probability 1."""
    moves, _ = random_process(seed)
    states = moves.shape[1]
    best = np.full((states, states), np.inf)
    for policy in all_policies(moves):
        rows = moves[policy, range(states)]
        for target in range(states):
            stopped = rows.copy()
            stopped[target] = np.eye(states)[target]
            ways = reachable(stopped)
            sure = np.array([ways[ways[s], target].all() for s in range(states)])
            others = np.flatnonzero(sure & (np.arange(states) != target))
            times = np.where(sure, 0.0, np.inf)
            times[others] = np.linalg.solve(np.eye(len(others)) - rows[np.ix_(others, others)], np.ones(len(others)))
            best[:, target] = np.minimum(best[:, target], times)
    np.testing.assert_allclose(hitting_times(moves), best, rtol=1e-9)
    assert diameter(moves) == hitting_times(moves).max()


@pytest.mark.parametrize("states", [2, 7, 30])
def test_diameter_is_that_of_a_linear_programme(states):
    """For each target the largest sum of h with h_s <= 1 + P_a h; dense rows, and rows with few entries."""
    random = np.random.default_rng(states)
    dense = random.dirichlet(np.ones(states), (3, states))
    few = np.where(random.random(dense.shape) < 4 / states, dense, 0) + 0.1 * np.roll(np.eye(states), 1, axis=1)
    for moves in (dense, few / few.sum(-1, keepdims=True)):
        far = 0.0
        for target in range(states):
            others = np.flatnonzero(np.arange(states) != target)
            leaving = (np.eye(states) - moves)[:, others][:, :, others].reshape(-1, states - 1)
            result = linprog(-np.ones(states - 1), A_ub=leaving, b_ub=np.ones(len(leaving)), bounds=(0, None))
            far = max(far, result.x.max())
        assert diameter(moves) == pytest.approx(far, rel=1e-7)
        assert diameter(moves) == hitting_times(moves).max()


def test_diameter_where_equations_have_no_digits_left():
    """Two pairs of states; pairs are changed once in 10^18 rounds, so that a probability to stay is 1 as a float."""
    assert diameter(np.ones((1, 1, 1))) == 0
    rare = 1e-18
    rows = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, rare, 0], [0, 0, 0.5, 0.5], [rare, 0, 0.5, 0.5]])
    assert diameter(rows[None]) == pytest.approx(2 / rare, rel=1e-9)


@pytest.mark.parametrize("seed", CASES)
def test_how_states_communicate(seed):
    """From the recurrent classes of all policies, and from what can be reached by any."""
    moves, _ = random_process(seed)
    states = moves.shape[1]
    by_policy = [chains.recurrent_classes(moves[policy, range(states)]) for policy in all_policies(moves)]
    stays = sorted({s for classes in by_policy for states in classes for s in states})
    ways = reachable(moves.sum(0))
    result = structure(moves)
    assert result.transient == [s for s in range(states) if s not in stays]
    assert sorted(s for states in result.classes for s in states) == stays
    one_class = ways[np.ix_(stays, stays)].all()
    expected = "multichain" if not one_class else "weakly communicating"
    expected = "communicating" if ways.all() else expected
    expected = "ergodic" if all(classes == [list(range(states))] for classes in by_policy) else expected
    assert result.kind == expected and (len(result.classes) == 1) == (expected != "multichain")


def test_rare_moves_keep_their_digits():
    """Between two classes that are left once in 10^9 rounds, the gain is a mean by how often each is left."""
    rows = np.array([[[1 - 1e-9, 1e-9], [3e-9, 1 - 3e-9]]])
    result = long_run(rows, [[1.0, 0.0]], [0, 0])
    np.testing.assert_allclose(result.gain, 0.75, rtol=1e-12)
    np.testing.assert_allclose(result.bias, [0.25 / 4e-9, -0.75 / 4e-9], rtol=1e-7)
    np.testing.assert_allclose(hitting_times(rows), [[0, 1e9], [1 / 3e-9, 0]], rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimal(np.zeros((2, 2, 2)), np.zeros((2, 2))), "transition: row 0 of arm 0 sums to 0"),
        (lambda: optimal(np.full((2, 2, 2), 0.5), np.zeros((3, 2))), r"reward: shape \(3, 2\) is not \[A, S\] = \(2"),
        (lambda: long_run(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), [0, 2]), "policy: action 2; there are 2"),
        (lambda: episodes(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), 0), "steps: 0 is not among"),
        (lambda: optimal(np.full((2, 2, 2), 0.5), np.eye(2), reward_axes="s, a"), "reward_axes: 's, a' is not one of"),
        (lambda: from_gymnasium([[[(1, 0, 0)]]]), "table: .* is not P.s..a."),
        (lambda: from_gymnasium([[[(1, 7, 0, False)]]]), "table: a next state is none of the 1 states"),
        (lambda: from_gymnasium([[[(0.5, 0, 0, False)]]]), "table: row 0 of arm 0 sums to 0.5"),
    ],
)
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_a_gain_that_takes_long_to_come_to():
    """Half a unit for ever, or nothing until a state that pays one for ever, a million rounds away."""
    moves = np.array([np.eye(2), [[1 - 1e-6, 1e-6], [0, 1]]])
    result = optimal(moves, [[0.5, 1.0], [0.0, 1.0]], **AXES)
    assert result.policy[0] == 1 and result.gain.tolist() == [1, 1]
    np.testing.assert_allclose(result.bias, [-1e6, 0], rtol=1e-9)


def test_discounted_values_against_all_policies():
    """Processes of every kind; each value is the largest of all policies, which a linear solve in float64 gives."""
    for seed in CASES[:10]:
        moves, reward = random_process(seed)
        every = np.arange(moves.shape[1])
        values = [
            np.linalg.solve(np.eye(len(every)) - 0.9 * moves[policy, every], reward[policy, every])
            for policy in all_policies(moves)
        ]
        best = discounted(moves, reward, 0.9, **AXES)
        np.testing.assert_allclose(best.values, np.max(values, axis=0), rtol=1e-12)
        for policy, value in [(best.policy, best.values), *zip(all_policies(moves), values, strict=True)][:5]:
            np.testing.assert_allclose(discounted(moves, reward, 0.9, policy, **AXES).values, value, rtol=1e-12)


def test_discounted_values_close_to_no_discount():
    """Of the river in which the right action is best: a solve with 40 digits, and costs, which are negative."""
    process, discount = riverswim(**SWIMS[1][0]), 1 - 2.0**-30
    states = process.reward.shape[1]
    for paid in (process.reward, process.reward - 1):
        best = discounted(process.transition, paid, discount)
        with mp.workdps(40):
            rows = mp.matrix(process.transition[1].tolist())
            for s in range(states):  # which sum up to 1 with 40 digits, too
                rows[s, s] = 1 - mp.fsum(rows[s, n] for n in range(states) if n != s)
            matrix = mp.eye(states) - mp.mpf(discount) * rows
            exact = mp.lu_solve(matrix, mp.matrix(paid[1].tolist()))
        assert best.policy.tolist() == [1] * states
        np.testing.assert_allclose(best.values, np.array(exact.tolist(), float)[:, 0], rtol=1e-13)
    with pytest.raises(ValueError, match="policy: action 2; there are 2"):
        discounted(process.transition, process.reward, 0.9, [2] * states)


def value_iteration(outcomes, discount: float) -> np.ndarray:
    """Values of outcomes[s][a] = [(probability, next state, reward, terminated), ..], by sweeps of a plain loop."""
    values = np.zeros(len(outcomes))
    for _ in range(2000):
        after = [
            max(sum(p * (r + discount * values[n] * (not end)) for p, n, r, end in outcomes[s][a]) for a in outcomes[s])
            for s in range(len(outcomes))
        ]
        if np.abs(after - values).max() < 1e-13:
            break
        values = np.array(after)
    return values


@pytest.mark.parametrize("actions", [2, 3])
def test_rewards_in_every_order_of_their_axes(actions):
    """With as many actions as states and with others, by the state left and by the move, against a plain loop."""
    random = np.random.default_rng(2)
    moves, by_move = random.dirichlet(np.ones(3), (actions, 3)), 50 * random.random((actions, 3, 3))
    named = [{"reward_axes": axes} for axes in ("action, state", "state, action")]
    for table in (by_move[:, :, 0], by_move):
        wide = np.broadcast_to(table if table.ndim == 3 else table[..., None], by_move.shape)
        outcomes = [
            {a: [(moves[a, s, n], n, wide[a, s, n], False) for n in range(3)] for a in range(actions)} for s in range(3)
        ]
        expected = value_iteration(outcomes, 0.9)
        for reward, axes in zip((table, np.swapaxes(table, 0, 1)), named):
            for order in (axes, {})[: 1 + (actions != 3)]:
                np.testing.assert_allclose(discounted(moves, reward, 0.9, **order).values, expected, rtol=1e-11)
                np.testing.assert_allclose(decision_process(moves, reward, **order).reward, (moves * wide).sum(-1))
            if actions == 3:
                with pytest.raises(ValueError, match=r"^reward: shape .* does not tell actions from states"):
                    decision_process(moves, reward)


@pytest.mark.parametrize(("name", "discount"), [("FrozenLake-v1", 0.95), ("CliffWalking-v1", 0.9)])
def test_gymnasium_dictionaries(name, discount):
    """Values of the dictionary in a plain loop; what ends is worth nothing."""
    gymnasium = pytest.importorskip("gymnasium")
    game = gymnasium.make(name).unwrapped
    best = discounted(*from_gymnasium(game.P), discount)
    np.testing.assert_allclose(best.values, np.append(value_iteration(game.P, discount), 0), rtol=1e-9, atol=1e-11)
