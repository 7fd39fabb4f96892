"""Random arms with two states: what was tried beside the library's policies, and the two commands that play them."""

import csv
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from experiments import candidates, robustness
from experiments.robust.policies import playing_two_states
from experiments.robust.tried import Expecting, Sieved, Tempered
from jaxbandit import IMEDMC, KLUCB, ThompsonMC, metrics, stress

ARMS = jaxbandit.two_state([0.5, 0.02, 0.3], [0.4, 0.05, 0.65])


@pytest.mark.parametrize(
    ("tried", "library"),
    [(Sieved(0.5), IMEDMC(exponent=0.5)), (Expecting(0.0), IMEDMC())],
    ids=["Sieved", "Expecting"],
)
def test_with_plain_numbers_it_is_the_policy_of_the_library(tried, library):
    asked = {"runs": 50, "horizon": 300, "progress": False}
    result = jaxbandit.simulate(ARMS, {"tried": tried, "library": library}, **asked)
    np.testing.assert_array_equal(result.visits["tried"], result.visits["library"])


def test_counted_once_it_is_thompson_mc():
    """The same gamma draws give the same log odds, up to rounding."""
    state = ThompsonMC().init(jnp.array([[0.0, 1.0]] * 3))
    state = state._replace(counts=jnp.array([[[3, 2], [1, 4]], [[900, 1], [1, 50]], [[0, 0], [0, 0]]]))
    scores = [
        jax.jit(jax.vmap(lambda key, policy=policy: policy.scores(key, state, 1)[0]))(
            jax.random.split(jax.random.key(0), 20)
        )
        for policy in (Tempered(0.5, 2.0, 1.0), ThompsonMC(0.5, 2.0))
    ]
    np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tried", [Sieved(0.9, 10.0), Expecting(1.0)], ids=["Sieved", "Expecting"])
def test_share_chooses_between_cycles_and_plays(tried):
    """An arm that never moved has no cycles, so that of its index only `share` log(501) depends on the share."""
    state = tried.init(jnp.array([[0.0, 1.0]] * 2))
    state = state._replace(counts=jnp.array([[[30, 20], [20, 30]], [[500, 0], [0, 0]]]))
    scores = [dataclasses.replace(tried, share=share).scores(None, state, 601)[0] for share in (0.0, 0.5, 1.0)]
    stays = [float(each[1]) for each in scores]
    np.testing.assert_allclose(np.diff(stays), [-np.log(501) / 2] * 2, rtol=1e-5)


def test_all_policies_that_play_two_states_are_there():
    found = playing_two_states()
    assert {"KLUCB", "IMEDMC", "IMEDMC(exponent=0.5)", "ThompsonMC", "UCB1", "PlugInGittins"} <= set(found)
    assert not {"Oracle", "Gittins", "HiddenMyopic"} & set(found)


FEW = {"KLUCB": KLUCB(), "IMEDMC": IMEDMC(), "UCB1": jaxbandit.UCB1()}


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
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # the same command plays nothing again
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


def test_candidates_from_their_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(candidates, "LIBRARY", FEW)
    monkeypatch.setattr(candidates, "TRIED", {"sieve": Sieved(1.0, 10.0, 0.5)})
    monkeypatch.setattr(candidates, "SPACES", ((2, 100), (3, 100)))
    monkeypatch.setattr(candidates, "NAMED_ROUNDS", 200)
    played = candidates.run(candidates.Settings(runs=4, horizon=100, problems=8, named=20, out=str(tmp_path)))
    keys = jax.random.split(jax.random.key(0))
    for key, surveys in zip(keys, (played.chosen, played.judged), strict=True):
        policies, panel = {"UCB1": FEW["UCB1"]}, {"KLUCB": FEW["KLUCB"]}
        asked = {"problems": 8, "runs": 4, "horizon": 100, "key": key}
        again = stress.over(stress.TwoStateSpace(arms=3), policies, panel=panel, **asked)
        np.testing.assert_array_equal(surveys[3, 100]["UCB1"], again.regrets["UCB1"].mean(-1))
    assert (played.chosen[2, 100]["UCB1"] != played.judged[2, 100]["UCB1"]).any()
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["policy"] for row in rows} == {*FEW, "sieve"}
    order = [float(row["chosen by"]) for row in rows]
    assert order == sorted(order) and min(order) >= 1
    assert "Within a tenth of the best" in capsys.readouterr().out
    with pytest.raises(ValueError, match="^horizon: 5 is below"):
        candidates.run(candidates.Settings(horizon=5))


def test_ratios_are_over_the_least_of_all():
    regrets = {(2, 10): {"a": np.array([2.0, 4.0]), "b": np.array([6.0, 9.0])}}
    assert candidates.ratios(regrets) == {"a": {(2, 10): 1.0}, "b": {(2, 10): 2.5}}
