"""The i.i.d. experiment: when the policy is asked, and its shares against a replay round by round."""

import jax
import numpy as np
import pytest

import jaxbandit
from experiments import iid
from jaxbandit import atlas


def test_questions_are_some_hundreds_up_to_the_horizon():
    for horizon in (20_000, 100_000, 1_000_000):
        asked = iid.questions(horizon)
        assert asked[0] == 1 and asked[-1] == horizon + 1 and 200 < len(asked) < 400
        assert (np.diff(asked) <= np.maximum(1, 0.04 * asked[1:] + 1)).all()


@pytest.mark.slow
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
    carry = jaxbandit.initial_carry(arms, policy, jax.tree.map(lambda leaf: leaf[..., None], chance))
    carry = jax.tree.map(lambda leaf: leaf[..., 0], carry)
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
