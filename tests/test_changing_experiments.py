"""The experiments on arms that change: what they plan, their tables from counts, and their folders."""

import math

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import adversary, changing
from experiments.change import chains, growth, policies, thesis
from experiments.comparisons.growth import slope
from jaxbandit.command_line.experiment import check_cases


def test_what_is_planned_has_the_numbers_of_the_sources():
    text = policies.forgetful(10_000, 2)
    assert text["KL-UCB, window"].memory.length == 429 == text["SW-UCB"].length()
    assert text["KL-UCB, discount"].memory.discount == pytest.approx(0.9964644661)
    assert growth.policies(10_000, 3)["KL-UCB, window"].memory.length == 249
    planned = thesis.cases({"key": jax.random.key(0), "runs": 2, "horizon": 7})
    for name in thesis.PROBLEMS:
        case = planned[name]
        assert case["horizon"] == 5000 and set(thesis.SAME.values()) <= set(case["policies"])
        assert case["policies"]["KL-UCB, told the breaks"].detector.breaks == [1001, 2001, 3001, 4001]
        assert case["policies"]["Thompson, discount"].discount == 0.95
    for name, case in chains.cases({"key": jax.random.key(0), "runs": 2, "horizon": 1000}).items():
        assert case["scenarios"][name].breaks.tolist() == [201, 401, 601, 801]
        assert len(case["policies"]) == 12


def test_every_case_of_growth_can_be_played():
    """A policy is told the budget and the rounds of its own case."""
    cases = growth.cases(2000, {"key": jax.random.key(0), "runs": 2})
    assert len(cases) == 2 * 4 * 3 and {case["horizon"] for case in cases.values()} == {63, 200, 632, 2000}
    with pytest.raises(ValueError, match="--horizon: 99 is too short"):
        changing.cases(changing.Settings(horizon=99))
    for case in cases.values():
        (arms,) = [case["scenarios"]]
        check_cases({"": case | {"policies": {"Rexp3": case["policies"]["Rexp3"]}}})
        assert arms.variation <= case["policies"]["Rexp3"].budget + 1e-9


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
    assert thesis.alike(final, 270, 76.0) and thesis.alike(final, 262, None)
    assert not thesis.alike(final, 290, 76.0)


@pytest.mark.slow
def test_a_table_beside_ours(monkeypatch):
    short = {label: policies.forgetful(5000, 4)[label] for label in ("KL-UCB", "KL-UCB, window")}
    monkeypatch.setattr(thesis, "forgetful", lambda horizon, changes: short)
    monkeypatch.setattr(thesis, "SAME", {"KL-UCB": "KL-UCB", "KL-UCB, sliding window": "KL-UCB, window"})
    cases = thesis.cases({"key": jax.random.key(0), "runs": 100, "horizon": 1})
    results = {name: jaxbandit.simulate(**case) for name, case in cases.items()}
    result = {(row["problem"], row["policy"]): row for row in thesis.table(results)}
    for number, (plain, window) in enumerate([(270, 177), (162, 182)], 1):
        for label, published in (("KL-UCB", plain), ("KL-UCB, sliding window", window)):
            row = result[f"Besson {number}", label]
            assert row["published"] == f"{published}" and row["verdict"] == "agrees"
    assert result["Besson 1", "KL-UCB, told the breaks"]["published"] == "-"


@pytest.mark.slow
def test_the_price_of_safety(monkeypatch):
    """UCB1 takes the arms in turn and is never paid; Exp3 stays below its bound."""
    chosen = adversary.policies(1000)
    monkeypatch.setattr(adversary, "policies", lambda horizon: {label: chosen[label] for label in ("Exp3", "UCB1")})
    planned = adversary.cases(adversary.Settings(runs=50, horizon=1000))
    results = {name: jaxbandit.simulate(**case, progress=False) for name, case in planned.items()}
    exp3, ucb1 = (row["never in turn"] for row in adversary.tabulate(results)["table"][1])
    limit = adversary.bound(1000, 5)
    assert limit == pytest.approx(2 * math.sqrt(1.718281828 * 1000 * 5 * math.log(5)))
    assert ucb1 == pytest.approx(800) and 0 < exp3 < limit
