"""False alarms and misses of five tests of independence, with the paper's threshold and with one for likelihood ratios.

An arm is played in every round, or seldom, as a suboptimal arm is: about 20 log t times by round t. A false alarm is an
arm with independent rewards that a test judges Markovian, a miss a Markovian arm that it does not.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from experiments.comparisons.curves import curves
from jaxbandit import TVKLUCB
from jaxbandit.reports.pictures import Pictures
from jaxbandit.reports.tables import Row

EVEN, RARE = "i.i.d., even", "i.i.d., rare"


def towards(law: list[float], share: float) -> np.ndarray:
    """A chain with this stationary law: each play stays with probability `share`, else draws a state anew."""
    return (1 - share) * np.tile(law, (len(law), 1)) + share * np.eye(len(law))


ARMS = {
    f"{name}, {states} states": towards(law, share)
    for states in (2, 3)
    for name, law, share in (
        (EVEN, [1 / states] * states, 0.0),
        (RARE, [1 - 0.05 * (states - 1)] + [0.05] * (states - 1), 0.0),
        ("near independence", [1 / states] * states, 0.1),
        ("far from it", [1 / states] * states, 0.7),
    )
}
TESTS = {
    "total variation": TVKLUCB(),
    "squared Hellinger": TVKLUCB(distance="squared_hellinger"),
    "Jensen-Shannon": TVKLUCB(distance="jensen_shannon"),
    "KL": TVKLUCB(distance="kl"),
    "likelihood ratio": TVKLUCB(test="likelihood_ratio"),
}
SELDOM, LAST = 20, 1e8  # plays of a suboptimal arm are 20 log t, up to this round
POINTS = 30


def schedules(horizon: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Of each way to play an arm some rounds t, and the arm's plays before them; all plays are fewer than `horizon`."""
    every = np.unique(np.rint(np.geomspace(2, horizon, POINTS)).astype(np.int32))
    last = min(LAST, np.exp((horizon - 1) / SELDOM))
    seldom = np.unique(np.rint(np.geomspace(2, max(last, 2), POINTS)).astype(np.int32))
    plays = np.minimum(np.ceil(SELDOM * np.log(seldom)), seldom - 1).astype(np.int32)
    return {"in every round": (every, every - 1), f"{SELDOM} log t times": (seldom, plays)}


@partial(jax.jit, static_argnames="runs")
def transitions(key: Array, rows: Array, plays: Array, runs: int) -> Array:
    """Transition counts of a chain that starts in state 0, after each of these numbers of plays, [P, R, S, S]."""
    bounds = jnp.cumsum(rows, 1)[:, :-1]
    run = jnp.arange(runs)

    def step(n: Array, played: tuple[Array, Array]) -> tuple[Array, Array]:
        states, counts = played
        draws = jax.random.uniform(jax.random.fold_in(key, n), (runs,))
        following = (draws[:, None] >= bounds[states]).sum(1)
        return following, counts.at[run, states, following].add(1)

    def until(played: tuple[Array, Array], ends: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        played = jax.lax.fori_loop(*ends, step, played)
        return played, played[1]

    first = jnp.zeros(runs, jnp.int32), jnp.zeros((runs, *rows.shape), jnp.int32)
    return jax.lax.scan(until, first, (jnp.concatenate([jnp.zeros(1, plays.dtype), plays[:-1]]), plays))[1]


@jax.jit
def markovian(policy: TVKLUCB, counts: Array, t: Array) -> Array:
    """Whether the policy judges arms with these transitions [P, R, S, S] Markovian in the rounds t [P]; [P, R]."""

    def one(counts: Array, t: Array) -> Array:
        state = policy.init(jnp.broadcast_to(jnp.linspace(0, 1, counts.shape[-1]), counts.shape[:-1]))
        return policy.markovian(state._replace(seen=state.seen._replace(counts=counts)), t)

    return jax.vmap(one)(counts, t)


def wrong_shares(key: Array, runs: int, horizon: int) -> dict[tuple[str, str], dict[str, np.ndarray]]:
    """Of each arm and schedule, the share of runs in which each test is wrong in the schedule's rounds, [P]."""
    shares = {}
    for number, (name, rows) in enumerate(ARMS.items()):
        for schedule, (t, plays) in schedules(horizon).items():
            counts = transitions(jax.random.fold_in(key, number), jnp.asarray(rows), jnp.asarray(plays), runs)
            judged = {test: np.asarray(markovian(policy, counts, jnp.asarray(t))) for test, policy in TESTS.items()}
            independent = name.startswith((EVEN, RARE))
            shares[name, schedule] = {test: (seen == independent).mean(1) for test, seen in judged.items()}
    return shares


def table(shares: dict[tuple[str, str], dict[str, np.ndarray]], horizon: int) -> list[Row]:
    """Shares of wrong verdicts in three rounds, in percent, and the likelihood ratio's bound on its false alarms."""
    rows: list[Row] = []
    for (arm, schedule), of_tests in shares.items():
        t, plays = schedules(horizon)[schedule]
        for place in (len(t) // 3, 2 * len(t) // 3, len(t) - 1):
            row: Row = {"arm": arm, "played": schedule, "round": f"{t[place]:,}", "plays": f"{plays[place]:,}"}
            row |= {test: f"{share[place]:.2%}" for test, share in of_tests.items()}
            independent = arm.startswith((EVEN, RARE))
            bound = 1 / (1 + t[place] * np.log(t[place]) ** 2)
            rows.append(row | {"likelihood ratio's bound": f"{bound:.1e}" if independent else ""})
    return rows


def draw(shares: dict[tuple[str, str], dict[str, np.ndarray]], horizon: int) -> Pictures:
    """Shares of false alarms or misses against the round, a panel for each arm and schedule."""
    known = schedules(horizon)
    lines = {
        f"{arm},\nplayed {schedule}": {test: (known[schedule][0], 3 * (share,)) for test, share in of_tests.items()}
        for (arm, schedule), of_tests in shares.items()
    }
    axes = {"xscale": "log", "xlabel": "round t", "ylim": (-0.02, 1.02)}
    yield "tests", curves(lines, 4, "share of wrong verdicts", **axes)
