"""KL-UCB on the sample mean, with KL-UCB+ and KL-UCB++, and its round-robin variant."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Family, Feedback, Task, pytree, static
from jaxbandit.confidence import Solver, family_upper, kl_upper
from jaxbandit.members import Units
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import Clock, level
from jaxbandit.policies.parts.family_units import family_units
from jaxbandit.policies.parts.memory import Forgets, Memory, no_visits, positive, remembered


@pytree
class KLUCB:
    """KL-UCB on the sample mean (KL-UCB-SM): max{q : d(mean, q) <= log f(t) / T}, T the arm's plays.

    With other levels in place of log f(t) it is another policy of the literature:

      exploration=2: log t + 2 log log t, for which Agrawal 1995 bounds the regret of one-parameter families. The
        default, log f(t), is nearly the same except in the first rounds.
      exploration=0, clock="arm": log(t / T), KL-UCB+ (Garivier and Cappe 2011, a remark; Honda 2019 proves it optimal).
      horizon=n: log+(y (1 + log+(y)^2)) with y = n / (K T), log+ = max(0, log), KL-UCB++ (Menard and Garivier 2017),
        optimal both as n grows and for the worst arms. The index of an arm with n / K plays or more is its mean.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      solver: of `confidence.kl_upper`.
      family: one of `jaxbandit.families`, whose divergence then replaces d and whose rewards are not mapped; None
        is Bernoulli, with rewards mapped to [0, 1].
      horizon: None, or n, at least the number of rounds; exploration and clock are then not used.
      clock: "round", or "arm" for f(t / T) in place of f(t).
      memory: None, or `Discounted` or `Window`: T and the mean are then of the remembered plays, and the number of
        remembered rounds replaces t or n if it is smaller, so that the level is log f(min(t, length)).

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range, a horizon beside an exploration or the
        arm's clock, or rewards that the family does not have.

    Source: Garivier and Cappe 2011, section 4 for families; the paper's section IV.

    >>> state = KLUCB().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> KLUCB().scores(None, state, 1)[0].tolist()
    [inf, inf]
    """

    exploration: ArrayLike | None = None
    solver: Solver = static("halley")
    family: Family | None = None
    horizon: ArrayLike | None = None
    clock: Clock = static("round")
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        check_kl_fields(self)
        checks.family(self, task)
        checks.choice(self, "clock", get_args(Clock))
        checks.memory(self, task)
        checks.horizon(self, task)
        if self.horizon is not None and (self.exploration is not None or self.clock == "arm"):
            raise ValueError(f"horizon: {self.horizon} beside an exploration or the arm's clock; give one of them")

    @property
    def units(self) -> Units:
        """Rewards are mapped to [0, 1] without a family."""
        return family_units(self.family)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, self.family, self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        return kl_index(self, state, t, self.clock, self.horizon)[0], state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


@pytree
class RoundRobinKLUCB:
    """Round-robin KL-UCB (KL-UCB-SM2): the arm with the best sample mean (the leader) is played unless the KL-UCB index
    of the candidate, arm t mod K, exceeds that mean.

    The candidate's score is its index, the other arms' scores are their means: with M plays a round the same rule
    replaces the last of the M leaders. Only arms with at least delta t plays can lead.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t; 3 in Moulos,
        0 in Lai and Robbins's rule.
      delta: least fraction of rounds in which an arm must have been played to lead, in [0, 1/K]; 0 as in the paper, and
        positive in Lai and Robbins's rule.
      solver: of `confidence.kl_upper`.
      family: one of `jaxbandit.families`, whose divergence then replaces d and whose rewards are not mapped; in Moulos
        a family of chains. None is Bernoulli, with rewards mapped to [0, 1].
      memory: that of `KLUCB`; an arm can then lead with at least delta times the remembered rounds.

    Raises:
      ValueError: from `simulate` and `check_policy`, for delta outside [0, 1/K].

    Source: Lai and Robbins 1985, section 3, whose level need only grow as log t; Moulos 2020; the paper's
    section IV reduces it to one play, delta = 0 and f as in `KLUCB`. Anantharam, Varaiya and Walrand 1987 take the same
    leaders and candidate, and compare them by a statistic of their own, made from a mixture of likelihoods; with a
    family of `families.chain_family` and delta in (0, 1/K) this is their policy with the family's KL bound in its
    place.

    >>> state = RoundRobinKLUCB().init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> RoundRobinKLUCB().scores(None, state, 1)[0].tolist()
    [inf, inf]
    """

    takes_turns: ClassVar = True  # the candidate is a function of the round, which all arms share

    exploration: ArrayLike | None = None
    delta: ArrayLike = 0.0
    solver: Solver = static("halley")
    family: Family | None = None
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        check_kl_fields(self)
        checks.family(self, task)
        checks.number(self, "delta", 0, 1 / len(task.reward))
        checks.memory(self, task)

    @property
    def units(self) -> Units:
        """Rewards are mapped to [0, 1] without a family."""
        return family_units(self.family)

    def init(self, reward: Array) -> Memory:
        return no_visits(reward, self.family, self.memory)

    def scores(self, key: Array, state: Memory, t: Array) -> tuple[Array, Memory]:
        index, mean, plays = kl_index(self, state, t)
        leads = plays >= self.delta * jnp.asarray(remembered(self.memory, t), float)
        arms = jnp.arange(mean.shape[0])
        return jnp.where(
            (arms == t % mean.shape[0]) | jnp.isinf(index),
            index,
            jnp.where(leads, mean, mean - (2 if self.family is None else _beyond(mean))),  # below every leader
        ), state

    def update(self, state: Memory, feedback: Feedback) -> Memory:
        return state.counted(feedback)


def check_kl_fields(policy: Any) -> None:
    """Raise ValueError unless the fields `exploration` and `solver` are valid for a KL policy."""
    if policy.exploration is not None:
        checks.number(policy, "exploration")
    checks.choice(policy, "solver", get_args(Solver))


def kl_index(
    policy: KLUCB | RoundRobinKLUCB,
    state: Memory,
    t: ArrayLike,
    clock: Clock = "round",
    horizon: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """The KL-UCB index [K], inf for an arm not yet played, the sample means [K] and the plays [K]."""
    mean, plays = state.mean_and_plays()
    t = remembered(policy.memory, t)
    if horizon is not None:
        horizon = remembered(policy.memory, horizon)
    radius = level(t, policy.exploration, clock, plays, horizon) / positive(plays)
    if policy.family is None:
        upper = kl_upper(mean, radius, policy.solver)
    else:
        upper = family_upper(mean, radius, policy.family)
    return jnp.where(plays == 0, jnp.inf, upper), mean, plays


def _beyond(mean: Array) -> Array:
    """A number larger than the distance between any two of the means [K]; for means in [0, 1] it is 2."""
    largest = jnp.max(jnp.abs(mean))
    return jnp.where(largest > 0, 3 * largest, 1)
