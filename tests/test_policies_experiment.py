"""The experiment that compares index policies on many kinds of rewards: what plays where, and its tables by hand."""

import numpy as np
import pytest

import jaxbandit
from experiments import policies
from experiments.comparisons.matrix import Matrix
from jaxbandit.command_line.experiment import check_cases
from jaxbandit.command_line.options import Simulation


@pytest.mark.slow
def test_everything_planned_can_be_played():
    planned = policies.cases(Simulation(runs=3, horizon=50))
    check_cases(planned)
    labels = {name: list(case["policies"]) for name, case in planned.items()}
    assert labels["Gaussian"] == labels["Poisson"] == labels["exponential"]
    assert labels["easy Bernoulli"] == labels["hard Bernoulli"] == labels["scenario 1"]
    assert labels["scenario 1"][: len(labels["Gaussian"])] == labels["Gaussian"]
    for name, family in policies.FAMILIES.items():
        text = [policy.family for policy in planned[name]["policies"].values() if hasattr(policy, "family")]
        assert len(text) == 9 and all(item is family for item in text)


def test_every_index_policy_is_there():
    view = {type(policy) for kind in policies.groups("scenario 1", 10).values() for policy in kind.values()}
    others = {"RCA", "DSEE", "PlugInGittins", "PosteriorGittins", "Uniform"}  # for other problems, or no index
    others |= {"EpsilonGreedy", "Boltzmann"}  # not in the tables that have been measured
    assert {item.__name__ for item in view} == set(jaxbandit.ALL) - others


def test_the_worst_of_each_policy():
    mean, linear = np.array([[10, 4.0, 60], [20, 2, np.nan]]), np.array([[0, 0.5, 0], [0.25, 0, np.nan]])
    seen = Matrix(["a", "b"], [("p", ""), ("q", ""), ("scenario 1", "")], mean, linear)
    assert [row["all problems"] for row in policies.summary(seen)] == ["2.0 (q)", "2.0 (p)"]
    assert [row["largest linear share"] for row in policies.summary(seen)] == ["50.0%", "25.0%"]
