"""Restless arms from tables: counts by hand, a test against brute force, laws that are known, exact messages."""

import itertools
import re

import numpy as np
import pytest
from scipy.stats import combine_pvalues

from jaxbandit import simulate
from jaxbandit.environments import fit_restless, restless
from jaxbandit.environments.restless_bandits import effects
from jaxbandit.environments.restless_bandits.effects import effect_of_plays
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
    np.testing.assert_array_equal(fitted.arms.passive, fitted.passive)
    arms = restless(fitted.transition, fitted.reward, fitted.passive, observed=True, paid="all")
    simulate(arms, {"Whittle": Whittle.of(arms)}, runs=2, horizon=5, progress=False)


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


def test_rounds_against_all_ways_to_distribute_the_plays():
    """Two sequences in one state of two, 12 and 9 rounds; then three states, whose tails are taken times 3 x 3."""
    who, led = np.repeat([0, 1], [12, 9]), np.array([1] * 9 + [0] * 3 + [1] * 4 + [0] * 5)
    each = [itertools.combinations(range(12), 6), itertools.combinations(range(12, 21), 4)]
    ways = [led[[*one, *other]].sum() for one, other in itertools.product(*each)]
    for played in ([*range(6), *range(12, 16)], [*range(6, 12), *range(12, 16)], [0, 4, 8, 9, 10, 11, 12, 15, 17, 20]):
        action = np.isin(np.arange(21), played).astype(int)
        tail = min(np.mean(np.array(ways) <= led[played].sum()), np.mean(np.array(ways) >= led[played].sum()))
        moves = np.column_stack([who, action, np.zeros(21, int), led])
        assert effect_of_plays(moves, 2, 0.01).permuted == "rounds"
        np.testing.assert_allclose(effect_of_plays(moves, 2, 0.01).p_value, min(1, 2 * 2 * tail), rtol=1e-10)
        np.testing.assert_allclose(effect_of_plays(moves, 3, 0.01).p_value, min(1, 2 * 9 * tail), rtol=1e-10)


def people(rng, number, rounds, design):
    """Moves of people in whom plays change nothing, and who differ: the chance to be well is from Beta(1/2, 1/2).

    Plays are drawn for each person ("constant"), or for every other person in each week ("mixed").
    """
    well = rng.beta(0.5, 0.5, number)
    state = (rng.random((number, rounds + 1)) < well[:, None]).astype(int)
    played = np.repeat(rng.permutation(number) < number // 2, rounds).reshape(number, rounds)
    if design == "mixed":
        played = np.where(np.arange(number)[:, None] % 2, rng.random(played.shape) < 0.4, played)
    who = np.repeat(np.arange(number), rounds)
    return np.column_stack([who, played.ravel().astype(int), state[:, :-1].ravel(), state[:, 1:].ravel()])


def test_sequences_against_all_ways_to_choose_those_played(monkeypatch):
    """Nine people of eight weeks; each way is counted as if it had been seen, its spread is that of all ways."""
    moves = people(np.random.default_rng(3), 9, 8, "constant")
    first, played = moves[::8, 2], moves[::8, 1]
    ways = np.array(list(itertools.product([0, 1], repeat=9)))
    ways = ways[(ways @ first == played @ first) & (ways.sum(1) == played.sum())]  # as often from each first state
    columns = []
    for s, t in itertools.product(range(2), repeat=2):
        left = [(moves[moves[:, 0] == n, 2] == s).sum() for n in range(9)]
        led = [((moves[:, 0] == n) & (moves[:, 2] == s) & (moves[:, 3] == t)).sum() for n in range(9)]
        beyond = ways @ led - ways @ left * sum(led) / sum(left)
        columns.append((beyond - beyond.mean()) / beyond.std())
    sizes = np.abs(columns).max(0)
    for number in (0, 5, 17):
        moves[:, 1] = np.repeat(ways[number], 8)
        effect = effect_of_plays(moves, 2, 0.01)
        assert effect.permuted == "sequences"
        np.testing.assert_allclose(effect.p_value, np.mean(sizes >= sizes[number] - 1e-9))
        np.testing.assert_allclose(effect.attainable, np.mean(sizes >= sizes.max() - 1e-9))
    exact = effect.p_value  # against 9,999 draws, within five standard errors
    monkeypatch.setattr(effects, "MOST_WAYS", 10)
    assert abs(effect_of_plays(moves, 2, 2e-4).p_value - exact) < 5 * np.sqrt(exact * (1 - exact) / 9999) + 1e-4


def test_two_lots_are_combined_and_named():
    """By Fisher's method, as SciPy has it; people without a change that a weekly lot would leave are not compared."""
    moves = people(np.random.default_rng(8), 40, 12, "mixed")
    changes = moves[:, 0] % 2 == 1
    parts = [effect_of_plays(moves[part], 2, 0.01).p_value for part in (changes, ~changes)]
    np.testing.assert_allclose(effect_of_plays(moves, 2, 0.01).p_value, combine_pvalues(parts).pvalue)
    weekly = people(np.random.default_rng(8), 60, 3, "constant")
    weekly[:, 1] = np.random.default_rng(9).random(180) < np.where(weekly[:, 2], 0.2, 0.7)
    assert sum(len(set(weekly[weekly[:, 0] == n, 1])) == 1 for n in range(60)) > 10
    assert effect_of_plays(weekly, 2, 0.01).permuted == "rounds"


def test_people_who_keep_one_treatment():
    """20 people, 30 weeks, no effect at all: rounds permuted give p = 2e-6. Six people are too few for any verdict."""
    data = {}
    for arm, number in (("many", 20), ("few", 6)):
        moves = people(np.random.default_rng(1), number, 30, "constant")
        columns = {"arm": [arm] * len(moves)} | dict(zip(("sequence", "action", "state", "next_state"), moves.T))
        data = {name: [*data.get(name, []), *values] for name, values in columns.items()}
    fitted = fit_restless(data, (0, 1))
    assert fitted.labels == ("few", "many") and fitted.permuted == ("sequences", "sequences")
    assert fitted.verdicts.tolist() == ["undecided", "no effect"] and fitted.p_values[1] > 0.01
    assert fitted.reasons[0] == "no other outcome of the lot of the plays would reach the level 0.01"
    assert str(fitted).splitlines()[-1].endswith("  sequences  no effect")


HEAD = "arm,round,state,action\n"
BAD_TABLES = [
    ("arm,round,state\n", "line 1: no columns 'action' in ['arm', 'round', 'state']; columns={'action': ..} names the"),
    (HEAD + "a,1,0,2\n", "line 2: action '2' is neither 0 (not played) nor 1 (played)"),
    (HEAD + "a,1,NA,1\n", "line 2: state 'NA' is no state; leave out the line"),
    (HEAD + "a,1,0,1\na,3,1,1\n", 'line 3: round 3 of arm a follows round 1; gaps="split" leaves out the transition'),
    (HEAD + "a,1,0,1\na,1,1,1\n", "line 3: round 1 of arm a follows round 1; rounds go up, in this order; columns={'s"),
    (HEAD + "a,1,0,\na,2,1,1\n", "line 3: action of arm a in round 1 is missing"),
    ("arm,state,action,next_state\na,0,,1\n", "line 2: action '' is neither 0 (not played) nor 1 (played)"),
    ("arm,state,action,next_state,round\na,0,1,1,5\na,0,1,1,6\n", "line 3: round 6 of arm a follows round 5, but its"),
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
    (lambda: fit_restless(TWO, (0, 1)), "data: no transition has action 0, so that nothing is known of arms that are"),
    (lambda: fit_restless(TWO | {"action": [1]}, (0, 1)), "data: columns of 1 to 2 rows; all need the same number"),
    (lambda: fit_restless(TWO | {"action": [[1], [0]]}, (0, 1)), "data: column 'action' has shape (2, 1), not [rows]"),
    (lambda: fit_restless(TWO | {"action": [[1], []]}, (0, 1)), "data: column 'action' is not an array of texts or"),
    (lambda: fit_restless(TWO, {"well": 1, "ill": 0}), "data: row 0: state '0' is not among states well, ill"),
    (lambda: fit_restless(BOTH, [(0, 1)] * 3), "reward: 3 rows for 2 arms"),
    (lambda: fit_restless(BOTH, (0, 1)), "data: arm a: no play leaves states [0], and none leaves states [1], so that"),
]


@pytest.mark.parametrize(("build", "message"), BAD_DATA)
def test_bad_data(build, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        build()
