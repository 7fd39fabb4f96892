"""The likelihood of whole chains against searches over their rows: ratio, likeliest mean and largest mean."""

import itertools

import jax
import numpy as np
import pytest
import reference_chain
import reference_likelihood

from jaxbandit import chains
from jaxbandit.confidence import chain_likelihood_ratio, chain_mean, chain_mean_upper


def reachable(cases, seed):
    """Counts [N, 2, 2] of one play to ten million: slow and fast chains, rows of one kind, states hardly seen."""
    rng = np.random.default_rng(seed)
    departures = np.floor(10 ** rng.uniform(0, 7, (cases, 2)) * rng.integers(0, 8, (cases, 2)).clip(0, 1))
    moves = np.floor(departures.min(1) * 10 ** rng.uniform(-6, 0, cases))
    back = (moves + rng.integers(-1, 2, cases)).clip(0)
    stays = np.maximum(departures - np.stack([moves, back], 1), 0) * rng.integers(0, 8, (cases, 2)).clip(0, 1)
    stays[np.arange(cases), rng.integers(0, 2, cases)] *= moves + back > 0  # who never moved was in one state only
    return np.stack([np.stack([stays[:, 0], moves], 1), np.stack([back, stays[:, 1]], 1)], 1).astype(int)


def means_above(counts, reward, gap, seed):
    """A mean for each case: anywhere, or above the likeliest by a few of its deviations; float32 numbers."""
    rng = np.random.default_rng(seed)
    own = each(reference_chain.stationary_mean, counts, reward, gap)
    beyond = 10 ** rng.uniform(-1, 1, len(own)) / np.sqrt(counts.sum((1, 2)) + 1)
    near = own + (reward.max(1) - own) * np.minimum(beyond, 0.99)
    anywhere = rng.uniform(reward.min(1), reward.max(1))
    return np.where(rng.random(len(own)) < 0.5, near, anywhere).astype(np.float32)


def each(function, counts, *arguments):
    """The plain loop of every case, from the very numbers that the function under test gets."""
    count = [tuple(map(tuple, case)) for case in np.asarray(counts).tolist()]
    rest = [np.asarray(argument, float).tolist() for argument in arguments]
    return np.array([function(*case) for case in zip(count, *rest, strict=True)])


def check_close(found, expected, tolerance):
    """Within the tolerance, relative where values exceed 1; for infinity a number that nothing reaches. The error."""
    found, finite = np.asarray(found, float), np.isfinite(expected)
    assert (found[~finite] > 1e15).all()
    with np.errstate(invalid="ignore"):
        error = np.where(finite, np.abs(found - expected) / np.maximum(1, np.abs(expected)), 0)
    worst = int(np.argmax(error))
    assert not np.isnan(found).any()
    assert error[worst] <= tolerance, f"case {worst}: {found[worst]}, not {expected[worst]}: {error[worst]}"
    return error[worst]


def expected_ratio(counts, reward, mean, gap):
    """J by the reference; infinite at the best reward, as declared, also where a class would leave it finite."""
    result = each(reference_chain.likelihood_ratio, counts, reward, mean, gap)
    own = each(reference_chain.stationary_mean, counts, reward, gap)
    return np.where((mean >= reward.max(1)) & (own < mean), np.inf, result)


def check_ratio(found, counts, reward, mean, gap, tolerance):
    """`check_close` for means that may be off by four units in the last place of float32."""
    found, mean = np.asarray(found, float), np.asarray(mean, np.float32)
    off = 4 * np.spacing(np.maximum(mean, np.float32(1e-6)))
    sides = np.maximum(mean - off, 0), np.minimum(mean + off, reward.max(1))
    low, high = (expected_ratio(counts, reward, side, gap) for side in sides)
    return check_close(found, np.where(found < low, low, np.where(found > high, high, found)), tolerance)


def both_ways(counts):
    """Half of the cases with the states exchanged, so that the better paid one is the first; rewards [N, 2]."""
    counts, reward = counts.copy(), np.tile([0.0, 1.0], (len(counts), 1))
    counts[::2] = counts[::2, ::-1, ::-1]
    reward[::2] = [1.0, 0.0]
    return counts, reward


def test_plain_loops_are_brute_force():
    """The oracle of two states against golden sections over all (a, b), 1e-8; and three numbers found by hand."""
    rng = np.random.default_rng(0)
    counts = np.concatenate([reachable(1500, 1), rng.choice([0, 1, 2, 7, 10**7], (500, 2, 2))])
    gap = rng.choice([0, 0, 0.03, 0.3, 1], len(counts)) * rng.choice([1, rng.random()], len(counts))
    share = np.where(rng.random(len(counts)) < 0.5, rng.random(len(counts)), 1 - 10 ** rng.uniform(-6, 0, len(counts)))
    reward = np.tile([0.0, 1.0], (len(counts), 1))
    result = each(reference_chain.likelihood_ratio, counts, reward, share, gap)
    check_close(result, reference_likelihood.ratio_of_two_states(counts, share, gap), 1e-8)
    zeros = ((500, 0), (0, 0))  # a = gap share and b = gap (1 - share)
    assert reference_chain.likelihood_ratio(zeros, (0, 1), 0.6, 0.1) == pytest.approx(-500 * np.log1p(-0.06))
    assert reference_chain.likelihood_ratio(zeros, (0, 1), 0.6) == 0
    back = ((0, 30), (40, 0))  # a = 1 and b = 2/3
    assert reference_chain.likelihood_ratio(back, (0, 1), 0.6) == pytest.approx(40 * np.log(1.5))


def test_means_of_the_oracle_have_ratio_zero_and_none_above_has():
    rng = np.random.default_rng(2)
    counts = np.concatenate([reachable(1000, 3), rng.choice([0, 1, 2, 7], (500, 2, 2))])
    counts = counts[counts.sum((1, 2)) > 0]
    gap = rng.choice([0, 0, 0.03, 0.3, 1], len(counts))
    reward = np.tile([0.0, 1.0], (len(counts), 1))
    mean = each(reference_chain.stationary_mean, counts, reward, gap)
    ratio = reference_likelihood.ratio_of_two_states
    assert np.abs(ratio(counts, mean, gap)).max() < 1e-8
    assert (ratio(counts, mean + 1e-2, gap)[mean < 0.99] > 1e-9).all()
    level = 10 ** rng.uniform(-2, 1.3, len(counts))
    highest = each(reference_chain.upper_mean, counts, reward, level)
    inside = highest < 1 - 1e-6
    assert (ratio(counts, highest - 1e-7 * (1 - highest), 0)[inside] < level[inside] * (1 + 1e-6)).all()
    assert (ratio(counts, highest + 1e-7 * (1 - highest), 0)[inside] > level[inside] * (1 - 1e-6)).all()


@pytest.mark.parametrize("gap", [0, 0.03, 0.3, 1])
@pytest.mark.slow
def test_search_is_brute_force_for_two_states(gap):
    rng = np.random.default_rng(4)
    counts, reward = both_ways(reachable(20, 5))
    mean = rng.random(len(counts))
    loop = each(reference_chain.likelihood_ratio, counts, reward, mean, np.full(len(counts), gap))
    result = [reference_likelihood.ratio(*case, gap) for case in zip(counts, reward, mean, strict=True)]
    check_close(result, loop, 1e-7)


GAPS = [None, 0.3, 1.0, "of each"]


def gaps(gap, cases):
    """The argument for the function, and one number for each case of the oracle."""
    if gap is None:
        return None, np.zeros(cases)
    numbers = np.random.default_rng(6).random(cases) ** 2 if gap == "of each" else np.full(cases, gap)
    numbers = numbers.astype(np.float32)
    return numbers if gap == "of each" else numbers[0], numbers


def said(gap):
    return "any gap" if gap is None else "a gap for each arm" if gap == "of each" else f"gap {gap:g}"


@pytest.mark.parametrize("gap", GAPS)
def test_ratio_of_two_states(gap, accuracy):
    """4,000 cases in float32: within 1e-5 max(1, J) of J at a mean beside the one given, with a gap within 3e-4."""
    counts, reward = both_ways(reachable(4000, 7))
    (inputs, number), tolerance = gaps(gap, len(counts)), 1e-5 if gap is None else 3e-4
    mean = means_above(counts, reward, number, 8)
    result = chain_likelihood_ratio(counts, reward, mean, inputs)
    error = check_ratio(result, counts, reward, mean, number, tolerance)
    accuracy(f"likelihood of whole chains, two states, {said(gap)}", "bisection, float64", error, tolerance)


@pytest.mark.parametrize("gap", GAPS)
def test_mean_of_two_states(gap, accuracy):
    counts, reward = both_ways(reachable(4000, 9))
    (inputs, number), tolerance = gaps(gap, len(counts)), 1e-6 if gap is None else 5e-6
    expected = each(reference_chain.stationary_mean, counts, reward, number)
    error = check_close(chain_mean(counts, reward, inputs), expected, tolerance)
    accuracy(f"mean of the likeliest chain, two states, {said(gap)}", "bisection, float64", error, tolerance)


def test_upper_mean_of_two_states():
    """At levels from 0, where it is the likeliest mean bit for bit, to 40."""
    counts, reward = both_ways(reachable(4000, 10))
    level = (40 * np.random.default_rng(11).random(len(counts)) ** 3).astype(np.float32)
    level[::10] = 0
    expected = each(reference_chain.upper_mean, counts, reward, level)
    result = chain_mean_upper(counts, reward, level)
    check_close(result, expected, 1e-5)
    np.testing.assert_array_equal(result[::10], chain_mean(counts, reward)[::10])


def test_other_rewards():
    """Rewards that differ from arm to arm, some of them equal; up to 3,000 plays, as their difference is rounded."""
    rng = np.random.default_rng(12)
    counts = reachable(4000, 13)
    counts = counts[counts.sum((1, 2)) <= 3000]
    reward = rng.random((len(counts), 2)).astype(np.float32)
    reward[::20, 1] = reward[::20, 0]
    none = np.zeros(len(counts))
    mean = means_above(counts, reward, none, 14)
    level = rng.uniform(0, 20, len(counts)).astype(np.float32)
    expected = each(reference_chain.likelihood_ratio, counts, reward, mean, none)
    check_close(chain_likelihood_ratio(counts, reward, mean), expected, 1e-4)
    expected = each(reference_chain.stationary_mean, counts, reward, none)
    check_close(chain_mean(counts, reward), expected, 1e-6)
    check_close(chain_mean_upper(counts, reward, level), each(reference_chain.upper_mean, counts, reward, level), 1e-5)


@pytest.mark.parametrize(("gap", "tolerance"), [(None, 1e-5), (0.0, 1e-3), (0.03, 1e-3), (1.0, 0.1)])
@pytest.mark.slow
def test_corners_of_two_states(gap, tolerance):
    """All counts with entries 0, 1, 2, 7, 10^7: never NaN, never falling in the mean; right where plays reach."""
    counts = np.array(list(itertools.product([0, 1, 2, 7, 10**7], repeat=4))).reshape(-1, 2, 2)
    none = np.zeros((1, 2, 2), int), np.array([[0.0, 1.0]])
    assert np.isfinite(chain_likelihood_ratio(*none, 0.7, gap)).all() and np.isfinite(chain_mean(*none, gap)).all()
    assert chain_mean_upper(*none, np.ones(1)).tolist() == [1]
    counts, reward = both_ways(counts[counts.sum((1, 2)) > 0])
    before, number = 0.0, gaps(gap, len(counts))[1]
    reached = np.abs(counts[:, 0, 1] - counts[:, 1, 0]) <= 1
    for mean in (0.0, 1e-6, 0.1, 0.5, 0.55555, 0.9, 1 - 1e-6, 1.0):
        means = np.full(len(counts), mean, np.float32)
        result = np.asarray(chain_likelihood_ratio(counts, reward, means, gap), float)
        inputs = (each[reached] for each in (result, counts, reward, means, number))
        check_ratio(*inputs, tolerance)
        assert (result >= before - 1e-6 * np.maximum(1, before)).all()
        before = result
    assert (np.asarray(chain_likelihood_ratio(counts, reward, np.full(len(counts), 1.1), gap)) > 1e15).all()
    expected = each(reference_chain.stationary_mean, counts, reward, number)
    check_close(chain_mean(counts, reward, gap), expected, 1e-5)
    for level in (0.0, 1e-3, 1.0, 20.0, 80.0):
        levels = np.full(len(counts), level, np.float32)
        expected = each(reference_chain.upper_mean, counts, reward, levels)
        check_close(chain_mean_upper(counts, reward, levels), expected, 1e-5)


@pytest.mark.slow
def test_two_states_in_float64():
    counts, reward = both_ways(reachable(2000, 15))
    none = np.zeros(len(counts))
    mean = means_above(counts, reward, none, 16)
    level = np.random.default_rng(17).uniform(0, 30, len(counts))
    with jax.enable_x64(True):
        for gap in (None, 0.1):
            expected = expected_ratio(counts, reward, mean, none + (gap or 0))
            result = chain_likelihood_ratio(counts, reward, mean.astype(float), gap)
            check_close(result, expected, 1e-9 if gap is None else 1e-6)
        expected = each(reference_chain.upper_mean, counts, reward, level)
        check_close(chain_mean_upper(counts, reward, level), expected, 1e-9)


# --- three and more states ---


def trajectories(states, cases, seed):
    """Counts [N, S, S] of random chains, slow ones, those that move to neighbours only, to few states, or to one."""
    rng = np.random.default_rng(seed)
    result = []
    for case in range(cases):
        rows = rng.dirichlet(np.full(states, 0.7), states)
        if case % 5 == 1:
            rows = 0.95 * np.eye(states) + 0.05 * rows
        if case % 5 == 2:
            rows[np.abs(np.subtract.outer(range(states), range(states))) > 1] = 0
        if case % 5 == 3:
            rows[rng.random((states, states)) < 0.4] = 0
        if case % 5 == 4:
            rows = 1e-2 * rows + np.eye(states)[rng.permutation(states)]
        rows += 1e-9 * np.eye(states)
        ends = (rows / rows.sum(1, keepdims=True)).cumsum(1)
        path = [0]
        for number in rng.random(int(10 ** rng.uniform(0.3, 3))):
            path.append(min(int((ends[path[-1]] < number).sum()), states - 1))
        # What leads back to the first state is repeated.
        back = len(path) - 1 - path[::-1].index(0)
        counts = np.zeros((states, states), int)
        np.add.at(counts, (path[:back], path[1 : back + 1]), rng.choice([1, 1, 5000]))
        np.add.at(counts, (path[back:-1], path[back + 1 :]), 1)
        result.append(counts)
    return np.array(result)


def with_rewards(states, cases, seed):
    """Trajectories with the rewards 0 to 1 in any order, and a mean for each of them above that of the estimate."""
    rng = np.random.default_rng(seed)
    counts = trajectories(states, cases, seed)
    reward = np.array([rng.permutation(np.append([0, 1], rng.random(states - 2))) for _ in counts]).astype(np.float32)
    own = np.array([reference_likelihood.likeliest_mean(*case) for case in zip(counts, reward, strict=True)])
    beyond = np.where(rng.random(cases) < 0.6, 10 ** rng.uniform(-1, 1, cases) / np.sqrt(counts.sum((1, 2)) + 1), 1)
    mean = np.minimum(own + (1 - own) * np.minimum(beyond, rng.uniform(0, 0.98, cases)), 0.99)
    return counts, reward, mean.astype(np.float32)


@pytest.mark.parametrize(("states", "cases"), [(3, 36), (4, 12)])
@pytest.mark.slow
def test_more_states_against_the_search(states, cases):
    """J within 1e-4 max(1, J) of the search; one in twenty never came back to a state, which steps approach slowly."""
    counts, reward, mean = with_rewards(states, cases, 18)
    expected = np.array([reference_likelihood.ratio(*case) for case in zip(counts, reward, mean, strict=True)])
    error = ratio_error(counts, reward, mean, expected)
    assert (error < 1e-4).mean() >= 0.95 and error.max() < 0.5 and np.median(error) < 1e-6
    means = [reference_likelihood.likeliest_mean(*case) for case in zip(counts, reward, strict=True)]
    check_close(chain_mean(counts, reward), np.array(means), 1e-5)


def ratio_error(counts, reward, mean, expected):
    return np.abs(np.asarray(chain_likelihood_ratio(counts, reward, mean), float) - expected) / np.maximum(1, expected)


@pytest.mark.parametrize("case", range(6))
@pytest.mark.slow
def test_arms_that_hardly_left_a_state(case):
    """Several minima, states that were never come back to, huge counts of one cycle: found wrong by a local search."""
    counts, reward, mean = HARD[case]
    expected = reference_likelihood.ratio(np.array(counts), np.array(reward), mean)
    counts, reward = np.array([counts]), np.array([reward], np.float32)
    assert ratio_error(counts, reward, np.array([mean], np.float32), expected)[0] < 2e-3


HARD = [
    ([[10000, 1, 0], [0, 230, 0], [0, 0, 0]], [1, 0, 0.0453], 0.7357335),
    ([[55000, 0, 1], [0, 12, 0], [0, 1, 18]], [0, 0.87351567, 1], 0.88209),
    ([[5000, 1, 0], [0, 0, 11], [0, 10, 0]], [0.66793, 1, 0], 0.68706),
    ([[459, 0, 30], [1, 0, 0], [30, 0, 0]], [0.0, 0.8515, 1], 0.4476),  # to stay in the second best state
    ([[0, 140000, 0], [140000, 0, 0], [0, 0, 0]], [1, 0.65699005, 0], 0.8285325),
    ([[648, 0, 1], [0, 0, 27], [0, 27, 0]], [1.0, 0.0, 0.14844903], 0.11404585),
]


def test_classes_of_more_states():
    """J and the mean of the likeliest chain over chains with a gap, against searches over the rows."""
    counts, reward, mean = with_rewards(3, 14, 301)
    gap = np.random.default_rng(302).choice([0.01, 0.03, 0.1, 0.3], len(counts)).astype(np.float32)
    cases = list(zip(counts, reward, mean, gap.astype(float), strict=True))
    expected = np.array([reference_likelihood.ratio(*case) for case in cases])
    result = np.asarray(chain_likelihood_ratio(counts, reward, mean, gap), float)
    assert (np.abs(result - expected) < 1e-3 * np.maximum(1, expected)).mean() > 0.95
    # where a row is free several chains are as likely; the search finds the mean of one, not the largest
    means = np.array([reference_likelihood.likeliest_mean(n, r, g) for n, r, _, g in cases])
    result = np.asarray(chain_mean(counts, reward, gap), float)
    assert (result > means - 1e-4).all() and (np.abs(result - means) < 1e-4).mean() > 0.9


@pytest.mark.parametrize("states", [3, 4])
@pytest.mark.slow
def test_upper_mean_of_more_states(states):
    """The ratio of a slightly smaller mean is within the level, that of a slightly larger mean is not."""
    counts, reward, _ = with_rewards(states, 6, 19)
    level = np.random.default_rng(20).uniform(0.1, 15, len(counts)).astype(np.float32)
    result = np.asarray(chain_mean_upper(counts, reward, level), float)
    right = []
    for case, mean, most in zip(zip(counts, reward, strict=True), result, level, strict=True):
        below = reference_likelihood.ratio(*case, mean - 1e-4 * (1 - mean) - 1e-6) <= most * (1 + 1e-6)
        above = mean > 1 - 1e-5 or reference_likelihood.ratio(*case, mean + 1e-4 * (1 - mean)) >= most * (1 - 1e-6)
        right.append(below and above)
    assert np.mean(right) >= 0.8  # see the search above


@pytest.mark.parametrize("states", [3, 8])
@pytest.mark.slow
def test_no_chain_with_the_mean_is_likelier(states):
    """Estimates moved to the best state, or to random rows, until they have the mean: J is at most their divergence."""
    rng = np.random.default_rng(21)
    counts, reward, _ = with_rewards(states, 200, 22)
    means, cost = [], []
    for count, paid in zip(counts, reward, strict=True):
        departures = count.sum(1, keepdims=True)
        p = np.where(departures > 0, count / np.maximum(departures, 1), 1 / states)
        weight = 10 ** rng.uniform(-3, 0)
        better = np.eye(states)[paid.argmax()] if rng.random() < 0.5 else rng.dirichlet(np.ones(states), states)
        rows = (1 - weight) * p + weight * (0.9 * better + 0.1 / states)
        means.append(chains.stationary(rows) @ paid)
        cost.append(reference_likelihood.divergence(count.astype(float), rows))
    result = np.asarray(chain_likelihood_ratio(counts, reward, np.array(means, np.float32)), float)
    assert (result <= np.array(cost) * (1 + 1e-4) + 1e-4).all() and (result >= 0).all()


@pytest.mark.slow
def test_corners_of_three_states():
    """Trajectories, where J hardly ever falls in the mean, and other counts of 0, 1, 2, 7, 10^7: never NaN."""
    counts = np.random.default_rng(23).choice([0, 0, 1, 2, 7, 10**7], (500, 3, 3))
    counts = np.concatenate([trajectories(3, 500, 24), counts])
    reward = np.tile([0.5, 0.0, 1.0], (len(counts), 1))
    before = 0.0
    for mean in (0.0, 0.1, 0.5, 0.7, 0.9, 1.0, 1.1):
        result = np.asarray(chain_likelihood_ratio(counts, reward, np.full(len(counts), mean, np.float32)), float)
        assert not np.isnan(result).any()
        assert (result >= before - 1e-3 * np.maximum(1, before))[:500].mean() > 0.995  # see the search above
        before = result
    assert (before > 1e15).all()
    mean = np.asarray(chain_mean(counts, reward), float)
    assert ((mean >= -1e-6) & (mean <= 1 + 1e-6)).all()
