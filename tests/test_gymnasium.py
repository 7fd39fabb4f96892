"""Gymnasium both ways: its own checks, the rewards of the arms themselves, and other people's bandits."""

import pickle
import warnings
from functools import partial

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import jaxbandit
from jaxbandit import environments
from jaxbandit.live import gymnasium_env, play

CALLED, ALONE = [[[0.2, 0.8], [0.1, 0.9]]] * 3, [[[0.9, 0.1], [0.4, 0.6]]] * 3
KEPT = np.array([0.5, 2.0])  # what states pay if their arm is not played
ALL_PAY = environments.restless(CALLED, (0, 1), ALONE, observed=True, paid="all", cost=0.25, passive_reward=KEPT)
LEFT = environments.restless(CALLED, (0, 1), ALONE, 0, observed=True, paid="present", cost=0.25, passive_reward=KEPT)
ARMS = {
    "rested": (jaxbandit.two_state([0.5, 0.4], [0.4, 0.5]), 1),
    "two plays": (environments.restless(CALLED, (0, 0.5), ALONE), 2),
    "all pay": (ALL_PAY, 1),
    "left pay": (LEFT, 1),
    "gaussian": (environments.gaussian([0.5, 0.4]), 1),
    "process": (environments.riverswim(), 1),
}


@pytest.mark.parametrize("name", ARMS)
def test_rewards_are_those_of_the_arms(name):
    """Gymnasium finds nothing wrong, and the environment's own functions play the same rounds with the seed's key."""
    arms, plays = ARMS[name]
    env = gymnasium_env(arms, plays, horizon=8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(infinity|different from the unwrapped|render)")
        check_env(env, skip_render_check=True)
    observation, _ = env.reset(seed=3)
    key = jax.random.wrap_key_data(np.random.default_rng(3).integers(0, 2**32, 2, np.uint32), impl="threefry2x32")
    state, number = arms.init(key), len(observation["rewards"])
    env.action_space.seed(5)
    step = jax.jit(arms.step)
    played_at, left = np.full(number, -8), np.zeros(number, int)
    for t in range(1, 9):
        action = env.action_space.sample()
        order = [int(action)] if plays == 1 else np.argsort(-action)[:plays].tolist()
        observation, reward, terminated, truncated, info = env.step(action)
        state, feedback = step(key, state, np.array(order, np.int32), np.int32(t))
        expected = feedback.rewards.sum()
        if name == "all pay":
            expected += KEPT[np.delete(feedback.shown, order)].sum() - 0.25 * plays
        if name == "left pay":
            expected = left[order].sum() + KEPT[np.delete(left, order)].sum() - 0.25
            left = np.asarray(feedback.shown)
        np.testing.assert_allclose(reward, expected, rtol=1e-6)
        np.testing.assert_allclose(observation["rewards"][order], feedback.rewards, rtol=1e-6)
        assert info["arms"].tolist() == order and (terminated, truncated) == (False, t == 8)
        played_at[order] = t
        if feedback.shown is not None:
            played_at[:] = t
            assert observation["states"].tolist() == feedback.shown.tolist()
        elif name != "gaussian":
            assert observation["states"][order].tolist() == feedback.states.tolist()
        assert observation["since"].tolist() == np.minimum(t - played_at, 8).tolist()
    assert env.reset()[0]["since"].tolist() == [8] * number


def test_many_at_once():
    """By a name that Gymnasium knows, and as they arrive in another process."""
    gymnasium.register("Arms-v0", entry_point="jaxbandit.live:gymnasium_env", kwargs={"arms": ARMS["rested"][0]})
    named = gymnasium.make_vec("Arms-v0", num_envs=2, vectorization_mode="sync", horizon=3)
    make = pickle.loads(pickle.dumps(partial(gymnasium_env, ARMS["rested"][0], horizon=3)))
    vectors = [named, gymnasium.vector.SyncVectorEnv([make] * 2)]
    for vector in vectors:
        vector.reset(seed=[4, 5])
    for _ in range(3):
        one, two = (vector.step(np.array([0, 1])) for vector in vectors)
        assert one[1].tolist() == two[1].tolist() and one[0]["states"].tolist() == two[0]["states"].tolist()


class Machines(gymnasium.Env):
    """Somebody else's bandit: actions 5, 6 and 7, each an episode; the last one always pays."""

    action_space = gymnasium.spaces.Discrete(3, start=5)
    observation_space = gymnasium.spaces.Discrete(1)
    over = True

    def reset(self, *, seed=None, options=None):
        self.over = False
        return 0, {}

    def step(self, action):
        assert not self.over and action in (5, 6, 7)
        self.over = True
        return 0, float(action == 7), True, False, {}


def test_a_policy_plays_the_bandit_of_somebody_else():
    for kind in ({"states": {"lost": 0, "won": 1}}, {"rewards": (0, 1)}):
        report = play(jaxbandit.UCB1(), Machines(), 40, **kind).report()
        assert report.arms == ["5", "6", "7"] and report.mean.tolist() == [0, 0, 1]
        assert report.answers.sum() == 40 and report.plays[2] > 20
    with pytest.raises(ValueError, match="env: its actions are Box"):
        play(jaxbandit.UCB1(), gymnasium_env(*ARMS["two plays"], horizon=2), 1, rewards=(0, 1))
    with pytest.raises(ValueError, match="^states: action 7 paid 1, which they do not have"):
        play(jaxbandit.UCB1(), Machines(), 40, states={"lost": 0, "won": 2})
    with pytest.raises(ValueError, match="^plays: 2; one action of a decision process"):
        gymnasium_env(ARMS["process"][0], 2, horizon=3)
    with pytest.raises(ValueError, match="^plays: 3 of 3 arms that all pay"):
        gymnasium_env(ALL_PAY, 3, horizon=3)
