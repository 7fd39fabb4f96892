"""Experiments on decision processes and on restless, hidden, changing and known arms: plans, and tables from counts."""

import math

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import adversary, changing, decision_processes, hidden, known_chains, restless
from experiments.comparisons.growth import slope
from jaxbandit import KLUCB, PSRL, KnownProcess, Result, Uniform, metrics
from jaxbandit.command_line.experiment import check_cases
from jaxbandit.command_line.options import Simulation
from jaxbandit.judging import atlas_card

SIZE = {"key": jax.random.key(0), "runs": 2, "horizon": 1000}


def walk(process, actions, rounds, seed):
    """Rewards of a player who takes the actions [S] from state 0, as a plain loop."""
    random, s, collected = np.random.default_rng(seed), 0, 0.0
    for _ in range(rounds):
        collected += float(process.reward[actions[s], s])
        s = random.choice(process.reward.shape[1], p=np.asarray(process.transition[actions[s], s]))
    return collected


def test_the_share_of_runs_has_wilsons_interval():
    share, z = 8 / 40, 1.959964
    whole, spread = 1 + z**2 / 40, math.sqrt(share * 0.8 / 40 + (z / 80) ** 2)
    centre, half = (share + z**2 / 80) / whole, z * spread / whole
    assert decision_processes.share_of(np.arange(40) < 8) == f"20% ({centre - half:.0%} to {centre + half:.0%})"


@pytest.mark.slow
def test_tables_of_processes():
    """Rows of a result in order of the mean; a run loses a fifth where it lost a fifth of rounds times gain."""
    name, imed_rl = decision_processes.OTHER_ENDS, decision_processes.IMED_RL
    process = decision_processes.process(name)
    policies = {decision_processes.KNOWN: KnownProcess.of(process), imed_rl: KnownProcess(np.zeros(5, int))}
    policies[decision_processes.UNNORMALISED] = Uniform()
    asked = {"runs": 20, "horizon": 1000, "times": [100, 500, 1000], "progress": False}
    result = jaxbandit.simulate({name: process}, policies, **asked)
    first = decision_processes.final_rows(result)[0]
    assert (first["policy"], first["exponent"]) == (decision_processes.KNOWN, "-")
    assert first["less than the next"] == "yes"
    (one, other) = decision_processes.linear_rows({name: result})
    assert one["lose a fifth or more"].startswith("100%") and other["mean of the others"] == "-"
    loops = [1000 * process.comparator(1) - walk(process, [0] * 5, 1000, seed) for seed in range(20)]
    here = metrics.regret(result, imed_rl)[0, 0, :, -1]
    apart = math.hypot(np.std(loops, ddof=1), np.std(here, ddof=1)) / math.sqrt(20)
    assert abs(np.mean(loops) - here.mean()) < 5 * apart + 1e-6  # false alarm below 1e-4, Student's 38 degrees
    assert decision_processes.loop_rows(result) == []


@pytest.mark.slow
def test_learners_are_judged_on_processes_and_policies_of_arms_are_not():
    named = {name: jaxbandit.atlas[name].arms for name in ("ergodic RiverSwim", "best20")}
    planned, left_out = atlas_card.cases(named, {"PSRL": PSRL(), "KLUCB": KLUCB()}, 50, 40, jax.random.key(0))
    reasons = {label: set(reasons) for label, reasons in left_out.items()}
    assert reasons == {"PSRL": {"best20"}, "KLUCB": {"ergodic RiverSwim"}}
    panels = [case for name, case in planned.items() if name.startswith("panel")]
    (panel,) = [case for case in panels if "ergodic RiverSwim" in case["scenarios"]]
    assert set(panel["policies"]) == {"UCRL2B", "IMEDRL"} and panel["runs"] == 20
    assert atlas_card.runs_of(jaxbandit.atlas["four rooms"].arms, 200) == 20


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


def test_the_best_arm_has_no_weak_regret_on_average():
    """Its collected reward is its long-run reward on average: missed by 5 standard errors in 1 of a million suites."""
    arms = restless.environments()["scenario 1"]
    result = jaxbandit.simulate(arms, {"best": jaxbandit.Oracle(arms.means())}, runs=400, horizon=300, times=[300])
    final = metrics.realised_regret(result, "best")[0, 0, :, -1]
    assert abs(final.mean()) < 5 * final.std(ddof=1) / np.sqrt(400)
    assert list(restless.policies(arms)) == [restless.BEST, *restless.LEARNERS, *restless.KNOWING]


def test_how_far_symbols_depend_on_each_other():
    """Their correlation from one play to the next, from that of the states, which errors make smaller."""
    for name, (chains, error, arms) in hidden.problems().items():
        if chains == hidden.CYCLES:  # which are as if independent to the test
            np.testing.assert_allclose(hidden.dependence(arms), 0, atol=1e-12)
            continue
        ones, means = arms.transition[:, 0, 1] / (arms.transition[:, 0, 1] + arms.transition[:, 1, 0]), arms.means()
        states = 1 - arms.transition[:, 0, 1] - arms.transition[:, 1, 0]
        expected = np.abs((1 - 2 * error) ** 2 * states * ones * (1 - ones) / (means * (1 - means)))
        np.testing.assert_allclose(hidden.dependence(arms), expected, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(means, error + (1 - 2 * error) * ones, atol=1e-12)


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
    taken = [sum(bool(said[run, k]) for run in range(runs)) / runs for k in range(5)]
    assert row["best arm Markovian"] == pytest.approx(taken[0])
    assert row["others Markovian"] == pytest.approx(sum(taken[1:]) / 4)
    on_them = sum(plays[run, k] for run in range(runs) for k in range(5) if said[run, k])
    assert row["weighed by plays"] == pytest.approx(on_them / (runs * 200))


def test_policies_of_changing_arms_have_the_numbers_of_the_sources():
    text = changing.forgetful(10_000, 2)
    assert text["KL-UCB, window"].memory.length == 429 == text["SW-UCB"].length()
    assert text["KL-UCB, discount"].memory.discount == pytest.approx(0.9964644661)
    assert changing.told_the_budget(10_000, 3)["KL-UCB, window"].memory.length == 249
    for case in changing.published_cases(SIZE).values():
        assert case["horizon"] == 5000 and set(changing.SAME.values()) <= set(case["policies"])
        assert case["policies"]["KL-UCB, told the breaks"].detector.breaks == [1001, 2001, 3001, 4001]
        assert case["policies"]["Thompson, discount"].discount == 0.95
    for name, case in changing.chain_cases(SIZE).items():
        assert case["scenarios"][name].breaks.tolist() == [201, 401, 601, 801] and len(case["policies"]) == 12


def test_every_case_of_growth_can_be_played():
    """A policy is told the budget and the rounds of its own case."""
    cases = changing.growth_cases(2000, SIZE)
    assert len(cases) == 2 * 4 * 3 and {case["horizon"] for case in cases.values()} == {63, 200, 632, 2000}
    with pytest.raises(ValueError, match="--horizon: 99 is too short"):
        changing.cases(changing.Settings(horizon=99))
    for case in [*cases.values()][::5]:
        rexp3 = case["policies"]["Rexp3"]
        check_cases({"": case | {"policies": {"Rexp3": rexp3}}})
        assert case["scenarios"].variation <= rexp3.budget + 1e-9 and rexp3.horizon == case["horizon"]


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
    arms, result = problem.arms, []
    for k in range(5):
        law, sum_of_rewards = arms.initial[k], 0.0
        for t in range(300):
            law = law @ arms.transition[k]
            sum_of_rewards += 0.9**t * law @ arms.reward[k]
        result.append(sum_of_rewards)
    missed = 1 - max(result) / known_chains.optimum(problem)
    assert 0.2 < known_chains.missed_alone(problem) == pytest.approx(missed, abs=1e-12)
