"""Runs that end when their policy stops, against a loop, in any cut."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import UCB1, Uniform, bernoulli, metrics, run_keys, simulate, two_state
from jaxbandit.simulation.rounds import initial_carry, play_chunk

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.6])
TIMES = [5, 40, 100, 400]
SIZE = {"runs": 300, "until": "stopped", "progress": False}


@jaxbandit.pytree
class Race:
    """Plays at random until an arm has collected so much, and answers it."""

    goal: float = 20.0

    def init(self, reward):
        return jnp.zeros(len(reward))

    def scores(self, key, state, t):
        return jax.random.uniform(key, state.shape), state

    def update(self, state, feedback):
        return state.at[feedback.arms[0]].add(feedback.rewards[0])

    def stop(self, state, t):
        return state.max() >= self.goal

    def answer(self, state, t):
        return jnp.argmax(state).astype(jnp.int32)


POLICIES = {"race": [Race(10.0), Race(50.0), Race(75.0)]}
MOST = {"most": lambda arms, state, t: state.max()}


@pytest.fixture(scope="module")
def result():
    return simulate(ARMS, POLICIES, horizon=400, times=TIMES, record=MOST, **SIZE)


@pytest.mark.slow
def test_a_run_ends_as_in_a_loop(result):
    """Round by round, with the functions that a user may call."""
    keys, policy = run_keys(jax.random.key(0), jnp.arange(16)), Race(50.0)
    carry, ends, answers = initial_carry(ARMS, policy, keys), np.zeros(16, int), np.full(16, -1)
    play = jax.jit(play_chunk)
    at_end = np.zeros((3, 2, 16), int)
    for t in range(1, 401):
        carry, _, _ = play(ARMS, policy, keys, carry, jnp.int32(t), jnp.zeros(1, jnp.int32), jnp.int32(1))
        collected = np.asarray(carry.policy)
        new = (ends == 0) & (collected.max(0) >= 50)
        ends[new], answers[new] = t, collected.argmax(0)[new]
        at_end[..., new] = np.asarray(carry.visits)[..., new]
    assert ends.all() and (result.stopped["race"][0, 1, :16] == ends).all()
    assert (result.answers["race"][0, 1, :16] == answers).all()
    assert (result.visits["race"][0, 1, :16, -1] == np.moveaxis(at_end, -1, 0)).all()


def test_a_run_that_has_ended_stands_still(result):
    for label in result.labels:
        plays, ends = result.visits[label].sum((-1, -2)), result.stopped[label]
        played = np.minimum(TIMES, np.where(ends > 0, ends, 400)[..., None])
        assert (plays == played).all()
        assert ((result.answers[label] == -1) == (ends == 0)).all()
        regret = metrics.realised_regret(result, label) - played * ARMS.means().max()
        np.testing.assert_allclose(regret, -result.visits[label][..., 1].sum(-1), atol=1e-9)
    assert (ends[0, 2] == 0).any() and (ends[0, 2] > 0).any()
    assert (result.recorded["most"]["race"][0, 0, :, -1] == 10).all()
    assert (metrics.best_share(result, "race") <= 1).all()


@pytest.mark.slow
def test_cuts_change_nothing(result, tmp_path):
    for options in ({"chunk": 37}, {"chunk": 90, "tile": 60, "devices": jax.devices()[:1]}):
        other = simulate(ARMS, POLICIES, horizon=400, times=TIMES, record=MOST, **SIZE, **options)
        same(other, result)
    half = simulate(ARMS, POLICIES, horizon=100, times=TIMES[:3], record=MOST, **SIZE)
    same(simulate(ARMS, POLICIES, horizon=400, times=TIMES, record=MOST, resume=half, **SIZE), result)
    half.save(tmp_path / "half.npz")
    same(jaxbandit.Result.load(tmp_path / "half.npz"), half)


def test_states_that_nobody_records_go_on_without_a_trace(result):
    other = simulate(ARMS, POLICIES, horizon=400, times=TIMES, **SIZE)
    for name in ("visits", "stopped", "answers"):
        assert (getattr(other, name)["race"] == getattr(result, name)["race"]).all()


def same(one, other):
    for label in other.labels:
        assert (one.visits[label] == other.visits[label]).all()
        assert (one.stopped[label] == other.stopped[label]).all() and (one.answers[label] == other.answers[label]).all()
        assert (one.recorded["most"][label] == other.recorded["most"][label]).all()
        for leaf, before in zip(one.carry[label], other.carry[label], strict=True):
            assert (leaf == before).all()


def test_answers_are_the_environments_arms():
    """Whatever the order in which the policy sees them, and with feedback that comes late."""
    arms = bernoulli([0.0, 0.0, 1.0])
    result = simulate(arms, {"race": Race(20.0)}, horizon=400, shuffle=True, delay=2, **SIZE)
    assert (result.answers["race"] == 2).all()


def test_what_does_not_stop_is_refused():
    size = {"runs": 2, "horizon": 10, "progress": False}
    with pytest.raises(ValueError, match=r"policies\['u'\]: it has no stop"):
        simulate(ARMS, {"r": Race(), "u": UCB1()}, until="stopped", **size)
    with pytest.raises(ValueError, match=r'policies\[\'r\'\]: it stops .* until="stopped"'):
        simulate(ARMS, {"u": Uniform(), "r": Race()}, **size)
    with pytest.raises(ValueError, match="until: 'end' is neither"):
        simulate(ARMS, {"r": Race()}, until="end", **size)
    with pytest.raises(ValueError, match="plays: 2 arms a round"):
        simulate(ARMS, {"r": Race()}, until="stopped", plays=2, **size)
