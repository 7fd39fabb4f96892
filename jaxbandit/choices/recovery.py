"""Whether a fit finds what it should: the fields of simulated players, and which model they follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import LARGEST_INTEGER, choice, excerpt, finite, has, integer
from jaxbandit.base import Environment, Policy, Task, check_key, described, reward_table
from jaxbandit.choices.choice_data import Choices
from jaxbandit.choices.choice_fit import ChoiceFit, fit
from jaxbandit.choices.parameter_ranges import Ranges, ranges_of
from jaxbandit.members import probabilities
from jaxbandit.reward_units import check_distinct
from jaxbandit.selection import top_arms
from jaxbandit.simulation.asking.contracts import check_task

Criterion = Literal["BIC", "AIC"]


@described
class Recovery(NamedTuple):
    """The fields of simulated players beside what a fit to their choices says; its text is a table.

    Fields:
      truth: [N, P], the fields with which the players played.
      fitted: the `ChoiceFit` to their choices.
    """

    truth: np.ndarray
    fitted: ChoiceFit

    @property
    def correlation(self) -> np.ndarray:
        """[P], of truth and estimates."""
        pairs = zip(self.truth.T, self.fitted.estimates.T, strict=True)
        return np.array([np.corrcoef(true, each)[0, 1] for true, each in pairs])

    @property
    def bias(self) -> np.ndarray:
        """[P], mean of estimate minus truth."""
        return np.asarray((self.fitted.estimates - self.truth).mean(0))

    @property
    def error(self) -> np.ndarray:
        """[P], root of the mean squared difference of estimate and truth."""
        return np.asarray(np.sqrt(((self.fitted.estimates - self.truth) ** 2).mean(0)))

    @property
    def coverage(self) -> np.ndarray:
        """[P], how often estimate +- 1.96 standard errors holds the truth, among players with standard errors."""
        known = np.isfinite(self.fitted.standard_errors).all(1)
        far = np.abs(self.fitted.estimates - self.truth) / np.where(known[:, None], self.fitted.standard_errors, 1)
        return np.asarray((far[known] <= 1.96).mean(0)) if known.any() else np.full(self.truth.shape[1], np.nan)

    def __str__(self) -> str:
        width = max(map(len, self.fitted.names))
        known = np.isfinite(self.fitted.standard_errors).all(1).sum()
        lines = [
            f"{len(self.truth):,} players, {known:,} with standard errors",
            f"{'':{width}}  {'correlation':>11}  {'bias':>9}  {'error':>9}  {'coverage':>8}",
        ]
        rows = zip(self.fitted.names, self.correlation, self.bias, self.error, self.coverage, strict=True)
        lines += [f"{name:{width}}  {r:11.3f}  {b:9.3g}  {e:9.3g}  {c:8.1%}" for name, r, b, e, c in rows]
        return "\n".join(lines)


def recover(
    policy: Policy,
    ranges: Mapping[str, Any],
    environment: Environment,
    *,
    subjects: int = 100,
    rounds: int = 200,
    truth: Any = None,
    starts: int = 4,
    key: Any = None,
) -> Recovery:
    """Simulate players with known fields, fit their choices, and compare.

    Args:
      policy, ranges: as of `fit`.
      environment: the arms that the players play, one a round.
      subjects: how many players there are.
      rounds: of each.
      truth: [N, P], their fields, in the order of `ranges`; uniform draws from the ranges by default.
      starts: as of `fit`.
      key: a `jax.random.key`, key(0) by default.

    Raises:
      ValueError: as `fit`; the policy cannot play the environment.

    >>> import jaxbandit
    >>> arms, ranges = jaxbandit.bernoulli([0.7, 0.3]), {"learning_rate": (0, 1), "inverse_temperature": (0, 20)}
    >>> recover(jaxbandit.RescorlaWagner(), ranges, arms, subjects=1, rounds=10).truth.shape
    (1, 2)
    """
    key = jax.random.key(0) if key is None else key
    check_key(key)
    true, played = _players(policy, ranges, environment, subjects, rounds, key, truth)
    return Recovery(true, fit(policy, played, ranges, starts=starts, key=key))


@described
class ModelRecovery(NamedTuple):
    """How often each model fits best the choices of players that follow a model; its text is a table.

    Fields:
      labels: M names of models.
      counts: [M, M], of players that follow the model of the row, those whom the model of the column fits best.
      criterion: "BIC" or "AIC".
    """

    labels: tuple[str, ...]
    counts: np.ndarray
    criterion: str

    def __str__(self) -> str:
        width = max(8, *map(len, self.labels))
        shares = self.counts / self.counts.sum(1, keepdims=True)
        lines = [
            f"{self.counts[0].sum():,} players of each model; which fits best by {self.criterion}",
            f"{'players':{width}}  " + "  ".join(f"{label:>{width}}" for label in self.labels),
        ]
        for label, row in zip(self.labels, shares, strict=True):
            lines.append(f"{label:{width}}  " + "  ".join(f"{share:{width}.1%}" for share in row))
        return "\n".join(lines)


def recover_models(
    models: Mapping[str, tuple[Policy, Mapping[str, Any]]],
    environment: Environment,
    *,
    subjects: int = 50,
    rounds: int = 200,
    criterion: Criterion = "BIC",
    starts: int = 4,
    key: Any = None,
) -> ModelRecovery:
    """Simulate players of each model, fit all models to each, and count which one fits best.

    Args:
      models: policy and ranges by label, two models or more; players have uniform draws from the ranges.
      environment: the arms that the players play, one a round.
      subjects: players of each model.
      rounds: of each player.
      criterion: "BIC" or "AIC"; the least is the best.
      starts: as of `fit`.
      key: a `jax.random.key`, key(0) by default.

    Raises:
      ValueError: as `recover`; fewer than two models.

    >>> import jaxbandit
    >>> arms, policy = jaxbandit.bernoulli([0.7, 0.3]), jaxbandit.RescorlaWagner()
    >>> slow, fast = ({"learning_rate": ends, "inverse_temperature": (0, 20)} for ends in ((0, 0.1), (0.5, 1)))
    >>> models = {"slow": (policy, slow), "fast": (policy, fast)}
    >>> recover_models(models, arms, subjects=1, rounds=10).counts.sum(1).tolist()
    [1, 1]
    """
    if not isinstance(models, Mapping) or len(models) < 2:
        raise ValueError(f"models: {excerpt(models)} is not a dict of two models or more, (policy, ranges) by label")
    choice("criterion", criterion, ("BIC", "AIC"))
    key = jax.random.key(0) if key is None else key
    check_key(key)
    for label, model in models.items():
        if not isinstance(model, tuple | list) or len(model) != 2:
            raise ValueError(f"models[{label!r}]: {excerpt(model)} is not a pair of a policy and its ranges")
    counts = np.zeros((len(models), len(models)), int)
    for row, (policy, ranges) in enumerate(models.values()):
        _, played = _players(policy, ranges, environment, subjects, rounds, jax.random.fold_in(key, row))
        fits = [fit(other, played, wanted, starts=starts, key=key) for other, wanted in models.values()]
        scores = np.stack([each.bic if criterion == "BIC" else each.aic for each in fits])
        counts[row] = np.bincount(scores.argmin(0), minlength=len(models))
    return ModelRecovery(tuple(map(str, models)), counts, criterion)


def _players(
    policy: Any, ranges: Any, environment: Any, subjects: int, rounds: int, key: Array, truth: Any = None
) -> tuple[np.ndarray, Choices]:
    """The fields [N, P] of players, uniform in their ranges unless they are known, and what these players choose."""
    fitted, (drawing, playing) = ranges_of(policy, ranges), jax.random.split(key)
    subjects, rounds = integer("subjects", subjects, 1, LARGEST_INTEGER), integer("rounds", rounds, 1, LARGEST_INTEGER)
    if truth is None:
        shares = np.asarray(jax.random.uniform(drawing, (subjects, len(fitted.names))), float)
        values = fitted.low + fitted.width * shares
    else:
        values = finite("truth", truth)
        if values.ndim != 2 or values.shape[1] != len(fitted.names):
            raise ValueError(f"truth: shape {values.shape} is not [N, {len(fitted.names)}], a column for each field")
    return values, choices_of(policy, fitted, environment, values, rounds, playing)


def choices_of(policy: Any, fitted: Ranges, environment: Any, values: np.ndarray, rounds: int, key: Array) -> Choices:
    """The choices of players with these values [N, P] of the fitted fields, who play the environment."""
    has("environment", environment, "an environment", "reward", "means", "init", "step")
    check_task("policy", policy, task := Task(environment, horizon=rounds))
    check_distinct("environment", task.reward)
    keys = jax.random.split(key, (len(values), 2))
    arms, rewards = _played(policy, fitted.names, environment, jnp.asarray(values, float), keys, rounds)
    number = len(np.asarray(environment.means()))
    pairs = zip(np.asarray(arms), np.asarray(rewards, float), strict=True)
    return Choices.of(tuple(map(str, range(number))), {str(n): pair for n, pair in enumerate(pairs)})


def _played(
    policy: Any, names: tuple[str, ...], environment: Any, values: Array, keys: Array, rounds: int
) -> tuple[Array, Array]:
    """Arms and rewards [N, rounds]."""
    fitted = Ranges(names, low=values[0], high=values[0], begin=values[0])  # whose names alone are used

    def one(numbers: Array, key: Array) -> tuple[Array, Array]:
        player, table = fitted.policy(policy, numbers), jnp.asarray(reward_table(environment), float)
        own = probabilities(player)

        def step(carry: Any, t: Array) -> Any:
            world, state = carry
            scores, kept = player.scores(jax.random.fold_in(key[0], t), state, t)
            arms = top_arms(scores, 1)
            world, feedback = environment.step(key[1], world, arms, t)
            feedback = feedback._replace(chances=own(kept, t)[arms] if own else None)
            return (world, player.update(kept, feedback)), (arms[0], feedback.rewards[0])

        begin = environment.init(key[1]), jax.tree.map(jnp.asarray, player.init(table))
        return jax.lax.scan(step, begin, jnp.arange(1, rounds + 1, dtype=jnp.int32))[1]

    return jax.jit(jax.vmap(one))(values, keys)
