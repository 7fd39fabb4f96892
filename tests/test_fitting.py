"""Fitted arms: calibration on 1,000 data sets a chain, errors against mpmath, the test's error rates, bad data."""

import math
import re
from fractions import Fraction
from itertools import pairwise

import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

import jaxbandit
from jaxbandit import TVKLUCB, divergences
from jaxbandit.environments import EXAMPLE, fit
from jaxbandit.environments.example import P01, P10, STEPS, generate

SETS = 1000


def two_states(p01, p10):
    return np.array([[1 - p01, p01], [p10, 1 - p10]])


def observed(transition, steps, seed, sets=SETS):
    """States [sets, steps + 1] of independent chains that start in state 0."""
    rng = np.random.default_rng(seed)
    cumulative = np.cumsum(transition, axis=-1)
    states = np.zeros((sets, steps + 1), int)
    for step in range(steps):
        above = rng.random((sets, 1)) >= cumulative[states[:, step]]
        states[:, step + 1] = np.minimum(above.sum(-1), len(transition) - 1)
    return states


def calibrated(z):
    """Whether |z| < 1.96 in 95 % of cases and z has mean square 1; 0.5 and 3 percent points are left to finite samples.

    Refuses a calibrated z less often than 4e-10: four tails at 1e-10, of the binomial law and of chi-square's.
    """
    inside, square = int((np.abs(z) < 1.959964).sum()), float((z**2).sum())
    likely = [stats.binom(z.size, 0.955).cdf(inside), stats.binom(z.size, 0.945).sf(inside - 1)]
    likely += [stats.chi2(z.size).cdf(square / 0.97), stats.chi2(z.size).sf(square / 1.03)]
    return min(likely) > 1e-10


CHAINS = {
    2: [two_states(*arm) for arm in ((0.5, 0.4), (0.05, 0.1), (0.9, 0.8), (0.3, 0.7), (0.2, 0.05))],
    3: list(0.1 + 0.7 * np.random.default_rng(5).dirichlet(np.ones(3), (5, 3))),
}


@pytest.mark.slow
@pytest.mark.release_cases("3")
@pytest.mark.parametrize("states", CHAINS)
def test_intervals_are_calibrated(states):
    """5 chains, 1,000 data sets of 2,000 transitions each; false-fail rate below 1e-9.

    One entry of each row: the others of a row are bound to it. Errors 15 % too small or large are noticed.
    """
    reward = np.linspace(0, 1, states)
    rows, means = [], []
    for seed, chain in enumerate(CHAINS[states]):
        fitted = fit(observed(chain, 2000, [states, seed]), reward)
        rows.append((fitted.transition - chain)[..., 0] / fitted.standard_errors[..., 0])
        law = np.linalg.matrix_power(chain, 1 << 14)[0]
        means.append((fitted.means - law @ reward) / fitted.means_standard_errors)
    for name, z in (("transition", np.stack(rows)), ("means", np.stack(means))):
        print(f"{states} states, {name}: coverage {np.mean(np.abs(z) < 1.959964):.4f}, variance of z {z.var():.4f}")
        assert calibrated(z)
        assert not calibrated(z * 1.15) and not calibrated(z / 1.15)


def test_reward_may_differ_between_arms_and_a_rare_state_is_calibrated_too():
    chain = CHAINS[3][0]
    reward = np.random.default_rng(0).uniform(-3, 5, (SETS, 3))
    fitted = fit(observed(chain, 1000, 9), reward)
    np.testing.assert_array_equal(fitted.reward, reward)
    np.testing.assert_allclose(fitted.means, fitted.arms.means(), rtol=1e-14)
    law = np.linalg.matrix_power(chain, 1 << 14)[0]
    assert calibrated((fitted.means - reward @ law) / fitted.means_standard_errors)


def mean_of(rows, reward):
    """Long-run mean by mpmath: the stationary law as the solution of its linear equations."""
    size = len(reward)
    equations = mp.matrix(size, size)
    for s in range(size):
        for following in range(size):
            equations[following, s] = rows[s][following] - (s == following)
    for s in range(size):
        equations[size - 1, s] = 1
    law = mp.lu_solve(equations, mp.matrix([0] * (size - 1) + [1]))
    return mp.fsum(law[s] * reward[s] for s in range(size))


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_errors_against_differences(prior):
    """The delta method by finite differences of 60 digits and the multinomial covariance; 3 states, 4 arms."""
    rng = np.random.default_rng(1)
    sequences = [observed(chain, 400, [8, seed], 1)[0] for seed, chain in enumerate(rng.dirichlet(np.ones(3), (4, 3)))]
    reward = [-1.0, 0.25, 2.0]
    fitted = fit(sequences, reward, prior=prior)
    with mp.workdps(60):
        step = mp.mpf(10) ** -25
        for arm, states in enumerate(sequences):
            counts = [
                [mp.mpf(prior) + sum(a == s and b == f for a, b in pairwise(states)) for f in range(3)]
                for s in range(3)
            ]
            left = [sum(row) for row in counts]
            rows = [[count / total for count in row] for row, total in zip(counts, left)]
            mean = mean_of(rows, reward)
            variance = mp.mpf(0)
            for s in range(3):
                slopes = []
                for f in range(3):
                    moved = [list(row) for row in rows]
                    moved[s][f] += step
                    moved[s][2] -= step
                    slopes.append((mean_of(moved, reward) - mean) / step)
                for a in range(3):
                    for b in range(3):
                        covariance = rows[s][a] * ((a == b) - rows[s][b]) / left[s]
                        variance += slopes[a] * slopes[b] * covariance
                    error = mp.sqrt(rows[s][a] * (1 - rows[s][a]) / left[s])
                    np.testing.assert_allclose(fitted.transition[arm, s, a], float(rows[s][a]), rtol=1e-14)
                    np.testing.assert_allclose(fitted.standard_errors[arm, s, a], float(error), rtol=1e-13)
            np.testing.assert_allclose(fitted.means[arm], float(mean), rtol=1e-12)
            np.testing.assert_allclose(fitted.means_standard_errors[arm], float(mp.sqrt(variance)), rtol=1e-11)


def test_errors_of_two_states_in_closed_form():
    """mean = p01 / (p01 + p10), its derivatives p10 / (p01 + p10)^2 and -p01 / (p01 + p10)^2."""
    fitted = fit(EXAMPLE)
    p01, p10 = fitted.transition[:, 0, 1], fitted.transition[:, 1, 0]
    e01, e10 = fitted.standard_errors[:, 0, 1], fitted.standard_errors[:, 1, 0]
    np.testing.assert_allclose(fitted.means, p01 / (p01 + p10), rtol=1e-13)
    np.testing.assert_allclose(
        fitted.means_standard_errors, np.hypot(p10 * e01, p01 * e10) / (p01 + p10) ** 2, rtol=1e-12
    )


def test_counts_by_hand():
    fitted = fit([[0, 1, 1, 0, 1], [1, 0, 0, 0, 1, 1]], (2, 5))
    assert fitted.counts.tolist() == [[[0, 2], [1, 1]], [[2, 1], [1, 1]]]
    np.testing.assert_allclose(fitted.transition, [[[0, 1], [1 / 2, 1 / 2]], [[2 / 3, 1 / 3], [1 / 2, 1 / 2]]])
    np.testing.assert_allclose(fitted.standard_errors[1], [[np.sqrt(2 / 27)] * 2, [np.sqrt(1 / 8)] * 2])
    assert fitted.standard_errors[0, 0].tolist() == [0, 0]
    assert fitted.reward.tolist() == [[2, 5], [2, 5]]


def test_prior_is_added_to_every_transition():
    fitted = fit([[0, 1, 1], [0, 0, 0, 2]], (0, 1, 2), prior=0.5)
    assert fitted.counts[1].tolist() == [[2, 0, 1], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(fitted.transition[1], [[2.5 / 4.5, 0.5 / 4.5, 1.5 / 4.5], [1 / 3] * 3, [1 / 3] * 3])
    np.testing.assert_allclose(fitted.standard_errors[1, 2], np.sqrt(2 / 9 / 1.5))


def wrong_verdicts(transitions, apart):
    """How often the test errs, by counting the paths from state 0 that leave both states.

    A path with m moves to state 1 and N00 stays in state 0 is a way to cut the stays into its visits to the states.
    """

    def log_ways(stays, visits):
        return special.gammaln(stays + visits) - special.gammaln(stays + 1) - special.gammaln(np.maximum(visits, 1))

    seen = beyond = every = 0.0
    n00 = np.arange(transitions + 1.0)
    for end in (0, 1):
        n01 = np.arange(float(end), transitions // 2 + 2)[:, None]
        n10 = n01 - end
        n11 = transitions - n00 - n01 - n10
        possible = (n11 >= 0) & ((n01 > 0) | (n11 == 0))
        n11 = np.where(possible, n11, 0)
        ways = log_ways(n00, n10 + 1) + np.where(n01 > 0, log_ways(n11, n01), 0)
        chance = np.exp(ways + (n01 + n10) * np.log((1 - apart) / 2) + (n00 + n11) * np.log((1 + apart) / 2)) * possible
        both = chance * (n10 + n11 > 0) * (n00 + n01 > 0)
        distance = np.abs(n01 / np.maximum(n00 + n01, 1) + n10 / np.maximum(n10 + n11, 1) - 1)
        every += chance.sum()
        seen += both.sum()
        beyond += (both * (distance > transitions**-0.25 + 1e-9)).sum()
    assert abs(every - 1) < 1e-9
    return beyond / seen if apart == 0 else 1 - beyond / seen


@pytest.mark.release
def test_error_rates_of_the_verdict_are_as_documented():
    """The docstring's table against the counting of paths, and `fit` on 1,000 data sets against both.

    20 exact binomial tests, two-sided at 1e-11: false-fail rate 2e-10.
    """
    table = [line.split() for line in fit.__doc__.splitlines() if re.fullmatch(r" +\d+( +\d+\.\d\d){5}", line)]
    assert [row[0] for row in table] == ["30", "100", "300", "1000"]
    for length, *percents in table:
        transitions = int(length)
        for apart, percent in zip((0, 0.1, 0.3, 0.5, 0.8), percents, strict=True):
            rate = wrong_verdicts(transitions, apart)
            assert percent == f"{100 * rate:.2f}"
            states = observed(two_states((1 - apart) / 2, (1 - apart) / 2), transitions, [transitions, int(10 * apart)])
            ones = states[:, :-1].sum(1)
            fitted = fit(states[(ones > 0) & (ones < transitions)], (0, 1))
            wrong = int((fitted.markovian == (apart == 0)).sum())
            print(f"T {transitions:5d}, d {apart}: {wrong / len(fitted.means):.4f} simulated, {rate:.6f} exact")
            assert stats.binomtest(wrong, len(fitted.means), rate).pvalue > 1e-11


@pytest.mark.release
def test_many_states_are_taken_for_markovian_as_documented():
    """The docstring's second table, within one percent point, on 1,000 data sets: false-fail rate below 1e-9.

    12 binomial tests at 1e-11 a side, on the data sets that left every state, as `fit` asks: nearly all.
    """
    table = [line.split() for line in fit.__doc__.splitlines() if re.fullmatch(r" +\d+( +\d+){3}", line)]
    assert [row[0] for row in table] == ["100", "300", "1000", "3000"]
    for length, *percents in table:
        for states, percent in zip((3, 5, 10), percents, strict=True):
            data = observed(np.full((states, states), 1 / states), int(length), [int(length), states])
            whole = [sequence for sequence in data if len(np.unique(sequence[:-1])) == states]
            wrong, rate = int(fit(whole, np.arange(states)).markovian.sum()), int(percent) / 100
            print(f"T {length:>4}, S {states:2d}: {wrong / len(whole):.4f} of {len(whole)}")
            assert len(whole) > 950
            low, high = max(rate - 0.01, 0), min(rate + 0.01, 1)
            assert stats.binom(len(whole), high).sf(wrong - 1) > 1e-11
            assert stats.binom(len(whole), low).cdf(wrong) > 1e-11


@pytest.mark.slow
def test_verdict_is_the_policys():
    """At the same counts; and by fractions, with p01 + p10 = 1/2 after 16 = 2^4 transitions: a tie is i.i.d."""
    chains = [*CHAINS[3], np.full((3, 3), 1 / 3), np.full((3, 3), 1 / 3)]
    fitted = fit([observed(chain, 150, seed, 1)[0] for seed, chain in enumerate(chains)], (0, 0.5, 1), exponent=0.3)
    policy = TVKLUCB(clock="arm", exponent=0.3)
    state = policy.init(jnp.asarray(fitted.reward, float))._replace(counts=jnp.asarray(fitted.counts, jnp.int32))
    assert policy.markovian(state, 1).tolist() == fitted.markovian.tolist()
    assert set(fitted.markovian.tolist()) == {False, True}
    np.testing.assert_allclose(fitted.distance, divergences.farthest(fitted.transition), rtol=1e-6)
    np.testing.assert_allclose(fitted.threshold, fitted.counts.sum((1, 2)) ** -0.3, rtol=2e-5)
    tie, beyond = [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4 + [0], [0] * 5 + [1] * 4 + [0] * 4 + [1] * 4 + [0]
    fitted = fit([tie, beyond], (0, 1))
    assert Fraction(2, 8) + Fraction(2, 8) == Fraction(1, 2) and fitted.counts[0].tolist() == [[6, 2], [2, 6]]
    assert abs(1 - Fraction(2, 9) - Fraction(2, 8)) > 17**-0.25 and fitted.counts[1].tolist() == [[7, 2], [2, 6]]
    assert fitted.markovian.tolist() == [False, True]


def test_example_is_what_its_function_makes():
    assert EXAMPLE.read_bytes() == generate().encode()
    fitted = fit(EXAMPLE)
    assert fitted.counts.sum((1, 2)).tolist() == [STEPS - 1] * 4
    assert fitted.markovian.tolist() == [False, True, True, False]
    z = (fitted.transition - np.stack([two_states(*arm) for arm in zip(P01, P10)])) / fitted.standard_errors
    assert (np.abs(z) < 4).all()


def test_file_and_arrays_give_the_same_fit(tmp_path):
    """States and rewards; lines of the arms mixed, a byte-order mark, carriage returns, quotes, another column."""
    states = observed(CHAINS[3][1], 60, 1, 3)
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
        np.testing.assert_array_equal(expected.arms.transition_thresholds, other.arms.transition_thresholds)


def test_fitted_arms_are_played():
    arms = fit(EXAMPLE, initial_state="stationary").arms
    result = jaxbandit.simulate(arms, {"TV": TVKLUCB()}, runs=4, horizon=500, progress=False)
    assert result.visits["TV"][..., -1, :, :].sum() == 4 * 500
    assert jaxbandit.environments.fit is fit


def test_many_states_take_no_minutes():
    """64 states have 2,016 pairs of rows."""
    data = np.random.default_rng(0).integers(0, 64, (2, 4000))
    fitted = fit(data, np.arange(64), prior=0.01)
    rows = fitted.transition[1]
    expected = max(np.abs(a - b).sum() / 2 for a in rows for b in rows)
    np.testing.assert_allclose(fitted.distance[1], expected, rtol=1e-5)


HEAD = b"arm,step,state\n"
GOOD = b"0,0,0\n0,1,1\n1,0,1\n1,1,0\n0,2,0\n1,2,1\n"
BAD_FILES = [
    (b"", 1, "no columns"),
    (b"\n", 1, "no columns"),
    (b"arm,step\n0,0\n", 1, "no columns 'state' in"),
    (b"arm,step,reward\n0,0,1\n", 1, "no columns 'state' in"),
    (b"arm;step;state\n0;0;1\n", 1, "no columns 'arm' in"),
    (b"arm,arm,step,state\n0,0,0,1\n", 1, "2 columns 'arm'"),
    (b"0,0,0\n0,1,1\n", 1, "no columns 'arm'"),
    (HEAD + GOOD + b"0,3\n", 8, "2 fields, not 3"),
    (HEAD + GOOD + b"0,3,0,1\n", 8, "4 fields, not 3"),
    (HEAD + b"0,0,0\n\n0,1,1\n", 3, "blank"),
    (HEAD + GOOD + b"\n", 8, "blank"),
    (HEAD + b"0,0,0\n0,1,0.5\n", 3, "state '0.5' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,-1\n", 3, "state '-1' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,\n", 3, "state '' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,nan\n", 3, "state 'nan' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,1_0\n", 3, "state '1_0' is not a whole number"),
    (HEAD + b"0,0,0\n0,1,2\n", 3, "state 2 is not among states 0..1"),
    (HEAD + b"0,0,0\n0,1," + b"9" * 5000 + b"\n", 3, "is not a whole number"),
    (HEAD + b"a,0,0\n", 2, "arm 'a' is not a whole number"),
    (HEAD + b"0,0,0\n0,1.0,0\n", 3, "step '1.0' is not a whole number"),
    (HEAD + b"0,0,0\n1,0,0\n0,0,1\n", 4, "step 0 of arm 0 follows step 0"),
    (HEAD + b"0,0,0\n0,1,1\n0,3,1\n", 4, "step 3 of arm 0 follows step 1"),
    (HEAD + b"0,1,0\n0,0,1\n", 3, "step 0 of arm 0 follows step 1"),
    (HEAD + GOOD + b"3,0,0\n3,1,0\n", 9, "there is an arm 3, but no arm 2"),
    (HEAD + GOOD + b"2,0,0\n", 8, "arm 2 ends after one step"),
    (HEAD + b"0,0,0\n0,1,\xff\n", 3, "not UTF-8"),
    ("arm,step,state\n".encode("utf-16"), 1, "not UTF-8"),
    (HEAD + b'0,0,0\n0,1,"1\n', 3, "unexpected end of data"),
    (HEAD + b'0,0,0\n0,1,"1"1\n', 3, "expected after"),
    (HEAD + b"0,0," + b"1" * 200_000 + b"\n", 2, "field larger than"),
]


@pytest.mark.parametrize(("content", "line", "message"), BAD_FILES)
def test_bad_files_are_refused_by_line(tmp_path, content, line, message):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^data: .*data\.csv, line {line}: .*{re.escape(message)}"):
        fit(path, (0, 1))


@pytest.mark.parametrize("reward", ["", "nan", "inf", "-1e31", "high", "NaN"])
def test_bad_rewards_are_refused_by_line(tmp_path, reward):
    path = tmp_path / "data.csv"
    path.write_text(f"arm,step,reward\n0,0,1.5\n0,1,{reward}\n")
    with pytest.raises(ValueError, match=rf"data\.csv, line 3: reward '?{reward}'? is not"):
        fit(path)


def test_good_lines_are_good(tmp_path):
    """The lines that the bad files above share are refused for nothing else."""
    (tmp_path / "data.csv").write_bytes(HEAD + GOOD)
    assert fit(tmp_path / "data.csv", (0, 1)).counts.tolist() == [[[0, 1], [1, 0]]] * 2
    (tmp_path / "one.csv").write_bytes(HEAD + b"0,0,0\n0,1,1\n0,2,0\n")
    with pytest.raises(ValueError, match="data: one arm only"):
        fit(tmp_path / "one.csv", (0, 1))
    (tmp_path / "none.csv").write_bytes(HEAD)
    with pytest.raises(ValueError, match="data: no arms"):
        fit(tmp_path / "none.csv", (0, 1))
    with pytest.raises(FileNotFoundError):
        fit(tmp_path / "absent.csv")


ARM = [0, 1, 1, 0]
BAD_ARRAYS = [
    (lambda: fit([ARM], (0, 1)), "data: one arm only"),
    (lambda: fit([], (0, 1)), "data: no arms"),
    (lambda: fit(None, (0, 1)), "data: "),
    (lambda: fit([ARM, [[0, 1], [1, 0]]], (0, 1)), "data: arm 1 has shape (2, 2)"),
    (lambda: fit([ARM, [[0, 1], [1]]], (0, 1)), "data: "),
    (lambda: fit([ARM, [1]], (0, 1)), "data: arm 1 has shape (1,), not [steps] with at least 2 steps"),
    (lambda: fit(ARM, (0, 1)), "data: arm 0 has shape ()"),
    (lambda: fit([ARM, [0.0, 1.0]], (0, 1)), "data: arm 1 holds float64, not states 0..1"),
    (lambda: fit([ARM, ["0", "1"]]), "data: arm 1: ['0', '1'] is not an array of numbers"),
    (lambda: fit([ARM, [0, 1, -1]], (0, 1)), "data: arm 1, step 2: -1 is not among states 0..1"),
    (lambda: fit([ARM, [0, 2, 0]], (0, 1)), "data: arm 1, step 1: 2 is not among states 0..1"),
    (lambda: fit([ARM, [0.5, np.nan]]), "data: arm 1, step 1: nan is not among finite numbers"),
    (lambda: fit([ARM, [0.5, -np.inf]]), "data: arm 1, step 1: -inf is not among"),
    (lambda: fit([[1, 1], [1, 1, 1]]), "data: 1 distinct rewards"),
    (lambda: fit([ARM, np.arange(70)]), "data: 70 distinct rewards"),
    (lambda: fit([ARM, [0, 0, 1]], (0, 1)), "data: arm 1 never left state 1, which pays 1: give a `prior`"),
    (lambda: fit([[3, 5, 3, 3], [3, 5, 7, 3]]), "data: arm 0 never left state 2, which pays 7"),
    (lambda: fit([ARM, ARM], (0, np.nan)), "reward: NaN"),
    (lambda: fit([ARM, ARM], 1.0), "reward: shape ()"),
    (lambda: fit([ARM, ARM], (1.0,)), "reward: shape (1,)"),
    (lambda: fit([ARM, ARM], np.arange(65)), "reward: shape (65,)"),
    (lambda: fit([ARM, ARM], "pay"), "reward: "),
    (lambda: fit([ARM, ARM], [[0, 1]] * 3), "reward: 3 rows for 2 arms"),
    (lambda: fit([ARM, ARM], (1, 1)), "reward: every state of every arm pays 1"),
    (lambda: fit([ARM, ARM], (0, 1), prior=-1), "prior: -1"),
    (lambda: fit([ARM, ARM], (0, 1), prior=np.inf), "prior: inf"),
    (lambda: fit([ARM, ARM], (0, 1), prior="flat"), "prior: 'flat'"),
    (lambda: fit([ARM, ARM], (0, 1, 2), prior=1e-10), "prior: 1e-10 makes a transition rarer than 2^-31"),
    (lambda: fit([ARM, ARM], (0, 1), exponent=0), "exponent: 0"),
    (lambda: fit([ARM, ARM], (0, 1), exponent=math.nan), "exponent: nan"),
    (lambda: fit([ARM, ARM], (0, 1), initial_state=2), "initial_state: 2"),
]


@pytest.mark.parametrize(("build", "message"), BAD_ARRAYS)
def test_bad_arrays(build, message):
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        build()


def test_errors_come_before_anything_compiles(monkeypatch):
    """With divergences out of order, only what is right gets as far as to miss them."""
    for name in ("total_variation", "threshold"):
        monkeypatch.delattr(divergences, name)
    for build, message in BAD_ARRAYS:
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            build()
    with pytest.raises(AttributeError):
        fit([ARM, ARM], (0, 1))
