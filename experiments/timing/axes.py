"""The axes of the benchmark, their values, and the case that each value plays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jax import Array

import jaxbandit
from jaxbandit import Environment, Policy, environments, families
from jaxbandit.families.table import tabulated
from jaxbandit.policies import Blocks, Identify
from jaxbandit.timing.stopwatch import arms_of

Case = dict[str, Any]  # arms, policy and arguments of `simulate`: what is not scenario 1, TV-KL-UCB, and so on

MANY = 1e9  # rounds that policies are told of, more than a timing plays
POLICIES: dict[str, Policy] = {name: policy() for name, policy in jaxbandit.ALL.items()} | {
    "KL-UCB+": jaxbandit.KLUCB(exploration=0.0, clock="arm"),
    "KL-UCB++": jaxbandit.KLUCB(horizon=MANY),
    "Exp3": jaxbandit.Exp3(gamma=0.01),
    "Exp3.S": jaxbandit.Exp3S(gamma=0.01, alpha=1e-5),
    "Rexp3": jaxbandit.Rexp3(gamma=0.05, batch=1000),
    "Tsallis-INF": jaxbandit.TsallisINF(),
    "D-UCB": jaxbandit.DiscountedUCB(discount=0.999),
    "SW-UCB": jaxbandit.SlidingWindowUCB(window=1000),
    "KL-UCB window": jaxbandit.KLUCB(memory=jaxbandit.Window(1000)),
    "KL-UCB with GLR": jaxbandit.WithDetector(jaxbandit.KLUCB(), jaxbandit.GLR(horizon=MANY)),
    "KL-UCB with CUSUM": jaxbandit.WithDetector(jaxbandit.KLUCB(), jaxbandit.CUSUM(horizon=MANY, changes=5)),
}
LEARNERS: dict[str, Policy] = {
    "UCRL2": jaxbandit.UCRL2(),
    "PSRL": jaxbandit.PSRL(),
    "IMED-RL": jaxbandit.IMEDRL(),
    "UCBVI": jaxbandit.UCBVI(steps=20, horizon=MANY),
}
DELTA = 1e-30  # with arms that are all alike no run stops while it is timed
IDENTIFY: dict[str, tuple[int, int, int, Policy]] = {  # arms, states, rounds, policy
    "ChainGLR": (2, 2, 5_000, Identify(delta=DELTA)),
    "ChainGLR ten arms": (10, 2, 2_000, Identify(delta=DELTA)),
    "ChainGLR three states": (2, 3, 300, Identify(delta=DELTA)),
    "Blocks": (2, 2, 2_000, Identify(stopping=Blocks(), delta=DELTA)),
}
RUNS, LAST = 64, 100  # runs and last rounds in which computed indices are counted
LENGTHS, LONG = (1_000, 10_000, 100_000), 1_000_000  # rounds of the rows on demand


Known = Callable[[Any], Array]  # of a policy's state, [K]: what is another number after an index was computed
ON_DEMAND: dict[str, tuple[int, Policy, Known]] = {  # states of five arms, and a policy that computes indices on demand
    "IMED-MC three states": (3, jaxbandit.IMEDMC(), lambda state: state.bounds.mean),
    "TV-KL-UCB eight states": (8, jaxbandit.TVKLUCB(), lambda state: state.known.uppers.radius),
}


def changing(name: str) -> Case:
    """Five arms whose levels or chains change."""
    if name == "levels":
        levels = [[0.5, 0.4, 0.3, 0.2, 0.1]] * 2 + [[0.1, 0.2, 0.3, 0.4, 0.5]]
        return {"arms": environments.piecewise([5001, 10_001], levels), "policy": jaxbandit.UCB1()}
    rows = np.asarray(arms_of(5, 2).transition)
    return {"arms": environments.changing_markov([5001], [rows, rows[::-1]], (0, 1)), "policy": jaxbandit.UCB1()}


def process(name: str) -> Case:
    """Six states of RiverSwim, in episodes for the policy that needs them."""
    steps = 20 if name == "UCBVI" else None
    return {"arms": environments.riverswim(steps=steps), "policy": LEARNERS[name]}


def budget(name: str) -> Case:
    """Random restless arms of three states that all pay, a policy, and how many it plays a round."""
    policy, plays, _, count = name.split()
    random, number = np.random.default_rng(0), int(count)
    rows = random.dirichlet(np.ones(3), (2, number, 3))
    arms = environments.restless(rows[0], (0.0, 0.5, 1.0), rows[1], observed=True, paid="all")
    table = jaxbandit.Whittle(random.random((number, 3)))  # a round takes as long whatever the numbers
    played = table if policy == "Whittle" else jaxbandit.PosteriorWhittle()
    return {"arms": arms, "policy": played, "plays": int(plays)}


def independent(value: str) -> Case:
    """Five arms with independent rewards, and a policy that knows their family: by the names of both."""
    means = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
    rewards, name = value.split()
    make = {
        "Bernoulli": jaxbandit.bernoulli,
        "Gaussian": environments.gaussian,
        "Poisson": environments.poisson,
        "beta": lambda means: environments.beta(4 * means, 4 - 4 * means),
    }[rewards]
    known = {"family": families.Gaussian()} if value == "Gaussian KLUCB" else {}
    return {"arms": make(means), "policy": jaxbandit.ALL[name](**known)}


def family(name: str) -> Case:
    """KL-UCB with a family; that of chains of two states in closed form, and by the table that more states need."""
    generator, reward = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.0, 1.0])
    make: dict[str, Callable[[], Any]] = {
        "Bernoulli": families.Bernoulli,
        "Gaussian": families.Gaussian,
        "Poisson": families.Poisson,
        "Exponential": families.Exponential,
        "chains": lambda: families.chain_family(generator, reward),
        "chains by table": lambda: tabulated(generator, reward),
    }
    return {"policy": jaxbandit.KLUCB(family=make[name]())}


def identification(name: str) -> Case:
    """Arms that no rule tells apart, so that no run stops."""
    number, states, horizon, policy = IDENTIFY[name]
    if states == 2:
        arms = jaxbandit.two_state([0.5] * number, [0.4] * number)
    else:
        rows = np.full((states, states), 0.5 / states) + 0.5 * np.eye(states)
        arms = environments.markov(np.tile(rows, (number, 1, 1)), np.tile(np.linspace(0, 1, states), (number, 1)))
    return {"arms": arms, "policy": policy, "horizon": horizon, "until": "stopped"}


def on_demand(value: str) -> Case:
    """A policy of this axis in a game of so many rounds."""
    name, _, rounds = value.partition(", ")
    states, policy, _ = ON_DEMAND[name]
    horizon = int(rounds.removesuffix(" rounds").replace(",", ""))
    return {"arms": arms_of(5, states), "policy": policy, "horizon": horizon}


AXES: dict[str, tuple[tuple[Any, ...], Callable[[Any], Case]]] = {  # values, and the case of each
    "policy": (tuple(POLICIES), lambda name: {"policy": POLICIES[name]}),
    "runs": ((1, 100, 1000, 10_000, 100_000), lambda runs: {"runs": runs}),
    "arms": ((2, 5, 20, 100), lambda number: {"arms": arms_of(number, 2)}),
    "states": ((2, 3, 8, 32), lambda states: {"arms": arms_of(5, states)}),
    "horizon": ((10_000, 100_000, 1_000_000), lambda horizon: {"horizon": horizon}),
    "scenarios": ((1, 4, 16), lambda number: {"scenarios": number}),
    "variants": ((1, 4, 16), lambda number: {"variants": number}),
    "changing": (("levels", "chains"), changing),
    "processes": (tuple(LEARNERS), process),
    "budget": (("Whittle 10 of 100", "Whittle 100 of 1000", "PosteriorWhittle 10 of 100"), budget),
    "rewards": (
        ("Bernoulli UCB1", "Gaussian UCB1", "Bernoulli KLUCB", "Gaussian KLUCB", "Poisson UCB1", "beta UCB1"),
        independent,
    ),
    "family": (("Bernoulli", "Gaussian", "Poisson", "Exponential", "chains", "chains by table"), family),
    "identification": (tuple(IDENTIFY), identification),
    "on demand": (tuple(f"{name}, {rounds:,} rounds" for name in ON_DEMAND for rounds in (*LENGTHS, LONG)), on_demand),
}


def computed_share(arms: Environment, policy: Policy, known: Known, horizon: int, runs: int = RUNS) -> float:
    """Of the arms that were not played in a round the share whose index was computed, over the last rounds.

    Args:
      known: of the policy's state, [K]: a number that changes where an index is computed, and is negative where none
        has been since the arm's last play.
    """
    times = range(max(1, horizon - LAST), horizon + 1)
    size: Case = {"runs": runs, "horizon": horizon, "times": times, "progress": False}
    result = jaxbandit.simulate(arms, {"": policy}, record={"known": lambda arms, state, t: known(state)}, **size)
    number = np.asarray(result.recorded["known"][""])[0, 0]  # [run, time, K]
    plays = result.visits[""][0, 0].reshape(*number.shape, -1).sum(-1)
    rested = plays[:, 1:] == plays[:, :-1]
    computed = (number[:, 1:] != number[:, :-1]) & (number[:, 1:] >= 0)
    return float(computed[rested].mean())
