"""Regret bounds against mpmath with 50 digits and brute force (reference_bounds), their limits and what they refuse."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import reference_bounds as reference
from reference_likelihood import least_of_two_states, nearest
from scipy.optimize import linprog, minimize, minimize_scalar
from scipy.special import kl_div

import jaxbandit
from experiments.published.scenarios import environment
from jaxbandit import bernoulli, bounds, chains, markov, plotting, two_state
from jaxbandit.bounds.search import nearest_chain

PAIRS = {
    "scenario 1": ([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7]),
    "independent": ([0.7, 0.5, 0.1], [0.3, 0.5, 0.9]),
    "best independent": ([0.7, 0.5, 0.1], [0.3, 0.6, 0.7]),
    "mixed": ([0.6, 0.5, 0.1], [0.3, 0.5, 0.7]),
    "alternating": ([0.95, 0.9, 0.85], [0.8, 0.95, 0.99]),
    "first state beyond 1": ([0.9, 0.3, 0.5], [0.05, 0.6, 0.5]),
    "two best": ([0.6, 0.3, 0.2], [0.4, 0.2, 0.5]),
    "nearly frozen": ([3e-6, 1e-6, 0.4], [1e-6, 2e-6, 0.7]),
    "far apart": ([0.95, 0.5], [0.5, 0.95]),
}
EPS = (1e-4, 1e-3, 0.04)


def close(found, expected, rtol):
    np.testing.assert_allclose(found, [float(value) for value in expected], rtol=rtol)


def in_class(environment, gap):
    """Of each arm: least rate over the class, and over its chains that are good enough, by sections over both rows."""
    target, result = environment.means().max(), []
    for rows, reward in zip(environment.transition, environment.reward, strict=True):
        order, share = np.argsort(reward), (target - reward.min()) / np.ptp(reward)
        counts = 1e6 * (chains.stationary(rows)[:, None] * rows)[order][:, order]
        result.append([least_of_two_states(counts, x, gap) / 1e6 for x in (np.zeros(()), share)])
    return np.array(result).T


def least_rate(rows, reward, target, gap=0.0, starts=3):
    """The least rate of a chain with this mean and this gap, by searches over its rows."""
    counts = 1e4 * chains.stationary(rows)[:, None] * rows
    return nearest(counts, reward, max(target, reward.min()), gap, starts, np.random.default_rng(0))[0] / 1e4


@pytest.mark.parametrize("name", PAIRS)
def test_against_mpmath(name):
    p01, p10 = PAIRS[name]
    arms = two_state(p01, p10)
    upper, (per_arm, cases) = bounds.upper_asymptotic(arms), reference.upper_asymptotic(p01, p10)
    close(upper.per_arm, per_arm, 1e-9)
    assert upper.cases == tuple(cases)
    always = bounds.upper_asymptotic(arms, "KL-UCB-MC")
    close(always.per_arm, reference.upper_asymptotic(p01, p10, "a")[0], 1e-9)
    assert set(always.cases) <= {"a", ""} and always.label == "upper bound of KL-UCB-MC, asymptotic"
    lower, tight = bounds.lower_paper(arms), bounds.lower(arms)
    close(lower.per_arm, reference.lower_paper(arms.transition, [0, 1]), 1e-9)
    gaps = arms.means().max() - arms.means()
    worse = gaps > 1e-12
    np.testing.assert_allclose(tight.per_arm[worse], gaps[worse] / in_class(arms, 0)[1][worse], rtol=1e-9)
    assert not tight.per_arm[~worse].any()
    assert (tight.uncertainty <= 1e-9 * tight.per_arm).all()
    for bound in (upper, lower, tight):
        assert bound.total == pytest.approx(bound.per_arm.sum(), rel=1e-14)
    for version, constant in (("2010", 90), ("2012", 112)):
        for gap in ("eigenvalue", "multiplicative", "none"):
            expected = reference.ucb_sm_constant(arms.transition, [0, 1], constant, gap)
            assert bounds.ucb_sm_constant(arms, version, gap) == pytest.approx(expected, rel=1e-9)


def test_published_exploration():
    """Section 4 of the mathematics: L = 343 and 360 / min sigma."""
    arms = environment("scenario 1")
    assert bounds.ucb_sm_constant(arms, gap="none") == pytest.approx(343, rel=1e-12)
    assert bounds.ucb_sm_constant(arms, "paper", "eigenvalue") == pytest.approx(360 / 0.8, rel=1e-12)
    assert bounds.ucb_sm_upper(arms).total == pytest.approx(4 * 343 * np.sum(1 / (5 / 9 - arms.means()[1:])), rel=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_finite_bound_with_given_eps(name):
    p01, p10 = PAIRS[name]
    times, admissible, arms = np.array([1, 10_000, 2**31 - 1]), 0, two_state(p01, p10)
    expected = {eps: [reference.upper_finite(p01, p10, n, eps, eps, eps) for n in times] for eps in (*EPS, 1e-8)}
    for eps, bound in expected.items():
        result = bounds.upper_finite(arms, times, eps)
        for i in range(len(times)):
            close(result.per_arm[:, i], bound[i], 1e-7)
        np.testing.assert_allclose(result.total, result.per_arm.sum(0))
        admissible += np.isfinite(result.total).all()
    assert admissible
    one_by_one = bounds.upper_finite(arms, times, np.array(EPS)).per_arm
    for i, eps in enumerate(EPS):
        close(one_by_one[:, i], expected[eps][i], 1e-7)


@pytest.mark.parametrize("name", ["independent", "best independent", "mixed", "far apart"])
def test_eps_that_are_searched_for_are_not_beaten(name):
    """By 80 random admissible ones; a simplex search that begins at the best of them for an arm ends at the bound."""
    p01, p10 = PAIRS[name]
    n = 10**6
    best = bounds.upper_finite(two_state(p01, p10), [n]).per_arm[:, 0]

    def tried(logarithms):
        return np.array([float(value) for value in reference.upper_finite(p01, p10, n, *np.exp(logarithms))])

    eps = np.random.default_rng(0).uniform(-6, -0.7, (80, 3))
    result = np.array([tried(item) for item in eps])
    assert (best <= result.min(0) * (1 + 1e-9)).all()
    arm = np.flatnonzero(best)[-1]
    asked = {"method": "Nelder-Mead", "options": {"maxfev": 200}}
    search = minimize(lambda x: min(tried(x)[arm], 1e300), eps[result[:, arm].argmin()], **asked)
    assert best[arm] == pytest.approx(search.fun, rel=1e-6)


def agrees_with_a_search(rows, reward, target, gap=0.0, starts=3):
    """The rate is that of a chain of the class that is good enough, and the least that searches find."""
    result = nearest_chain(rows, reward, target, gap)
    assert result.rate == pytest.approx(chains.kl_rate(rows, result.rows), rel=1e-12)
    assert chains.stationary(result.rows) @ reward >= target - 1e-12 * np.ptp(reward)
    assert not gap or chains.reward_gap(result.rows, reward) >= gap * (1 - 1e-12)
    assert result.rate == pytest.approx(least_rate(rows, reward, target, gap, starts), rel=1e-6)
    return result.rate


def test_nearest_chain_where_moves_are_impossible():
    """Two moves that are certain and stay so: 5 % were missed where the search did not go over the rows."""
    rows, reward = np.array([[0, 1, 0], [0.15, 0, 0.85], [1, 0, 0]]), np.array([0, 1, 0.5])
    agrees_with_a_search(rows, reward, 0.71, gap=1.0)
    least = agrees_with_a_search(rows, reward, 0.71)
    arms = markov([rows, np.tile([0.2, 0.62, 0.18], (3, 1))], reward)
    assert arms.means()[1] == pytest.approx(0.71)
    assert bounds.lower(arms).per_arm[0] == pytest.approx(np.ptp(arms.means()) / least, rel=1e-6)
    assert least < chains.kl_rate(rows, [[0, 1, 0], [0.0608, 0.6715, 0.2677], [1, 0, 0]])


def test_the_nearest_chain_stays_in_a_state_that_is_hardly_seen():
    """A local minimum that one beginning in a hundred finds if it does not stay long in a good state."""
    rows = np.array([[0, 0.0675, 0.9325], [0.505, 0, 0.495], [0, 0.8068, 0.1932]])
    agrees_with_a_search(rows, np.array([0.7728, 0.7792, 0.4226]), 0.7607, starts=16)
    rows = np.array([[0.908, 0, 0.092], [0.203, 0.211, 0.586], [0.767, 0.024, 0.209]])
    agrees_with_a_search(rows, np.array([0.303, 0.443, 0.728]), 0.4005)
    rows = np.array([[0.167, 0.211, 0.622], [0.247, 0, 0.753], [0.645, 0, 0.355]])
    agrees_with_a_search(rows, np.array([0.481, 0.093, 0.547]), 0.536)  # beginnings need the best reward's state


@pytest.mark.slow
def test_extremes_of_the_search():
    """Means near the given one's and near the best reward, huge and tiny rewards, equal ones, and slow states."""
    arms = environment("scenario 3")
    rows, reward = arms.transition[0], arms.reward[0]
    mean, law = arms.means()[0], chains.stationary(arms.transition[0])
    values = chains.relative_values(rows, reward)
    variance = law @ (rows @ values**2 - (rows @ values) ** 2)
    for near in (1e-5, 1e-9):
        assert nearest_chain(rows, reward, mean + near).rate == pytest.approx(near**2 / variance / 2, rel=1e-4)
    rates = [nearest_chain(rows, reward, 1 - left).rate for left in (1e-3, 1e-6, 1e-9)]
    # for a thousandth of what is missing the best state is left a thousandth as often, which each of its moves tells
    np.testing.assert_allclose(np.diff(rates), law[2] * (1 - rows[2, 2]) * np.log(1000), rtol=1e-2)
    for gap in (0.0, 1.0):
        assert rates[-1] < nearest_chain(rows, reward, np.nextafter(1, 0), gap).rate < 100
    usual = nearest_chain(rows, reward, 0.6).rate
    for unit in (1e300, 1e-300):
        assert nearest_chain(rows, unit * reward, unit * 0.6).rate == pytest.approx(usual, rel=1e-9)
    assert nearest_chain(rows, reward, mean) == (pytest.approx(mean), 0.0, pytest.approx(rows))
    tied = np.array([0.0, 1.0, 1.0])
    agrees_with_a_search(rows, tied, 0.8)
    slow = rows.copy()
    slow[1] = 1e-4 * rows[1] + [0, 1 - 1e-4, 0]
    law, values = chains.stationary(slow), chains.relative_values(slow, reward)
    variance = law @ (slow @ values**2 - (slow @ values) ** 2)
    assert nearest_chain(slow, reward, law @ reward + 1e-7).rate == pytest.approx(1e-14 / variance / 2, rel=1e-2)


def test_two_states_that_mix_over_rows():
    """An arm in the class, one outside it, and one whose better state comes first; without a gap it is no class."""
    for gap in (0.2, 1.0):
        arms = two_state([0.5, 0.3, 0.02, 0.2], [0.4, 0.65, 0.03, 0.6])
        arms = arms if gap < 1 else markov(arms.transition[:, ::-1, ::-1], (2.0, -1.0))
        least, good = in_class(arms, gap)
        brute, bound = (arms.means().max() - arms.means()[1:]) / (good[1:] - least[1:]), bounds.lower(arms, gap)
        np.testing.assert_allclose(bound.per_arm[1:], brute, rtol=1e-6)
        assert (bound.uncertainty <= 1e-9 * bound.per_arm).all()
        assert bound.holds_for == f"policies good for chains with a reward gap of at least {gap:g}"
    everything, none = bounds.lower(arms), bounds.lower(arms, 0)
    assert (none.per_arm == everything.per_arm).all()
    assert everything.holds_for == none.holds_for == "policies good for all chains"


@pytest.mark.slow
def test_nearest_chain_that_mixes_against_brute_force():
    """At the end a minimum that starts at equal rows miss by six percent."""
    states = 3
    random = np.random.default_rng(states)
    for speed, ratio in ((1.0, 0.5), (0.3, 1.2), (0.05, 3.0)):
        rows = speed * random.dirichlet(np.ones(states), states) + (1 - speed) * np.eye(states)
        reward = random.random(states)
        mean, own = chains.stationary(rows) @ reward, chains.reward_gap(rows, reward)
        gap = min(1.0, ratio * own)
        for target in (-np.inf, mean + 0.3 * (reward.max() - mean)):
            result = nearest_chain(rows, reward, target, gap)
            assert result.rate == pytest.approx(least_rate(rows, reward, target, gap), rel=1e-6, abs=1e-9)
            assert result.mean >= target and (target > 0 or ratio > 1 or result.mean == mean)
    rows = np.array([[0.7, 0.29, 0.01], [0.02, 0.87, 0.11], [0.1, 0.2, 0.7]])
    reward = np.array([0.856, 0.4326, 0.0037])
    assert nearest_chain(rows, reward, gap=1).rate == pytest.approx(least_rate(rows, reward, -np.inf, 1), rel=1e-6)


def test_an_arm_that_the_class_takes_for_a_best_one():
    """The chain with p01 + p10 >= 0.3 that is nearest to a slow arm has a mean of 0.63, not 0.55."""
    arms = two_state([0.5, 0.049], [0.4, 0.04])
    bound = bounds.lower(arms, 0.3)
    assert bound.total == np.inf and bound.uncertainty.tolist() == [0, 0]
    least, good = in_class(arms, 0.3)
    assert least[1] == pytest.approx(good[1], rel=1e-6)
    fast = environment("scenario 3").transition[4]
    slow = 0.05 * fast + 0.95 * np.eye(3) - [[0.0, 0, 0], [0, 0, 0], [-0.001, 0, 0.001]]
    assert bounds.lower(markov(np.stack([fast, slow]), (0, 0.5, 1)), 0.2).total == np.inf


def one_slow_arm(p, states=2):
    """The second arm leaves state 0 with the chance p, for state 1 alone, and is there again soon."""
    rows = np.full((2, states, states), 1 / states)
    rows[1] = 0.9 * np.eye(states)[0] + 0.1 * np.eye(states)[-1]
    rows[1, 0] = (1 - p) * np.eye(states)[0] + p * np.eye(states)[1]
    return markov(rows, np.arange(states))


def test_price_of_slow_arms_against_linear_programming():
    """The least expected plays over all laws of N, the plays of an arm that never moves: the proof's last step."""
    random = np.random.default_rng(0)
    for _ in range(12):
        p, x, failure = *random.uniform(0.001, 0.85, 2), 10 ** random.uniform(-4, -0.05)
        most = int(random.integers(1, 40))
        arms = one_slow_arm(p)
        gap = arms.means()[0] - arms.means()[1]
        result = bounds.price_of_slow_arms(arms, [most / 0.45 + 1e-9], x, failure).total[0] / gap

        def least(given, p=p, x=x, failure=failure, most=most):
            plays = (1 - (1 - p) ** given) / p
            failing = np.where(given <= most, (1 - x) ** given, 0)
            return linprog(plays, failing[None], [failure], np.ones((1, len(given))), [1]).fun

        fine = np.append(np.linspace(0, most, 1_001), most + 1)
        assert result == pytest.approx(least(fine), rel=1e-3)
        assert result <= least(np.arange(most + 2)) + 1e-9


def test_a_policy_that_pays_no_more():
    """It gives the slow arm up after m plays unless it has moved, and keeps it if it moved to the state that pays."""
    p, x = 0.01, 0.05
    arms = one_slow_arm(p, states=3)
    gap = arms.means()[0] - arms.means()[1]
    for m in (1, 10, 60):
        failing = (1 - x) ** m
        plays = sum((1 - p) ** n for n in range(m))
        bound = bounds.price_of_slow_arms(arms, [10_000], x, failing)
        np.testing.assert_allclose(bound.per_arm[:, 0], [0, gap * plays], rtol=1e-12)
    assert bound.total[0] == bound.per_arm.sum() and bound.times.tolist() == [10_000]
    anywhere = markov(arms.transition, arms.reward, initial_state="stationary")
    share = chains.stationary(arms.transition[1])[0]
    seldom = bounds.price_of_slow_arms(anywhere, [10_000], x, share * failing).total
    np.testing.assert_allclose(seldom, share * bound.total, rtol=1e-12)
    elsewhere = markov(arms.transition, arms.reward, initial_state=1)
    assert bounds.price_of_slow_arms(elsewhere, [10_000], x, failing).total == 0
    arms = environment("scenario 2")
    leave, gap = arms.transition[1:, 0, 1], arms.means()[0] - arms.means()[1:]
    as_slow = bounds.price_of_slow_arms(arms, [10**9], [0.5, *leave], 1e-3)
    np.testing.assert_allclose(as_slow.total, 0.999 * gap @ (1 / leave), rtol=1e-9)
    slower = bounds.price_of_slow_arms(arms, [100, 1_000], 1e-6, 1e-3)
    assert (slower.total <= slower.times).all() and (np.diff(slower.total) > 0).all()


def test_independent_arms_meet_lai_and_robbins():
    arms = bernoulli([0.2, 0.9, 0.5])
    known = bounds.lai_robbins(arms)
    close(known.per_arm, reference.lai_robbins([0.2, 0.9, 0.5]), 1e-9)
    np.testing.assert_allclose(bounds.upper_asymptotic(arms).per_arm, known.per_arm, rtol=1e-12)
    assert set(bounds.upper_asymptotic(arms).cases) == {"d", ""}
    assert (bounds.lower(arms).per_arm >= known.per_arm).all()  # more problems to be good for
    row = np.array([[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]])
    three = markov(np.repeat(row[:, None], 3, axis=1), (0, 0.5, 1))
    gap = three.means()[0] - three.means()[1]
    mean, reward = three.means()[0], np.array([0, 0.5, 1])
    dual = lambda x: -row[1] @ np.log(1 - x * (reward - mean))  # K_inf is its largest value, Honda and Takemura 2010
    told = -minimize_scalar(dual, bounds=(0, 1 / (1 - mean)), method="bounded", options={"xatol": 1e-9}).fun
    assert bounds.lai_robbins(three).per_arm[1] == pytest.approx(gap / told, rel=1e-6)


@pytest.mark.parametrize(("p01", "p10", "m"), [(0.5, 0.4, 0.42), (0.05, 0.2, 0.15)])
def test_regret_exponent_against_a_grid(p01, p10, m):
    """No estimates of a fine grid are worse than those that are found, and the best of the grid is hardly better."""
    arms = two_state([p01, m], [p10, 1 - m])
    w = m / (1 - m)
    b = np.linspace(0.001, 1, 1000)[:, None]
    a = b * w * np.linspace(0.001, 0.999, 999)
    kl = lambda x, y: kl_div(x, y) + kl_div(1 - x, 1 - y)
    ratio = (b * kl(a, p01) + a * kl(b, p10)) / np.maximum(b * kl(a, w * b), a * kl(b, a / w))
    expected = max(0.0, 1 - ratio.min())
    assert expected - 1e-9 <= bounds.regret_exponent(arms, "state") <= expected + 0.01
    assert bounds.regret_exponent(arms) == 1


def test_regret_exponent_where_it_is_known():
    high = bernoulli([0.6, 0.55])  # one visit to state 1 that ends at once: the index stays at 1/2
    assert bounds.regret_exponent(high, "state") == 1
    assert bounds.regret_exponent(two_state([1.0, 0.3], [0.5, 0.7])) == 0  # the worse state is left for certain
    assert bounds.regret_exponent(two_state([1.0, 0.6], [0.5, 0.4])) == 1
    assert bounds.regret_exponent(bernoulli([0.5, 0.5])) == 0
    left_at_once = two_state([0.1, 0.09], [1.0, 1.0])  # .7506 on a grid of 500 by 500
    assert bounds.regret_exponent(left_at_once, "state") == pytest.approx(0.75058, abs=1e-4)
    three = bernoulli([0.4, 0.4, 0.3]), bernoulli([0.4, 0.3])  # both best arms must fail
    both, one = (bounds.regret_exponent(arms, "state") for arms in three)
    assert both == pytest.approx(max(0, 2 * one - 1), abs=1e-12)


def test_units_and_names_of_states_do_not_matter():
    arms, twice = environment("scenario 1"), environment("scenario 1").transition
    named = markov(twice[:, ::-1, ::-1], (3.0, 1.0))  # the better state first, paying 2 more
    for bound in (bounds.upper_asymptotic, bounds.lower, bounds.lower_paper):
        np.testing.assert_allclose(bound(named).per_arm, 2 * bound(arms).per_arm, rtol=1e-10)
    order = [3, 1, 4, 0, 2]
    permuted_arms = markov(twice[order], (0.0, 1.0))
    for bound in (bounds.upper_asymptotic, bounds.lower, bounds.ucb_sm_upper):
        np.testing.assert_allclose(bound(permuted_arms).per_arm, bound(arms).per_arm[order], rtol=1e-12)


def test_condition_and_eigenvalue_gaps():
    assert bounds.eigenvalue_condition(two_state([0.5, 1 / 2880], [0.4, 1 / 2879])).holds
    assert not bounds.eigenvalue_condition(two_state([0.5, 1 / 2881], [0.4, 1 / 2881])).holds
    assert bounds.eigenvalue_condition(two_state([0.9, 0.5], [0.9, 0.5])).sigma.tolist() == [1.8, 1.0]
    rows = two_state([1e-7, 0.5], [3e-7, 0.5]).transition[0]
    assert chains.eigenvalue_gap(rows) == pytest.approx(4e-7, rel=1e-9)
    assert chains.eigenvalue_gap(rows, symmetrise=True) == pytest.approx(4e-7 * (2 - 4e-7), rel=1e-9)
    arms = environment("scenario 3")
    expected = reference.ucb_sm_constant(arms.transition, arms.reward[0], 112, "multiplicative")
    assert bounds.ucb_sm_constant(arms) == pytest.approx(expected, rel=1e-9)


def test_arms_that_cannot_be_best_or_told_cheaply():
    apart = markov([[[0.1, 0.9], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]], [[0.5, 1.0], [0.0, 0.6]])
    assert bounds.lower(apart).total == 0  # the second arm pays 0.6 at most, the first 0.9
    certain = two_state([1.0, 0.5], [0.1, 0.5])
    assert bounds.lower_paper(certain).total == 0  # arm 2 stays in state 0 as the best never does
    assert 0 < bounds.lower(certain).total < np.inf
    same = two_state([0.5, 0.5], [0.4, 0.4])
    for bound in (bounds.upper_asymptotic, bounds.lower, bounds.lower_paper, bounds.ucb_sm_upper):
        assert bound(same).total == 0
    assert bounds.upper_finite(same, [10, 100]).total.tolist() == [0, 0]
    assert bounds.lai_robbins(bernoulli([1.0, 0.5])).total == 0  # a single 0 shows that arm 2 does not always pay 1
    assert bounds.lai_robbins(bernoulli([0.5, 0.0])).total == pytest.approx(0.5 / np.log(2))


ARMS, THREE, LEAVING = environment("scenario 1"), environment("scenario 3"), two_state([0.5, 0.0], [0.4, 0.5])
APART = markov(ARMS.transition, [[0, 1]] * 4 + [[0, 2]])
REFUSED = [
    (lambda: bounds.upper_asymptotic(THREE), "environment: 3 states; this bound is for arms with two"),
    (lambda: bounds.upper_asymptotic(APART), "arms pay differently"),
    (lambda: bounds.upper_asymptotic(LEAVING), "arm 1 is not irreducible"),
    (lambda: bounds.lai_robbins(ARMS), "arm 0 is Markovian"),
    (lambda: bounds.ucb_sm_constant(THREE, gap="eigenvalue"), "arm 0: .*not reversible"),
    (lambda: bounds.ucb_sm_constant(two_state([0.5, 1.0], [0.6, 1.0])), "arm 1 has no multiplicative gap"),
    (lambda: chains.eigenvalue_gap(np.ones((1, 1))), "one state only"),
    (lambda: bounds.ucb_sm_upper(ARMS, 0), "L: 0"),
    (lambda: bounds.upper_finite(ARMS, [0, 10]), "times: "),
    (lambda: bounds.upper_finite(ARMS, [10, 100], [0.1, 0.2, 0.3]), "eps: "),
    (lambda: bounds.lower(ARMS, 1.1), r"gap: .* is not a number in \[0, 1\]"),
    (lambda: bounds.price_of_slow_arms(ARMS, [10], [0.1, 0.2], 0.1), r"slowest: .* is not a number in \(0, 1\)"),
    (lambda: bounds.lower(jaxbandit.Oracle(ARMS.means())), "Oracle has no reward"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_bounds_that_do_not_exist_say_why(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
def test_bounds_in_pictures():
    arms = environment("scenario 1")
    result = jaxbandit.simulate(arms, {"KL": jaxbandit.KLUCB()}, runs=4, horizon=100)
    lines = [bounds.lower(arms), bounds.upper_finite(arms, [1, 100, 1000])]
    _, axes = plt.subplots(1, 2)
    for ax, normalised in zip(axes, (False, True)):
        plotting.plot_regret(result, bounds=lines, normalised=normalised, ax=ax)
    left, right = ({line.get_label(): line for line in ax.get_lines()} for ax in axes)
    constant = lines[0].total
    x, y = left["lower bound, tight (policies good for all chains)"].get_data()
    np.testing.assert_allclose(y, constant * np.log(x), rtol=1e-9)
    x, y = right["lower bound, tight (policies good for all chains)"].get_data()
    np.testing.assert_allclose(y, np.full(len(x), constant), rtol=1e-9)
    assert x.min() == 2
    name = "upper bound of TV-KL-UCB (two-state arms, says the paper)"
    np.testing.assert_allclose(left[name].get_ydata(), lines[1].total)
    np.testing.assert_allclose(right[name].get_ydata(), lines[1].total[1:] / np.log([100, 1000]))
    regret = jaxbandit.metrics.pseudo_regret(result, "KL")[0, 0].mean(0)[1:] / np.log(result.times[1:])
    np.testing.assert_allclose(right["KL"].get_ydata(), regret)


def test_heatmap_shows_every_number():
    figure, ax = plt.subplots()
    plotting.plot_heatmap(np.array([[1.0, 10.0, 100.0]]), ["row"], ["a", "b", "c"], logarithmic=True, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["1", "10", "100"]
    figure.canvas.draw()
    ticks = [(text.get_position()[1], text.get_text()) for text in figure.axes[1].get_yticklabels()]
    assert [text for at, text in ticks if 0.99 < at < 101] == ["1", "10", "100"]
    ax = plotting.plot_heatmap([[7.62, 8.4, 1234.5, 0.03]], ["row"], [*"abcd"], label="regret")
    assert [text.get_text() for text in ax.texts] == ["7.62", "8.4", "1,234", "0.03"]
    assert ax.figure.axes[1].get_ylabel() == "regret"
    plotting.plot_heatmap(np.ones((1, 2)), ["row"], ["a", "b"], ax=ax)  # of equal numbers a bar would say nothing
    assert len(figure.axes) == 2
    for values, words in ((np.ones((1, 3)), r"shape \(1, 3\)"), ([[0.0]], "from 0.0 to 0.0"), ([[np.nan]], "nan")):
        with pytest.raises(ValueError, match=f"values: .*{words}"):
            plotting.plot_heatmap(values, ["row"], ["a"], logarithmic=True, ax=ax)
