"""Policies on random arms with two states: which are played, the whole command once, and Ctrl-C in its search."""

import numpy as np
import pytest

import jaxbandit
from experiments import robustness
from jaxbandit import IMEDMC, KLUCB, metrics, stress


def test_all_policies_that_play_two_states_are_there():
    found = robustness.playing_two_states()
    assert {"KLUCB", "IMEDMC", "IMEDMC(exponent=0.5)", "ThompsonMC", "UCB1", "PlugInGittins"} <= set(found)
    assert not {"Oracle", "Gittins", "HiddenMyopic"} & set(found)


FEW = {"KLUCB": KLUCB(), "IMEDMC": IMEDMC(), "UCB1": jaxbandit.UCB1()}


@pytest.mark.release
def test_robustness_from_its_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(robustness, "playing_two_states", lambda: FEW)
    monkeypatch.setattr(robustness, "HORIZONS", (100, 200))
    monkeypatch.setattr(stress.TwoStateSpace, "panel", lambda self: {"KL-UCB": KLUCB(), "IMED-MC": IMEDMC()})
    asked = {"runs": 4, "horizon": 200, "problems": 8, "budget": 32, "judged": 50, "most": 200, "out": str(tmp_path)}
    settings = robustness.Settings(**asked)
    surveys, worst = robustness.run(settings)
    for (arms, horizon), survey in surveys.items():
        again = stress.over(stress.TwoStateSpace(arms=arms), FEW, panel=FEW, problems=8, runs=4, horizon=horizon)
        for label in FEW:
            np.testing.assert_array_equal(survey.regrets[label], again.regrets[label])
    for each in worst.values():
        for label, found in each.found.items():
            asked = {"runs": 50, "horizon": 200, "times": [200], "key": settings.key()}
            result = jaxbandit.simulate(found.arms, {"UCB1": FEW["UCB1"]}, **asked)
            expected = metrics.pseudo_regret(result, "UCB1")[0, 0, :, -1].mean()
            assert each.regret["UCB1"][label] == pytest.approx(expected)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"mean.csv", "worst_2.csv", "worst_5.csv", "against_2.csv", "robustness.png", "against.pdf"} <= written
    monkeypatch.setattr("jaxbandit.sweeps.loop.play", None)  # the same command plays nothing again
    robustness.run(settings)
    assert "mildest worst problem" in capsys.readouterr().out
    with pytest.raises(ValueError, match="^horizon: 300 is not one of 100, 200 up to --most"):
        robustness.run(robustness.Settings(horizon=300))


@pytest.mark.parametrize("found", ["nothing", "a problem"])
def test_ctrl_c_in_the_search_ends_the_command(tmp_path, monkeypatch, found):
    """A search that was stopped returns what it has judged, and the same command has to go on with it."""
    problem = stress.Found(None, {}, stress.Interval(1.0, 0.0, 2.0), "KLUCB", 1.0, 2, True, stopped=True)
    monkeypatch.setattr(robustness, "playing_two_states", lambda: FEW)
    monkeypatch.setattr(robustness, "survey", lambda *_: {})
    monkeypatch.setattr(stress, "worst", lambda *_, **__: [] if found == "nothing" else [problem])
    with pytest.raises(KeyboardInterrupt):
        robustness.run(robustness.Settings(out=str(tmp_path)))
