"""A policy that a network computes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from jaxbandit import arguments
from jaxbandit.base import Feedback, Task, check_key, pytree, static, total
from jaxbandit.feedback import check_feedback
from jaxbandit.members import has_methods
from jaxbandit.policies.learned.networks import Exchangeable, Network, Parameters, clock
from jaxbandit.policies.parts import checks

LONGEST = 10_000_000  # rounds: counts are floats of 24 bits


class Remembered(NamedTuple):
    """State of a learned policy."""

    memory: Array  # [K, W], what the network remembers of each arm
    reward: Array  # [K, S], from 0, the least reward of all, to 1, the largest
    last: Array  # [K] int32, the state that each arm showed last


@pytree
class Learned:
    """A policy computed by a network, which `learning.train` fits to a space of problems.

    Arm k is played with probability exp(s_k / temperature) / sum over j of exp(s_j / temperature), where s are the
    network's scores. The network sees what the plays of each arm showed, with rewards mapped to [0, 1] by the least and
    the largest reward of the table, and how many of `horizon` rounds are left; later rounds are played like the last
    one. All arms share the network, so that it plays any number of them, in any order alike. M plays a round are draws
    without replacement. Parameters are leaves: variants of one network are one program.

    Args:
      parameters: a dict of arrays, as `Learned.of` and `learning.train` make them.
      horizon: rounds for which it plans, 1 to 10 million.
      network: `Exchangeable(width)` or `Recurrent(width)`.
      temperature: at least 1e-30; below 1 it plays the best arm more often than it learned to.

    Raises:
      ValueError: from `simulate` and `check_policy`, for parameters that are not the network's or not finite, a field
        out of range, rewards without a finite table, or a decision process.

    Source: policies learned on a distribution of problems by policy gradients, Boutilier et al. 2020 (not opened);
    networks, features and training are our own.

    >>> policy = Learned.of(horizon=60, key=jax.random.key(0))
    >>> state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    >>> jax.jit(policy.probabilities)(state, 1).round(4).tolist()
    [0.33329999446868896, 0.33329999446868896, 0.33329999446868896]
    """

    parameters: Parameters
    horizon: ArrayLike
    network: Network = static(Exchangeable())
    temperature: ArrayLike = 1.0

    @classmethod
    def of(cls, network: Network = Exchangeable(), *, horizon: int, key: Any = None) -> Learned:  # noqa: B008
        """A network that has learned nothing, from random parameters."""
        _check_network(network)
        arguments.integer("horizon", horizon, 1, LONGEST)
        key = jax.random.key(0) if key is None else key
        check_key(key)
        return cls({name: np.asarray(a, np.float32) for name, a in network.begin(key).items()}, float(horizon), network)

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        checks.number(self, "horizon", 1, LONGEST)
        checks.number(self, "temperature", 1e-30)
        _check_network(self.network)
        shapes = {name: a.shape for name, a in jax.eval_shape(self.network.begin, jax.random.key(0)).items()}
        if not isinstance(self.parameters, dict) or self.parameters.keys() != shapes.keys():
            raise ValueError(f"parameters: {arguments.excerpt(self.parameters)} is not a dict of {', '.join(shapes)}")
        for name, values in self.parameters.items():
            if arguments.finite(f"parameters[{name!r}]", values).shape != shapes[name]:
                raise ValueError(f"parameters[{name!r}]: shape {np.shape(values)} is not {shapes[name]}")

    def init(self, reward: Array) -> Remembered:
        low, high = jnp.min(reward), jnp.max(reward)
        scaled = (reward - low) / jnp.where(high > low, high - low, 1)
        memory = self.network.memory()
        arms = len(reward)
        return Remembered(jnp.broadcast_to(memory[None], (arms, len(memory))), scaled, jnp.zeros(arms, jnp.int32))

    def scores(self, key: Array, state: Remembered, t: Array) -> tuple[Array, Remembered]:
        # the largest of these is a draw by the probabilities, the M largest are draws without replacement;
        # "high": the default noise does not exceed 16, so that arms below 1e-6 would be played too rarely
        return self._logits(state, t) + jax.random.gumbel(key, (len(state.memory),), mode="high"), state

    def update(self, state: Remembered, feedback: Feedback) -> Remembered:
        check_feedback(feedback, *state.reward.shape, last=state.last, counts=state.memory)
        memory = state.memory
        for arm, before, now in zip(feedback.arms, feedback.before, feedback.states):
            paid = state.reward[arm, before], state.reward[arm, now]
            after = self.network.remembered(self.parameters, memory[arm], *paid)
            memory = memory.at[arm].set(after.astype(memory.dtype))
        return state._replace(memory=memory, last=state.last.at[feedback.arms].set(feedback.states))

    def probabilities(self, state: Remembered, t: Array) -> Array:
        """The probability [K] with which each arm is played, with one play a round."""
        logits = self._logits(state, t)
        weights = jnp.exp(logits - jnp.max(logits))
        return weights / total(weights)

    def _logits(self, state: Remembered, t: Array) -> Array:
        logits = self.network.logits(self.parameters, state.memory, clock(t, self.horizon))
        return logits / jnp.asarray(self.temperature, float)


def _check_network(network: Any) -> None:
    if not has_methods(network, "begin", "memory", "remembered", "logits"):
        raise ValueError(f"network: {arguments.excerpt(network)} is not a network, such as jaxbandit.Exchangeable(32)")
