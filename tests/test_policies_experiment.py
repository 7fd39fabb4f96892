"""The experiment that compares index policies on many kinds of rewards: what plays where, and its tables by hand."""

import csv

import numpy as np
import pytest

import jaxbandit
from experiments import policies
from experiments.command_line.experiment import check_cases
from experiments.command_line.options import Simulation
from experiments.reports.matrix import Matrix
from jaxbandit import metrics


def test_everything_planned_can_be_played():
    planned = policies.cases(Simulation(runs=3, horizon=50))
    check_cases(planned)
    labels = {name: list(case["policies"]) for name, case in planned.items()}
    assert labels["Gaussian"] == labels["Poisson"] == labels["exponential"]
    assert labels["easy Bernoulli"] == labels["hard Bernoulli"] == labels["scenario 1"]
    assert labels["scenario 1"][: len(labels["Gaussian"])] == labels["Gaussian"]
    for name, family in policies.FAMILIES.items():
        told = [policy.family for policy in planned[name]["policies"].values() if hasattr(policy, "family")]
        assert len(told) == 9 and all(each is family for each in told)


def test_every_index_policy_is_there():
    shown = {type(policy) for kind in policies.groups("scenario 1", 10).values() for policy in kind.values()}
    others = {"RCA", "DSEE", "PlugInGittins", "PosteriorGittins", "Uniform"}  # for other problems, or no index
    assert {each.__name__ for each in shown} == set(jaxbandit.ALL) - others


def test_the_worst_of_each_policy():
    mean, linear = np.array([[10, 4.0, 60], [20, 2, np.nan]]), np.array([[0, 0.5, 0], [0.25, 0, np.nan]])
    seen = Matrix(["a", "b"], [("p", ""), ("q", ""), ("scenario 1", "")], mean, linear)
    assert policies.summary(seen) == [
        {
            "policy": "a",
            "independent rewards": "2.0 (q)",
            "all problems": "2.0 (q)",
            "largest linear share": "50.0%",
        },
        {
            "policy": "b",
            "independent rewards": "2.0 (p)",
            "all problems": "2.0 (p)",
            "largest linear share": "25.0%",
        },
    ]
    assert policies.in_words(seen).splitlines() == [
        "Of the policies that play all problems, a is nearest to the least regret: at worst 2.0 times (q).",
        "Of all, a is nearest to the least regret: at worst 2.0 times (q).",
    ]


def test_the_folder(tmp_path, capsys, monkeypatch):
    arms = policies.problems()
    monkeypatch.setattr(policies, "problems", lambda: {name: arms[name] for name in ("Gaussian", "hard Bernoulli")})
    small = {"kind": {"UCB1": jaxbandit.UCB1()}}, {"other": {"TV": jaxbandit.TVKLUCB()}}
    monkeypatch.setattr(policies, "on_means", lambda family, horizon: small[0])
    monkeypatch.setattr(policies, "on_states", lambda: small[1])
    results = policies.run(Simulation(runs=4, horizon=60, out=str(tmp_path)))
    assert {name: result.labels for name, result in results.items()} == {
        "Gaussian": ("UCB1",),
        "hard Bernoulli": ("UCB1", "TV"),
    }
    with open(tmp_path / "Gaussian.csv") as file:
        row = next(csv.DictReader(file))
    regret = metrics.pseudo_regret(results["Gaussian"], "UCB1")[0, 0, :, -1]
    assert float(row["mean"]) == pytest.approx(regret.mean())
    assert (tmp_path / "policies.png").exists() and (tmp_path / "worst.csv").exists()
    assert "nearest to the least regret" in capsys.readouterr().out
