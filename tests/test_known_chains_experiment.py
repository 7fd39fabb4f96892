"""The price of learning: its table against computation by hand, at a tiny size."""

import csv

import numpy as np
import pytest

from experiments import known_chains
from experiments.command_line.experiment import check_cases
from experiments.published.scenarios import environment
from jaxbandit import metrics


def value_by_iteration(arms, discount):
    """What the best policy collects from state 0 of all arms: value iteration over the states of all arms together."""
    arms_number, states = arms.reward.shape
    values = np.zeros((states,) * arms_number)
    for _ in range(int(np.log(1e-9) / np.log(discount))):
        after = []
        for k in range(arms_number):
            paid = (arms.transition[k] @ arms.reward[k]).reshape([-1 if j == k else 1 for j in range(arms_number)])
            moved = np.moveaxis(np.tensordot(arms.transition[k], values, (1, k)), 0, k)
            after.append(paid + discount * moved)
        values = np.max(after, axis=0)
    return values[(0,) * arms_number]


@pytest.mark.parametrize("scenario", ["scenario 1", "scenario 4"])
def test_the_optimum_is_that_of_value_iteration(scenario):
    problem = known_chains.Problem(scenario, "state 0", 0.9)
    assert known_chains.optimum(problem) == pytest.approx(value_by_iteration(environment(scenario), 0.9), abs=1e-6)


def test_the_best_arm_alone():
    """Rewards of one arm, round after round, and the best of the arms."""
    problem = known_chains.Problem("scenario 2", "settled", 0.9)
    arms, found = problem.arms, []
    for k in range(5):
        law, sum_of_rewards = arms.initial[k], 0.0
        for t in range(300):
            law = law @ arms.transition[k]
            sum_of_rewards += 0.9**t * law @ arms.reward[k]
        found.append(sum_of_rewards)
    assert known_chains.best_alone(problem) == pytest.approx(max(found), rel=1e-12)
    assert 0.2 < known_chains.missed_alone(problem) == pytest.approx(1 - max(found) / known_chains.optimum(problem))


def test_writes_its_folder_and_goes_on(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(known_chains, "DISCOUNTS", (0.5, 0.9))
    monkeypatch.setattr(known_chains, "AGAIN", (0.9,))
    monkeypatch.setattr(known_chains, "SCENARIOS", ["scenario 1", "scenario 2"])
    check_cases(known_chains.cases(known_chains.Settings()))
    settings = known_chains.Settings(runs=30, error=0.05, out=str(tmp_path))
    results = known_chains.run(settings)
    assert list(results) == [
        f"scenario {n}, {start}, {d}" for n in (1, 2) for start in ("state 0", "settled") for d in (0.5, 0.9)
    ] + [f"scenario {n}, state 0, 0.9, again" for n in (1, 2)]
    with open(tmp_path / "missed.csv") as file:
        rows = list(csv.DictReader(file))
    assert {path.suffix for path in tmp_path.glob("known_chains.*")} == {".png", ".pdf"}
    for name, row in zip(known_chains.problems(), rows, strict=True):
        problem = known_chains.problems()[name]
        best = known_chains.optimum(problem)
        collected = {
            label: metrics.discounted_reward(results[name], label, problem.discount)[0, 0]
            for label in results[name].labels
        }
        known = collected[known_chains.KNOWN]
        for label, expected in ((known_chains.KNOWN, best - known), ("TV-KL-UCB", known - collected["TV-KL-UCB"])):
            mean, half = (float(number.strip(" %")) for number in row[label].split("±"))
            error = 1.96 * expected.std(ddof=1) / np.sqrt(30)  # Student's quantile is 4 % larger
            assert mean == pytest.approx(100 * expected.mean() / best, abs=0.01)
            assert half == pytest.approx(100 * error / best, rel=0.06)
        assert row["optimum"] == f"{best:,.3f}"
    with open(tmp_path / "again.csv") as file:
        first, *_, last = csv.DictReader(file)
    assert (first["scenario"], first["rounds"], last["scenario"], last["rounds"]) == (
        *("scenario 1", "first tenth"),
        *("scenario 2", "last half"),
    )
    result = results["scenario 2, state 0, 0.9, again"]
    best = value_by_iteration(environment("scenario 2"), 0.9) * 0.1 * 1500
    assert result.times.tolist() == [300, 1500, 3000]
    known, other = (
        np.einsum("rtks,ks->rt", result.visits[label][0, 0], result.reward[0])
        for label in (known_chains.KNOWN, "KL-UCB-SM")
    )
    lost = ((known - other)[:, 2] - (known - other)[:, 1]) / best
    assert float(last["KL-UCB-SM"].split("%")[0]) == pytest.approx(100 * lost.mean(), abs=0.01)
    said = capsys.readouterr().out
    assert "30 runs" in said and "Of 8 problems, the least is missed" in said
    more = known_chains.run(known_chains.Settings(runs=40, error=0.05, out=str(tmp_path)))
    for name, result in more.items():
        for label in result.labels:
            np.testing.assert_array_equal(result.visits[label][:, :, :30], results[name].visits[label])
    with pytest.raises(ValueError, match="holds error = 0.05"):
        known_chains.run(known_chains.Settings(runs=40, error=0.1, out=str(tmp_path)))
