"""The likelihood of subjects' choices under a policy."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.arguments import excerpt, has
from jaxbandit.base import Policy
from jaxbandit.choices.choice_data import Choices
from jaxbandit.live.choice_laws import choice_law, taught
from jaxbandit.live.real_arms import check_plays


def log_likelihood(policy: Policy, choices: Choices) -> np.ndarray:
    """The log-likelihood [N] of each subject's choices under a policy that learns from what they paid.

    It is the sum over rounds t of log pi_t(A_t), where pi_t are the probabilities with which the policy plays the arms
    in round t after the choices and rewards of the rounds before. -inf if it would never choose as the subject did.

    Args:
      policy: one whose choice probabilities are known (see `live.choice_probabilities`); those of Thompson sampling
        are integrals, computed by quadrature.
      choices: of `read_choices`.

    Returns:
      [N] float64.

    Raises:
      ValueError: the choices are not of `read_choices`; a policy that cannot play these arms, or whose choice
        probabilities are not known.

    >>> import jaxbandit
    >>> from jaxbandit.choices import read_choices
    >>> seen = read_choices({"arm": [0, 1, 1], "reward": [0, 1, 1]})
    >>> log_likelihood(jaxbandit.RescorlaWagner(0.3, 3.0), seen).round(4).tolist()
    [-1.5276]
    """
    check_choices(choices)
    check_policy("policy", policy, choices)
    with jax.enable_x64(True):
        law = choice_law(policy, jax.eval_shape(policy.init, jnp.asarray(choices.table, float)))
        table, rows, real = sequences(choices)
        each = jax.jit(jax.vmap(lambda *subject: taught(policy, table, *subject, law.numbers)))
        numbers = jax.tree.map(np.asarray, each(rows, real, choices.number))
    sums = []
    for row, many in enumerate(choices.number):
        chances = law.probabilities(*(np.asarray(part[row, :many], float) for part in numbers))
        with np.errstate(divide="ignore"):
            sums.append(np.log(chances[np.arange(many), choices.arm[row, :many]]).sum())
    return np.array(sums)


def check_choices(choices: Any) -> None:
    """Raise ValueError unless these are `Choices`."""
    if not isinstance(choices, Choices):
        raise ValueError(f"choices: {excerpt(choices)} are not of choices.read_choices(..)")


def check_policy(name: str, policy: Any, choices: Choices) -> None:
    """Raise ValueError unless the policy can play the arms of the choices."""
    has(name, policy, "a policy", "init", "scores", "update")
    try:
        check_plays(policy, choices.real_arms())
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def sequences(choices: Choices) -> tuple[Array, Array, Array]:
    """The table [K, S], and of each subject arms, states and rounds [N, T, 3], and rewards and NaN [N, T, 2]."""
    rounds = np.broadcast_to(np.arange(1, choices.arm.shape[1] + 1), choices.arm.shape)
    rows = np.stack([choices.arm, choices.state, rounds], -1).astype(np.int32)
    real = np.stack([choices.reward, np.full(choices.reward.shape, np.nan)], -1)
    return jnp.asarray(choices.table, float), jnp.asarray(rows), jnp.asarray(real, float)
