"""Gymnasium both ways: arms of this library for other people's learners, policies for other people's bandits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from jaxbandit import members
from jaxbandit.arguments import LARGEST_INTEGER, excerpt, has, integer
from jaxbandit.base import Environment, Policy, Task, reward_table
from jaxbandit.live.player import Player


def gymnasium_env(arms: Environment, plays: int = 1, *, horizon: int) -> Any:
    """Arms as a `gymnasium.Env`, which needs `pip install "jaxbandit[gymnasium]"`.

    An action is the number of an arm, `Discrete(K)`; with several plays it is a score for each arm, `Box` [K] from -1
    to 1, and the M largest are played. The reward is the sum of what the plays paid; if all arms pay, what all of them
    paid, less the cost of the plays. The observation is what a player knows, a `Dict` of

    - "states" [K], the state that each arm last showed, S before it showed any; only if rewards have a finite table
    - "rewards" [K], the reward of its last play, 0 before
    - "since" [K], the number of rounds since it last showed its state, `horizon` if it did not.

    `info` has the arms played in this round, their states and their rewards. After `horizon` rounds the run is
    truncated; it never terminates. Each `reset` begins a new run, and a seed determines all later ones. For many runs
    at once use `gymnasium.vector.SyncVectorEnv`, or `AsyncVectorEnv` with `context="spawn"`: its default on Linux is to
    fork, and a forked process may wait for ever for JAX's threads, which it does not have. `simulate` is faster by far
    where a policy is written in JAX.

    Args:
      arms: any environment.
      plays: M, distinct arms a round.
      horizon: rounds of a run.

    Raises:
      ValueError: not an environment, or a task that it does not have.
      ImportError: Gymnasium is not installed.

    >>> from jaxbandit import bernoulli
    >>> env = gymnasium_env(bernoulli([1.0, 0.25]), horizon=3)
    >>> env.reset(seed=0)[0]["states"].tolist()
    [2, 2]
    >>> observation, reward, terminated, truncated, info = env.step(0)
    >>> observation["states"].tolist(), reward, truncated
    ([1, 2], 1.0, False)
    """
    has("arms", arms, "an environment", "reward", "means", "init", "step")
    number = len(reward_table(arms))
    plays, horizon = integer("plays", plays, 1, number), integer("horizon", horizon, 1, LARGEST_INTEGER)
    members.validate(arms, Task(arms, plays, horizon, name="arms"))
    if members.declares(arms).pairing == "shared" and plays > 1:
        raise ValueError(f"plays: {plays}; one action of a decision process is played a round")
    try:
        from jaxbandit.live.bandit_env import BanditEnv
    except ImportError as error:
        raise ImportError('gymnasium_env needs Gymnasium: pip install "jaxbandit[gymnasium]"') from error
    return BanditEnv(arms, plays, horizon)


def play(
    policy: Policy,
    env: Any,
    rounds: int,
    *,
    rewards: tuple[float, float] | None = None,
    states: Mapping[str, float] | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
) -> Player:
    """Play a Gymnasium environment with a policy; every action is an arm, and observations are not used.

    Args:
      policy: any policy that `Player` takes.
      env: an environment whose action space is `Discrete`; where an episode ends the next one begins.
      rounds: how many actions.
      rewards: (low, high), the least and the largest reward, if they are real numbers; or
      states: the reward of each state by its name, {"lost": 0.0, "won": 1.0}; then `env` pays no others.
      seed: of the environment's first reset and of the policy's random numbers.
      store: the path of the player's log, or None.

    Returns:
      The `Player`, which has learned all rewards; its arms are the actions' numbers, as texts.

    Raises:
      ValueError: actions that are not arms, a reward that is not among the states' or in the range, or a policy
        that cannot play these arms.

    >>> from jaxbandit import KLUCB, bernoulli
    >>> env = gymnasium_env(bernoulli([0.5, 0.25]), horizon=10)
    >>> play(KLUCB(), env, 30, states={"lost": 0.0, "won": 1.0}).report().answers.sum().item()
    30
    """
    rounds = integer("rounds", rounds, 0, LARGEST_INTEGER)
    seed = integer("seed", seed, 0, LARGEST_INTEGER)
    has("env", env, "a Gymnasium environment", "reset", "step", "action_space")
    space = env.action_space
    if not hasattr(space, "n") or not hasattr(space, "start"):
        raise ValueError(f"env: its actions are {excerpt(space)}, not Discrete(K), a number for each arm")
    start = int(space.start)
    names = [str(start + action) for action in range(int(space.n))]
    player = Player(policy, names, states=states, rewards=rewards, store=store, key=seed)
    env.reset(seed=seed)
    for _ in range(rounds):
        choice = player.choose()
        _, reward, terminated, truncated, _ = env.step(int(choice.arm))
        try:
            player.learn(choice.id, reward=float(reward))
        except ValueError as error:
            name = "states" if rewards is None else "rewards"
            raise ValueError(f"{name}: action {choice.arm} paid {reward:g}, which they do not have ({error})") from None
        if terminated or truncated:
            env.reset()
    return player
