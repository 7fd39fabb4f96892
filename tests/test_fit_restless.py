"""Restless arms from tables: counts by hand, a test against brute force, laws that are known, exact messages."""

import itertools
import re

import numpy as np
import pytest

from jaxbandit import simulate
from jaxbandit.environments import fit_restless, restless
from jaxbandit.environments.restless_bandits.restless_fitting import _p_value
from jaxbandit.policies import Whittle

NAMES = {"arm": "who", "round": "week", "action": "call"}
PAYS = {"lapsed": 0, "well": 1}
TABLE = """\
who\tweek\tstate\tcall
Ann\t1\twell\t1
Bob\t7\twell\t0
Ann\t2\twell\t0
Ann\t3\tlapsed\t1
Bob\t8\tlapsed\t1
Ann\t6\twell\t1
Bob\t9\tlapsed\t1
Ann\t7\tlapsed\tNA
Bob\t10\twell\t0
"""


def by_hand():
    """[arm, call, state, next state] of `TABLE`: Ann's weeks 1 2 3, a gap, 6 7; Bob's weeks 7 to 10."""
    counts = np.zeros((2, 2, 2, 2), int)
    counts[0, 1, 1, 1] += 1  # Ann is called in week 1, well, and well in week 2
    counts[0, 0, 1, 0] += 1  # not in week 2, and lapses; week 4 was not seen
    counts[0, 1, 1, 0] += 1  # called in week 6
    counts[1, 0, 1, 0] += 1
    counts[1, 1, 0] += 1  # twice lapsed and called: once lapsed, once well
    return counts


def file(tmp_path, text):
    path = tmp_path / "weeks.txt"
    path.write_text(text)
    return path


def columns_of(text):
    header, *rows = [line.split("\t") for line in text.splitlines()]
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


class Frame:
    """As much of a DataFrame as is asked for."""

    def __init__(self, columns):
        self.columns, self._values = list(columns), columns

    def __getitem__(self, name):
        return self._values[name]


def test_a_table_by_hand(tmp_path):
    """The same in a file, in arrays, in a frame whose actions are floats, and with the next states in the lines."""
    columns = columns_of(TABLE)
    floats = columns | {"call": [np.nan if call == "NA" else float(call) for call in columns["call"]]}
    for data in (file(tmp_path, TABLE), columns, Frame(floats)):
        fitted = fit_restless(data, PAYS, columns=NAMES, gaps="split")
        assert fitted.counts.tolist() == by_hand().tolist()
        assert (fitted.labels, fitted.states, fitted.gaps) == (("Ann", "Bob"), ("lapsed", "well"), 1)
    lines = [np.repeat(axis, by_hand().ravel()).tolist() for axis in np.indices((2, 2, 2, 2)).reshape(4, -1)]
    numbered = dict(zip(("arm", "action", "state", "next_state"), lines))
    again = fit_restless(numbered, (0, 1))
    assert again.counts.tolist() == by_hand().tolist() and again.labels == ("0", "1") and again.gaps == 0
    # a row that is missing is that of the other action, and with neither all that followed: Ann's 1 of 3 is well
    np.testing.assert_allclose(fitted.transition, [[[2 / 3, 1 / 3], [0.5, 0.5]], [[0.5, 0.5], [1, 0]]])
    np.testing.assert_allclose(fitted.passive, [[[2 / 3, 1 / 3], [1, 0]], [[0.5, 0.5], [1, 0]]])
    errors = [[[np.nan, 0], [np.nan, np.sqrt(1 / 8)]], [[np.nan, 0], [np.sqrt(1 / 8), np.nan]]]
    np.testing.assert_allclose(fitted.standard_errors, np.repeat(np.array(errors)[..., None], 2, -1))
    np.testing.assert_allclose(fitted.distance, [0.5, 0])
    assert fitted.verdicts.tolist() == ["undecided"] * 2 and np.isnan(fitted.p_values).all()
    assert fitted.reasons[0] == "no transitions from state lapsed without a play; 10 are needed"
    text = str(fitted)
    assert text.endswith("1 gap, whose transition is left out.")
    assert max(map(len, text.splitlines())) <= 80


def test_rounds_beside_next_states_may_be_missing():
    rows = [("a", 1, 0, 1, 1), ("b", 1, 1, 0, 1), ("a", 2, 1, 0, 0), ("a", 4, 1, 1, 0), ("b", 2, 1, 1, 0)]
    data = dict(zip(("arm", "round", "state", "action", "next_state"), zip(*rows)))
    fitted = fit_restless(data, (0, 1))
    assert fitted.gaps == 0
    assert fitted.counts.tolist() == [[[[0, 0], [1, 0]], [[0, 1], [1, 0]]], [[[0, 0], [0, 1]], [[0, 0], [1, 0]]]]


def test_a_prior_counts_as_transitions():
    fitted = fit_restless(columns_of(TABLE), PAYS, columns=NAMES, gaps="split", prior=0.5)
    weights = by_hand() + 0.5
    rows = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(fitted.passive, rows[:, 0])
    np.testing.assert_allclose(fitted.transition, rows[:, 1])
    np.testing.assert_allclose(fitted.standard_errors, np.sqrt(rows * (1 - rows) / weights.sum(-1, keepdims=True)))


def test_people_of_a_group_are_counted_together():
    """No transition from one person to the next, nor over the end of a group."""
    columns = columns_of(TABLE) | {"town": ["Bonn", "Bonn", "Bonn", "Bonn", "Ulm", "Bonn", "Ulm", "Bonn", "Ulm"]}
    names = NAMES | {"arm": "town", "sequence": "who"}
    fitted = fit_restless(columns, PAYS, columns=names, gaps="split")
    expected = by_hand()
    expected[1, 0, 1, 0] -= 1  # Bob moved to Ulm after his first week
    assert fitted.labels == ("Bonn", "Ulm") and fitted.counts.tolist() == expected.tolist()


def test_an_effect_in_one_state_says_which_other_was_hardly_left():
    rows = [("a", 1, s, 1 - s) for s in (0, 1) for _ in range(12)] + [("a", 0, 0, 0)] * 12 + [("a", 0, 1, 1)] * 3
    rows += [("b", n % 2, n // 2 % 2, n // 4 % 2) for n in range(80)]
    fitted = fit_restless(dict(zip(("arm", "action", "state", "next_state"), zip(*rows))), (0, 1))
    assert fitted.verdicts.tolist() == ["effect", "no effect"] and fitted.p_values[0] < 1e-5 < 1 == fitted.p_values[1]
    assert fitted.reasons == ("3 transitions from state 1 without a play; 10 are needed", "")


def test_the_p_value_against_all_ways_to_distribute_the_plays():
    """One state of two; then three states, whose tails are taken times 3 x 3."""
    next_states = np.array([1] * 13 + [0] * 8)
    plays = 10
    ways = [next_states[list(chosen)].sum() for chosen in itertools.combinations(range(21), plays)]
    for with_play in (2, 4, 7, 10):
        tail = min(np.mean(np.array(ways) <= with_play), np.mean(np.array(ways) >= with_play))
        counts = np.zeros((2, 2, 2), int)
        counts[1, 0] = plays - with_play, with_play
        counts[0, 0] = [8, 13] - counts[1, 0]
        np.testing.assert_allclose(_p_value(counts), min(1, 2 * 2 * tail), rtol=1e-10)
        wider = np.zeros((2, 3, 3), int)
        wider[:, 0, :2] = counts[:, 0]
        np.testing.assert_allclose(_p_value(wider), min(1, 2 * 9 * tail), rtol=1e-10)


LAWS = np.array(
    [[[[0.8, 0.2, 0], [0.3, 0.5, 0.2], [0, 0.2, 0.8]], [[0.3, 0.6, 0.1], [0.1, 0.6, 0.3], [0, 0.1, 0.9]]]] * 2
)
LAWS[1, 1] = LAWS[1, 0]  # plays of the second arm change nothing


def simulated(rounds, seed):
    """Two arms, played by lot with a probability for each state."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("arm", "round", "state", "action")}
    for arm in range(2):
        state = 0
        for t in range(rounds):
            action = int(rng.random() < (0.3, 0.5, 0.6)[state])
            for name, value in zip(columns, (arm, t, state, action)):
                columns[name].append(value)
            state = rng.choice(3, p=LAWS[arm, action, state])
    return columns


def test_a_known_law_is_recovered_within_its_errors():
    """32 entries within 4.5 errors: a false failure has the probability .0003, and one of the last verdict .01 at most.

    The rows of the first arm differ by 0.5, and each is left 200 times or more.
    """
    fitted = fit_restless(simulated(4000, 5), (0, 1, 2))
    assert fitted.counts.sum(-1).min() >= 200
    estimates = np.stack([fitted.passive, fitted.transition], 1)
    assert (estimates[LAWS == 0] == 0).all()
    possible = LAWS > 0
    assert (np.abs(estimates - LAWS)[possible] < 4.5 * fitted.standard_errors[possible]).all()
    assert fitted.verdicts.tolist() == ["effect", "no effect"] and fitted.reasons == ("", "")
    np.testing.assert_array_equal(fitted.arms.passive, fitted.passive)
    arms = restless(fitted.transition, fitted.reward, fitted.passive, observed=True, paid="all")
    simulate(arms, {"Whittle": Whittle.of(arms)}, runs=2, horizon=5, progress=False)


def test_few_arms_without_an_effect_are_said_to_have_one():
    """Of 2,000 arms whose plays change nothing 1 % at most: more than 2 % have the probability 1e-4 under that rate."""
    rng = np.random.default_rng(0)
    states, action = np.zeros((2000, 201), int), rng.random((2000, 200)) < 0.4
    for t in range(200):
        states[:, t + 1] = rng.random(2000) < np.where(states[:, t], 0.7, 0.2)
    kinds = action * 4 + states[:, :-1] * 2 + states[:, 1:]
    p_values = np.array([_p_value(np.bincount(row, minlength=8).reshape(2, 2, 2)) for row in kinds])
    assert np.isfinite(p_values).mean() > 0.99
    assert 0 < np.mean(p_values <= 0.01) <= 0.02


HEAD = "arm,round,state,action\n"
BAD_TABLES = [
    ("arm,state,action\n", "line 1: no columns 'round' in ['arm', 'state', 'action']; columns={'round': ..} names the"),
    ("arm,round,state\n", "line 1: no columns 'action' in ['arm', 'round', 'state']; columns={'action': ..} names the"),
    (HEAD + "a,1,0,2\n", "line 2: action '2' is neither 0 (not played) nor 1 (played)"),
    (HEAD + "a,1,7,1\n", "line 2: state 7 is not among states 0..1"),
    (HEAD + "a,1,NA,1\n", "line 2: state 'NA' is no state; leave out the line"),
    (HEAD + "a,1,0,1\na,3,1,1\n", 'line 3: round 3 of arm a follows round 1; gaps="split" leaves out the transition'),
    (
        HEAD + "a,1,0,1\na,1,1,1\n",
        "line 3: round 1 of arm a follows round 1; rounds go up, in this order; columns={'seq",
    ),
    (HEAD + "a,1,0,\na,2,1,1\n", "line 3: action of arm a in round 1 is missing"),
    (HEAD + "a,1.5,0,1\n", "line 2: round '1.5' is not a whole number from 0 on; number dates"),
    ("arm,state,action,next_state\na,0,,1\n", "line 2: action '' is neither 0 (not played) nor 1 (played)"),
    (
        "arm,state,action,next_state,round\na,0,1,1,5\na,0,1,1,6\n",
        "line 3: round 6 of arm a follows round 5, but its st",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD_TABLES)
def test_bad_tables_are_refused_by_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"^data: .*weeks\.txt, {re.escape(message)}"):
        fit_restless(file(tmp_path, text), (0, 1))


ONE = {"arm": ["a"], "state": [0], "action": [1], "next_state": [1]}
TWO = {name: values * 2 for name, values in ONE.items()} | {"arm": ["a", "b"]}
BOTH = {"arm": list("aabb"), "state": [0, 1, 0, 1], "action": [0, 1, 1, 0], "next_state": [0, 1, 0, 1]}
BAD_DATA = [
    (lambda: fit_restless(ONE, (0, 1)), "data: one arm only; a bandit needs at least 2, and columns={'arm': ..} names"),
    (
        lambda: fit_restless(TWO, (0, 1)),
        "data: no transition has action 0, so that nothing is known of arms that are n",
    ),
    (lambda: fit_restless(TWO | {"action": [0, 0]}, (0, 1)), "data: no transition has action 1, so that nothing is"),
    (lambda: fit_restless(TWO | {"action": [1, 5]}, (0, 1)), "data: row 1: action '5' is neither 0 (not played) nor 1"),
    (lambda: fit_restless(TWO | {"action": [1]}, (0, 1)), "data: columns of 1 to 2 rows; all need the same number"),
    (lambda: fit_restless(TWO | {"action": [[1], [0]]}, (0, 1)), "data: column 'action' has shape (2, 1), not [rows]"),
    (lambda: fit_restless(TWO | {"action": [[1], []]}, (0, 1)), "data: column 'action' is not an array of texts or"),
    (lambda: fit_restless([0, 1], (0, 1)), "data: [0, 1] is neither a file's path nor a dictionary of columns"),
    (lambda: fit_restless(TWO, (0, 1), gaps="skip"), "gaps: 'skip' is not one of error, split"),
    (lambda: fit_restless(TWO, {"well": 1, "ill": 0}), "data: row 0: state '0' is not among states well, ill"),
    (lambda: fit_restless(TWO, {"well": 1}), "reward: shape (1,) is not one number for each state with S from 2 to 64"),
    (lambda: fit_restless(BOTH, [(0, 1)] * 3), "reward: 3 rows for 2 arms"),
    (
        lambda: fit_restless(BOTH, (0, 1), columns={"step": "week"}),
        "columns: {'step': 'week'} does not name the column",
    ),
    (
        lambda: fit_restless(BOTH, {"0": 0, "1": 5}),
        "data: arm a: no play leaves states ['0'], and none leaves states ['1",
    ),
    (lambda: fit_restless(BOTH, (0, 1)), "data: arm a: no play leaves states [0], and none leaves states [1], so that"),
]


@pytest.mark.parametrize(("build", "message"), BAD_DATA)
def test_bad_data(build, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        build()
