"""Indices of known chains against their definitions: all stopping sets, all policies, all arms' states together."""

import itertools

import chex
import jax
import mpmath
import numpy as np
import pytest

import jaxbandit
from jaxbandit import decision_processes, indices, planning
from jaxbandit.indices.subsidy import of_arm

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


@pytest.mark.parametrize("discount", [0.0, 0.3, 0.9, 0.99])
def test_gittins_is_the_best_stopping_set(discount, accuracy):
    worst = 0.0
    for states, sparse in itertools.product((1, 2, 3, 5), (False, True)):
        rows, reward = random_arms(states, 4, states, sparse)
        result = indices.gittins(rows, reward, discount)
        expected = [over_all_stopping_sets(*arm, discount) for arm in zip(rows, reward, strict=True)]
        worst = max(worst, np.abs(result - np.array(expected)).max())
    accuracy(f"Gittins indices, discount {discount}, float64", "all stopping sets", worst, 1e-10)


def test_gittins_of_two_states_near_discount_one():
    """The closed form in 60 digits; a subtraction of nearly equal numbers would lose half of the digits."""
    with mpmath.workdps(60):
        for discount in (0.999, 1 - 1e-7, 1 - 1e-12):
            beta = mpmath.mpf(discount)
            p, q = mpmath.mpf(0.0001), mpmath.mpf(0.7)
            wait = beta * p / (1 - beta * (1 - q))
            expected = float((p + wait * (1 - q)) / (1 + wait))
            result = indices.gittins([[[1 - 0.0001, 0.0001], [0.7, 1 - 0.7]]], (0, 1), discount)[0]
            np.testing.assert_allclose(result, [expected, 1 - 0.7], rtol=1e-13)


def value_of_joint_play(active, passive, reward, discount):
    """Values [S, S, ..] of all arms' states, the best arm played a round, by value iteration."""
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
        values = np.max(after, axis=0)
    return values


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


def over_all_policies(active, passive, earned, kept, subsidy, discount):
    """Advantage [S] of playing over not playing, where the best of all 2^S policies follows."""
    states, b = len(earned), 1 if discount is None else discount
    still = np.array(list(itertools.product([False, True], repeat=states)))
    rows, paid = np.where(still[..., None], passive, active), np.where(still, kept + subsidy, earned)
    system = np.zeros((len(still), states + 1, states + 1))  # of the values and the gain, which is 0 with a discount
    system[:, :states, :states] = np.eye(states) - b * rows
    if discount is None:
        system[:, :states, -1] = system[:, -1, :states] = 1
    else:
        system[:, -1, -1] = 1
    solved = np.linalg.solve(system, np.pad(paid, ((0, 0), (0, 1)))[..., None])[..., 0]
    values, gain = solved[:, :-1], solved[:, -1]
    best = values[(gain if discount is None else values.sum(1)).argmax()]
    return earned - kept - subsidy + b * (active - passive) @ best


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.99, None])
def test_whittle_is_where_the_best_policy_stops_playing(discount):
    """Random arms: the index by halving the subsidy, and the sets where playing is not best grow on a fine grid."""
    for seed, states in itertools.product(range(4), (2, 3, 4)):
        rng, paid = np.random.default_rng(100 * states + seed), ("present", "arrival")[seed % 2]
        active, passive = rng.dirichlet(np.ones(states), (2, states))
        reward, other = rng.uniform(size=(2, states))
        fields = {"discount": discount, "passive_reward": [other], "paid": paid}
        result = indices.whittle([active], [passive], [reward], **fields)
        earned, kept = (active @ reward, passive @ other) if paid == "arrival" else (reward, other)
        arm = active, passive, earned, kept
        grid = np.linspace(-30, 30, 101)
        stopped = np.array([over_all_policies(*arm, subsidy, discount) < -1e-9 for subsidy in grid])
        if not result.indexable[0]:  # perhaps for subsidies between those of the grid
            continue
        assert (stopped[1:] >= stopped[:-1]).all()
        for s in range(states):
            low, high = -1000.0, 1000.0
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if over_all_policies(*arm, middle, discount)[s] > 0 else (low, middle)
            assert result.index[0, s] == pytest.approx(low, abs=1e-6)


def test_an_arm_that_is_not_indexable_is_found_out():
    """State 2 is left alone for a subsidy of -0.2 and played for 0, as all policies say."""
    for discount in (None, 0.99):
        assert of_arm(**ODD, discount=discount) is None
        low, high = (over_all_policies(**ODD, subsidy=subsidy, discount=discount)[2] for subsidy in (-0.2, 0.0))
        assert low < 0 < high
    for discount, expected in ((0.9, [0.283902604, -0.18975, 0.375584944]), (0.5, [0.404, -0.245, 0.1197368421])):
        np.testing.assert_allclose(of_arm(**ODD, discount=discount), expected, rtol=0, atol=1e-9)
    even = np.full((3, 3), 1 / 3)
    arms = [even, ODD["active"]], [even, ODD["passive"]], [(0.0, 0.5, 1.0), ODD["earned"]]
    result = indices.whittle(*arms, discount=0.99, passive_reward=[np.zeros(3), ODD["kept"]], paid="present")
    assert result.indexable.tolist() == [True, False]
    assert np.isfinite(result.index[0]).all() and np.isnan(result.index[1]).all()


SCALES = (1e-9, 1.0, 1e9)


@pytest.mark.parametrize(
    ("discount", "paid"), [(None, "present"), (None, "arrival"), (0.5, "present"), (0.9, "arrival"), (0.99, "present")]
)
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
        result = indices.whittle(active, passive, scale * earned, passive_reward=scale * kept, **fields)
        np.testing.assert_array_equal(result.indexable, plain.indexable)
        np.testing.assert_allclose(result.index, scale * plain.index, rtol=1e-9, atol=1e-9 * scale)
    result = indices.whittle(active, passive, 1e6 + earned, passive_reward=1e6 + kept, **fields)
    np.testing.assert_array_equal(result.indexable, plain.indexable)
    np.testing.assert_allclose(result.index, plain.index, atol=1e-6)


def test_planners_give_the_same_in_any_unit_of_rewards():
    rng = np.random.default_rng(1)
    active, passive = rng.dirichlet(np.ones(3), (2, 6, 3))
    earned, kept = rng.random((2, 6, 3))
    exact, within_rounds, in_float32 = [], [], jax.jit(planning.whittle)
    for unit in SCALES:
        pays = unit * earned, unit * kept
        relaxed = indices.relaxation(active, passive, pays[0], 2, passive_reward=pays[1])
        best = decision_processes.optimal([passive[0], active[0]], [pays[1][0], pays[0][0]])
        of_unit = [item / unit for item in (relaxed.value, relaxed.price, relaxed.advantage, best.gain)]
        exact.append([*of_unit, relaxed.occupation, best.policy])
        within_rounds.append(in_float32(*(np.float32(item) for item in (active, passive, *pays)), 0.9) / unit)
    chex.assert_trees_all_close(*exact, rtol=1e-9, atol=1e-7)
    chex.assert_trees_all_close(*within_rounds, rtol=1e-4, atol=1e-5)
    lowered = indices.relaxation(active, passive, earned - 5, 2, passive_reward=kept - 5)
    np.testing.assert_allclose([lowered.value + 30, lowered.price], exact[1][:2], rtol=1e-9)


@pytest.mark.parametrize("paid", ["arrival", "present"])
def test_relaxation_is_the_least_bound_of_all_prices(paid):
    """Value: the least over prices c of M c + sum over arms of the best gain of one arm that pays c for being played,
    by trying all 2^S policies of each arm. Occupation: it balances, collects the value, is where the advantage says.
    """
    for seed, plays in itertools.product(range(2), (0, 1, 2, 3)):
        rng = np.random.default_rng(seed)
        active, passive = rng.dirichlet(np.ones(3), (2, 3, 3))
        reward, other = rng.random((2, 3, 3))
        result = indices.relaxation(active, passive, reward, plays, passive_reward=other, paid=paid)
        pays = np.stack([other, reward], -1)
        if paid == "arrival":
            pays = np.stack([(passive @ other[..., None])[..., 0], (active @ reward[..., None])[..., 0]], -1)
        gain, share = np.zeros((2, 3, 8))  # of each arm and policy; without the price, and the rounds that are plays
        for k, (i, chosen) in itertools.product(range(3), enumerate(itertools.product([0, 1], repeat=3))):
            law = jaxbandit.chains.stationary(np.where(np.array(chosen)[:, None], active[k], passive[k]))
            gain[k, i], share[k, i] = law @ pays[k, range(3), chosen], law @ chosen
        # the bound is piecewise linear in the price, so that its least value lies where two lines of an arm meet
        rise, apart = (each[:, None] - each[:, :, None] for each in (gain, share))
        prices = np.append(rise[np.abs(apart) > 1e-12] / apart[np.abs(apart) > 1e-12], 0)
        bounds = [plays * c + (gain - c * share).max(1).sum() for c in prices]
        if plays in (0, 3):  # then the price has no end, and no arm or every arm is played in all states
            bounds = [gain[:, -1 if plays else 0].sum()]
        assert result.value == pytest.approx(min(bounds), abs=1e-9)
        shares = result.occupation
        assert (shares * pays).sum() == pytest.approx(result.value, abs=1e-9)
        assert shares[..., 1].sum() == pytest.approx(plays, abs=1e-9)
        entered = np.einsum("ks,kst->kt", shares[..., 1], active) + np.einsum("ks,kst->kt", shares[..., 0], passive)
        np.testing.assert_allclose(shares.sum(-1), entered, atol=1e-9)
        for item, wrong in ((result.advantage, 0), (-result.advantage, 1)):
            assert (shares[item > 1e-7][:, wrong] < 1e-9).all()
        if plays < 3:  # the value is concave in the number of plays
            more = indices.relaxation(active, passive, reward, plays + 1, passive_reward=other, paid=paid)
            assert more.value <= result.value + result.price + 1e-9


def test_an_index_of_many_states_takes_one_factorisation(monkeypatch):
    """For 40 states not 40 systems, whose threads storm; exact against the definition at the subsidy found."""
    rng, asked = np.random.default_rng(3), []
    for name in ("solve", "inv"):
        function = getattr(np.linalg, name)
        monkeypatch.setattr(np.linalg, name, lambda *a, function=function: asked.append(1) or function(*a))
    active, passive = rng.dirichlet(np.ones(40), (2, 40))
    passive = 0.7 * np.eye(40) + 0.3 * passive
    earned, kept = rng.random((2, 40))
    for discount in (0.95, None):
        index = of_arm(active, passive, earned, kept, discount)
        assert len(asked) == 1
        for s in range(0, 40, 9):
            best = decision_processes.discounted if discount else decision_processes.optimal
            options = (discount,) if discount else ()
            solved = best([passive, active], [kept + index[s], earned], *options)
            values = solved.values if discount else solved.bias
            move = (active[s] - passive[s]) @ values * (discount or 1)
            assert earned[s] - kept[s] - index[s] + move == pytest.approx(0, abs=1e-9)
        asked.clear()


ROWS = [[[0.5, 0.5], [0.4, 0.6]]]
PART = [[[0.5, 0.5], [0.0, 1.0]]], [[[1.0, 0.0], [0.5, 0.5]]]  # leaves state 0 if played, and state 1 if not
BAD = [
    (lambda: indices.gittins(ROWS, (0, 1), 1.0), r"discount: 1.0 lies outside \[0, 1\)"),
    (lambda: indices.whittle(ROWS, ROWS * 2, (0, 1)), "passive: shape"),
    (lambda: indices.relaxation(ROWS, ROWS, (0, 1), 2), "plays: 2"),
    (lambda: indices.whittle(ROWS, np.eye(2)[None], (0, 1)), "passive: arm 0 has several recurrent classes"),
    (lambda: indices.whittle(np.eye(2)[None], ROWS, (0, 1)), "discount: None, but arm 0"),
    (lambda: indices.whittle(*PART, (0, 1)), r"discount: .* played in some states only, .* classes \[\[0\], \[1\]\]"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
