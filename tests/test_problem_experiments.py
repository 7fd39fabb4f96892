"""Experiments on restless, hidden, changing and known arms: plans, and tables from counts."""

import math

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import adversary, changing, hidden, known_chains
from experiments.comparisons import weak_regret
from experiments.comparisons.growth import slope
from jaxbandit import Result
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
    visits[weak_regret.BEST] = visits.pop("best")
    means, reward = np.array([[0.5, 0.4]]), np.array([[[0.0, 1.0], [0.0, 1.0]]])
    sizes = {"horizon": 1000, "rounds": 1000, "plays": 1}
    return Result(("s",), times, visits, means, reward, **sizes, fingerprint={}, carry={}, problem="restless")


def test_weak_regret_is_what_the_best_arm_collects_more():
    a, b = [[5, 55, 500], [5, 50, 400]], [[4, 50, 503], [4, 52, 490]]
    result = result_of(best=[[7, 50, 505], [4, 60, 495]], a=a, b=b)
    regret = weak_regret.weak_regret(result)
    assert list(regret) == ["a", "b"]
    np.testing.assert_allclose(regret["a"], [[2, -5, 5], [-1, 10, 95]], atol=1e-9)
    np.testing.assert_allclose(regret["b"], [[3, 0, 2], [0, 8, 5]], atol=1e-9)
    a, b = weak_regret.final_rows(result)
    assert (a["weak regret"], a["worst 5%"], b["median"]) == pytest.approx((50, 95, 3.5))
    first, second, third = weak_regret.best_rows(result, ["a", "b", "c"])
    assert [row["least"] for row in (first, second, third)] == ["a", "a", "b"]
    assert third["weak regret"].startswith("3.5 ±") and third["difference"].startswith("-46.5 ±")
    assert third["rounds"] == "1,000" and third["beyond chance"] == "no"
    of_a, of_b = weak_regret.overtaking_rows(result, ["b"])
    assert of_a["b has less from round"] == "1,000" and of_b["b has less from round"] == ""
    steady = [[5, 50, 500 + k % 2] for k in range(8)]
    clear = result_of(best=steady, a=[[5, 50, 450 + k] for k in range(8)], b=[[4, 40, 400 + k] for k in range(8)])
    assert weak_regret.best_rows(clear, ["a", "b"])[-1]["beyond chance"] == "yes"


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


def test_the_verdict_on_a_published_number():
    final = np.random.default_rng(1).normal(270, 76, 1000)
    assert changing.alike(final, 270, 76.0) and changing.alike(final, 262, None)
    assert not changing.alike(final, 290, 76.0)


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


def test_the_best_arm_alone():
    """Rewards of one arm, round after round, and the best of the arms."""
    problem = known_chains.Problem("scenario 2", "settled", 0.9)
    arms, collected = problem.arms, np.zeros(5)
    law = arms.initial
    for t in range(300):
        law = np.einsum("ks,kst->kt", law, arms.transition)
        collected += 0.9**t * (law * arms.reward).sum(1)
    missed = 1 - collected.max() / known_chains.optimum(problem)
    assert 0.2 < known_chains.missed_alone(problem) == pytest.approx(missed, abs=1e-12)
