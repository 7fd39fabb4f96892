"""Fields of a policy that climb down the gradient of its mean regret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.arguments import LARGEST_INTEGER, integer, truth
from jaxbandit.base import Policy, described
from jaxbandit.interruption import CtrlC, interrupted
from jaxbandit.learning.score_gradient import of_runs, prepared
from jaxbandit.learning.steps import as_optimiser, steps_bar, warn_of_stop

LEARNING_RATE = 0.05  # of Adam, for angles, of which a range has pi / 2


@described
class Tuned(NamedTuple):
    """A policy that was tuned, and the way to it; its text is a line for each field.

    Fields:
      policy: with the mean of the values of the last half of all steps.
      names: P names of fields.
      values: [steps + 1, P], of all steps, from the policy's own on.
      regret: [steps], the mean regret of the runs of each step, before the step.
      gradient: [steps, P], of the mean regret by the fields.
      error: [steps, P], its standard errors.
    """

    policy: Policy
    names: tuple[str, ...]
    values: np.ndarray
    regret: np.ndarray
    gradient: np.ndarray
    error: np.ndarray

    def __str__(self) -> str:
        width, last = max(map(len, self.names)), self.values[len(self.values) // 2 :].mean(0)
        lines = [f"{len(self.regret):,} steps"]
        for n, name in enumerate(self.names):
            lines.append(f"{name:{width}}  {self.values[0, n]:10.4g} -> {last[n]:10.4g}")
        return "\n".join(lines)


def tune(
    policy: Policy,
    problems: Any,
    ranges: Mapping[str, Any],
    *,
    horizon: int,
    steps: int = 100,
    runs: int = 200,
    draws: int = 4,
    optimiser: Any = None,
    weights: Mapping[str, float] | None = None,
    key: Any = None,
    progress: bool = True,
) -> Tuned:
    """Tune fields of a policy by stochastic gradient descent on its mean regret over problems.

    Every step plays `draws` runs of each of `runs` problems and moves the fields along `regret_gradient`. A field is
    low + (high - low) sin^2 of what is moved, so that it stays in its range; it begins at the policy's own value, or
    2 % of the range away from an edge. What is returned is the mean over the last half of the steps, in which the noise
    of single steps cancels. A field by which choices jump, as the threshold of a test, is better chosen from a grid.

    Args:
      policy: one with `probabilities(state, t)`, such as `Soft(KLUCB(exploration=3.0), 0.1)`.
      problems: an environment, a dict of alike ones, or a space of `stress`.
      ranges: (low, high) of each field, by its name; "policy.exploration" is the field of a policy that it holds.
      horizon: rounds of a run.
      steps: of the optimiser.
      runs: problems that a step draws.
      draws: runs of each, 2 or more.
      optimiser: an `optax.GradientTransformation`; `optax.adam(0.05)` by default.
      weights: by which the regret of each problem of a dict is multiplied, such as one over that of another policy, so
        that the largest does not decide alone; 1 by default.
      key: a `jax.random.key`, key(0) by default.
      progress: show a bar, if the output is a terminal or a notebook.

    Returns:
      A `Tuned`; after Ctrl-C, with a warning, of the steps that were made.

    Raises:
      ValueError: what `regret_gradient` refuses, or an optimiser that is none.

    Source: the gradient, Williams 1992; policies tuned on a distribution of problems, Boutilier et al. 2020 (not
    opened).

    >>> import jaxbandit
    >>> policy, arms = jaxbandit.RescorlaWagner(0.3, 2.0), jaxbandit.bernoulli([0.6, 0.4])
    >>> ranges = {"inverse_temperature": (0, 10)}
    >>> tuned = tune(policy, arms, ranges, horizon=10, steps=20, progress=False)
    >>> bool(tuned.policy.inverse_temperature > 2.0)
    True
    """
    steps, runs = integer("steps", steps, 1, 10_000_000), integer("runs", runs, 2, 10_000_000)
    horizon, draws = integer("horizon", horizon, 1, LARGEST_INTEGER), integer("draws", draws, 2, 10_000)
    truth("progress", progress)
    fields, pool, key = prepared(policy, problems, ranges, horizon, key, weights)
    angles = jnp.asarray(fields.angles(fields.begin), jnp.float32)
    made, state = as_optimiser(optimiser, LEARNING_RATE, angles)
    values, regrets, gradients, errors = [np.asarray(fields.inside(angles), float)], [], [], []
    with CtrlC(raises=False) as ctrl_c, steps_bar(steps, progress) as bar:
        for n in range(steps):
            if interrupted():
                break
            each, regret = of_runs(pool, policy, fields, values[-1], jax.random.fold_in(key, n), runs, draws, horizon)
            if not np.isfinite(each).all():
                where = ", ".join(f"{name} = {value:g}" for name, value in zip(fields.names, values[-1]))
                raise ValueError(
                    f"policy: the logarithm of a probability is not finite at {where}, as where an arm that is played "
                    "has the probability 0; give narrower ranges"
                )
            gradient = each.mean(0)
            by_angle = gradient * fields.width * np.sin(2 * np.asarray(angles, float))
            change, state = made.update(jnp.asarray(by_angle, jnp.float32), state, angles)
            angles = angles + change
            values.append(np.asarray(fields.inside(angles), float))
            regrets.append(regret.mean())
            gradients.append(gradient)
            errors.append(each.std(0, ddof=1) / np.sqrt(runs))
            bar.set_postfix_str(f"regret {np.mean(regrets[len(regrets) // 2 :]):,.4g}")
            bar.update()
    if ctrl_c.came:
        warn_of_stop(len(regrets), steps)
    path = np.array(values)
    chosen = fields.policy(policy, path[len(path) // 2 :].mean(0))
    shape = len(regrets), len(fields.names)
    return Tuned(chosen, fields.names, path, np.array(regrets), np.reshape(gradients, shape), np.reshape(errors, shape))
