"""How near the bound rules come with ever more arms: limits, gaps and tables against computation by hand."""

import numpy as np
import pytest

import jaxbandit
from experiments import budget
from experiments.budgets import gaps, problems
from jaxbandit import Uniform, environments


def test_bounds_and_budgets():
    """Of circular arms a fifth is played and the bound is a fifth (Avrachenkov and Borkar's arms, known exactly)."""
    assert [problems.plays_of("circular", number) for number in (3, 5, 10, 1000)] == [0, 1, 2, 200]
    assert problems.bound("circular", 5) == pytest.approx(0.2) == problems.bound("circular", 30)
    assert problems.arms_of("collapsing", 4).observed
    assert set(problems.learning("machines 10", 10)) == set() != set(problems.learning("machines 5", 10))


@pytest.mark.parametrize("label", [problems.WHITTLE, problems.RANDOM])
def test_the_map_of_shares_is_that_of_a_loop(label):
    """Thirty rounds with three types and a cost, states one by one in the order of their numbers, in plain Python."""
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(3), (2, 3, 3))
    arms = environments.restless(rows[0], (0, 0.5, 1), rows[1], paid="all", observed=True, cost=[0.1, 0.2, 0.3])
    numbers = random.random((3, 3)) if label != problems.RANDOM else np.zeros((3, 3))
    share, here, expected = 0.4, np.array(arms.initial) / 3, []
    for _ in range(30):
        left, played = share, np.zeros((3, 3))
        if label == problems.RANDOM:
            played = share * here
        else:
            for _, k, s in sorted((-numbers[k, s], k, s) for k in range(3) for s in range(3)):
                played[k, s] = min(here[k, s], left)
                left -= played[k, s]
        after, collected = np.zeros((3, 3)), 0.0
        for k in range(3):
            for s in range(3):
                for following in range(3):
                    mass = played[k, s] * rows[0, k, s, following] + (here - played)[k, s] * rows[1, k, s, following]
                    after[k, following] += mass
                    collected += mass * (0, 0.5, 1)[following]
            collected -= played[k].sum() * (0.1, 0.2, 0.3)[k]
        here = after
        expected.append(collected)
    result, shares = problems.rewards(arms, numbers, share, rounds=30)
    np.testing.assert_allclose(result, expected, atol=1e-12)
    np.testing.assert_allclose(shares[..., 1], played, atol=1e-12)


@pytest.mark.parametrize("name", ["circular", "CPAP", "swinging"])
def test_limits(name):
    """Whittle's rule reaches the bound but where shares swing; random play collects what a mixed chain does."""
    result = problems.limit_of(name, problems.WHITTLE)
    low, high = {"swinging": (0.03, 0.04)}.get(name, (-1e-6, 1e-6))
    assert result.swings == (low > 0) and low < result.gap < high
    arms, share = problems.arms_of(name, 30), problems.plays_of(name, 30) / 30
    collected = []
    for k in range(30):
        mixed = share * np.array(arms.transition[k]) + (1 - share) * np.array(arms.passive[k])
        law = np.linalg.matrix_power(mixed, 2**16)[0]
        laws = arms.known()
        collected.append(law @ (share * laws.earned[k] + (1 - share) * laws.kept[k]))
    myopic = problems.limit_of(name, problems.MYOPIC)
    assert myopic.tied == (name == "circular")  # where states 1 and 2 both bring a half in the next round
    random = problems.limit_of(name, problems.RANDOM)
    assert random.gap == pytest.approx(problems.bound(name, 30) - np.mean(collected), abs=1e-9)


def test_gaps_are_what_counts_say():
    """From stays and plays between two recorded rounds, run by run."""
    name, number = "machines 5", 10
    arms = problems.arms_of(name, number)
    result = jaxbandit.simulate(arms, {"u": Uniform()}, runs=5, horizon=40, times=[10, 20, 40], progress=False)
    answer = gaps.gaps(result, "u", name, number)
    stays, visits = result.recorded["stays"]["u"][0, 0], result.visits["u"][0, 0]
    for run in range(5):
        for place, rounds in ((0, 10), (1, 20)):
            left, right = stays[run, place], stays[run, place + 1]
            paid = sum((right - left)[k, s] * s / 4 for k in range(10) for s in range(5))
            paid -= 0.15 * (visits[run, place + 1] - visits[run, place]).sum()
            assert answer[run, place] == pytest.approx(problems.bound(name, number) - paid / rounds / number, abs=1e-9)
    np.testing.assert_array_equal(gaps.late(result, "u", name, number), answer[:, 1])


def test_the_exponent_is_that_of_the_clear_gaps():
    random = np.random.default_rng(1)
    values = {n: n**-0.5 * (1 + 0.3 * random.normal(size=200)) for n in (10, 100, 1000)}
    values[10_000] = 0.1 * random.normal(size=200)  # not told from 0
    power = gaps.exponent(values).split(" ")
    # the exponent's standard error is 0.3 sqrt(2 / 200) / log(100) = 0.0065; six times that never happens
    assert float(power[0]) == pytest.approx(-0.5, abs=0.04)
    assert float(power[1].strip("(")) < float(power[0]) < float(power[3].strip(")"))
    assert gaps.exponent({10: values[10], 10_000: values[10_000]}) == "-"
    assert gaps.theory(problems.Limit(0.0, False, 0.0, False), 1.0) == "falls as 1 / sqrt(K)"
    assert gaps.theory(problems.Limit(0.1, False, 0.1, False), 1.0) == "stays, as shares rest elsewhere"


def test_what_is_planned():
    """As many more runs as arms are fewer; of five arms half is no whole number, and nobody learns with 0."""
    settings = budget.Settings(sizes="5, 10, 30", scenarios="circular, machines 10", runs=4)
    planned = budget.cases(settings)
    sizes = {name: (case["plays"], case["runs"]) for name, case in planned.items() if "steered" not in name}
    assert sizes == {
        "circular, 5 arms": (1, 24), "circular, 10 arms": (2, 12), "circular, 30 arms": (6, 4),
        "machines 10, 10 arms": (1, 12), "machines 10, 30 arms": (3, 4), "circular, 10 arms, learned": (2, 4),
    }  # fmt: skip
    known = planned["circular, 5 arms, steered"]["policies"]
    assert list(known) == [problems.ADVICE, problems.TWO_SET, problems.UPDATE] and known[problems.UPDATE].steps == 5
    assert problems.TWO_SET not in problems.steering("CPAP", 10)
    assert planned["circular, 5 arms"]["times"] == [500, 1000]
    assert planned["circular, 10 arms, learned"]["times"][-1] == 10_000
    assert budget.not_learned(settings) == {"machines 10": "more than 8 states"}
    without = budget.cases(budget.Settings(sizes="5", scenarios="circular", runs_steered=0, learners=0))
    assert list(without) == ["circular, 5 arms"]
    five = budget.Settings(scenarios="circular, swinging, machines 10", learners=5)
    assert budget.of_learners(five) == [("circular", 5)]
    assert list(budget.not_learned(five).values()) == ["no whole number of plays"] * 2


def test_what_is_proved_of_those_that_steer():
    expected = {
        ("treadmill", problems.ADVICE): "falls as 1 / sqrt(K)",
        ("treadmill", problems.TWO_SET): "falls exponentially",
        ("swinging", problems.UPDATE): "falls as 1 / sqrt(K)",
        ("CPAP", problems.UPDATE): "falls as log(K) / sqrt(K)",
        ("CPAP", problems.ADVICE): "open, as kinds differ",
    }
    assert {case: gaps.theory_of_steering(*case) for case in expected} == expected


def test_wrong_options_are_refused(monkeypatch):
    """Before any arms are made."""
    monkeypatch.setattr(problems, "arms_of", None)
    wrong = {"scenarios": "circle", "sizes": "10, 1", "runs": 1, "learners": 3, "horizon": 1, "rounds_of_learners": 9}
    for name, value in (wrong | {"runs_steered": 1}).items():
        with pytest.raises(ValueError, match=f"^--{name.replace('_', '-')}: "):
            budget.cases(budget.Settings(**{name: value}))
    with pytest.raises(ValueError, match="^--sizes: 7 arms give no whole number of plays in CPAP, circular"):
        budget.cases(budget.Settings(scenarios="circular, CPAP", sizes="7"))
