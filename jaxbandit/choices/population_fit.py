"""Estimates for all subjects together: their fields are draws from one population (empirical Bayes)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import integer
from jaxbandit.base import Policy, described
from jaxbandit.choices.choice_data import Choices
from jaxbandit.choices.choice_fit import curvature, descended, over_subjects
from jaxbandit.choices.choice_likelihood import check_choices
from jaxbandit.choices.parameter_ranges import Ranges, ranges_of

STILL = 1e-3  # the largest change of a mean or standard deviation, on the logit scale, at which the steps end
LEAST_SPREAD = 0.01  # of the population, on the logit scale


@described
class PopulationFit(NamedTuple):
    """A population of fields, and each subject's as the whole population suggests them; its text is a table.

    On the logit scale, log((value - low) / (high - value)), a field is normal in the population.

    Fields:
      names: P names of fields.
      subjects: N names.
      mean: [P], of the population, on the logit scale.
      spread: [P], its standard deviation on that scale.
      typical: [P], the value of the field at the mean.
      estimates: [N, P], each subject's most likely values in this population.
      low: [N, P], lower end of an approximate 95 % posterior interval.
      high: [N, P], its upper end.
      log_evidence: [N], of a subject's choices in this population, by Laplace's approximation.
      number: [N], choices.
      steps: of the algorithm.
    """

    names: tuple[str, ...]
    subjects: tuple[str, ...]
    mean: np.ndarray
    spread: np.ndarray
    typical: np.ndarray
    estimates: np.ndarray
    low: np.ndarray
    high: np.ndarray
    log_evidence: np.ndarray
    number: np.ndarray
    steps: int

    @property
    def bic(self) -> float:
        """2 P log(all choices) - 2 log-evidence of all subjects: the population has two numbers a field."""
        return float(2 * len(self.names) * np.log(self.number.sum()) - 2 * self.log_evidence.sum())

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [
            f"{len(self.subjects):,} subjects, {self.number.sum():,} choices, log-evidence "
            f"{self.log_evidence.sum():,.2f}, BIC {self.bic:,.2f}",
            f"{'':{width}}  {'typical':>10}  {'mean, spread (logit)':>20}  {'quartiles of the estimates':>32}",
        ]
        for n, name in enumerate(self.names):
            quartiles = np.quantile(self.estimates[:, n], [0.25, 0.5, 0.75])
            cells = " ".join(f"{each:10.4g}" for each in quartiles)
            law = f"{self.mean[n]:.3g}, {self.spread[n]:.3g}"
            lines.append(f"{name:{width}}  {self.typical[n]:10.4g}  {law:>20}  {cells}")
        return "\n".join(lines)


def fit_population(
    policy: Policy, choices: Choices, ranges: Mapping[str, Any], *, most_steps: int = 200
) -> PopulationFit:
    """Fields of a policy for subjects who are drawn from one population, which is estimated from all of them.

    On the logit scale the fields of a subject are independent normal draws with unknown means and variances. EM steps
    with Laplace's approximation: each subject's most likely values in the present population, with the curvature there;
    then mean = average of these values, variance = average of their squared distance from the mean plus each subject's
    posterior variance. A subject with few choices is drawn to the others, and none lies at an edge.

    Args:
      policy, choices, ranges: as of `fit`.
      most_steps: at most so many EM steps; they end when means and standard deviations change by less than 1e-3.

    Returns:
      A `PopulationFit`, computed in float64.

    Raises:
      ValueError: as `fit`; a single subject, or one whose choices have probability 0.

    Source: Huys et al. 2011 (not opened: written from memory).

    >>> import jaxbandit
    >>> from jaxbandit.choices import read_choices
    >>> data = {"subject": list("aaaabbbb"), "arm": list("01110101"), "reward": list("01110110")}
    >>> policy, ranges = jaxbandit.RescorlaWagner(), {"learning_rate": (0, 1)}
    >>> fit_population(policy, read_choices(data), ranges).estimates.shape
    (2, 1)
    """
    check_choices(choices)
    fitted = ranges_of(policy, ranges, choices)
    if len(choices.subjects) < 2:
        raise ValueError("choices: of one subject, who is not a population; use fit")
    most = integer("most_steps", most_steps, 1, 10_000)
    share = np.clip((fitted.begin - fitted.low) / fitted.width, 0.05, 0.95)
    shape = len(choices.subjects), len(share)
    mean, spread = np.log(share / (1 - share)), np.ones(len(share))
    modes = np.broadcast_to(mean, shape)
    steps = 0
    while steps < most:
        steps += 1
        numbers = np.stack([modes, np.broadcast_to(mean, shape), np.broadcast_to(spread, shape)], 1)
        modes, curved, value = over_subjects(_posterior, policy, fitted, choices, numbers)
        if not np.isfinite(value).all():
            never = choices.subjects[int(np.argmin(np.isfinite(value)))]
            raise ValueError(f"choices: those of subject {never!r} have probability 0 under this policy")
        covariance = np.linalg.inv(curved)
        variances = np.diagonal(covariance, axis1=1, axis2=2)
        before, mean = np.stack([mean, spread]), modes.mean(0)
        spread = np.maximum(np.sqrt(((modes - mean) ** 2 + variances).mean(0)), LEAST_SPREAD)
        if np.abs(np.stack([mean, spread]) - before).max() < STILL:
            break
    _, determinant = np.linalg.slogdet(curved)
    half = 1.96 * np.sqrt(variances)
    return PopulationFit(
        names=fitted.names,
        subjects=choices.subjects,
        mean=mean,
        spread=spread,
        typical=_natural(fitted, mean),
        estimates=_natural(fitted, modes),
        low=_natural(fitted, modes - half),
        high=_natural(fitted, modes + half),
        log_evidence=value + len(share) / 2 * np.log(2 * np.pi) - determinant / 2,
        number=choices.number,
        steps=steps,
    )


def _natural(fitted: Ranges, logits: Any) -> Any:
    """The values of logits [.., P]."""
    return fitted.low + fitted.width / (1 + np.exp(-logits))


def _posterior(log_likelihood: Any, fitted: Ranges, numbers: Array) -> tuple[Array, Array, Array]:
    """The most likely logits [P], the curvature [P, P] of minus the log-density there, and the log-density.

    `numbers` [3, P] are the logits to begin from, and the population's means and standard deviations.
    """
    begin, mean, spread = numbers

    def log_density(logits: Array) -> Array:
        squares = ((logits - mean) / spread) ** 2
        prior = -jnp.sum(squares + 2 * jnp.log(spread) + jnp.log(2 * jnp.pi)) / 2
        return log_likelihood(fitted.low + fitted.width * jax.nn.sigmoid(logits)) + prior

    mode = descended(lambda logits: -log_density(logits), begin)
    return mode, -curvature(log_density, mode), log_density(mode)
