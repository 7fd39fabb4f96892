"""Maximum-likelihood estimates of a policy's fields, subject by subject."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import integer
from jaxbandit.base import Policy, check_key, described
from jaxbandit.choices.choice_data import Choices
from jaxbandit.choices.choice_likelihood import check_choices, sequences
from jaxbandit.choices.parameter_ranges import Ranges, ranges_of
from jaxbandit.live.choice_laws import choice_law, taught

MOST_STEPS = 100  # of L-BFGS from one start
TRIED = 10  # points for each start, of which the best ones are the starts
STILL = 1e-5  # the largest step with which a start has arrived
STEP, SECOND_STEP = 1e-5, 1e-3  # of differences for first and second derivatives; float64 has 16 digits
FLAT = 1e-8  # the least eigenvalue of an information with ones on its diagonal, below which it says nothing
EDGE = 1e-5  # of a range's width: nearer estimates lie at its edge
AT_ONCE = 1024  # starts that climb together: more wait for the slowest of them, fewer leave a processor idle


@described
class ChoiceFit(NamedTuple):
    """Estimates of a policy's fields for each of N subjects; its text is a table.

    Fields:
      names: P names of fields.
      subjects: N names.
      estimates: [N, P]; NaN for a subject whose choices have probability 0 wherever it was looked.
      standard_errors: [N, P], from the curvature of the log-likelihood at the estimates; NaN for a subject with an
        estimate at an edge of its range, or whose log-likelihood is flat, where they would mean nothing.
      at_edge: [N, P], whether the estimate lies at an edge of its range.
      log_likelihood: [N], at the estimates.
      number: [N], choices.
      arrived: [N], how many starts ended within 1e-3 of the largest log-likelihood that was reached.
    """

    names: tuple[str, ...]
    subjects: tuple[str, ...]
    estimates: np.ndarray
    standard_errors: np.ndarray
    at_edge: np.ndarray
    log_likelihood: np.ndarray
    number: np.ndarray
    arrived: np.ndarray

    @property
    def aic(self) -> np.ndarray:
        """[N], 2 P - 2 log-likelihood (Akaike 1974)."""
        return 2 * len(self.names) - 2 * self.log_likelihood

    @property
    def bic(self) -> np.ndarray:
        """[N], P log(choices) - 2 log-likelihood (Schwarz 1978)."""
        return np.asarray(len(self.names) * np.log(self.number) - 2 * self.log_likelihood)

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [
            f"{len(self.subjects):,} subjects, {self.number.sum():,} choices, log-likelihood "
            f"{self.log_likelihood.sum():,.2f}, AIC {self.aic.sum():,.2f}, BIC {self.bic.sum():,.2f}",
            f"{'':{width}}  {'quartiles of the estimates':>32}  {'median error':>12}  {'at an edge':>10}",
        ]
        for n, name in enumerate(self.names):
            low, middle, high = np.quantile(self.estimates[:, n], [0.25, 0.5, 0.75])
            errors = self.standard_errors[np.isfinite(self.standard_errors[:, n]), n]
            error = f"{np.median(errors):.3g}" if len(errors) else "-"
            cells = f"{low:10.4g} {middle:10.4g} {high:10.4g}"
            lines.append(f"{name:{width}}  {cells}  {error:>12}  {self.at_edge[:, n].sum():10,}")
        return "\n".join(lines)


def fit(policy: Policy, choices: Choices, ranges: Mapping[str, Any], *, starts: int = 4, key: Any = None) -> ChoiceFit:
    """Fields of a policy under which each subject's choices are most likely.

    It maximises `log_likelihood` over the fields named, each within its range, for each subject alone, by L-BFGS from
    several starts: the best of the policy's own values and ten times as many uniform draws from the ranges. A value is
    low + (high - low) sin^2 of what is maximised over, so that a maximum at an edge is reached in a few steps.

    Args:
      policy: one with `probabilities(state, t)`; its other fields keep their values.
      choices: of `read_choices`.
      ranges: (low, high) of each field that is fitted, by its name; "policy.exploration" is the field of a policy that
        the policy holds.
      starts: from which a maximum is searched, for each subject.
      key: a `jax.random.key` for the starts, key(0) by default.

    Returns:
      A `ChoiceFit`, computed in float64.

    Raises:
      ValueError: the policy has no `probabilities` or cannot play these arms, a field is not the policy's or not one
        real number, or a range holds values that the policy refuses.

    Source: of the optimiser, `optax.lbfgs`.

    >>> import jaxbandit
    >>> from jaxbandit.choices import read_choices
    >>> seen = read_choices({"arm": list("0110111001"), "reward": list("1010110011")})
    >>> ranges = {"learning_rate": (0, 1), "inverse_temperature": (0, 20)}
    >>> fitted = fit(jaxbandit.RescorlaWagner(), seen, ranges)
    >>> fitted.estimates.round(4).tolist(), fitted.at_edge.tolist(), fitted.log_likelihood.round(4).tolist()
    ([[1.0, 0.191]], [[True, False]], [-6.9076])
    """
    check_choices(choices)
    fitted = ranges_of(policy, ranges, choices)
    starts = integer("starts", starts, 1, 1000)
    key = jax.random.key(0) if key is None else key
    check_key(key)
    drawn = np.asarray(jax.random.uniform(key, (len(choices.subjects), TRIED * starts, len(fitted.names))), float)
    tried = fitted.angles(fitted.low + fitted.width * drawn)
    tried[:, 0] = fitted.angles(fitted.begin)
    (value,) = over_subjects(_values, policy, fitted, choices, tried)
    begin = np.take_along_axis(tried, np.argsort(-value, 1)[:, :starts, None], 1)
    ends, reached = over_subjects(_climb, policy, fitted, choices, begin, at_once=max(1, AT_ONCE // starts))
    reached = np.where(np.isnan(reached), -np.inf, reached)
    each, best = np.arange(len(begin)), reached.argmax(1)
    estimates = ends[each, best]
    low, high = estimates - fitted.low < EDGE * fitted.width, fitted.high - estimates < EDGE * fitted.width
    estimates = np.where(low, fitted.low, np.where(high, fitted.high, estimates))
    estimates = np.where(np.isfinite(reached[each, best])[:, None], estimates, np.nan)
    value, second = over_subjects(_curved, policy, fitted, choices, estimates)
    share = (estimates - fitted.low) / fitted.width
    by_angle = 2 * fitted.width * np.sqrt(share * (1 - share))  # what a value changes by, at a maximum inside the range
    return ChoiceFit(
        fitted.names,
        choices.subjects,
        estimates,
        np.where((low | high).any(1, keepdims=True), np.nan, by_angle * _errors(-second)),
        low | high,
        np.where(np.isnan(value), -np.inf, value),
        choices.number,
        (reached > reached[each, best][:, None] - 1e-3).sum(1),
    )


def over_subjects(
    what: Any, policy: Any, fitted: Ranges, choices: Choices, numbers: np.ndarray, at_once: int = 256
) -> list[np.ndarray]:
    """`what(log_likelihood, ranges, numbers)` for the numbers of each subject, in float64, a core for each part."""

    def part(begin: int) -> Any:
        with jax.enable_x64(True):  # which is said for each thread
            table, rows, real = sequences(choices)
            law = choice_law(policy, jax.eval_shape(policy.init, table)).numbers
            ends = jnp.asarray(fitted.low), jnp.asarray(fitted.high)
            here = np.minimum(np.arange(begin, begin + size), len(numbers) - 1)  # all parts have one shape
            each = [jnp.asarray(all_)[here] for all_ in (rows, real, choices.number, choices.arm, numbers)]
            answer = _vectorised(what, law, fitted.names, policy, table, ends, *each)
            return [np.asarray(array)[: len(numbers) - begin] for array in answer]

    size = min(at_once, len(numbers))
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        parts = list(cores.map(part, range(0, len(numbers), size)))
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


@partial(jax.jit, static_argnames=("what", "law", "names"))
def _vectorised(what: Any, law: Any, names: Any, policy: Any, table: Array, ends: Any, *each: Array) -> Any:
    fitted = Ranges(names, low=ends[0], high=ends[1], begin=ends[0])

    def of_subject(rows: Array, real: Array, number: Array, arm: Array, *numbers: Array) -> Any:
        def log_likelihood(values: Array) -> Array:
            (chances,) = taught(fitted.policy(policy, values), table, rows, real, number, law)
            chosen = jnp.take_along_axis(chances, arm[:, None], 1)[:, 0]
            made = jnp.arange(len(arm)) < number
            return jnp.sum(jnp.where(made, jnp.log(jnp.where(made, chosen, 1)), 0))

        return what(log_likelihood, fitted, *numbers)

    return jax.vmap(of_subject)(*each)


def _values(log_likelihood: Any, fitted: Ranges, angles: Array) -> tuple[Array]:
    """The log-likelihoods [S] at angles [S, P]."""
    return (jax.vmap(lambda each: log_likelihood(fitted.inside(each)))(angles),)


def _climb(log_likelihood: Any, fitted: Ranges, begin: Array) -> tuple[Array, Array]:
    """The values [S, P] to which L-BFGS climbs from the angles [S, P], and the log-likelihoods [S] there."""

    def one(angles: Array) -> tuple[Array, Array]:
        values = fitted.inside(descended(lambda each: -log_likelihood(fitted.inside(each)), angles))
        return values, log_likelihood(values)

    return jax.vmap(one)(begin)


def descended(loss: Any, begin: Array) -> Array:
    """The numbers [P] at which L-BFGS arrives from [P].

    Gradients are central differences: in float64 they are exact to eight digits, cost two likelihoods a number, and
    unlike derivatives of the program they are right where a policy divides by 0 plays or takes the root of 0.
    """
    import optax  # a tenth of a second, which an import of the package need not take

    @jax.custom_vjp
    def smooth(numbers: Array) -> Array:
        return loss(numbers)

    smooth.defvjp(lambda numbers: (loss(numbers), slopes(loss, numbers)), lambda slope, g: (g * slope,))
    optimiser = optax.lbfgs()
    value_and_gradient = optax.value_and_grad_from_state(smooth)

    def step(loop: Any) -> Any:
        numbers, state, _, steps = loop
        value, gradient = value_and_gradient(numbers, state=state)
        change, state = optimiser.update(gradient, state, numbers, value=value, grad=gradient, value_fn=smooth)
        return numbers + change, state, jnp.max(jnp.abs(change)), steps + 1

    def moving(loop: Any) -> Array:
        return (loop[2] > STILL) & (loop[3] < MOST_STEPS)

    start = (begin, optimiser.init(begin), jnp.ones(()), jnp.int32(0))
    return jax.lax.while_loop(moving, step, start)[0]


def slopes(function: Any, numbers: Array) -> Array:
    """The gradient [P] of a function at numbers [P], by central differences."""
    steps = STEP * jnp.eye(len(numbers))
    return (jax.vmap(function)(numbers[None] + steps) - jax.vmap(function)(numbers[None] - steps)) / (2 * STEP)


def curvature(function: Any, numbers: Array) -> Array:
    """The second derivatives [P, P] of a function at numbers [P], by differences of differences."""
    size = len(numbers)
    one, other = (each.ravel() for each in jnp.meshgrid(jnp.arange(size), jnp.arange(size), indexing="ij"))
    first, second = SECOND_STEP * jnp.eye(size)[one], SECOND_STEP * jnp.eye(size)[other]
    four = [jax.vmap(function)(numbers[None] + a * first + b * second) for a in (1, -1) for b in (1, -1)]
    return ((four[0] - four[1] - four[2] + four[3]) / (4 * SECOND_STEP**2)).reshape(size, size)


def _curved(log_likelihood: Any, fitted: Ranges, values: Array) -> tuple[Array, Array]:
    """The log-likelihood at values [P], and its second derivatives [P, P] by their angles."""
    angles = jnp.arcsin(jnp.sqrt((values - fitted.low) / fitted.width))
    return log_likelihood(values), curvature(lambda each: log_likelihood(fitted.inside(each)), angles)


def _errors(information: np.ndarray) -> np.ndarray:
    """Standard errors [N, P] from the information [N, P, P]; NaN where it is not positive."""
    errors = np.full(information.shape[:2], np.nan)
    scale = np.sqrt(np.abs(np.diagonal(information, axis1=1, axis2=2)))
    for n, matrix in enumerate(information):
        if not np.isfinite(matrix).all() or not scale[n].all():
            continue
        correlations = matrix / np.outer(scale[n], scale[n])
        if np.linalg.eigvalsh(correlations).min() > FLAT:
            errors[n] = np.sqrt(np.diagonal(np.linalg.inv(correlations))) / scale[n]
    return errors
