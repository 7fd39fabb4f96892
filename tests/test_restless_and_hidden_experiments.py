"""The experiments on restless and on hidden arms: tables against computation by hand, at tiny sizes."""

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import hidden, restless
from experiments.comparisons import weak_regret
from experiments.published.scenarios import environment
from jaxbandit import Result, metrics
from jaxbandit.command_line.options import Simulation


def result_of(**collected):
    """A result of runs that collect these rewards [run, time] in rounds 10, 100, 1,000 from an arm of mean 1/2."""
    times = np.array([10, 100, 1000])
    visits = {}
    for label, rewards in collected.items():
        ones = np.asarray(rewards)
        counts = np.stack([times - ones, ones], -1)  # [run, time, state]
        visits[label.replace("_", " ")] = np.stack([counts, 0 * counts], -2)[None, None].astype(np.int32)
    visits[weak_regret.BEST] = visits.pop("best")
    means, reward = np.array([[0.5, 0.4]]), np.array([[[0.0, 1.0], [0.0, 1.0]]])
    return Result(
        ("s",), times, visits, means, reward, horizon=1000, rounds=1000, plays=1, fingerprint={}, carry={},
        problem="restless",
    )  # fmt: skip


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
    assert weak_regret.overtakes(result, "b", ["a"]) == []
    of_a, of_b = weak_regret.overtaking_rows(result, ["b"])
    assert of_a["b has less from round"] == "1,000" and of_b["b has less from round"] == ""


def test_beyond_chance_is_said_where_the_interval_says_so():
    steady = [[5, 50, 500 + k % 2] for k in range(8)]
    result = result_of(best=steady, a=[[5, 50, 450 + k] for k in range(8)], b=[[4, 40, 400 + k] for k in range(8)])
    assert weak_regret.best_rows(result, ["a", "b"])[-1]["beyond chance"] == "yes"
    assert weak_regret.overtakes(result, "a", ["a", "b", "not played"]) == ["b"]


def test_overtaken_by_looking_at_every_round():
    random = np.random.default_rng(0)
    times = np.array([1, 3, 10, 30, 100])
    for _ in range(200):
        mine, other = random.integers(0, 3, (2, 5)).astype(float)
        since = [t for i, t in enumerate(times) if all(mine[j] < other[j] for j in range(i, 5))]
        assert weak_regret.overtaken(mine, other, times) == (since[0] if since else None)


def test_the_best_arm_has_no_weak_regret_on_average():
    """Its collected reward is its long-run reward on average: missed by 5 standard errors in 1 of a million suites."""
    arms = restless.environments()["scenario 1"]
    result = jaxbandit.simulate(arms, {"best": jaxbandit.Oracle(arms.means())}, runs=400, horizon=300, times=[300])
    final = metrics.realised_regret(result, "best")[0, 0, :, -1]
    assert abs(final.mean()) < 5 * final.std(ddof=1) / np.sqrt(400)
    for name, arms in restless.environments().items():
        assert next(iter(restless.policies(arms))) == weak_regret.BEST
        assert set(restless.LEARNERS) < set(restless.policies(arms)), name


@pytest.mark.slow
def test_without_error_hidden_arms_are_the_chains_themselves():
    problem = hidden.problems()["scenario 1, error 0"]
    sizes = {"key": jax.random.key(3), "runs": 20, "horizon": 300, "times": [300]}
    policy = {"TV-KL-UCB": jaxbandit.TVKLUCB()}
    seen, known = (jaxbandit.simulate(arms, policy, **sizes) for arms in (problem.arms, environment("scenario 1")))
    np.testing.assert_array_equal(seen.visits["TV-KL-UCB"], known.visits["TV-KL-UCB"])


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
    monkeypatch.setattr(hidden, "ERRORS", (0.4,))
    monkeypatch.setattr(hidden, "LEARNERS", {label: hidden.LEARNERS[label] for label in ("TV-KL-UCB", "KL-UCB-SM")})
    planned = hidden.cases(Simulation(runs=15, horizon=200))
    results = {name: jaxbandit.simulate(**case, progress=False) for name, case in planned.items()}
    for (name, (_, _, arms)), row in zip(hidden.problems().items(), hidden.verdict_rows(results), strict=True):
        plays = results[name].visits["TV-KL-UCB"][0, 0, :, -1].sum(-1)
        said = results[name].recorded["Markovian"]["TV-KL-UCB"][0, 0, :, -1]
        taken = [sum(bool(said[run, k]) for run in range(15)) / 15 for k in range(5)]
        assert row["best arm Markovian"] == pytest.approx(taken[0])
        assert row["others Markovian"] == pytest.approx(sum(taken[1:]) / 4)
        on_them = sum(plays[run, k] for run in range(15) for k in range(5) if said[run, k])
        assert row["weighed by plays"] == pytest.approx(on_them / (15 * 200))
        assert arms.means()[0] == arms.means().max()
