"""The atlas: the numbers of its arms, written out once more from where they come from."""

import math

import numpy as np
import pytest

from jaxbandit import UCB1, Whittle, atlas, bounds, metrics, simulate
from jaxbandit.environments.rested import example

P01, P10 = (0.5, 0.4, 0.3, 0.2, 0.1), (0.4, 0.55, 0.65, 0.65, 0.7)
MEANS = (5 / 9, 8 / 19, 6 / 19, 4 / 17, 1 / 8)  # of scenario 1
TWO_STATES = {  # p01 and p10 of every arm
    "scenario 1": (P01, P10),
    "scenario 2": ((0.5, 0.0004, 0.0003, 0.0002, 0.0001), (0.4, 0.00055, 0.00065, 0.00065, 0.0007)),
    "tenth": ((0.05, 0.04, 0.03, 0.02, 0.01), (0.04, 0.055, 0.065, 0.065, 0.07)),
    "best20": ((0.025, *P01[1:]), (0.02, *P10[1:])),
    "best1000": ((0.0005, *P01[1:]), (0.0004, *P10[1:])),
    "example": (example.P01, example.P10),
}
THREE_STATES = {  # the rows of arms 0 to 4, each from states 0, 1, 2
    "scenario 3": [
        [[0.4, 0.5, 0.1], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3]],
        [[0.4, 0.4, 0.2], [0.2, 0.25, 0.55], [0.5, 0.2, 0.3]],
        [[0.4, 0.3, 0.3], [0.25, 0.25, 0.5], [0.4, 0.4, 0.2]],
        [[0.6, 0.2, 0.2], [0.25, 0.2, 0.55], [0.3, 0.5, 0.2]],
        [[0.2, 0.1, 0.7], [0.15, 0.15, 0.7], [0.2, 0.6, 0.2]],
    ],
    "scenario 4": [
        [[0.994, 0.005, 0.001], [0.003, 0.993, 0.004], [0.006, 0.001, 0.993]],
        [[0.994, 0.004, 0.002], [0.002, 0.9925, 0.0055], [0.005, 0.002, 0.993]],
        [[0.994, 0.003, 0.003], [0.0025, 0.9925, 0.005], [0.004, 0.004, 0.992]],
        [[0.996, 0.002, 0.002], [0.0025, 0.992, 0.0055], [0.003, 0.005, 0.992]],
        [[0.2, 0.1, 0.7], [0.15, 0.15, 0.7], [0.2, 0.6, 0.2]],
    ],
}
BERNOULLI = {
    "i.i.d. scenario 1": MEANS,
    "i.i.d. high": (0.9, 0.8, 0.7, 0.6, 0.5),
    "easy Bernoulli": (0.9, 0.6, 0.5, 0.4, 0.3),
    "hard Bernoulli": (0.5, 0.48, 0.48, 0.48, 0.48),
    "wide Bernoulli": (0.9, 0.7, 0.5, 0.3, 0.1),
    **{"Auer 1": (0.9, 0.6), "Auer 2": (0.9, 0.8), "Auer 3": (0.55, 0.45), "Auer 11": (0.9, *[0.6] * 9)},
    "Auer 12": (0.9, 0.8, 0.8, 0.8, 0.7, 0.7, 0.7, 0.6, 0.6, 0.6),
    **{"Auer 13": (0.9, *[0.8] * 9), "Auer 14": (0.55, *[0.45] * 9)},
    "Garivier and Kaufmann 1": (0.5, 0.45, 0.43, 0.4),
    "Garivier and Kaufmann 2": (0.3, 0.21, 0.2, 0.19, 0.18),
    "rare Bernoulli": (0.1, 0.05, 0.05, 0.05, 0.02, 0.02, 0.02, 0.01, 0.01, 0.01),
}
FALLING = (0.5, 0.4, 0.3, 0.2, 0.1)
NO_TABLE = {"Gaussian": FALLING, "wide Gaussian": (0.9, 0.7, 0.5, 0.3, 0.1), "Poisson": FALLING, "exponential": FALLING}
GENERATORS = {
    "two-state family": ([[0.9, 0.1], [0.2, 0.8]], (0, 1)),
    "three-state family": ([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]], (0, 0.5, 1)),
}
RESTLESS = {f"restless {name}": name for name in (*(f"scenario {n}" for n in "1234"), "tenth")}
HIDDEN = {f"hidden {name} error {e}": (name, e) for name in ("scenario 1", "tenth") for e in (0.05, 0.1, 0.3)}
CHANGING = {  # where levels begin, in how many rounds, and the levels
    "Garivier and Moulines": ([3000, 5000], 10_000, "534 539 534"),
    "Besson 1": ([1001, 2001, 3001, 4001], 5000, "359 329 321 721 751"),
    "Besson 2": ([1001, 2001, 3001, 4001], 5000, "459 547 635 723 811"),
    "Besson 3": ([1001, 2001, 3001], 4000, "129 491 512 223"),
    "Besson 4": ([1001, 1251, 1501, 1751], 2000, "159 341 532 743 152"),
}
DAW = (50, 2.8, 4, 0.9836, 50, math.sqrt(2.8**2 / (1 - 0.9836**2)))
WALKS = {  # start, step, reward, part kept, centre, first spread, and how many arms
    "Sutton and Barto, drift": (0, 0.01, 1, 1, 0, 0, 10),
    "Daw": (*DAW, 4),
    "Daw, two arms": (*DAW, 2),
}
SWIMS = {  # probabilities of the right action (up, down, up from the first, down from the last), rewards, S, slip
    "RiverSwim": (0.35, 0.05, 0.6, 0.4, 0.005, 1, 6, 0),
    "RiverSwim 6": (0.4, 0.05, 0.4, 0.05, 0.005, 1, 6, 0),
    "RiverSwim 25": (0.4, 0.05, 0.4, 0.05, 0.005, 0.99, 25, 0),
    "fast RiverSwim": (0.6, 0.05, 0.6, 0.05, 0.1, 0.99, 6, 0),
    "ergodic RiverSwim": (0.35, 0.3, 0.35, 0.3, 0.05, 0.99, 5, 0.01),
}
CIRCLE_DOWN = [[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]  # twice the probabilities
CIRCLE_UP = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]]
WORN_5 = [[100, 0, 0, 0, 0], [30, 70, 0, 0, 0], [5, 25, 70, 0, 0], [5, 0, 25, 70, 0], [5, 0, 0, 25, 70]]
REPAIRED_5 = [[15, 0, 0, 0, 85], [0, 15, 0, 0, 85], [0, 0, 15, 0, 85], [0, 0, 0, 15, 85], [0, 0, 0, 0, 100]]
# with a budget: M of 10 arms, what states pay, a play's cost, and of each type `scale` times the rows when not played
# and when played
BUDGETS = {
    "circular": (2, (-1, 0, 0, 1), 0, 2, [(CIRCLE_DOWN, CIRCLE_UP)]),
    "maternal health": (2, (1, 0.5, 0), 0, 10, [
        ([[1, 9, 0], [0, 2, 8], [0, 4, 6]], [[1, 9, 0], [8, 2, 0], [0, 4, 6]]),
        ([[9, 1, 0], [0, 6, 4], [0, 4, 6]], [[1, 9, 0], [4, 6, 0], [0, 4, 6]]),
        ([[1, 9, 0], [0, 9, 1], [0, 4, 6]], [[1, 9, 0], [1, 9, 0], [0, 4, 6]]),
    ]),
    "CPAP": (3, (0, 1), 0, 10_000, [
        ([[200, 9800], [500, 9500]], [[0, 10_000], [0, 10_000]]),
        ([[7660, 2340], [3340, 6660]], [[7426, 2574], [2674, 7326]]),
        ([[7310, 2690], [1720, 8280]], [[7041, 2959], [892, 9108]]),
    ]),
    "collapsing": (1, (0, 1), 0, 100, [([[97, 3], [3, 97]], [[96, 4], [1, 99]])]),
    "machines 5": (1, (0, 0.25, 0.5, 0.75, 1), 0.15, 100, [(WORN_5, REPAIRED_5)]),
    "swinging": (5, (0.8, 0.4, 0), 0, 10, [
        ([[0, 7, 3], [0, 4, 6], [4, 0, 6]], [[0, 7, 3], [10, 0, 0], [0, 9, 1]]),
    ]),
    "treadmill": (3, (0.6, 0.4, 0), 0, 10, [
        ([[1, 0, 9], [0, 9, 1], [0, 0, 10]], [[0, 8, 2], [2, 8, 0], [9, 0, 1]]),
    ]),
}  # fmt: skip
NO_ATTRACTOR = {  # what a play earns in each state, and the last row of a played arm and of one that waits
    "no attractor 1": ((0.72232506, 0.18844869, 0.25752477), (0.378, 0.155, 0.467), (0.537, 0.377, 0.086)),
    "no attractor 2": ((0.37401552, 0.11740814, 0.07866135), (0.253, 0.273, 0.474), (0.523, 0.455, 0.022)),
    "no attractor 3": ((0.97658608, 0.53014109, 0.40394919), (0.419, 0.178, 0.403), (0.666, 0.085, 0.250)),
}
INDEPENDENT = {  # the arms of a scenario that are independent
    "scenario 1, best i.i.d.": ("scenario 1", [0]),
    "scenario 1, others i.i.d.": ("scenario 1", [1, 2, 3, 4]),
    "scenario 3, best i.i.d.": ("scenario 3", [4]),
    "scenario 3, others i.i.d.": ("scenario 3", [0, 1, 2, 3]),
    "i.i.d. scenario 3": ("scenario 3", [0, 1, 2, 3, 4]),
}


def rows(name: str) -> np.ndarray:
    """Transition matrices [K, S, S] of rested arms."""
    if name in INDEPENDENT:
        scenario, independent = INDEPENDENT[name]
        moves = rows(scenario)
        moves[independent] = [[law(each)] * len(each) for each in moves[independent]]
        return moves
    if name in THREE_STATES:
        return np.array(THREE_STATES[name])
    p01, p10 = np.array(TWO_STATES[name]) if name in TWO_STATES else np.array([BERNOULLI[name], BERNOULLI[name]])
    p10 = p10 if name in TWO_STATES else 1 - p10
    return np.array([[[1 - leave, leave], [back, 1 - back]] for leave, back in zip(p01, p10, strict=True)])


def law(moves: np.ndarray) -> np.ndarray:
    """Where a chain stands in the long run."""
    return np.linalg.matrix_power(moves, 2**20)[0]


@pytest.mark.parametrize("name", [*TWO_STATES, *THREE_STATES, *BERNOULLI, *INDEPENDENT])
def test_chains(name):
    arms = atlas[name].arms
    np.testing.assert_allclose(arms.transition, rows(name), rtol=1e-9)
    np.testing.assert_array_equal(arms.reward, np.tile(np.linspace(0, 1, arms.reward.shape[1]), (len(arms.reward), 1)))
    np.testing.assert_array_equal(arms.initial[:, 0], 1)  # from state 0
    np.testing.assert_array_equal(atlas[name].make(initial_state=1).initial[:, 1], 1)


@pytest.mark.parametrize("name", NO_TABLE)
def test_rewards_without_a_table(name):
    arms = atlas[name].arms
    np.testing.assert_array_equal(arms.means(), NO_TABLE[name])
    assert type(arms.family).__name__.lower() in name.lower()
    if "Gaussian" in name:
        np.testing.assert_array_equal(arms.family.variance, [0.25] * 5)
    with pytest.raises(TypeError, match="initial_state"):
        atlas[name].make(initial_state=0)


@pytest.mark.parametrize("name", GENERATORS)
def test_families(name):
    """Rows P(x, y) exp(theta f(y)) v(y) / (v(x) rho), by eigenvectors."""
    generator, paid = map(np.array, GENERATORS[name])
    for theta, moves in zip((2, 1, 0.5, 0, -1), atlas[name].arms.transition, strict=True):
        tilted = generator * np.exp(theta * paid)
        values, vectors = np.linalg.eig(tilted)
        v = np.abs(vectors[:, values.real.argmax()].real)
        np.testing.assert_allclose(moves, tilted * v / (v[:, None] * values.real.max()), rtol=1e-9)
    np.testing.assert_array_equal(atlas[name].arms.reward[0], paid)


@pytest.mark.parametrize("name", RESTLESS)
def test_restless_arms_move_as_they_do_rested(name):
    arms, moves = atlas[name].arms, rows(RESTLESS[name])
    np.testing.assert_allclose(arms.transition, moves, rtol=1e-12)
    np.testing.assert_array_equal(arms.reward, [np.linspace(0, 1, moves.shape[1])] * 5)
    np.testing.assert_allclose(arms.initial, list(map(law, moves)), rtol=1e-8)
    assert arms.declares.problem == "restless" and arms.passive is None
    np.testing.assert_array_equal(atlas[name].make(initial_state=1).initial[:, 1], 1)


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_arms(name):
    rested, error = HIDDEN[name]
    arms = atlas[name].arms
    np.testing.assert_allclose(arms.transition, rows(rested), rtol=1e-12)
    np.testing.assert_allclose(arms.emission, [[[1 - error, error], [error, 1 - error]]] * 5, rtol=1e-12)
    np.testing.assert_array_equal(arms.reward, [[0, 1]] * 5)
    np.testing.assert_allclose(arms.means(), np.array(MEANS) * (1 - 2 * error) + error, rtol=1e-9)
    view = atlas[name].make(initial_state=1).pairs.initial
    np.testing.assert_allclose(view, [[0, 0, error, 1 - error]] * 5, rtol=1e-12)


def test_cycles_go_round():
    arms = atlas["hidden cycles"].arms
    assert [np.flatnonzero(row).tolist() for row in arms.transition[2]] == [[1], [2], [3], [0]]
    np.testing.assert_array_equal(arms.emission[:, :, 1], [[p, p, 0, 0] for p in (1, 0.84, 0.63, 0.47, 0.25)])
    np.testing.assert_allclose(arms.pairs.initial.reshape(5, 4, 2).sum(-1), 0.25)
    first = atlas["hidden cycles"].make(initial_state=3).pairs.initial
    np.testing.assert_allclose(first.reshape(5, 4, 2).sum(-1), [[0, 0, 0, 1]] * 5)


def test_arms_that_begin_again():
    arms = atlas["restarting scenario 1"].arms
    assert arms.declares.problem == "restarting" and float(arms.discount) == 0.99
    np.testing.assert_allclose(arms.transition, rows("scenario 1"), rtol=1e-12)
    again = atlas["restarting scenario 1"].make(initial_state=1)
    np.testing.assert_array_equal(again.arms.initial[:, 1], 1)


@pytest.mark.parametrize("name", CHANGING)
def test_levels_and_breaks(name):
    breaks, rounds, levels = CHANGING[name]
    levels = [[int(digit) / 10 for digit in level] for level in levels.split()]
    if name == "Garivier and Moulines":  # its first arm is the first there
        levels = [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]]
    entry = atlas[name]
    assert entry.arms.breaks.tolist() == breaks and entry.horizon == int(entry.arms.segments.horizon) == rounds
    np.testing.assert_array_equal(entry.arms.segments.means, levels)
    longer = entry.with_horizon(10 * rounds)
    assert longer.breaks.tolist() == [1 + (start - 1) * 10 for start in breaks]


def test_seldom_clicked():
    """Six headlines over nine segments, of equal lengths."""
    arms = atlas["Besson 5"].arms
    assert arms.breaks.tolist() == list(range(1001, 9001, 1000))
    result = (1000 * arms.segments.means).round(9).astype(int).tolist()
    assert result == [
        *[[71, 41, 32, 30, 20, 11], [55, 53, 32, 30, 8, 11], [40, 63, 32, 30, 8, 11], [40, 42, 43, 30, 8, 11]],
        *[[30, 32, 55, 30, 8, 11], [30, 32, 20, 30, 8, 21], [20, 22, 20, 45, 8, 21], [20, 22, 20, 57, 8, 11]],
        [20, 22, 34, 57, 22, 11],
    ]


def test_drift_and_a_table():
    whole, third = atlas["Besbes, whole"].arms, atlas["Besbes, first third"].with_horizon(9000)
    for t in (1, 500, 2999):
        assert third.segments.means[t - 1, 0] == pytest.approx(0.5 + 0.3 * math.sin(3 * math.pi * t / (0.6 * 3000)))
        assert whole.segments.means[t - 1, 1] == pytest.approx(0.5 - 0.3 * math.sin(3 * math.pi * t / (0.6 * 10_000)))
    assert atlas["Besbes, lower bound"].arms.batch == 282
    table = atlas["never in turn"].with_horizon(100)
    result = simulate(table, {"UCB1": UCB1()}, runs=1, horizon=100, times=[100])
    assert not result.visits["UCB1"][..., 1].any()
    assert metrics.regret(result, "UCB1").item() == pytest.approx(80)  # the last arm pays but when it is its turn


@pytest.mark.parametrize("name", WALKS)
def test_walks(name):
    start, step, reward, kept, centre, spread, count = WALKS[name]
    arms = atlas[name].arms
    fields = arms.start, arms.diffusion, arms.deviation, arms.rate, arms.centre, arms.spread
    for field, expected in zip(fields, (start, step, reward, 1 - kept, centre, spread), strict=True):
        np.testing.assert_allclose(field, [expected] * count, rtol=1e-12)


@pytest.mark.parametrize("name", ["changing scenario 1", "changing restless scenario 1"])
def test_chains_that_take_turns(name):
    arms = atlas[name].arms
    assert arms.breaks.tolist() == [20_001, 40_001, 60_001, 80_001] and arms.restless == ("restless" in name)
    for b, k in ((0, 0), (0, 4), (3, 1), (4, 4)):
        np.testing.assert_allclose(arms.transition[b, k], rows("scenario 1")[(b + k) % 5], rtol=1e-12)
        assert arms.segments.means[b, k] == pytest.approx(MEANS[(b + k) % 5])


@pytest.mark.parametrize("name", SWIMS)
def test_rivers(name):
    """All begin in the first state."""
    up, down, first, last, little, much, states, slip = SWIMS[name]
    process = atlas[name].arms
    falls = [[1 - slip] * states, [0] + [down] * (states - 2) + [last]]
    rises = [[slip / 2] * states, [first] + [up] * (states - 2) + [0]]
    expected = np.zeros((2, states, states))
    for a, s in np.ndindex(2, states):
        expected[a, s, max(s - 1, 0)] += falls[a][s]
        expected[a, s, min(s + 1, states - 1)] += rises[a][s]
        expected[a, s, s] += 1 - falls[a][s] - rises[a][s]
    np.testing.assert_allclose(process.transition, expected, atol=1e-12)
    assert np.flatnonzero(process.reward).tolist() == [0, 2 * states - 1]
    assert (process.reward[0, 0], process.reward[1, -1]) == (little, much) and process.initial[0] == 1
    assert atlas[name].make(initial_state=1, steps=20).steps == 20


def test_an_arm_that_never_varies_and_rooms():
    arms, process = atlas["sure or even"].arms, atlas["four rooms"].arms
    np.testing.assert_array_equal(arms.transition, np.full((2, 2, 2), 0.5))
    np.testing.assert_array_equal(arms.reward, [[0, 1], [0.495, 0.495]])
    assert process.reward.shape == (4, 20) and process.reward.sum() == 4


@pytest.mark.parametrize("name", BUDGETS)
def test_arms_with_a_budget(name):
    """Types in turn, the number that is asked for; what is seen, where they start, and what no policy exceeds."""
    plays, pays, cost, scale, types = BUDGETS[name]
    entry = atlas[name]
    assert entry.plays == plays and len(entry.arms.reward) == 10
    for arms in (entry.arms, entry.make(arms=13, initial_state=1)):
        for k, (passive, active) in enumerate(zip(arms.passive, arms.transition)):
            left, played = types[k % len(types)]
            np.testing.assert_allclose(passive, np.array(left) / scale, atol=1e-12)
            np.testing.assert_allclose(active, np.array(played) / scale, atol=1e-12)
        np.testing.assert_array_equal(arms.reward, np.tile(pays, (len(arms.reward), 1)))
        np.testing.assert_array_equal(arms.cost, cost)
        assert (arms.declares.paid, arms.observed) == ("all", name != "collapsing")
    assert len(arms.reward) == 13 and (arms.initial[:, 1] == 1).all()
    assert entry.make(observed=True).observed and entry.arms.comparator_name(plays) == "the relaxation"


@pytest.mark.parametrize("name", NO_ATTRACTOR)
def test_arms_paid_for_the_state_they_leave(name):
    earned, active, passive = NO_ATTRACTOR[name]
    arms = atlas[name].make(arms=7, initial_state=2)
    laws = arms.known()
    np.testing.assert_allclose(laws.earned, [earned] * 7, atol=1e-7)
    np.testing.assert_allclose(laws.kept, 0, atol=1e-12)
    np.testing.assert_allclose(arms.transition[:, 2], [active] * 7, atol=6e-4)
    np.testing.assert_allclose(arms.passive[:, 2], [passive] * 7, atol=6e-4)
    assert (arms.initial[:, 2] == 1).all() and atlas[name].plays == 4


def test_conveyor():
    """Eight places take ten rounds each if all is done right, so that an arm pays 1/80 a round; half are played."""
    arms, plays = atlas["conveyor"].arms, atlas["conveyor"].plays
    right = [arms.transition[0]] * 4 + [arms.passive[0]] * 4
    wrong = [arms.passive[0]] * 4 + [arms.transition[0]] * 4
    for s in range(8):
        assert right[s][s, (s + 1) % 8] == pytest.approx(0.1) and right[s][s, s] == pytest.approx(0.9)
        back = (0, 1, 0.48, 0.47, 0.46, 0.45, 0.44, 0.43)[s]
        assert wrong[s][s, s - 1] == pytest.approx(back) and wrong[s][s, s] == pytest.approx(1 - back)
    laws = arms.known()
    np.testing.assert_allclose(laws.earned, 0, atol=1e-12)
    np.testing.assert_allclose(laws.kept[0], [0] * 7 + [0.1], atol=1e-12)
    assert arms.relaxation(plays).value == pytest.approx(10 / 80) and plays == 5


def test_arms_that_recover():
    """A play pays by the rounds since the last one; 6.138 bounds all policies, and Whittle's rule collects 6.104."""
    entry, kinds = atlas["recovering"], ((10, 0.2), (8.5, 0.4), (7, 0.6), (5.5, 0.8))
    arms, six, since = entry.arms, entry.make(arms=6, initial_state=3), np.arange(1, 21)
    paid = [most * (1 - np.exp(-rate * since)) for most, rate in (*kinds, *kinds[:2])]
    np.testing.assert_allclose(six.reward, paid, rtol=1e-12)
    np.testing.assert_array_equal(six.transition, [np.eye(20)[[0] * 20]] * 6)
    np.testing.assert_array_equal(six.passive, [np.eye(20)[[*range(1, 20), 19]]] * 6)
    np.testing.assert_array_equal(six.initial[:, 3], 1)
    assert arms.relaxation(1).value == pytest.approx(6.138295, abs=1e-6) and entry.plays == 1
    result = simulate(arms, {"W": Whittle.of(arms)}, runs=1, horizon=2000, times=[1000, 2000], progress=False)
    lost = np.diff(metrics.regret(result, "W")[0, 0, 0]).item()
    assert arms.comparator(1) - lost / 1000 == pytest.approx(6.1046, abs=1e-4)


def test_jobs_with_deadlines_and_their_index():
    """Moves and pay, car by car; Yu, Xu and Tong's closed form of the index, at 0.99 and where a discount costs digits.

    On average a car that can be charged later has index 0, as it is as good to wait; in the others it is the limit.
    """
    arms, index = atlas["deadlines"].arms, {discount: [] for discount in (None, 0.99, 0.99999)}
    state = {(0, 0): 0} | {(T, B): 10 * (T - 1) + B + 1 for T in range(1, 13) for B in range(10)}
    arrival = [0.7 / 108 * (B > 0) if T else 0.3 for T, B in state]
    for (T, B), s in state.items():
        for a, rows, pays in ((0, arms.passive, arms.passive_reward), (1, arms.transition, arms.reward)):
            rest = max(B - a, 0)
            expected = arrival if T <= 1 else np.eye(121)[state[T - 1, rest]]
            np.testing.assert_allclose(rows[:, s], [expected] * 4, atol=1e-15)
            np.testing.assert_allclose(pays[:, s], 0.5 * (B - rest) - 0.2 * rest**2 * (T == 1), atol=1e-12)
        for discount, values in index.items():
            b, late = 1 if discount is None else discount, B - T
            urgent = 0.5 + b ** (T - 1) * 0.2 * ((late + 1) ** 2 - late**2)
            values.append(0 if B == 0 else urgent if late >= 0 else 0.5 * (discount is not None))
    for discount, values in index.items():
        np.testing.assert_allclose(Whittle.of(arms, discount).indices, [values] * 4, atol=1e-8)
    table = Whittle.of(arms, 0.99).indices[0]
    assert (round(table[state[3, 5]], 4), round(table[state[1, 4]], 4)) == (1.4801, 1.9)
    assert atlas["deadlines"].published == {"Whittle's index of 3 rounds and 5 units left, discount 0.99": 1.4801}
    assert arms.comparator_name(1) == "the relaxation" and atlas["deadlines"].make(arms=2).reward.shape == (2, 121)


def test_long_worn_machines_and_channels():
    arms = atlas["machines 10"].arms
    np.testing.assert_allclose(arms.passive[9, 7, [0, 6, 7]], [0.05, 0.25, 0.7])
    np.testing.assert_allclose(arms.transition[4, 7, [7, 9]], [0.15, 0.85])
    np.testing.assert_allclose(arms.reward[0] * 9, np.arange(10))
    assert arms.reward.shape == (10, 10) and (arms.cost == 0.15).all() and atlas["machines 10"].plays == 1
    used = atlas["channels"].make(arms=4)
    np.testing.assert_array_equal(used.transition, [[[0.9, 0.1], [0.25, 0.75]]] * 4)
    assert (used.declares.problem, used.passive, atlas["channels"].plays) == ("restless", None, 2)


def test_published_figures():
    """Theorem 3's constants and Lai and Robbins's from their definitions; theorem 1's as computed."""
    for name in ("scenario 1", "scenario 2"):
        best, *others = rows(name)
        gaps = [law(best)[1] - law(moves)[1] for moves in others]
        rates = [law(moves) @ (moves * np.log(moves / best)).sum(1) for moves in others]
        upper, lower = bounds.upper_asymptotic(atlas[name].arms).total, sum(np.divide(gaps, rates))
        assert [*atlas[name].published.values()] == [round(float(upper), 2), round(float(lower), 2)]
        assert ["theorem 1" in key for key in atlas[name].published] == [True, False]
    first, *rest = MEANS
    known = sum((first - m) / (m * math.log(m / first) + (1 - m) * math.log((1 - m) / (1 - first))) for m in rest)
    assert [*atlas["i.i.d. scenario 1"].published.values()] == [round(known, 2)]
    for name, time in {"Garivier and Kaufmann 1": 989.79, "Garivier and Kaufmann 2": 326.64}.items():
        assert [*atlas[name].published.values()] == [time]  # computed in test_identification
    assert [*atlas["circular"].published.values()] == [-0.5, 0.5, 1, -1]
    assert [atlas[f"Besson {number}"].published["KL-UCB"] for number in (1, 2)] == [270, 162]


def test_looking_up_and_showing():
    for wrong in ("qqq", 3, ["x"], None):
        with pytest.raises(KeyError, match=r"is not in the atlas; print\(atlas\) lists it"):
            atlas[wrong]
        assert wrong not in atlas
    head, *lines = str(atlas).splitlines()
    assert [line[head.index("purpose") :] for line in lines] == [entry.purpose for entry in atlas.values()]
    assert all(name == entry.name for name, entry in atlas.items())
