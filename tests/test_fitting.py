"""Visible chains from observed sequences: what is read and what is refused, by line or by arm; estimates and errors.

Steps that were not seen against a search over the rows by powers of matrices.
"""

import itertools
import re
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize

from jaxbandit.environments import EXAMPLE, fit
from jaxbandit.environments.rested.example import P01, P10, STEPS, generate


def test_file_and_arrays_give_the_same_fit(tmp_path):
    """States and rewards; lines of the arms mixed, a byte-order mark, carriage returns, quotes, another column."""
    states = np.random.default_rng(1).integers(0, 3, (3, 61))
    pays = np.array([-0.5, 0.1, 1e6])
    lines = ["note,step, state,arm,reward"]
    for step in range(61):
        for arm in (2, 0, 1):
            state = states[arm, step]
            lines.append(f'"a, b",{step + 7}, {state},"{arm}",{float(pays[state])!r}')
    path = tmp_path / "data.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    expected = fit(states, pays)
    for other in (fit(path, pays), fit(str(path)), fit(list(pays[states])), fit([list(arm) for arm in states], pays)):
        for one, another in zip(expected[1:], other[1:]):
            np.testing.assert_array_equal(one, another)
        assert other.labels == ("0", "1", "2")
        np.testing.assert_array_equal(expected.arms.transition_thresholds, other.arms.transition_thresholds)


HEAD = b"arm,step,state\n"
GOOD = b"0,0,0\n0,1,1\n1,0,1\n1,1,0\n0,2,0\n1,2,1\n"
BAD_FILES = [
    (b"arm,step\n0,0\n", 1, "no columns 'state' in"),
    (b"arm,step,sequence,state\n0,2,a,1\n0,2,b,1\n0,2,a,1\n", 4, "steps of an arm go up by one, in this order"),
    (b"arm,arm,step,state\n0,0,0,1\n", 1, "2 columns 'arm'"),
    (HEAD + GOOD + b"0,3\n", 8, "2 fields, not 3"),
    (HEAD + b"0,0,0\n\n0,1,1\n", 3, "blank"),
    (HEAD + b"0,0,0\n0,1,1_0\n", 3, "state '1_0' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,2\n", 3, "state 2 is not among states 0..1"),
    (HEAD + b"0,0,0\n0,1," + b"9" * 5000 + b"\n", 3, "is not a whole number"),
    (HEAD + b"a,0,0\n,1,1\n", 3, "arm '' is no arm; leave out the lines without a choice"),
    (HEAD + b"0,0,0\n0,1.0,0\n", 3, "step '1.0' is not a whole number from 0 on; number dates and times in"),
    (HEAD + b"0,0,0\n1,0,0\n0,0,1\n", 4, "step 0 of arm 0 follows step 0"),
    (HEAD + b"0,0,0\n0,1,1\n0,3,1\n", 4, "step 3 of arm 0 follows step 1, with transitions unseen"),
    (HEAD + GOOD + b"2,0,0\n", 8, "arm 2 has one step at most; a transition takes 2 successive steps"),
    (b"arm,step,sequence,state\n0,2,a,1\n0,2,b,1\n", 3, "arm 0 has 2 sequences of one step at most"),
    (HEAD + b"0,0,0\n0,1,\xff\n", 3, "not UTF-8"),
    (HEAD + b"0,0," + b"1" * 200_000 + b"\n", 2, "field larger than"),
]


@pytest.mark.parametrize(("content", "line", "message"), BAD_FILES)
def test_bad_files_are_refused_by_line(tmp_path, content, line, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^data: .*data\.csv, line {line}: .*{re.escape(message)}"):
        fit(path, (0, 1))


@pytest.mark.parametrize("reward", ["", "nan", "inf", "-1e31", "high", "0,5"])
def test_bad_rewards_are_refused_by_line(tmp_path, reward):
    path = tmp_path / "data.csv"
    path.write_text(f"arm;step;reward\n0;0;1.5\n0;1;{reward}\n")
    with pytest.raises(ValueError, match=rf"data\.csv, line 3: reward '?{reward}'? is not"):
        fit(path)


def test_good_lines_are_good(tmp_path):
    """The lines that the bad files above share are refused for nothing else."""
    (tmp_path / "data.csv").write_bytes(HEAD + GOOD)
    assert fit(tmp_path / "data.csv", (0, 1)).counts.tolist() == [[[0, 1], [1, 0]]] * 2
    (tmp_path / "one.csv").write_bytes(HEAD + b"0,0,0\n0,1,1\n0,2,0\n")
    one = fit(tmp_path / "one.csv", (0, 1))  # there is nothing to choose from, but something to know
    assert one.counts.tolist() == [[[0, 1], [1, 0]]] and one.arms.means().tolist() == [0.5]
    (tmp_path / "large.csv").write_text("arm,step,reward\n0,0,1e30\n0,1,-1e30\n1,0,0\n1,1,0\n")
    assert fit(tmp_path / "large.csv").reward[0].tolist() == [-1e30, 0, 1e30]
    with pytest.raises(FileNotFoundError):
        fit(tmp_path / "absent.csv")


ARM = [0, 1, 1, 0]
BAD_ARRAYS = [
    (lambda: fit(ARM, (0, 1)), "data: arm 0 is 0, which is no sequence of steps; a single arm is a list that holds it"),
    (lambda: fit([ARM, [[[0, 1]], [[1, 0]]]], (0, 1)), "data: arm 1, sequence 0 has shape (1, 2), not [steps]"),
    (lambda: fit({"A": ARM, "B": [0, 2]}, (0, 1)), "data: arm B, step 1: 2 is not among states 0..1"),
    (lambda: fit([ARM, [[1], [0]]], (0, 1)), "data: arm 1 has 2 sequences of one step at most"),
    (lambda: fit([ARM, [[0, 0], [1, 1]]], (0, 1)), "data: arm 1: no transition leaves states [0], and none leaves"),
    (lambda: fit([ARM, [0.0, 1.0]], (0, 1)), "data: arm 1 holds float64, not states 0..1"),
    (lambda: fit([ARM, ["0", "1"]]), "data: arm 1 holds texts, such as '0'; give numbers, or what each"),
    (lambda: fit([["won", "lost"], ["won", "no"]], {"won": 1, "lost": 0}), "data: arm 1, step 1: 'no' is not among st"),
    (lambda: fit([ARM, [0.5, np.nan]]), 'data: arm 1, step 1: nan, no state or reward; gaps="steps" counts steps in w'),
    (lambda: fit([ARM, ["a", None]], {"a": 0, "b": 1}), "data: arm 1, step 1: None, no state or reward; gaps="),
    (lambda: fit([ARM, [0, None, 1]], (0, 1), gaps="split"), "data: arm 1 has 2 sequences of one step at most; a tran"),
    (
        lambda: fit({"arm": [0, 0], "step": [1, 20_000], "state": [0, 1]}, (0, 1), columns={}, gaps="steps"),
        'data: row 1: step 20000 of arm 0 follows step 1; gaps="steps" takes 10,000 steps in a gap',
    ),
    (lambda: fit([[1, 1], [1, 1, 1]]), "data: every step of every arm pays 1"),
    (lambda: fit([ARM, np.arange(70)]), "data: 70 distinct rewards, each of which would be a state; at most 64 "),
    (lambda: fit([ARM, ARM], [[0, 1]] * 3), "reward: 3 rows for 2 arms"),
    (lambda: fit([ARM, ARM], (1, 1)), "reward: every state of every arm pays 1"),
    (lambda: fit([ARM, ARM], (0, 1), prior=-1), "prior: -1"),
    (lambda: fit([ARM, ARM], (0, 1, 2), prior=1e-10), "prior: 1e-10 makes a transition rarer than 2^-31"),
    (lambda: fit([ARM, ARM], (0, 1), columns={"arm": "choice"}), "columns: {'arm': 'choice'}; `data` has no columns"),
    (lambda: fit(EXAMPLE, columns={"arms": "arm"}), "columns: {'arms': 'arm'} does not name the column of arm, step, "),
    (lambda: fit(EXAMPLE, columns={"step": "step", "round": "step"}), "columns: a step counts an arm's own plays"),
    (lambda: fit(EXAMPLE, columns={"state": "reward"}), "columns: 'state' is not read; a column of states needs"),
    (lambda: fit(EXAMPLE, (0, 1), columns={"reward": "reward"}), "columns: 'reward' is not read; a column of rewar"),
]


@pytest.mark.parametrize(("build", "message"), BAD_ARRAYS)
def test_bad_arrays(build, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        build()


def test_arms_have_labels_and_several_sequences():
    """Transitions are counted in each sequence, and never from one to the next; one of a single step has none."""
    fitted = fit({"new": [[0, 1, 1], [1], [0, 1, 0]], 7: np.array([[0, 1, 0], [1, 0, 0]])}, (0, 1))
    assert fitted.labels == ("new", "7")
    assert fitted.counts.tolist() == [[[0, 2], [1, 1]], [[1, 1], [2, 0]]]
    np.testing.assert_allclose(fitted.averages, [4 / 7, 2 / 6])
    labels = [line[:5].strip() for line in str(fitted).splitlines()]  # empty where a long line continues
    assert [label for label in labels if label][:3] == ["arm", "new", "7"]


def written(tmp_path, separator, header, rows):
    path = tmp_path / "data.txt"
    path.write_text("\n".join(separator.join(map(str, row)) for row in [header, *rows]) + "\n")
    return path


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_a_log_of_trials_of_several_subjects(tmp_path, separator):
    """As experiments on learning are kept: a line a trial, with the choice. An arm that is not chosen stands still."""
    plays = {"s1": "LRLLRRL", "s2": "RRLRL"}
    pays = {"s1": [1, -1, -1, 1, 1, 1, -1], "s2": [1, -1, 1, 1, -1]}
    rows = [(who, t + 1, arm, pays[who][t]) for who in plays for t, arm in enumerate(plays[who])]
    path = written(tmp_path, separator, ["subjID", "trial", "choice", "outcome"], rows)
    columns = {"arm": "choice", "round": "trial", "reward": "outcome", "sequence": "subjID"}
    fitted = fit(path, columns=columns)
    by_hand = [[[pays[who][t] for t, arm in enumerate(plays[who]) if arm == item] for who in plays] for item in "LR"]
    assert by_hand == [[[1, -1, 1, -1], [1, -1]], [[-1, 1, 1], [1, -1, 1]]]
    np.testing.assert_array_equal(fitted.counts, fit(by_hand).counts)
    assert fitted.labels == ("L", "R") and fitted.reward.tolist() == [[-1, 1]] * 2
    with pytest.raises(ValueError, match=r"line 9: trial 1 of arm R follows trial 6; rounds go up, .*'sequence'"):
        fit(path, columns={name: column for name, column in columns.items() if name != "sequence"})
    with pytest.raises(ValueError, match=r"line 4: trial 3 of arm L follows trial 1, with transitions .*'round': \.\."):
        fit(path, columns={"step" if name == "round" else name: column for name, column in columns.items()})


def test_a_table_in_memory_and_states_by_name(tmp_path):
    """Arrays under names are the file that they would be written to; in lists, states are names or numbers."""
    rows = [("s1", 1, "L", "lost"), ("s1", 2, "R", "won"), ("s1", 3, "L", "won"), ("s2", 1, "R", "won")]
    rows += [("s2", 2, "R", "lost"), ("s2", 3, "", ""), ("s2", 4, "L", "won"), ("s2", 5, "L", "lost")]  # 3: no choice
    header = ["sequence", "trial", "arm", "state"]
    table, pays = {name: np.array(column) for name, column in zip(header, zip(*rows))}, {"won": 1, "lost": -0.5}
    columns = {"round": "trial"}
    fitted = fit(table, pays, columns=columns)
    assert fitted.counts.tolist() == [[[0, 1], [1, 0]], [[0, 1], [0, 0]]]
    assert fitted.reward.tolist() == [[1, -0.5]] * 2
    by_hand = {"L": [[1, 0], [0, 1]], "R": [[0], [0, 1]]}
    by_name = {arm: [[list(pays)[state] for state in one] for one in several] for arm, several in by_hand.items()}
    tables = [(by_hand, pays), (by_name, pays), (by_hand, {1: -0.5, 0: 1})]
    for other in [fit(written(tmp_path, ";", header, rows), pays, columns=columns), *(fit(*table) for table in tables)]:
        np.testing.assert_array_equal(other.means, fitted.means)
    with pytest.raises(ValueError, match="^data: row 7: trial 4 of arm L follows trial 5; rounds go up, in this order"):
        fit(table | {"trial": [1, 2, 3, 1, 2, 3, 5, 4]}, pays, columns=columns)
    with pytest.raises(ValueError, match="^data: columns: no columns 'trials' in "):
        fit(table, pays, columns={"round": "trials"})


def test_missing_steps_split_a_sequence(tmp_path):
    """Visits 1 to 3, 5 and 6 of A, and 2, 4, 5 of B: an error, or two parts of each."""
    rows = [("A", 1, 0), ("B", 2, 1), ("A", 2, 1), ("A", 3, 1), ("B", 4, 0), ("A", 5, 0), ("B", 5, 1), ("A", 6, 1)]
    path = written(tmp_path, ",", ["arm", "step", "state"], rows)
    with pytest.raises(
        ValueError, match='line 6: step 4 of arm B follows step 2, .* gaps="split" leaves out the trans'
    ):
        fit(path, (0, 1))
    fitted = fit(path, (0, 1), gaps="split")
    assert fitted.counts.tolist() == fit({"A": [[0, 1, 1], [0, 1]], "B": [[1], [0, 1]]}, (0, 1)).counts.tolist()
    assert fitted.counts.sum() == 4 and fitted.gaps == 2
    assert str(fitted).endswith("\n2 gaps, whose transitions are left out.")
    assert fit(path, (0, 1), columns={"round": "step"}, gaps="split").gaps == 0  # others are played in between
    over = fit({"A": [0, 1, 1, None, 0, 1], "B": [1.0, np.nan, 0, 1]}, (0, 1), gaps="steps")
    for other in (fit(path, (0, 1), gaps="steps"), fit([[0, 1, 1, np.nan, 0, 1], [None, 1, None, 0, 1]], gaps="steps")):
        np.testing.assert_array_equal(other.transition, over.transition)
        assert other.gaps == 2 and other.counts.sum() == 6


def test_a_round_without_a_line_was_lost():
    """Calendar days: on the second day some arm was played, or none; two subjects, of whom the first lacks it."""
    table = {
        "sequence": [*"aaaabbbb"],
        "day": [1, 3, 4, 5, 2, 3, 4, 5],
        "arm": [*"xxyyxxyy"],
        "state": [0, 1, 1, 0] * 2,
    }
    columns = {"round": "day"}
    with pytest.raises(
        ValueError, match=r'^data: no line has day 2 of sequence a, .* gaps="split" leaves out all trans'
    ):
        fit(table, (0, 1), columns=columns)
    with pytest.raises(ValueError, match="an empty arm, or number the plays 1, 2, .."):
        fit(table, (0, 1), columns=columns, gaps="steps")  # nobody knows which arm moved
    assert fit(table, (0, 1), columns=columns, gaps="split").counts.tolist() == [[[0, 1], [0, 0]], [[0, 0], [2, 0]]]
    none = {name: [*column, added] for (name, column), added in zip(table.items(), ("a", 2, None, None))}
    assert fit(none, (0, 1), columns=columns).counts.tolist() == [[[0, 2], [0, 0]], [[0, 0], [2, 0]]]


def test_labels_that_are_numbers_are_sorted_as_numbers(tmp_path):
    rows = [(arm, step, (arm + step) % 2) for arm in (10, 9, 2) for step in (4, 5, 6)]
    assert fit(written(tmp_path, ",", ["arm", "round", "state"], rows), (0, 1)).labels == ("2", "9", "10")


# --- estimates and their errors ---


def observed(transition, steps, seed, sets):
    """States [sets, steps + 1] of independent chains that start in state 0."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(transition, axis=-1)
    states = np.zeros((sets, steps + 1), int)
    for step in range(steps):
        above = rng.random((sets, 1)) >= cumulative[states[:, step]]
        states[:, step + 1] = np.minimum(above.sum(-1), len(transition) - 1)
    return states


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_errors_against_differences(prior):
    """The delta method by complex steps and the multinomial covariance; 3 states, 4 arms."""
    rng = np.random.default_rng(1)
    sequences = [observed(chain, 400, [8, seed], 1)[0] for seed, chain in enumerate(rng.dirichlet(np.ones(3), (4, 3)))]
    reward = rng.uniform(-3, 5, (4, 3))
    fitted = fit(sequences, reward.tolist(), prior=prior)

    def mean(rows, pays):
        system = np.vstack([(rows.T - np.eye(3))[:-1], np.ones(3)])
        return np.linalg.solve(system, np.eye(3)[-1]) @ pays

    for arm, states in enumerate(sequences):
        counts = np.full((3, 3), prior)
        np.add.at(counts, (states[:-1], states[1:]), 1)
        left = counts.sum(1, keepdims=True)
        rows = counts / left
        moves = np.eye(9).reshape(3, 3, 3, 3)  # a chance is taken from the last state
        slopes = np.array(
            [[mean(rows + 1e-30j * (moves[s, f] - moves[s, 2]), reward[arm]).imag for f in range(3)] for s in range(3)]
        )
        slopes /= 1e-30
        variance = ((rows * slopes**2).sum(1) - (rows * slopes).sum(1) ** 2) / left[:, 0]
        np.testing.assert_allclose(fitted.transition[arm], rows, rtol=1e-13)
        np.testing.assert_allclose(fitted.standard_errors[arm], np.sqrt(rows * (1 - rows) / left), rtol=1e-12)
        np.testing.assert_allclose(fitted.means[arm], mean(rows, reward[arm]), rtol=1e-11)
        np.testing.assert_allclose(fitted.means_standard_errors[arm], np.sqrt(variance.sum()), rtol=1e-10)


def test_a_row_without_transitions_is_that_of_an_independent_arm():
    """The state that is seen last only, the one that is never seen, and an arm that always shows the same state."""
    fitted = fit([[0, 0, 1, 0, 0, 2], [1, 1, 1]], (0, 0.5, 1, 7))
    np.testing.assert_allclose(fitted.transition[0, 2:], [[3 / 5, 1 / 5, 1 / 5, 0]] * 2)
    np.testing.assert_allclose(fitted.transition[1], [[0, 1, 0, 0]] * 4)
    assert np.isnan(fitted.standard_errors[0, 2:]).all() and np.isfinite(fitted.standard_errors[0, :2]).all()
    assert np.isnan(fitted.means_standard_errors[0]) and fitted.means_standard_errors[1] == 0
    np.testing.assert_allclose(fitted.averages, [1.5 / 6, 0.5])
    first, second = fitted.reasons
    assert first.startswith("no transitions from state 2, which pays 1; ") and second.startswith("only state 1 was se")
    assert " ".join(str(fitted).split()).endswith("environments.markov with equal rows makes independent arms.")
    assert max(map(len, str(fitted).splitlines())) <= 80


def test_example_is_what_its_function_makes():
    assert EXAMPLE.read_bytes() == generate().encode()
    fitted = fit(EXAMPLE)
    assert fitted.counts.sum((1, 2)).tolist() == [STEPS - 1] * 4
    assert fitted.verdicts.tolist() == ["i.i.d.", "Markovian", "Markovian", "i.i.d."]
    z = (fitted.transition - np.stack([two(arm) for arm in zip(P01, P10)])) / fitted.standard_errors
    assert (np.abs(z) < 4).all()


def test_many_states_take_no_minutes():
    """64 states have 2,016 pairs of rows."""
    data = np.random.default_rng(0).integers(0, 64, (2, 4000))
    fitted = fit(data, np.arange(64), prior=0.01)
    rows = fitted.transition[1]
    expected = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    np.testing.assert_allclose(fitted.distance[1], expected, rtol=1e-5)


# --- chains that are seen in some steps only ---


def log_likelihood(rows, states):
    """By powers of the rows, from each state that was seen to the next one."""
    seen = [(step, int(state)) for step, state in enumerate(states) if state == state]
    cells = Counter((after[0] - before[0], before[1], after[1]) for before, after in itertools.pairwise(seen))
    return sum(n * np.log(np.linalg.matrix_power(rows, g)[s, t]) for (g, s, t), n in cells.items())


def two(numbers):
    p01, p10 = numbers
    return np.array([[1 - p01, p01], [p10, 1 - p10]])


def test_powers_over_gaps():
    """The maximum by a search, errors by second differences; the chances to leave, .1 and .3, are near."""
    days = (1, 6, 11, 13)
    states = observed(two((0.1, 0.3)), 14 * 300 - 1, 1, 1)[0]
    data = np.where(np.isin(np.arange(len(states)) % 14 + 1, days), states, np.nan)
    fitted = fit([data, states], (0, 1), gaps="steps")
    at = fitted.transition[0, [0, 1], [1, 0]]
    best = minimize(lambda p: -log_likelihood(two(p), data), (0.2, 0.2), bounds=[(0.01, 0.99)] * 2)
    np.testing.assert_allclose(at, best.x, atol=2e-4)
    assert log_likelihood(fitted.transition[0], data) > -best.fun - 1e-6
    step, second = 1e-3, np.zeros((2, 2))
    for i, j, a, b in itertools.product((0, 1), (0, 1), (1, -1), (1, -1)):
        moved = at + step * (a * np.eye(2)[i] + b * np.eye(2)[j])
        second[i, j] += a * b * log_likelihood(two(moved), data) / (4 * step**2)
    covariance = np.linalg.inv(-second)
    np.testing.assert_allclose(fitted.standard_errors[0, [0, 1], [1, 0]], np.sqrt(np.diag(covariance)), rtol=1e-2)
    slopes = np.array([at[1], -at[0]]) / at.sum() ** 2
    assert fitted.means_standard_errors[0] == pytest.approx(np.sqrt(slopes @ covariance @ slopes), rel=1e-2)
    assert (np.abs(at - (0.1, 0.3)) < 4 * fitted.standard_errors[0, 0]).all()  # four standard errors
    assert fitted.counts[0].sum() == len(days) * 300 - 1 and "gaps, over which powers" in str(fitted)
    np.testing.assert_array_equal(fitted.standard_errors[1], fit([states], (0, 1)).standard_errors[0])  # no gaps


def test_three_states_and_a_prior():
    """The gaps are drawn; the maximum is one of the likelihood times the prior's density."""
    rows = np.array([[0.8, 0.15, 0.05], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])
    states = observed(rows, 899, 2, 1)[0]
    states = np.where(np.random.default_rng(3).random(900) < 0.5, np.nan, states)

    def of(numbers):
        weights = np.exp(np.append(numbers.reshape(3, 2), np.zeros((3, 1)), axis=1))
        return weights / weights.sum(axis=1, keepdims=True)

    best = minimize(lambda z: -log_likelihood(of(z), states) - 2 * np.log(of(z)).sum(), np.zeros(6))
    fitted = fit([states], (0, 1, 2), gaps="steps", prior=2)
    np.testing.assert_allclose(fitted.transition[0], of(best.x), atol=1e-4)


def test_even_gaps_leave_the_mirror():
    """P and L - (P - L), L the stationary law in both rows, have the same square, and not the same third power."""
    even, odd = (observed(two(leave), 5999, 4, 1)[0].astype(float) for leave in ((0.3, 0.4), (0.1, 0.12)))
    even[np.arange(6000) % 2 == 1] = odd[np.arange(6000) % 3 > 0] = np.nan
    with pytest.warns(UserWarning, match="arm every second leave its rows undecided: .* are as likely as"):
        fitted = fit({"every second": even}, (0, 1), gaps="steps")
    rows = fitted.transition[0]
    law = fitted.counts[0].sum(0) / fitted.counts.sum()
    assert log_likelihood(2 * law - rows, even) == pytest.approx(log_likelihood(rows, even), abs=0.2)
    assert rows[0, 1] + rows[1, 0] < 1
    fit({"every third": odd}, (0, 1), gaps="steps")  # without a warning, which would be an error here


def test_a_state_that_is_never_left_and_one_never_seen():
    fitted = fit([[0, None, 0, 1, None, 0, 0, 1, 1, 0, None, 2]], (0, 1, 2, 9), gaps="steps")
    followers = np.array([4, 3, 1, 0]) / 8
    np.testing.assert_allclose(fitted.transition[0, 3], followers)
    assert np.isnan(fitted.standard_errors[0, 2:]).all() and (fitted.transition[0, :, 3] == 0).all()
