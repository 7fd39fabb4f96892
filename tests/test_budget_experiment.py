"""How near the bound rules come with ever more arms: limits, gaps and tables against computation by hand."""

import itertools

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
        left, played = share, share * here
        for place in sorted(np.ndindex(3, 3), key=lambda place: -numbers[place]) if label != problems.RANDOM else ():
            played[place] = min(here[place], left)
            left -= played[place]
        here = np.einsum("ks,kst->kt", played, rows[0]) + np.einsum("ks,kst->kt", here - played, rows[1])
        expected.append((here @ (0, 0.5, 1)).sum() - played.sum(1) @ (0.1, 0.2, 0.3))
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
    law = np.linalg.matrix_power(share * np.array(arms.transition) + (1 - share) * np.array(arms.passive), 2**16)[:, 0]
    laws = arms.known()
    collected = (law * (share * laws.earned + (1 - share) * laws.kept)).sum(1)
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
    for run, (place, rounds) in itertools.product(range(5), enumerate((10, 20))):
        paid = ((stays[run, place + 1] - stays[run, place]) * np.arange(5) / 4).sum()
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
    assert planned["circular, 5 arms, steered"]["policies"][problems.UPDATE].steps == 5
    assert problems.TWO_SET not in problems.steering("CPAP", 10)
    assert planned["circular, 10 arms, learned"]["times"][-1] == 10_000
    assert budget.not_learned(settings) == {"machines 10": "more than 8 states"}
    five = budget.Settings(scenarios="circular, swinging, machines 10", learners=5)
    assert budget.of_learners(five) == [("circular", 5)]


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
