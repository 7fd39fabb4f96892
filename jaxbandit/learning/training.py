"""Training of learned policies, with checkpoints."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import integer, truth
from jaxbandit.arguments import path as as_path
from jaxbandit.base import check_key, described
from jaxbandit.interruption import CtrlC, interrupted
from jaxbandit.learning.episodes import advantages, episodes
from jaxbandit.learning.policy_file import check_learned, read, write
from jaxbandit.learning.problem_pool import Pool, check_plays, pool_of
from jaxbandit.learning.score_gradient import on_devices
from jaxbandit.learning.steps import as_optimiser, steps_bar, warn_of_stop
from jaxbandit.policies import Learned

LEARNING_RATE = 0.003  # of Adam
RECENT = 100  # steps that the moving mean of parameters remembers
CHECKPOINT = "checkpoint.npz"
SECONDS = 30  # between checkpoints


@described
class Trained(NamedTuple):
    """A policy that was trained.

    Fields:
      policy: with a moving mean of the parameters over about the last hundred steps.
      regret: [steps], the mean regret of the runs of each step.
    """

    policy: Learned
    regret: np.ndarray

    def __str__(self) -> str:
        steps = len(self.regret)
        parts = [
            self.regret[begin : begin + max(1, steps // 10)].mean() for begin in range(0, steps, max(1, steps // 10))
        ]
        return f"{steps:,} steps, mean regret {' '.join(f'{part:,.4g}' for part in parts)}"


class Progress(NamedTuple):
    """What a step changes: the number of steps, the parameters, their moving mean, the optimiser's state."""

    number: Any
    parameters: Any
    mean: Any
    optimiser: Any


def train(
    policy: Learned,
    problems: Any,
    *,
    steps: int = 2000,
    runs: int = 128,
    draws: int = 8,
    optimiser: Any = None,
    key: Any = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Trained:
    """Train a learned policy by gradient descent on its mean regret over problems.

    Every step plays `draws` runs, of the policy's `horizon` rounds, of each of `runs` problems, and moves all
    parameters along the gradient of the mean regret by the score function, as `regret_gradient` estimates it, but by
    automatic differentiation. What is returned has the moving mean of the parameters, which is better than those of a
    single step.

    Args:
      policy: of `Learned.of`, or one trained before.
      problems: an environment, a dict of alike ones, or a space of `stress`, of which 4,096 problems are drawn.
      steps: of the optimiser.
      runs: problems that a step draws.
      draws: runs of each, 2 or more.
      optimiser: an `optax.GradientTransformation`; `optax.adam(0.003)` by default.
      key: a `jax.random.key`, key(0) by default.
      folder: keeps the checkpoint, which is written every 30 seconds, at the end, and after Ctrl-C; the same call goes
        on from it, also with more steps. An optimiser is not part of it: give the same one.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      A `Trained`; after Ctrl-C, with a warning, of the steps that were made.

    Raises:
      ValueError: another policy than a `Learned`, problems that it cannot play, an optimiser that is none, an argument
        out of range, or a folder with a checkpoint of another training.
      OSError: the checkpoint cannot be written.

    Source: the gradient, Williams 1992; policies learned on a distribution of problems, Boutilier et al. 2020 (not
    opened).

    >>> import jaxbandit
    >>> problems = {"easy": jaxbandit.bernoulli([0.9, 0.1]), "hard": jaxbandit.bernoulli([0.5, 0.6])}
    >>> policy = jaxbandit.Learned.of(jaxbandit.Exchangeable(4), horizon=10)
    >>> trained = train(policy, problems, steps=3, runs=8, draws=2, progress=False)
    >>> trained.regret.shape
    (3,)
    """
    check_learned(policy)
    for name, value, least in (("steps", steps, 1), ("runs", runs, 1), ("draws", draws, 2)):
        integer(name, value, least, 10_000_000)
    truth("progress", progress)
    key = jax.random.key(0) if key is None else key
    check_key(key)
    pool = pool_of(problems, key)
    horizon = int(np.asarray(policy.horizon))
    check_plays(policy, pool, horizon)
    parameters = {name: jnp.asarray(values, jnp.float32) for name, values in policy.parameters.items()}
    made, state = as_optimiser(optimiser, LEARNING_RATE, parameters)
    now = Progress(jnp.int32(0), parameters, parameters, state)
    regrets: list[float] = []
    place = None if folder is None else _folder(folder) / CHECKPOINT
    asked = {
        "problems": _digest(pool),
        "first parameters": _digest(parameters),
        "runs": runs,
        "draws": draws,
        "key": np.asarray(jax.random.key_data(key)).tolist(),
    }
    if place is not None and place.exists():
        now, regrets = _resumed(place, policy, asked, now)
    pool = jax.tree.map(jnp.asarray, pool)
    saved, stopped = time.monotonic(), False
    with CtrlC(raises=False) as ctrl_c, steps_bar(steps, progress, len(regrets)) as bar:
        stop = False
        while len(regrets) < steps and not stop:
            keys = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, 1), len(regrets)), runs)
            now, regret = _step(now, pool, on_devices(keys), policy, draws, horizon, made)
            regrets.append(float(regret))
            bar.set_postfix_str(f"regret {np.mean(regrets[-100:]):,.4g}")
            bar.update()
            stop = interrupted()
            stopped = ctrl_c.take()
            if place is not None and (len(regrets) == steps or stop or time.monotonic() - saved > SECONDS):
                # it raises KeyboardInterrupt when the file is whole, unless the signal was taken
                _save(place, policy, asked, now, regrets)
                saved = time.monotonic()
    if stopped or ctrl_c.came:
        warn_of_stop(len(regrets), steps, "" if place is None else f"; {place} is kept, and the same call goes on")
    return Trained(dataclasses.replace(policy, parameters=_on_host(now.mean)), np.array(regrets))


@partial(jax.jit, static_argnames=("draws", "horizon", "optimiser"))
def _step(
    now: Progress, pool: Pool, keys: Array, policy: Learned, draws: int, horizon: int, optimiser: Any
) -> tuple[Progress, Array]:
    """One step of the optimiser, and the mean regret of its runs."""

    def played(parameters: Any) -> tuple[Array, tuple[Array, Array]]:
        player = dataclasses.replace(policy, parameters=parameters)
        seen, best = episodes(pool, player, None, keys, draws, horizon)
        return seen.log_chances, (seen.rewards, best)

    _, pull, (rewards, best) = jax.vjp(played, now.parameters, has_aux=True)
    (gradient,) = pull(-advantages(rewards) / (rewards.shape[0] * draws))
    change, state = optimiser.update(gradient, now.optimiser, now.parameters)
    parameters = jax.tree.map(jnp.add, now.parameters, change)
    number = now.number + 1
    mean = jax.tree.map(lambda old, new: old + (new - old) / jnp.minimum(number, RECENT), now.mean, parameters)
    regret = horizon * jnp.mean(best) - jnp.mean(jnp.sum(rewards, -1))
    return Progress(number, parameters, mean, state), regret


def _folder(folder: str | os.PathLike[str]) -> Path:
    place = as_path("folder", folder)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _save(place: Path, policy: Learned, asked: dict[str, Any], now: Progress, regrets: list[float]) -> None:
    leaves = {f"leaf {n}": np.asarray(leaf) for n, leaf in enumerate(jax.tree.leaves(now))}
    kept = dataclasses.replace(policy, parameters=_on_host(now.mean))
    write(place, kept, asked, leaves | {"regret": np.array(regrets)})


def _resumed(place: Path, policy: Learned, asked: dict[str, Any], now: Progress) -> tuple[Progress, list[float]]:
    """The state of a training in its checkpoint."""
    kept, before, arrays = read(place, policy.network)
    same = {"horizon": float(np.asarray(policy.horizon)), "temperature": float(np.asarray(policy.temperature))} | asked
    other = {"horizon": kept.horizon, "temperature": kept.temperature} | before
    if differ := [name for name in same if same[name] != other.get(name)]:
        raise ValueError(f"folder: {place} is of a training with other {', '.join(differ)}; give another folder")
    regrets = arrays.pop("regret").tolist()
    leaves, structure = jax.tree.flatten(now)
    kept_leaves = [arrays[f"leaf {n}"] for n in range(len(arrays))]
    if [np.shape(leaf) for leaf in leaves] != [np.shape(leaf) for leaf in kept_leaves]:
        raise ValueError(f"folder: {place} is of a training with another optimiser; give that one, or another folder")
    return jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in kept_leaves]), regrets


def _digest(thing: Any) -> str:
    """A text that differs where the numbers of two pytrees do."""
    leaves, structure = jax.tree.flatten(thing)
    digest = hashlib.sha256(str(structure).encode())
    for leaf in map(np.asarray, leaves):
        digest.update(f"{leaf.dtype}{leaf.shape}".encode() + leaf.tobytes())
    return digest.hexdigest()


def _on_host(parameters: Any) -> dict[str, np.ndarray]:
    return {name: np.asarray(values) for name, values in parameters.items()}
