"""The paper's propositions 2 to 4 on mixing, estimates and the test: their bounds, and what chains do.

For seven chains, i.i.d. and Markovian, they bound in how many rounds, on average, a state's share of visits is farther
than eps from its stationary probability (2), an estimated probability farther than eps from the true one (3), or the
test of independence wrong (4).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from jaxbandit.bounds.arms import TwoState
from jaxbandit.bounds.upper import independent_sum, mixing_sum, visits_sum

CHAINS = {
    "i.i.d., even": TwoState(0.5, 0.5),
    "i.i.d., rare": TwoState(0.05, 0.95),
    "best of scenario 1": TwoState(0.5, 0.4),
    "sticky": TwoState(0.1, 0.1),
    "alternating": TwoState(0.9, 0.9),
    "rare state": TwoState(0.01, 0.6),
    "arm 2 of scenario 2": TwoState(0.0004, 0.00055),
}
EPS = (0.05, 0.1, 0.2)
EVENTS = ("share of visits", "estimate of p01", "estimate of p10", "test")


class Played(NamedTuple):
    """A chain in one run, and in how many rounds each event has happened."""

    state: Array  # []
    left: Array  # [2, 2], transitions seen
    events: Array  # [4, E]


@partial(jax.jit, static_argnames="runs")
def count_events(key: Array, arm: TwoState, eps: Array, start: Array, times: Array, runs: int) -> Array:
    """Rounds in which each event has happened by each of the times, [T, R, 4, E].

    The estimate of a probability never used is 1, as in the paper. The test is counted from round `start` [E].
    """
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(runs))
    return jax.vmap(partial(count_in_one_run, arm=arm, eps=eps, start=start, times=times), out_axes=1)(keys)


def count_in_one_run(key: Array, arm: TwoState, eps: Array, start: Array, times: Array) -> Array:
    """`count_events` for one run, [T, 4, E]."""
    independent = jnp.abs(arm.p01 + arm.p10 - 1) <= 1e-6
    leave = jnp.stack([arm.p01, arm.p10])
    law = arm.p10 / (arm.p01 + arm.p10)  # of state 0

    def step(t: Array, chain: Played) -> Played:
        """Count round t, in which t states have been seen and t - 1 left; then move."""
        departures = chain.left.sum(1)
        moves = jnp.stack([chain.left[0, 1], chain.left[1, 0]])
        estimate = jnp.where(departures > 0, moves / jnp.maximum(departures, 1), 1)
        share = jnp.where(t > 1, jnp.abs(departures[0] / jnp.maximum(t - 1, 1) - law), 1)
        far = jnp.concatenate([share[None], jnp.abs(estimate - leave)])
        distance, threshold = jnp.abs(estimate.sum() - 1), t.astype(float) ** -0.25
        # ratios of counts meet eps and the threshold exactly, and rounding must not decide
        wrong = jnp.where(independent, distance >= threshold * (1 - 1e-5), distance < threshold * (1 - 1e-5))
        events = jnp.concatenate([far[:, None] > eps[None] * (1 + 1e-5), (wrong & (t >= start))[None]])
        moved = jax.random.uniform(jax.random.fold_in(key, t)) < leave[chain.state]
        following = jnp.where(moved, 1 - chain.state, chain.state)
        return Played(following, chain.left.at[chain.state, following].add(1), chain.events + events)

    def until(chain: Played, ends: tuple[Array, Array]) -> tuple[Played, Array]:
        chain = jax.lax.fori_loop(ends[0], ends[1], step, chain)
        return chain, chain.events

    first = Played(jnp.zeros((), jnp.int32), jnp.zeros((2, 2), jnp.int32), jnp.zeros((4, len(eps)), jnp.int32))
    starts = jnp.concatenate([jnp.ones(1, times.dtype), times[:-1] + 1])
    return jax.lax.scan(until, first, (starts, times + 1))[1]


def eps_of_test(arm: TwoState) -> np.ndarray:
    """The eps of proposition 4, [E]: an eighth, a quarter and 3/8 of |sigma - 1|; no part of it for i.i.d. arms."""
    return np.abs(arm.sigma - 1) * np.array([0.125, 0.25, 0.375])


def first_rounds(arm: TwoState) -> np.ndarray:
    """From which round proposition 4 counts, [E]: 1 / (|sigma - 1| - 2 eps)^4, or 1 for i.i.d. arms."""
    if arm.independent:
        return np.ones(len(EPS))
    return np.ceil((abs(arm.sigma - 1) - 2 * eps_of_test(arm)) ** -4.0)


def bound(arm: TwoState, event: str, number: int) -> tuple[float, float, float]:
    """eps, the proposition's bound on the sum, and its part that is not the sum over mixing times."""
    eps = EPS[number]
    if event == "test":
        if arm.independent:
            return np.nan, 4 * independent_sum() + visits_sum(), 4 * independent_sum()
        eps = float(eps_of_test(arm)[number])
    times = {"share of visits": (0, 1), "test": (2, 2)}.get(event, (1, 1))
    mixing = float(mixing_sum(np.asarray(eps * arm.sigma)))
    return eps, times[0] / eps**2 + times[1] * mixing, times[0] / eps**2
