"""Indices of known chains against their definitions: all stopping sets, all policies, all arms' states together."""

import itertools

import jax
import mpmath
import numpy as np
import pytest

import jaxbandit
from jaxbandit import decision_processes, indices, planning, two_state
from jaxbandit.indices.subsidy import of_arm

FIRST = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
GRID = np.linspace(-3, 3, 25)  # of subsidies
PAYS = (0.0, 0.5, 1.0)
X = np.array([[0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]])
Y = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])
CORRIDOR = np.array([[0, 1, 0], [0, 0, 1], [0.05, 0, 0.95]])
A_PASSIVE = np.array([[0.9, 0.1, 0], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]])
A_ACTIVE = np.array([[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.05, 0.25, 0.7]])
B_PASSIVE = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.1, 0.2, 0.7]])
B_ACTIVE = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.3, 0.1, 0.6]])
ODD = {  # not indexable for some discounts: passive law, active law, what not playing and playing earn
    "passive": np.array([[0.5, 0.5, 0], [0, 0.9, 0.1], [0.5, 0.2, 0.3]]),
    "active": np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0, 0.7, 0.3]]),
    "kept": np.array([0.4, 0.8, 0.5]),
    "earned": np.array([0.9, 0.5, 0.6]),
}


def random_arms(seed, arms, states, sparse=False):
    """Rows and rewards; sparse rows have many zeros."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(states), (arms, states))
    if sparse:
        rows = np.where(rows < 0.25, 0, rows)
        rows = np.where(rows.sum(-1, keepdims=True) > 0, rows, np.eye(states))
        rows /= rows.sum(-1, keepdims=True)
    return rows, rng.normal(size=(arms, states))


def over_all_stopping_sets(rows, reward, discount):
    """The definition: from s, play on while the arm is in a set, for every set; [S]."""
    states = len(rows)
    best = np.full(states, -np.inf)
    for inside in itertools.product([False, True], repeat=states):
        kept = discount * rows * np.array(inside)  # moves after which play goes on
        paid, rounds = (np.linalg.solve(np.eye(states) - kept, x) for x in (rows @ reward, np.ones(states)))
        best = np.maximum(best, paid / rounds)
    return best


def by_restarts(rows, reward, discount):
    """Katehakis and Veinott 1987: in every state of the chain, play on or begin again in s; value iteration; [S]."""
    found = []
    for s in range(len(rows)):
        values = np.zeros(len(rows))
        for _ in range(int(np.log(1e-11) / np.log(discount))):
            on = rows @ (reward + discount * values)
            values = np.maximum(on, on[s])
        found.append((1 - discount) * values[s])
    return np.array(found)


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize("sparse", [False, True])
def test_gittins_is_the_best_stopping_set(discount, sparse, accuracy):
    worst = 0.0
    for states in (1, 2, 3, 5):
        rows, reward = random_arms(states, 4, states, sparse)
        found = indices.gittins(rows, reward, discount)
        expected = [over_all_stopping_sets(*arm, discount) for arm in zip(rows, reward, strict=True)]
        worst = max(worst, np.abs(found - np.array(expected)).max())
    accuracy(f"Gittins indices, discount {discount}, float64", "all stopping sets", worst, 1e-10)


def test_gittins_is_the_value_of_beginning_again():
    rows, reward = random_arms(9, 3, 6)
    expected = [by_restarts(*arm, 0.9) for arm in zip(rows, reward, strict=True)]
    np.testing.assert_allclose(indices.gittins(rows, reward, 0.9), expected, rtol=0, atol=1e-9)


def test_gittins_of_published_arms():
    wanted = {
        0.5: [0.5263157895, 0.6, 0.4102564103, 0.45, 0.3076923077, 0.35, 0.2162162162, 0.35, 0.1111111111, 0.3],
        0.9: [0.5494505495, 0.6, 0.4188481675, 0.45, 0.3141361257, 0.35, 0.2312138728, 0.35, 0.1219512195, 0.3],
        0.99: [0.5549389567, 0.6, 0.4208311415, 0.45, 0.3156233561, 0.35, 0.2348796242, 0.35, 0.1246882793, 0.3],
    }
    for discount, expected in wanted.items():
        found = indices.gittins(FIRST.transition, FIRST.reward, discount)
        np.testing.assert_allclose(found.ravel(), expected, rtol=0, atol=1e-10)
    found = indices.gittins([X, Y], PAYS, 0.9)
    np.testing.assert_allclose(found, [[0.65546875, 0.6354644495, 0.8], [0.4108430517, 0.85, 0.4559055118]], atol=1e-10)
    np.testing.assert_allclose(indices.gittins([CORRIDOR], (0, 0, 1), 0.9), [[0.8291110088, 1, 0.95]], atol=1e-10)


def test_gittins_of_rewards_paid_where_a_move_starts():
    """Reward R(s) of the state left is a reward on arrival in a chain of moves: the indices known for scenario 1."""
    expected = [0.4945054945, 0.3769633508, 0.2827225131, 0.2080924855, 0.1097560976]
    for rows, first in zip(FIRST.transition, expected, strict=True):
        # states are (s, s'), the last move; a play from (., s) leads to (s, s') and pays R(s)
        moves = np.array(
            [[rows[b, d] if c == b else 0 for c in (0, 1) for d in (0, 1)] for a in (0, 1) for b in (0, 1)]
        )
        found = indices.gittins([moves], np.array([0.0, 0.0, 1.0, 1.0]), 0.9)[0]
        np.testing.assert_allclose(found, [first, 1, first, 1], rtol=0, atol=1e-10)


def test_gittins_of_two_states_near_discount_one():
    """The closed form in 60 digits; a subtraction of nearly equal numbers would lose half of the digits."""
    with mpmath.workdps(60):
        for discount in (0.999, 1 - 1e-7, 1 - 1e-12):
            beta = mpmath.mpf(discount)
            p, q = mpmath.mpf(0.0001), mpmath.mpf(0.7)
            wait = beta * p / (1 - beta * (1 - q))
            expected = float((p + wait * (1 - q)) / (1 + wait))
            found = indices.gittins([[[1 - 0.0001, 0.0001], [0.7, 1 - 0.7]]], (0, 1), discount)[0]
            np.testing.assert_allclose(found, [expected, 1 - 0.7], rtol=1e-13)


def test_gittins_keeps_what_changes_nothing():
    rows, reward = random_arms(3, 5, 4)
    found = indices.gittins(rows, reward, 0.95)
    mean = np.einsum("kst,kt->ks", rows, reward)  # what a play from s pays
    np.testing.assert_allclose(found.max(1), mean.max(1), rtol=1e-12)
    assert (found >= mean - 1e-12).all()
    np.testing.assert_allclose(indices.gittins(rows, 3 * reward - 2, 0.95), 3 * found - 2, atol=1e-12)
    order = np.array([2, 0, 3, 1])
    np.testing.assert_allclose(
        indices.gittins(rows[:, order][:, :, order], reward[:, order], 0.95), found[:, order], atol=1e-12
    )
    alike = np.broadcast_to(rows[:, :1], rows.shape)
    expected = np.einsum("kst,kt->ks", alike, reward)
    np.testing.assert_allclose(indices.gittins(alike, reward, 0.95), expected, atol=1e-12)
    growing = [indices.gittins(FIRST.transition, (0, 1), discount)[:, 0] for discount in (0, 0.3, 0.9, 0.999)]
    assert (np.diff(growing, axis=0) > 0).all()


def value_of_joint_play(active, passive, reward, discount, rule=None, seen=None):
    """Values [S, S, ..] of all states of all arms together, one arm played a round; of a rule, or the largest.

    Value iteration over the product of the arms' states, from the definition.
    """
    arms, states = reward.shape
    values = np.zeros((states,) * arms)
    for _ in range(int(np.log(1e-12) / np.log(discount))):
        after = []
        for k in range(arms):
            expected = values
            for j in range(arms):
                moves = active[j] if j == k else passive[j]
                expected = np.moveaxis(np.tensordot(moves, expected, (1, j)), 0, j)
            paid = (active[k] @ reward[k]).reshape([-1 if j == k else 1 for j in range(arms)])
            after.append(paid + discount * expected)
        after = np.stack(after)
        values = after.max(0) if rule is None else np.take_along_axis(after, rule[None], 0)[0]
    return values


def index_rule(index):
    """The arm with the largest index in every joint state, the lowest of equals."""
    arms, states = index.shape
    each = [index[k].reshape([-1 if j == k else 1 for j in range(arms)]) for k in range(arms)]
    return np.stack([np.broadcast_to(one, (states,) * arms) for one in each]).argmax(0)


@pytest.mark.parametrize(("arms", "states"), [(2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_the_largest_gittins_index_is_optimal(arms, states, discount):
    rows, reward = random_arms(arms + states, arms, states, sparse=states == 3)
    still = np.broadcast_to(np.eye(states), rows.shape)
    best = value_of_joint_play(rows, still, reward, discount)
    rule = index_rule(indices.gittins(rows, reward, discount))
    np.testing.assert_allclose(value_of_joint_play(rows, still, reward, discount, rule), best, rtol=0, atol=1e-9)
    for place in np.ndindex(best.shape):
        known = np.eye(states)[list(place)]
        assert indices.gittins_value(rows, reward, discount, known) == pytest.approx(best[place], abs=1e-9)


def test_value_of_arms_not_yet_seen():
    """Value iteration where one more state of each arm means that it has not been seen."""
    rows, reward = random_arms(5, 3, 2)
    law = np.array([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]])
    extended, paid = np.zeros((3, 3, 3)), np.zeros((3, 3))
    for k in range(3):
        extended[k, :2, :2], extended[k, 2, :2] = rows[k], law[k, 0] * rows[k, 0] + law[k, 1] * rows[k, 1]
        paid[k, :2] = reward[k]
    best = value_of_joint_play(extended, np.broadcast_to(np.eye(3), extended.shape), paid, 0.9)
    assert indices.gittins_value(rows, reward, 0.9, law) == pytest.approx(best[2, 2, 2], abs=1e-9)
    more, pays = indices.with_start(rows, reward, law)
    np.testing.assert_allclose(more, extended, atol=1e-15)
    np.testing.assert_array_equal(pays[:, :2], reward)


def test_value_of_published_arms():
    expected = [
        [6.400516055, 6.631228576, 6.400516055],
        [6.354644495, 6.590397848, 6.354644495],
        [6.810493119, 6.996153216, 6.810493119],
    ]
    for x, y in itertools.product(range(3), repeat=2):
        found = indices.gittins_value([X, Y], PAYS, 0.9, np.eye(3)[[x, y]])
        assert found == pytest.approx(expected[x][y], abs=1e-9)
    coin = np.array([[0.55, 0.45, 0], [0.55, 0.45, 0], [0.55, 0.45, 0]])
    for start, expected_value in enumerate((8.291110088, 9.212344542, 9.124827269)):
        pair = [CORRIDOR, coin], [[0, 0, 1], [0, 1, 0]]
        assert indices.gittins_value(*pair, 0.9, np.eye(3)[[start, 0]]) == pytest.approx(expected_value, abs=1e-9)
    assert indices.gittins_value(FIRST.transition, (0, 1), 0.0, np.eye(2)[[0] * 5]) == pytest.approx(0.5)


def over_all_policies(active, passive, earned, kept, subsidy, discount):
    """Advantage [S] of playing over not playing, where the best of all 2^S policies follows."""
    states = len(earned)
    best = None
    for stopped in itertools.product([False, True], repeat=states):
        still = np.array(stopped)
        rows, paid = np.where(still[:, None], passive, active), np.where(still, kept + subsidy, earned)
        if discount is None:
            law = np.linalg.lstsq(
                np.vstack([(np.eye(states) - rows).T, np.ones(states)]), np.append(np.zeros(states), 1), rcond=None
            )[0]
            gain = law @ paid
            relative = np.linalg.lstsq(np.eye(states) - rows, paid - gain, rcond=None)[0]
            if best is None or gain > best[0]:
                best = gain, relative
        else:
            values = np.linalg.solve(np.eye(states) - discount * rows, paid)
            if best is None or values.sum() > best[0]:
                best = values.sum(), values
    change = active - passive if discount is None else discount * (active - passive)
    return earned - kept - subsidy + change @ best[1]


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99, None])
def test_whittle_is_where_the_best_policy_stops_playing(discount):
    """Random arms: the index by halving the subsidy, and the sets where playing is not best grow on a fine grid."""
    for seed, states in itertools.product(range(4), (2, 3, 4)):
        rng = np.random.default_rng(100 * states + seed)
        active, passive = rng.dirichlet(np.ones(states), (2, states))
        earned, kept = rng.uniform(size=(2, states))
        found = of_arm(active, passive, earned, kept, discount)
        arm = active, passive, earned, kept
        grid = np.linspace(-30, 30, 301)
        stopped = np.array([over_all_policies(*arm, subsidy, discount) < -1e-9 for subsidy in grid])
        if found is None:  # perhaps for subsidies between those of the grid
            continue
        assert (stopped[1:] >= stopped[:-1]).all()
        for s in range(states):
            low, high = -1000.0, 1000.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if over_all_policies(*arm, middle, discount)[s] > 0 else (low, middle)
            assert found[s] == pytest.approx(low, abs=1e-6)


def test_whittle_of_published_arms():
    both = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([[1.0, 0.0], [0.5, 0.5]])
    paid = np.array([0.5, 0.5]), np.array([2.0, 1.0])
    for discount, second in ((None, 1), (0.9, 0.9090909091), (0.5, 0.6666666667)):
        found = of_arm(both[1], both[0], paid[1], paid[0], discount)
        np.testing.assert_allclose(found, [1.5, second], rtol=0, atol=1e-10)
    wanted = {
        0.9: [[0.5179385866, 0.6385651019, 0.825], [0.02747713415, 0.5475907198, 0.65]],
        None: [[0.5692307692, 0.66, 0.825], [-0.00625, 0.546875, 0.65]],
    }
    for discount, expected in wanted.items():
        found = indices.whittle([A_ACTIVE, B_ACTIVE], [A_PASSIVE, B_PASSIVE], PAYS, discount=discount)
        np.testing.assert_allclose(found.index, expected, rtol=0, atol=1e-9)
        assert found.indexable.tolist() == [True, True]


def test_an_arm_that_is_not_indexable_is_found_out():
    """State 2 is left alone for a subsidy of -0.2 and played for 0, as all policies say."""
    for discount in (None, 0.99):
        assert of_arm(**ODD, discount=discount) is None
        low, high = (over_all_policies(**ODD, subsidy=subsidy, discount=discount)[2] for subsidy in (-0.2, 0.0))
        assert low < 0 < high
    for discount, expected in (
        (0.9, [0.283902604, -0.18975, 0.375584944]),
        (0.5, [0.404, -0.245, 0.1197368421]),
    ):
        np.testing.assert_allclose(of_arm(**ODD, discount=discount), expected, rtol=0, atol=1e-9)


SCALES = (1e-9, 1e-7, 1.0, 1e9)
CRITERIA = [(discount, paid) for discount in (None, 0.5, 0.9, 0.99) for paid in ("present", "arrival")]


@pytest.mark.parametrize(("discount", "paid"), CRITERIA)
def test_whittle_is_the_same_in_any_unit_of_rewards(discount, paid):
    """Also where they are all a million larger; among the arms is one that is not indexable at 0.99 and on average."""
    rng = np.random.default_rng(0)
    active, passive = rng.dirichlet(np.ones(3), (2, 6, 3))
    earned, kept = rng.random((2, 6, 3))
    active[0], passive[0], earned[0], kept[0] = (ODD[name] for name in ("active", "passive", "earned", "kept"))
    fields = {"discount": discount, "paid": paid}
    plain = indices.whittle(active, passive, earned, passive_reward=kept, **fields)
    assert plain.indexable.any() and (paid == "arrival" or discount in (0.5, 0.9) or not plain.indexable[0])
    for scale in SCALES:
        found = indices.whittle(active, passive, scale * earned, passive_reward=scale * kept, **fields)
        np.testing.assert_array_equal(found.indexable, plain.indexable)
        np.testing.assert_allclose(found.index, scale * plain.index, rtol=1e-9, atol=1e-9 * scale)
    found = indices.whittle(active, passive, 1e6 + earned, passive_reward=1e6 + kept, **fields)
    np.testing.assert_array_equal(found.indexable, plain.indexable)
    np.testing.assert_allclose(found.index, plain.index, atol=1e-6)


def test_indices_within_the_rounds_and_the_relaxation_are_the_same_in_any_unit():
    rng = np.random.default_rng(1)
    active, passive = rng.dirichlet(np.ones(3), (2, 6, 3))
    earned, kept = rng.random((2, 6, 3))
    relaxed = indices.relaxation(active, passive, earned, 2, passive_reward=kept)
    best = decision_processes.optimal([passive[0], active[0]], [kept[0], earned[0]])
    units = np.array(SCALES)[:, None, None]
    rows = [np.float32(np.broadcast_to(each, (len(units), 6, 3, 3))) for each in (active, passive)]
    found = jax.jit(planning.whittle)(*rows, np.float32(units * earned), np.float32(units * kept), 0.9) / units
    np.testing.assert_allclose(found, np.broadcast_to(found[SCALES.index(1.0)], found.shape), rtol=1e-4, atol=1e-5)
    for scale in SCALES:
        found = indices.relaxation(active, passive, scale * earned, 2, passive_reward=scale * kept)
        for name in ("value", "price", "advantage"):
            np.testing.assert_allclose(getattr(found, name), scale * getattr(relaxed, name), atol=1e-7 * scale)
        np.testing.assert_allclose(found.occupation, relaxed.occupation, atol=1e-9)
        long = decision_processes.optimal([passive[0], active[0]], [scale * kept[0], scale * earned[0]])
        np.testing.assert_array_equal(long.policy, best.policy)
        np.testing.assert_allclose(long.gain, scale * best.gain, rtol=1e-12)
    moved = indices.relaxation(active, passive, earned - 5, 2, passive_reward=kept - 5)
    np.testing.assert_allclose([moved.value, moved.price], [relaxed.value - 30, relaxed.price], rtol=1e-9)


def test_whittle_rule_against_the_optimum_of_two_arms():
    """It falls short of the optimum by as much as is known for these arms."""
    active, passive = np.stack([A_ACTIVE, B_ACTIVE]), np.stack([A_PASSIVE, B_PASSIVE])
    reward = np.array([PAYS, PAYS])
    best = value_of_joint_play(active, passive, reward, 0.9)
    rule = index_rule(indices.whittle(active, passive, PAYS, discount=0.9).index)
    found = value_of_joint_play(active, passive, reward, 0.9, rule)
    np.testing.assert_allclose(best[0], [5.83738522, 5.941971842, 6.061533107], atol=1e-8)
    np.testing.assert_allclose(found[0], [5.81028043, 5.917636103, 6.036606459], atol=1e-8)
    assert (found <= best + 1e-9).all()


def test_whittle_of_an_arm_that_stays_is_gittins():
    for states in (2, 3, 5):
        rows, reward = random_arms(states, 4, states)
        found = indices.whittle(rows, np.broadcast_to(np.eye(states), rows.shape), reward, discount=0.95)
        np.testing.assert_allclose(found.index, indices.gittins(rows, reward, 0.95), atol=1e-10)
        assert found.indexable.all()


def test_whittle_says_which_arm_has_no_index():
    """Arms with rewards on arrival and an index that jumps back, found by search, beside one that has an index."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        active, passive = rng.dirichlet([0.2] * 3, (2, 3))
        reward = rng.uniform(size=3)
        advantage = [over_all_policies(active, passive, active @ reward, np.zeros(3), each, 0.99) for each in GRID]
        stopped = np.array(advantage) < -1e-6
        if (stopped[1:] < stopped[:-1]).any():
            break
    else:
        pytest.fail("no such arm was met")
    found = indices.whittle([X, active], [Y, passive], [PAYS, reward], discount=0.99)
    assert found.indexable.tolist() == [True, False]
    assert np.isfinite(found.index[0]).all() and np.isnan(found.index[1]).all()


CIRCLE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]) / 2  # to the state itself or the one before
CIRCLE_PAYS = [-1.0, 0.0, 0.0, 1.0]
STAYS = [[0.1, 0.9, 0], [0, 0.2, 0.8], [0, 0.4, 0.6]]  # Killian and others: patients A, B, C where nobody calls
CALLED = [[0.1, 0.9, 0], [0.8, 0.2, 0], [0, 0.4, 0.6]]
PATIENTS_LEFT = np.array([STAYS, [[0.9, 0.1, 0], [0, 0.6, 0.4], STAYS[2]], [STAYS[0], [0, 0.9, 0.1], STAYS[2]]])
PATIENTS_CALLED = np.array([CALLED, [CALLED[0], [0.4, 0.6, 0], STAYS[2]], [STAYS[0], [0.1, 0.9, 0], STAYS[2]]])


def test_whittle_of_published_arms_that_all_pay():
    """Circular dynamics of Avrachenkov and Borkar in both conventions, and patients of Killian and others."""
    for paid, discount, expected in (
        ("arrival", None, [-0.5, 0.5, 1, -1]),
        ("present", None, [-0.5, 0.5, 1, -1]),
        ("present", 0.9, [-0.45, 0.45, 0.891089109, -0.891089109]),
        ("arrival", 0.9, [-0.5, 0.5, 0.9900990099, -0.9900990099]),  # the present state's, over the discount
    ):
        found = indices.whittle(
            [CIRCLE.T], [CIRCLE], CIRCLE_PAYS, discount=discount, passive_reward=CIRCLE_PAYS, paid=paid
        )
        np.testing.assert_allclose(found.index[0], expected, atol=1e-8)
    found = indices.whittle(PATIENTS_CALLED, PATIENTS_LEFT, [1, 0.5, 0], passive_reward=[1, 0.5, 0])
    np.testing.assert_allclose(found.index[:, 1], [1.074074074, 3.25, 1 / 6], atol=1e-8)


def test_relaxation_of_published_arms():
    for arms, plays, expected in ((5, 1, 1.0), (10, 4, 4.0)):
        found = indices.relaxation([CIRCLE.T] * arms, [CIRCLE] * arms, CIRCLE_PAYS, plays, passive_reward=CIRCLE_PAYS)
        assert found.value == pytest.approx(expected, abs=1e-9)
    found = indices.relaxation(PATIENTS_CALLED, PATIENTS_LEFT, [1, 0.5, 0], 1, passive_reward=[1, 0.5, 0])
    assert found.value == pytest.approx(2.080392157, abs=1e-9)


@pytest.mark.parametrize("paid", ["arrival", "present"])
def test_relaxation_is_the_least_bound_of_all_prices(paid):
    """Value: the least over prices c of M c + sum over arms of the best gain of one arm that pays c for being played,
    by trying all 2^S policies of each arm. Occupation: it balances, collects the value, is where the advantage says.
    """
    for seed, plays in itertools.product(range(4), (0, 1, 2, 3)):
        rng = np.random.default_rng(seed)
        active, passive = rng.dirichlet(np.ones(3), (2, 3, 3))
        reward, other = rng.random((2, 3, 3))
        found = indices.relaxation(active, passive, reward, plays, passive_reward=other, paid=paid)
        lines = []  # of each arm (gain without the price, share of rounds played) for every policy
        for k in range(3):
            for chosen in itertools.product([False, True], repeat=3):
                play = np.array(chosen)
                rows, pays = (
                    np.where(play[:, None], active[k], passive[k]),
                    np.where(play[:, None], reward[k], other[k]),
                )
                law = jaxbandit.chains.stationary(rows)
                each = (rows * pays).sum(1) if paid == "arrival" else np.where(play, reward[k], other[k])
                lines.append((k, law @ each, law @ play))
        k, gain, share = np.array(lines).T
        # the bound is piecewise linear in the price, so that its least value lies where two lines of an arm meet
        prices = [0.0]
        for arm in range(3):
            g, s = gain[k == arm], share[k == arm]
            apart = np.abs(s[:, None] - s) > 1e-12
            prices += list((g[:, None] - g)[apart] / (s[:, None] - s)[apart])
        bounds = [plays * c + sum((gain - c * share)[k == arm].max() for arm in range(3)) for c in prices]
        if plays in (0, 3):  # then the price has no end
            everyone = reward if plays else other
            rows = active if plays else passive
            laws = [jaxbandit.chains.stationary(each) for each in rows]
            bounds = [
                sum(law @ ((p * r).sum(1) if paid == "arrival" else r) for law, p, r in zip(laws, rows, everyone))
            ]
        assert found.value == pytest.approx(min(bounds), abs=1e-9)
        pays = np.stack([other, reward], -1)
        if paid == "arrival":
            pays = np.stack([(passive @ other[..., None])[..., 0], (active @ reward[..., None])[..., 0]], -1)
        shares = found.occupation
        assert (shares * pays).sum() == pytest.approx(found.value, abs=1e-9)
        assert shares[..., 1].sum() == pytest.approx(plays, abs=1e-9)
        entered = np.einsum("ks,kst->kt", shares[..., 1], active) + np.einsum("ks,kst->kt", shares[..., 0], passive)
        np.testing.assert_allclose(shares.sum(-1), entered, atol=1e-9)
        assert (shares[found.advantage > 1e-7][:, 0] < 1e-9).all() and (
            shares[found.advantage < -1e-7][:, 1] < 1e-9
        ).all()
        if plays < 3:  # the value is concave in the number of plays
            more = indices.relaxation(active, passive, reward, plays + 1, passive_reward=other, paid=paid)
            assert more.value <= found.value + found.price + 1e-9


def test_the_price_is_the_slope_of_the_value_and_not_what_a_whole_play_adds():
    """The four patients of docs/how_to/budgets.md: the price lies between what a play more adds and one less takes."""
    called = [
        [[0.95, 0.05, 0], [0.4, 0.55, 0.05], [0, 0.35, 0.65]],
        [[0.4, 0.58, 0.02], [0.8, 0.18, 0.02], [0.05, 0.4, 0.55]],
    ]
    left = [[[0.92, 0.08, 0], [0.05, 0.6, 0.35], [0, 0.1, 0.9]], [[0.3, 0.65, 0.05], [0.05, 0.45, 0.5], [0, 0.3, 0.7]]]
    pays = [1, 0.5, 0]
    found = [indices.relaxation(called * 2, left * 2, pays, plays, passive_reward=pays) for plays in range(5)]
    value, price = [each.value for each in found], [each.price for each in found]
    assert price[1] == pytest.approx(1.1442, abs=5e-5) and value[2] - value[1] == pytest.approx(0.3405, abs=5e-5)
    for plays in range(1, 4):
        assert value[plays + 1] - value[plays] - 1e-9 <= price[plays] <= value[plays] - value[plays - 1] + 1e-9


def test_playing_is_an_advantage_where_whittles_index_exceeds_the_price():
    """In all states, also those that the relaxed problem's best policy never meets, as many of patients are."""
    random = np.random.default_rng(1)
    many = [np.tile(rows, (10, 1, 1)) for rows in (PATIENTS_CALLED, PATIENTS_LEFT)]
    arms = [(*many, np.array([1, 0.5, 0]), plays) for plays in (4, 6, 8)]
    arms += [(*random.dirichlet(np.ones(3), (2, 6, 3)), random.random(3), plays) for plays in (1, 2, 4)]
    checked = 0
    for called, left, pays, plays in arms:
        index = indices.whittle(called, left, pays, passive_reward=pays)
        found = indices.relaxation(called, left, pays, plays, passive_reward=pays)
        apart = index.indexable[:, None] & (np.abs(index.index - found.price) > 1e-7)
        np.testing.assert_array_equal(found.advantage[apart] > 0, index.index[apart] > found.price)
        checked += apart.sum()
    assert checked > 40


def test_no_policy_collects_more_than_the_relaxation():
    """The best gain of two arms that are both paid for, one of them played: by value iteration over both states."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        active, passive = rng.dirichlet(np.ones(2), (2, 2, 2))
        reward = rng.random((2, 2))
        bound = indices.relaxation(active, passive, reward, 1, passive_reward=reward).value
        joint = [np.kron(active[0], passive[1]), np.kron(passive[0], active[1])]
        pays, values = (reward[0][:, None] + reward[1][None]).ravel(), np.zeros(4)
        for _ in range(3000):
            following = np.max([rows @ (pays + values) for rows in joint], 0)
            gain, values = following - values, following - following[0]
        assert gain.min() <= bound + 1e-9 and gain.min() > 0.8 * bound


ROWS = [[[0.5, 0.5], [0.4, 0.6]]]
BAD = [
    (lambda: indices.gittins(ROWS, (0, 1), 1.0), r"discount: 1.0 lies outside \[0, 1\)"),
    (lambda: indices.gittins(ROWS, (0, 1), [0.5, 0.6]), "discount: "),
    (lambda: indices.gittins(ROWS, (0, 1), -0.1), "discount: -0.1"),
    (lambda: indices.gittins(ROWS, (0, 1), float("nan")), "discount: nan lies outside"),
    (lambda: indices.gittins([[[0.5, 0.4], [0.4, 0.6]]], (0, 1), 0.9), "transition: row 0 of arm 0 sums to 0.9"),
    (lambda: indices.gittins(ROWS[0], (0, 1), 0.9), "transition: shape"),
    (lambda: indices.gittins(np.ones((2, 0, 0)), (), 0.9), "transition: shape"),
    (lambda: indices.gittins(ROWS, (0, 1, 2), 0.9), "reward: shape"),
    (lambda: indices.gittins(ROWS, (0, np.inf), 0.9), "reward: NaN or infinite"),
    (lambda: indices.gittins_value(ROWS, (0, 1), 0.9, [0.5, 0.5]), "initial: shape"),
    (lambda: indices.gittins_value(ROWS, (0, 1), 0.9, [[0.5, 0.6]]), "initial: row 0 of arm 0 sums to 1.1"),
    (lambda: indices.with_start(ROWS, (0, 1), [[1.5, -0.5]]), "initial: negative"),
    (lambda: indices.whittle(ROWS, ROWS * 2, (0, 1)), "passive: shape"),
    (lambda: indices.whittle([[[2.0, -1.0]] * 2], ROWS, (0, 1)), "active: negative"),
    (lambda: indices.whittle(ROWS, ROWS, (0, 1), discount=1.0), "discount: 1.0"),
    (lambda: indices.whittle(ROWS, ROWS, (0, 1), passive_reward=(1, 2, 3)), "passive_reward: shape"),
    (lambda: indices.whittle(ROWS, ROWS, (0, 1), paid="later"), "paid: 'later'"),
    (lambda: indices.relaxation(ROWS, ROWS, (0, 1), 2), "plays: 2"),
    (lambda: indices.whittle(ROWS, np.eye(2)[None], (0, 1)), r"passive: arm 0 has several recurrent classes"),
    (lambda: indices.whittle(np.eye(2)[None], ROWS, (0, 1)), "discount: None, but arm 0"),
    (  # played in state 1 alone it stays where it is, though it leaves state 0 if played and state 1 if not
        lambda: indices.whittle([[[0.5, 0.5], [0.0, 1.0]]], [[[1.0, 0.0], [0.5, 0.5]]], (0, 1)),
        r"discount: None, but arm 0, played in some states only, has several recurrent classes \[\[0\], \[1\]\]",
    ),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
