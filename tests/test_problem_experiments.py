"""Experiments on restless, hidden and changing arms and with a budget: plans, limits, and tables from counts."""

import itertools
import math

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import adversary, budget, changing, hidden, restless
from experiments.budgets import gaps, problems
from experiments.comparisons.growth import slope
from jaxbandit import Result, Uniform, environments
from jaxbandit.command_line.options import Simulation

SIZE = {"key": jax.random.key(0), "runs": 2, "horizon": 1000}


def result_of(**collected):
    """A result of runs that collect these rewards [run, time] in rounds 10, 100, 1,000 from an arm of mean 1/2."""
    times = np.array([10, 100, 1000])
    visits = {}
    for label, rewards in collected.items():
        ones = np.asarray(rewards)
        counts = np.stack([times - ones, ones], -1)  # [run, time, state]
        visits[label] = np.stack([counts, 0 * counts], -2)[None, None].astype(np.int32)
    visits[restless.BEST] = visits.pop("best")
    means, reward = np.array([[0.5, 0.4]]), np.array([[[0.0, 1.0], [0.0, 1.0]]])
    sizes = {"horizon": 1000, "rounds": 1000, "plays": 1}
    return Result(("s",), times, visits, means, reward, **sizes, fingerprint={}, carry={}, problem="restless")


def test_weak_regret_is_what_the_best_arm_collects_more():
    a, b = [[5, 55, 500], [5, 50, 400]], [[4, 50, 503], [4, 52, 490]]
    result = result_of(best=[[7, 50, 505], [4, 60, 495]], a=a, b=b)
    regret = restless.weak_regret(result)
    assert list(regret) == ["a", "b"]
    np.testing.assert_allclose(regret["a"], [[2, -5, 5], [-1, 10, 95]], atol=1e-9)
    np.testing.assert_allclose(regret["b"], [[3, 0, 2], [0, 8, 5]], atol=1e-9)
    a, b = restless.final_rows(result)
    assert (a["weak regret"], a["worst 5%"], b["median"]) == pytest.approx((50, 95, 3.5))
    first, second, third = restless.best_rows(result, ["a", "b", "c"])
    assert [row["least"] for row in (first, second, third)] == ["a", "a", "b"]
    assert third["weak regret"].startswith("3.5 ±") and third["difference"].startswith("-46.5 ±")
    assert third["rounds"] == "1,000" and third["beyond chance"] == "no"
    of_a, of_b = restless.overtaking_rows(result, ["b"])
    assert of_a["b has less from round"] == "1,000" and of_b["b has less from round"] == ""
    steady = [[5, 50, 500 + k % 2] for k in range(8)]
    clear = result_of(best=steady, a=[[5, 50, 450 + k] for k in range(8)], b=[[4, 40, 400 + k] for k in range(8)])
    assert restless.best_rows(clear, ["a", "b"])[-1]["beyond chance"] == "yes"


@pytest.mark.slow
def test_verdicts_on_hidden_arms_are_shares_of_runs_and_plays(monkeypatch):
    name, runs, label = "scenario 1, error 0.4", 15, hidden.ADAPTIVE
    problem = hidden.problems()[name]
    monkeypatch.setattr(hidden, "problems", lambda: {name: problem})
    case = hidden.cases(Simulation(runs=runs, horizon=200))[name]
    policies = {each: case["policies"][each] for each in (label, "KL-UCB-SM")}
    result = jaxbandit.simulate(**case | {"policies": policies}, progress=False)
    (row,) = hidden.verdict_rows({name: result})
    plays, said = result.visits[label][0, 0, :, -1].sum(-1), result.recorded["Markovian"][label][0, 0, :, -1]
    assert row["best arm Markovian"] == pytest.approx(said[:, 0].mean())
    assert row["others Markovian"] == pytest.approx(said[:, 1:].mean())
    assert row["weighed by plays"] == pytest.approx(plays[said > 0].sum() / (runs * 200))


def test_policies_of_changing_arms_have_the_numbers_of_the_sources():
    """Those that drift are told the budget and the rounds of their own case."""
    assert changing.forgetful(10_000, 2)["KL-UCB, discount"].memory.discount == pytest.approx(0.9964644661)
    assert changing.told_the_budget(10_000, 3)["KL-UCB, window"].memory.length == 249
    for case in changing.published_cases(SIZE).values():
        assert case["policies"]["KL-UCB, told the breaks"].detector.breaks == [1001, 2001, 3001, 4001]
    for case in changing.growth_cases(2000, SIZE).values():
        rexp3 = case["policies"]["Rexp3"]
        assert case["scenarios"].variation <= rexp3.budget + 1e-9 and rexp3.horizon == case["horizon"]
    with pytest.raises(ValueError, match="--horizon: 99 is too short"):
        changing.cases(changing.Settings(horizon=99))


def test_the_slope_of_a_power_is_its_exponent():
    """An interval of 95 % that holds the exponent of 40 noisy samples in all but a few of 100 times."""
    x, random = np.log([10, 100, 1000]), np.random.default_rng(0)
    held = 0
    for seed in range(100):
        samples = [10 ** (2 * n / 3) * random.gamma(4, 1 / 4, 40) for n in (1, 2, 3)]
        low, high = (float(word) for word in slope(x, samples, seed).split("(")[1].strip(")").split(" to "))
        held += low - 0.005 <= 2 / 3 <= high + 0.005
    assert held >= 80  # of a true 90 % or more the chance of fewer is below 1e-3
    assert slope(x[:2], [np.array([1.0, -3.0]), np.array([2.0, 2.0])]) == "-"


@pytest.mark.slow
def test_the_price_of_safety(monkeypatch):
    """UCB1 takes the arms in turn and is never paid; Exp3 stays below its bound."""
    chosen = adversary.policies(1000)
    monkeypatch.setattr(adversary, "policies", lambda horizon: {label: chosen[label] for label in ("Exp3", "UCB1")})
    planned = adversary.cases(adversary.Settings(runs=25, horizon=1000))
    results = {name: jaxbandit.simulate(**case, progress=False) for name, case in planned.items()}
    exp3, ucb1 = (row["never in turn"] for row in adversary.tabulate(results)["table"][1])
    limit = adversary.bound(1000, 5)
    assert limit == pytest.approx(2 * math.sqrt(1.718281828 * 1000 * 5 * math.log(5)))
    assert ucb1 == pytest.approx(800) and 0 < exp3 < limit


def test_bounds_and_budgets():
    """Of circular arms a fifth is played and the bound is a fifth (Avrachenkov and Borkar's arms, known exactly)."""
    assert [problems.plays_of("circular", number) for number in (3, 5, 10, 1000)] == [0, 1, 2, 200]
    assert problems.bound("circular", 5) == pytest.approx(0.2) == problems.bound("circular", 30)
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
def test_limits_with_ever_more_arms(name):
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


def test_what_is_planned_with_a_budget():
    """As many more runs as arms are fewer."""
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


def test_what_is_proved_of_those_that_steer():
    assert gaps.theory_of_steering("treadmill", problems.ADVICE) == "falls as 1 / sqrt(K)"
    assert gaps.theory_of_steering("treadmill", problems.TWO_SET) == "falls exponentially"
    assert gaps.theory_of_steering("swinging", problems.UPDATE) == "falls as 1 / sqrt(K)"
    assert gaps.theory_of_steering("CPAP", problems.UPDATE) == "falls as log(K) / sqrt(K)"


def test_wrong_options_of_budgets_are_refused(monkeypatch):
    """Before any arms are made."""
    monkeypatch.setattr(problems, "arms_of", None)
    wrong = {"scenarios": "circle", "sizes": "10, 1", "runs": 1, "learners": 3, "horizon": 1, "rounds_of_learners": 9}
    for name, value in (wrong | {"runs_steered": 1}).items():
        with pytest.raises(ValueError, match=f"^--{name.replace('_', '-')}: "):
            budget.cases(budget.Settings(**{name: value}))
    with pytest.raises(ValueError, match="^--sizes: 7 arms give no whole number of plays in CPAP, circular"):
        budget.cases(budget.Settings(scenarios="circular, CPAP", sizes="7"))
