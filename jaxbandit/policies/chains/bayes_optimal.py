"""The policy with the least Bayes regret with two arms, from a table of decisions by counts."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from jaxbandit import members
from jaxbandit.arguments import excerpt, finite
from jaxbandit.base import Feedback, Task, per_arm, pytree, static, total
from jaxbandit.indices.posterior_layers import layers_of_two
from jaxbandit.indices.posterior_tables import best_of_two
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.memory import Transitions, no_transitions
from jaxbandit.policies.parts.posterior_cases import case, check_rewards

MOST = {2: 200, 3: 60}  # rounds by the axes of the prior, Bernoulli arms or chains: tables of 8 MB


@pytree
class BayesOptimal:
    """The policy whose expected total reward over `horizon` rounds is the largest, with two arms drawn from a prior.

    It plays the arm that attains the maximum in `bounds.bayes_optimum`, the first one on ties; its Bayes regret is the
    `regret` there. All decisions are in a table, by the counts of both arms. Make it with
    `BayesOptimal.of(prior, horizon)`.

    Args:
      decisions: [B] uint8, eight decisions in each, of all rounds: 1 for the second arm.
      offsets: [horizon, horizon] int32, the place of the first decision after t plays, n of them of the first arm.
      reward: [2], of states 0 and 1, of both arms.
      which: [2], each arm's number in the table.
      start: [2], the states in which the arms of the table begin.
      independent: whether the rewards of an arm are independent.

    Raises:
      ValueError: from `simulate` and `check_policy`, for more rounds than the table has, and for arms of another
        number, with other rewards, or with rows of two states and another first state.

    Source: Bellman 1956, for one arm whose chance is known; the counts of a chain are our own.

    >>> import jax
    >>> policy = BayesOptimal.of([[1, 1], [1, 2]], horizon=10)  # Bernoulli arms; the second has the larger mean
    >>> state = policy.init(jnp.array([[0.0, 1.0], [0.0, 1.0]]))
    >>> jax.jit(policy.scores)(None, state, 1)[0].tolist()
    [0.0, 1.0]
    """

    units = "mapped"

    decisions: ArrayLike
    offsets: ArrayLike
    reward: ArrayLike = (0.0, 1.0)
    which: ArrayLike = per_arm((0, 1))
    start: ArrayLike = per_arm((0, 0))
    independent: bool = static(False)

    @classmethod
    def of(cls, prior: ArrayLike, horizon: int, reward: ArrayLike = (0, 1), start: ArrayLike = (0, 0)) -> BayesOptimal:
        """The policy for arms drawn from this prior; its table is computed on the host, in float64.

        Args:
          prior, reward, start: as of `bounds.bayes_optimum`.
          horizon: 1 to 200 rounds, or 1 to 60 of arms with two states.

        Raises:
          ValueError: the argument and what is wrong with it.
        """
        two = layers_of_two(prior, horizon, reward, start, MOST)
        rounds, parts, place = len(two.arms[0]), [], 0
        offsets = np.zeros((rounds, rounds), np.int32)
        for played, decided in enumerate(reversed([each.second for each in best_of_two(two.arms, two.reward)])):
            for n, second in enumerate(decided):
                offsets[played, n] = place
                place += second.size
                parts.append(second.ravel())
        decisions = np.packbits(np.concatenate(parts))
        return cls(decisions, offsets, two.reward, np.arange(2), two.start, two.independent)

    def validate(self, task: Task) -> None:
        checks.suits(self, task, ("rested",))
        checks.one_play(self, task)
        check_rewards(self, task)
        checks.truth(self, "independent")
        if len(task.reward) != 2:
            raise ValueError(f"BayesOptimal is for two arms, and {task.name} has {len(task.reward)}")
        decisions, offsets = finite("decisions", self.decisions), finite("offsets", self.offsets)
        rounds = len(offsets) if offsets.ndim else 0
        if offsets.shape != (rounds, rounds) or not rounds or (offsets % 1).any() or offsets.min() < 0:
            raise ValueError(f"offsets: shape {offsets.shape} is not [horizon, horizon], of places from 0 on")
        if decisions.ndim != 1 or 8 * len(decisions) <= offsets.max() or np.asarray(self.decisions).dtype != np.uint8:
            raise ValueError("decisions: not the bytes (uint8) of the decisions at these offsets; use BayesOptimal.of")
        for name in ("which", "start"):
            numbers = finite(name, getattr(self, name))
            if numbers.shape != (2,) or not np.isin(numbers, (0, 1)).all() or (name == "which" and numbers.sum() != 1):
                raise ValueError(f"{name}: {excerpt(numbers.tolist())} is not a number, 0 or 1, of each arm")
        if rounds < task.horizon != Task._field_defaults["horizon"]:
            raise ValueError(
                f"horizon: the table of BayesOptimal has {rounds} rounds, and {task.horizon:,} will be played; make it "
                f"with BayesOptimal.of(prior, horizon={task.horizon})"
            )
        laws, start = members.known(task.environment), np.asarray(self.start)
        if not self.independent and laws is not None and (laws.initial[np.arange(2), start] != 1).any():
            raise ValueError(
                f"start: the table is for arms that begin in the states {start.tolist()}, and those of {task.name} "
                f"begin with probabilities {excerpt(laws.initial.tolist())}"
            )

    def init(self, reward: Array) -> Transitions:
        return no_transitions(reward)

    def scores(self, key: Array, state: Transitions, t: Array) -> tuple[Array, Transitions]:
        which, offsets = jnp.asarray(self.which, jnp.int32), jnp.asarray(self.offsets, jnp.int32)
        plays, cases = total(total(state.counts)), case(state.counts, self.independent)
        swapped = which[0] == 1  # the first arm is the second of the table
        of_second = jnp.where(swapped, plays[0], plays[1])
        size = of_second + 1 if self.independent else (of_second + 1) * (of_second + 2) // 2
        played = jnp.minimum(plays[0] + plays[1], len(offsets) - 1)
        row, column = jnp.where(swapped, cases[1], cases[0]), jnp.where(swapped, cases[0], cases[1])
        place = offsets[played, jnp.where(swapped, plays[1], plays[0])] + row * size + column
        eight = jnp.asarray(self.decisions)[place // 8].astype(jnp.int32)
        return (which == (eight >> (7 - place % 8)) % 2).astype(float), state

    def update(self, state: Transitions, feedback: Feedback) -> Transitions:
        return state.counted(feedback)
