"""The paper: verdicts on data of known truth, and bounds beside simulations."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.published import slow_arms
from experiments.published.phases import RECORD, judged_shares, phase_rows
from experiments.published.scenarios import environment
from experiments.published.theory import judge_bounds
from jaxbandit import Result, atlas, bounds, metrics
from jaxbandit.reports.verdicts import Claim, interval, judge, judge_equality, judge_savings, saved, up_to


def made_up(**regrets: np.ndarray) -> Result:
    """A result with these final regrets: arm 2, a tenth worse than arm 1, was played ten times as often."""
    visits = {}
    for label, regret in regrets.items():
        worse = np.rint(10 * np.asarray(regret)).astype(np.int32)
        plays = np.stack([100_000 - worse, worse], -1)  # [run, arm]
        visits[label] = plays[None, None, :, None, :, None]
    sizes = {"horizon": 100_000, "rounds": 100_000, "plays": 1}
    means, reward = np.array([[1.0, 0.9]]), np.ones((1, 2, 1))
    return Result(("s",), np.array([100_000]), visits, means, reward, **sizes, fingerprint={}, carry={})


def verdicts(row):
    return row["mean's verdict"], row["median's verdict"]


def test_verdicts_where_the_truth_is_known():
    """Mean and median may disagree: a few runs lock on the wrong arm."""
    random = np.random.default_rng(0)
    luck = random.normal(0, 5, 1000)
    rare = np.where(np.arange(1000) < 30, 5000.0, 0)
    same = 100 + luck + random.normal(0, 1e-1, 1000)
    result = made_up(good=100 + luck, same=same, bad=120 + luck, heavy=60 + luck + rare)
    claims = [Claim(f"{a} beats {b}", a, b, "figure") for a, b in (("good", "bad"), ("bad", "good"), ("heavy", "good"))]
    better, worse, tail = judge(result, claims)
    assert verdicts(better) == ("holds", "holds")
    assert verdicts(worse) == ("does not hold", "does not hold")
    assert verdicts(tail) == ("does not hold", "holds")
    assert better["mean difference (95%)"].startswith("-20.0 (")
    few = made_up(a=[10, 50, 20, 30], b=[20, 30, 30, 25])
    assert verdicts(judge(few, [Claim("", "a", "b", "")])[0]) == ("undecided", "undecided")
    equal = judge_equality(result, "alike", "good", "same", "section")
    assert verdicts(equal) == ("holds", "holds") and "(by less than 10%: 10.0)" in equal["claim"]
    assert verdicts(judge_equality(result, "alike", "good", "bad", "section")) == ("does not hold", "does not hold")
    assert verdicts(judge_equality(few, "alike", "a", "b", "section")) == ("undecided", "undecided")


def test_savings_and_their_bootstrap():
    """Half of 200 and a tenth of 100 saved; the bootstrap's spread is that of the mean."""
    random = np.random.default_rng(1)
    large = made_up(**{"KL-UCB-SM": 200 + random.normal(0, 10, 500), "m": 100 + random.normal(0, 10, 500)})
    small = made_up(**{"KL-UCB-SM": 100 + random.normal(0, 10, 500), "m": 90 + random.normal(0, 10, 500)})
    more, less = saved(large, "m", "KL-UCB-SM", 1000, seed=0), saved(small, "m", "KL-UCB-SM", 1000, seed=1)
    assert more[0] == pytest.approx(0.5, abs=0.02) and less[0] == pytest.approx(0.1, abs=0.02)
    expected = np.sqrt((10 / 200) ** 2 + (100 * 10 / 200**2) ** 2) / np.sqrt(500)
    assert more[1:].std() == pytest.approx(expected, rel=0.2)
    assert judge_savings("", "", more, less)["mean's verdict"] == "holds"
    assert judge_savings("", "", less, more)["mean's verdict"] == "does not hold"
    assert judge_savings("", "", more, more[::-1])["mean's verdict"] == "undecided"
    assert interval(0.4, 0.3, 0.5, "+.0%") == "+40% (+30% to +50%)"


def test_a_result_up_to_a_round():
    """Of a policy that plays the worse arm in every round: regret is a tenth a round."""
    counts = np.array([10, 100, 1000])[:, None, None] * [[0], [1]]  # [T, K, S]
    made = made_up(a=[0, 0])
    result = replace(made, times=np.array([10, 100, 1000]), visits={"a": np.array([counts] * 3)[None, None]})
    assert metrics.pseudo_regret(up_to(result, 100), "a")[0, 0].tolist() == [pytest.approx([1, 10])] * 3
    assert up_to(result, 100).rounds == 100


def test_shares_of_rounds_are_counted_one_by_one():
    """Questions at odd rounds, decades whose ends are none of them."""
    random = np.random.default_rng(3)
    times, ends = np.array([1, 4, 9, 25, 60, 200]), [2, 20, 200]
    answers = random.random((5, 6, 3)) < 0.5
    expected = np.zeros((2, 5, 3))
    for t in range(3, 201):
        last = max(q for q in range(6) if times[q] < t)
        expected[int(t > 20)] += answers[:, last] / (180 if t > 20 else 18)
    np.testing.assert_allclose(judged_shares(times, answers, ends), expected, rtol=1e-12)


def test_the_wrong_form_is_that_of_the_other_kind():
    """Of a Markovian best arm and i.i.d. others, all judged Markovian in the last decade alone."""
    arms, label = atlas["scenario 1, others i.i.d."].arms, "TV-KL-UCB"
    times = np.array([1, 10, 100, 1000])
    answers = np.zeros((1, 1, 8, 4, 5), bool)
    answers[..., 2:, :] = True
    visits = np.ones((1, 1, 8, 4, 5, 2), np.int32)
    result = replace(made_up(**{label: np.zeros(8)}), times=times, visits={label: visits}, means=arms.means()[None])
    best, others = phase_rows(replace(result, recorded={RECORD: {label: answers}}), arms)
    assert (best["kind"], others["kind"]) == ("Markovian", "i.i.d.")
    assert (best["10 to 100"], best["100 to 1,000"]) == ("100.0% ± 0.0%", "0.0% ± 0.0%")
    assert (others["10 to 100"], others["100 to 1,000"]) == ("0.0% ± 0.0%", "100.0% ± 0.0%")
    assert (best["falls"], others["falls"]) == ("holds", "does not hold")
    assert (best["below half"], others["below half"]) == ("holds", "does not hold")


def test_claims_about_bounds():
    rows = {row["paper"]: row for row in judge_bounds()}
    no = "does not hold"
    assert [row["verdict"] for row in rows.values()] == ["holds", "holds", "holds", no, no, "holds", no, no]
    assert "9.05 above; 9.90, or tight 13.69, below" in rows["theorems 1 (a) and 3"]["computed"]
    assert "4.53 above; 8.06, or tight 13.69, below" in rows["theorems 1 (b) and 3"]["computed"]
    assert rows["appendix D"]["computed"].startswith("7.04 and 8.32")


def test_bounds_of_slow_arms():
    rows = slow_arms.constants(np.array([1.0, 1e-6]))
    assert [row["condition"] for row in rows] == ["holds", "fails"]
    arms = environment("scenario 1")
    gaps = 5 / 9 - arms.means()[1:]
    assert rows[0]["TV-KL-UCB"] == bounds.upper_asymptotic(arms).total
    assert rows[0]["UCB-SM, L = 360 / min sigma"] == pytest.approx(4 * 360 / 0.8 * np.sum(1 / gaps))
    np.testing.assert_allclose(slow_arms.member(0.01).means(), arms.means())
