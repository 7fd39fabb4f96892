"""KL-UCB for rewards with finitely many values."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jax.typing import ArrayLike

from jaxbandit.base import Feedback, Task, pytree, static, total
from jaxbandit.confidence import Solver, kl_ball_max
from jaxbandit.policies.means.kl_ucb import check_kl_fields
from jaxbandit.policies.parts import checks
from jaxbandit.policies.parts.exploration import level
from jaxbandit.policies.parts.memory import Forgets, Visits, needs_states, no_visits, positive, ratio, remembered


@pytree
class EmpiricalKLUCB:
    """Empirical KL-UCB: the arm with the largest upper confidence bound on the mean of a distribution over its states.

    With p the frequencies [S] of the states to which an arm's T plays moved it, and r [S] their rewards, the index is

        max{sum of q_s r_s : KL(p || q) <= (log t + exploration log log t) / T}, q any distribution over the arm's
        states.

    For two states that pay 0 and 1 this is `KLUCB` with the same exploration, which is ten times as fast. With
    more states it uses the distribution of the rewards, while `KLUCB` assumes the largest variance that their mean
    allows.

    Args:
      exploration: None for f(t) = 1 + t log^2 t, or a number c for log t + c log log t.
      top: whether q may also have mass on the reward 1 (after `unit_reward`) if no state pays it, for a player
        who knows only that rewards lie in [0, 1].
      solver: of `confidence.kl_ball_max`.
      memory: None, or `Discounted` or `Window`: p and T are then of the remembered plays, and the number of
        remembered rounds replaces t.

    Raises:
      ValueError: from `simulate` and `check_policy`, for a field out of range.

    Source: Cappe, Garivier, Maillard, Munos and Stoltz 2013, where q is on the values seen and 1.

    >>> import jax
    >>> policy = EmpiricalKLUCB()
    >>> state = policy.init(jnp.array([[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]))
    >>> state = state._replace(counts=jnp.array([[5, 5, 0], [0, 0, 0]]))
    >>> jax.jit(policy.scores)(None, state, 11)[0].round(4).tolist()
    [0.4902, inf]
    """

    units = "mapped"

    exploration: ArrayLike | None = 1.0
    top: bool = static(False)
    solver: Solver = static("halley")
    memory: Forgets | None = None

    def validate(self, task: Task) -> None:
        checks.suits(self, task)
        check_kl_fields(self)
        checks.truth(self, "top")
        checks.memory(self, task)

    def init(self, reward: Array) -> Visits:
        return no_visits(needs_states(reward), memory=self.memory)  # type: ignore[return-value]

    def scores(self, key: Array, state: Visits, t: Array) -> tuple[Array, Visits]:
        plays = total(state.counts)
        uniform, values = 1 / state.reward.shape[1], state.reward  # any p will do for an arm never played
        shares = jnp.where(plays[:, None] > 0, ratio(state.counts, plays[:, None]), uniform)
        if self.top:
            shares, values = (jnp.pad(x, ((0, 0), (0, 1)), constant_values=c) for x, c in ((shares, 0), (values, 1)))
        radius = level(remembered(self.memory, t), self.exploration) / positive(plays)
        return jnp.where(plays == 0, jnp.inf, kl_ball_max(shares, values, radius, self.solver)[0]), state

    def update(self, state: Visits, feedback: Feedback) -> Visits:
        return state.counted(feedback)
