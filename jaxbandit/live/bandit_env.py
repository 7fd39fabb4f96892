"""Arms as an environment of Gymnasium; this file alone imports it, when it is needed."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from jax import Array

from jaxbandit import members
from jaxbandit.base import Feedback, State, Task
from jaxbandit.members import declares
from jaxbandit.reward_units import check_distinct
from jaxbandit.selection import top_arms


@jax.jit
def _begin(environment: Any, key_data: Array) -> tuple[State, Array | None]:
    """The first state, and the states that the player sees before the first round."""
    state = environment.init(jax.random.wrap_key_data(key_data, impl="threefry2x32"))
    return state, environment.shown(state) if declares(environment).pairing == "shared" else None


@partial(jax.jit, static_argnames="plays")
def _play(
    environment: Any, key_data: Array, state: State, action: Array, t: Array, plays: int
) -> tuple[State, Feedback, Array | None]:
    """The next state, the feedback, and the number of rounds spent in each state if all arms pay."""
    arms = action[None] if plays == 1 else top_arms(action, plays)
    key = jax.random.wrap_key_data(key_data, impl="threefry2x32")
    state, feedback = environment.step(key, state, arms, t)
    return state, feedback, environment.records(state)["stays"] if declares(environment).paid == "all" else None


class BanditEnv(gymnasium.Env):  # type: ignore[misc]
    """What `gymnasium_env` returns; its docstring says what actions and observations are."""

    def __init__(self, arms: Any, plays: int, horizon: int) -> None:
        task = Task(arms, plays, horizon)
        self._arms, self._plays, self._horizon = arms, plays, horizon
        self._table = task.reward
        check_distinct("arms", self._table if self._table.size else arms.means())
        self._cost = np.asarray(arms.cost) if declares(arms).paid == "all" else None
        kept = members.passive_reward(arms)
        self._kept = self._table if kept is None else np.asarray(kept, float)
        number, self._states = self._table.shape
        low, high = task.reward_range
        self.action_space = spaces.Discrete(number) if plays == 1 else spaces.Box(-1.0, 1.0, (number,), np.float32)
        seen: dict[str, Any] = {
            "rewards": spaces.Box(min(low, 0), max(high, 0), (number,), np.float32),
            "since": spaces.Box(0, horizon, (number,), np.int32),
        }
        if self._states:
            seen["states"] = spaces.MultiDiscrete([self._states + 1] * number)
        self.observation_space = spaces.Dict(seen)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a run; with a `seed` that of this seed, else the next one."""
        super().reset(seed=seed)
        self._key = self.np_random.integers(0, 2**32, 2, np.uint32)
        self._now, shown = _begin(self._arms, self._key)
        number = len(self._table)
        self._t, self._stays = 0, np.zeros_like(self._table)
        self._last = np.full(number, self._states) if shown is None else np.array(shown)
        self._rewards = np.zeros(number, np.float32)
        self._shown_at = np.full(number, -self._horizon)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the arm of this number, or those with the largest scores."""
        self._t += 1
        action = np.asarray(action, np.int32 if self._plays == 1 else np.float32)
        self._now, feedback, stays = _play(
            self._arms, self._key, self._now, action, np.int32(self._t), plays=self._plays
        )
        feedback, stays = jax.device_get((feedback, stays))
        played = feedback.arms
        if self._states:  # in float64
            paying = feedback.before if declares(self._arms).pays == "before" else feedback.states
            feedback = feedback._replace(rewards=self._table[played, paying])
        self._last[played], self._rewards[played], self._shown_at[played] = feedback.states, feedback.rewards, self._t
        if feedback.shown is not None:
            self._last[:], self._shown_at[:] = feedback.shown, self._t
        if self._cost is None:
            reward = float(feedback.rewards.sum())
        else:
            paying = feedback.before if declares(self._arms).pays == "before" else feedback.states
            more = (self._table - self._kept)[played, paying] - self._cost[played]
            reward = float(((stays - self._stays) * self._kept).sum() + more.sum())
            self._stays = stays
        info = {"arms": played, "states": feedback.states, "rewards": feedback.rewards}
        return self._observation(), reward, False, self._t >= self._horizon, info

    def _observation(self) -> dict[str, np.ndarray]:
        since = np.minimum(self._t - self._shown_at, self._horizon).astype(np.int32)
        seen = {"rewards": self._rewards.copy(), "since": since}
        return seen | ({"states": self._last.astype(np.int64)} if self._states else {})
