"""Policies on random arms with two states: which are played, and Ctrl-C in the search."""

import pytest

import jaxbandit
from experiments import robustness
from jaxbandit import KLUCB, stress


def test_all_policies_that_play_two_states_are_there():
    result = robustness.playing_two_states()
    assert {"KLUCB", "IMEDMC", "IMEDMC(exponent=0.5)", "ThompsonMC", "UCB1", "PlugInGittins"} <= set(result)
    assert not {"Oracle", "Gittins", "HiddenMyopic"} & set(result)


FEW = {"KLUCB": KLUCB(), "UCB1": jaxbandit.UCB1()}


@pytest.mark.parametrize("found", ["nothing", "a problem"])
def test_ctrl_c_in_the_search_ends_the_command(tmp_path, monkeypatch, found):
    """A search that was stopped returns what it has judged, and the same command has to go on with it."""
    problem = stress.Found(None, {}, stress.Interval(1.0, 0.0, 2.0), "KLUCB", 1.0, 2, True, stopped=True)
    monkeypatch.setattr(robustness, "playing_two_states", lambda: FEW)
    monkeypatch.setattr(robustness, "survey", lambda *_: {})
    monkeypatch.setattr(stress, "worst", lambda *_, **__: [] if found == "nothing" else [problem])
    with pytest.raises(KeyboardInterrupt):
        robustness.run(robustness.Settings(out=str(tmp_path)))
