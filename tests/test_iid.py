"""The i.i.d. experiment: its files, and its shares against a replay round by round."""

import csv

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import iid
from experiments.published.scenarios import environment
from jaxbandit import atlas


def test_a_run_writes_its_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(iid, "OTHERS", {"KL-UCB-SM": jaxbandit.KLUCB()})  # all of them would take long to compile
    monkeypatch.setattr(iid, "ADAPTIVE", {"TV-KL-UCB": jaxbandit.TVKLUCB()})
    settings = iid.Settings(runs=20, horizon=200, out=str(tmp_path))
    played = iid.run(settings)
    printed = capsys.readouterr().out
    assert "20 runs of 200 rounds" in printed and "of all plays were made on an arm judged Markovian" in printed
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"settings.json", "table.csv", "phases.csv", "phases.png", "phases.pdf"}
    with open(tmp_path / "table.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == 2 * list(iid.OTHERS | iid.ADAPTIVE)
    with open(tmp_path / "phases.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(iid.ADAPTIVE) * 5
    for row in rows:
        assert 0 <= float(row[iid.PHASE]) <= 1 and 0 <= float(row["rounds judged Markovian"]) <= 1
    for result, judged in played.values():
        for label in judged:
            assert ((share := iid.share_until(result, judged, label)) >= 0).all() and (share <= 1).all()
            assert (result.visits[label].sum((-2, -1)) == result.times).all()
    with pytest.raises(ValueError, match="--out .* holds runs = 20, this is 21"):
        iid.run(iid.Settings(runs=21, horizon=200, out=str(tmp_path)))


def test_bad_settings_are_refused_before_the_folder(tmp_path):
    out = str(tmp_path / "x")
    for settings, words in (
        ({"runs": 0}, "runs: 0"),
        ({"horizon": 0}, "horizon: 0"),
        ({"seed": -1}, "seed: -1 lies outside"),
    ):
        with pytest.raises(ValueError, match=words):
            iid.run(iid.Settings(**settings, out=out))
        assert not (tmp_path / "x").exists()


def test_the_arms_are_independent_and_keep_their_means():
    for name in ("scenario 1", "scenario 3"):
        arms = atlas[f"i.i.d. {name}"].arms
        np.testing.assert_allclose(arms.means(), environment(name).means(), rtol=1e-12)
        np.testing.assert_array_equal(arms.transition, np.broadcast_to(arms.transition[:, :1], arms.transition.shape))
    two = atlas["i.i.d. scenario 1"].arms
    np.testing.assert_allclose(two.transition, jaxbandit.bernoulli(two.means()).transition, rtol=1e-12)


def test_questions_are_some_hundreds_up_to_the_horizon():
    for horizon in (20_000, 100_000, 1_000_000):
        asked = iid.questions(horizon)
        assert asked[0] == 1 and asked[-1] == horizon + 1 and 200 < len(asked) < 400
        assert (np.diff(asked) <= np.maximum(1, 0.04 * asked[1:] + 1)).all()


def test_the_shares_are_those_of_a_replay_round_by_round(monkeypatch):
    """Asked in every round; the runs are also those that `simulate` plays."""
    horizon, runs, one = 150, 3, 1
    label, policy = list(iid.ADAPTIVE.items())[-1]
    monkeypatch.setattr(iid, "questions", lambda horizon: np.arange(1, horizon + 2, dtype=np.int32))
    monkeypatch.setattr(iid, "ADAPTIVE", {label: policy})
    monkeypatch.setattr(iid, "OTHERS", {"simulated": policy})
    arms = atlas["i.i.d. scenario 1"].arms
    result, judged = iid.compare("arms", arms, iid.Settings(runs=runs, horizon=horizon))
    np.testing.assert_array_equal(result.visits["simulated"], result.visits[label])

    chance = jax.tree.map(lambda leaf: leaf[..., one], jaxbandit.run_keys(jax.random.key(0), np.arange(runs)))
    carry = jax.tree.map(
        lambda leaf: leaf[..., 0],
        jaxbandit.initial_carry(arms, policy, jax.tree.map(lambda leaf: leaf[..., None], chance)),
    )
    play = jax.jit(lambda carry, t: jaxbandit.play_round(arms, policy, chance, carry, t))
    ask = jax.jit(policy.markovian)
    plays, in_phase, time, before = np.zeros(5, int), np.zeros(5, int), np.zeros(5, int), np.zeros(5, int)
    until = []
    for t in range(1, horizon + 1):
        markovian = np.asarray(ask(carry.policy, t))
        carry = play(carry, t)
        plays = np.asarray(carry.visits).sum(-1)
        in_phase += (plays - before) * markovian
        time += markovian
        before = plays
        until.append(in_phase.sum() / t)

    of_one = {label: judged[label][:, :, [one]]}
    result.visits[label] = result.visits[label][:, :, [one]]
    rows = iid.arm_table(result, of_one)
    assert [row[iid.PHASE] for row in rows] == pytest.approx(in_phase / plays, rel=1e-12)
    assert [row["rounds judged Markovian"] for row in rows] == pytest.approx(time / horizon, rel=1e-12)
    np.testing.assert_allclose(iid.share_until(result, of_one, label), until, rtol=1e-12)
