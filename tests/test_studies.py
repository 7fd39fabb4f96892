"""Studies of policies on arms: what is planned, tables of finals by hand, and Ctrl-C in the search for worst arms."""

from importlib import import_module

import numpy as np
import pytest

import jaxbandit
from experiments import front, policies, robustness
from experiments.comparisons.study import Matrix, draw_matrix, worst_table
from experiments.published.scenarios import TWO_STATES, environment, starts
from jaxbandit import KLUCB, UCB1, Result, atlas, stress
from jaxbandit.command_line.experiment import check_cases
from jaxbandit.command_line.options import Simulation


@pytest.mark.slow
@pytest.mark.parametrize("name", ["policies", "front", "families", "uniformly_good"])
def test_what_is_planned_can_be_played(name):
    planned = import_module(f"experiments.{name}").STUDY.cases(Simulation(runs=3, horizon=50))
    check_cases(planned)
    if name == "front":
        missing = set(planned["scenario 1"]["policies"]) - set(planned["scenario 3"]["policies"])
        assert missing == set(TWO_STATES)  # the others play three states, too


def test_starts_are_every_state_and_the_stationary_law():
    means = environment("scenario 1").means()
    for start, arms in starts(atlas["best20"].make).items():
        law = {"from state 0": [1, 0], "from state 1": [0, 1]}.get(start)
        expected = np.stack([1 - means, means], 1) if law is None else np.tile(law, (5, 1))
        np.testing.assert_allclose(arms.initial, expected, atol=1e-12)


def test_index_policies_know_the_family_of_the_rewards():
    """And every index policy of the library is played."""
    played = {name: policies.policies(name, None, 50) for name in policies.problems()}
    assert set(played["easy Bernoulli"]) == set(played["scenario 1"]) > set(played["Gaussian"])
    for name, family in policies.FAMILIES.items():
        told = [policy.family for policy in played[name].values() if "family" in policy.__dataclass_fields__]
        assert len(told) == 9 and all(each is family for each in told)
    others = {"RCA", "DSEE", "PlugInGittins", "PosteriorGittins", "Uniform"}  # for other problems, or no index
    others |= {"EpsilonGreedy", "Boltzmann"}  # not in the tables that have been measured
    assert {type(policy).__name__ for policy in played["scenario 1"].values()} == set(jaxbandit.ALL) - others


def result_of(scenarios, plays):
    """Ten rounds of two arms with gap 1/2; of each policy how often the worse one is played [scenario, run, time]."""
    times, visits = np.array([5, 10]), {}
    for label, worse in plays.items():
        counts = np.stack([times - np.asarray(worse), worse], -1)
        visits[label] = counts[:, None, :, :, :, None].astype(np.int32)  # one variant, one state
    means, reward = np.tile([1.0, 0.5], (len(scenarios), 1)), np.ones((len(scenarios), 2, 1))
    sizes = {"horizon": 10, "rounds": 10, "plays": 1}
    return Result(tuple(scenarios), times, visits, means, reward, **sizes, fingerprint={}, carry={})


def test_final_regret_as_a_matrix():
    """Of policies and starts; where a policy does not play stands no number. In each run the worse arm costs 1/2."""
    first = result_of(("from state 0", "from state 1"), {"a": [[[2, 4], [2, 2]], [[1, 2], [1, 2]]]})
    second = result_of(("second",), {"a": [[[0, 2], [0, 2]]], "b": [[[5, 10], [4, 4]]]})
    seen = Matrix.of({"first": first, "second": second})
    assert seen.policies == ["a", "b"]
    assert seen.environments == [("first", "from state 0"), ("first", "from state 1"), ("second", "")]
    np.testing.assert_allclose(seen.mean, [[1.5, 1, 1], [np.nan, np.nan, 3.5]])
    np.testing.assert_allclose(seen.linear, [[0.5, 1, 1], [np.nan, np.nan, 0.5]])
    assert [seen.place(0), seen.place(2)] == ["first, from state 0", "second"]


def test_the_worst_of_a_policy():
    """Of two parts of the environments; one in which a policy does not play does not count."""
    environments = [("scenario 1", "from state 0"), ("scenario 2", "from state 0"), ("best20", "")]
    mean = np.array([[10.0, np.nan, 900.0], [20.0, 60.0, 9.0]])
    seen = Matrix(["early", "late"], environments, mean, np.array([[0, np.nan, 0.8], [0, 0.2, 0]]))
    early, late = worst_table(front.parts(seen))
    assert early["in the paper's scenarios: times the least"] == "1.0 (scenario 1, from state 0)"
    assert early["beside them: times the least"] == "100.0 (best20)"
    assert early["linear share beside them"] == "80.0% (best20)"
    assert late["in the paper's scenarios: times the least"] == "2.0 (scenario 1, from state 0)"
    assert late["linear share in the paper's scenarios"] == "20.0% (scenario 2, from state 0)"
    words = {text.get_text() for ax in draw_matrix(front.parts(seen), {"a": 2}).axes for text in ax.texts}
    assert "900\n80% linear" in words and not any("nan" in word for word in words)


def test_random_arms_are_played_by_all_who_can():
    played = robustness.playing_two_states()
    assert {"KLUCB", "IMEDMC", "IMEDMC(exponent=0.5)", "ThompsonMC", "UCB1", "PlugInGittins"} <= set(played)
    assert not {"Oracle", "Gittins", "HiddenMyopic"} & set(played)


@pytest.mark.parametrize("found", ["nothing", "a problem"])
def test_ctrl_c_in_the_search_ends_the_command(tmp_path, monkeypatch, found):
    """A search that was stopped returns what it has judged, and the same command has to go on with it."""
    problem = stress.Found(None, {}, stress.Interval(1.0, 0.0, 2.0), "KLUCB", 1.0, 2, True, stopped=True)
    monkeypatch.setattr(robustness, "playing_two_states", lambda: {"KLUCB": KLUCB(), "UCB1": UCB1()})
    monkeypatch.setattr(robustness, "survey", lambda *_: {})
    monkeypatch.setattr(stress, "worst", lambda *_, **__: [] if found == "nothing" else [problem])
    with pytest.raises(KeyboardInterrupt):
        robustness.run(robustness.Settings(out=str(tmp_path)))
