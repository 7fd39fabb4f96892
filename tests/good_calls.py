"""A good call of what makes arms and policies and plays them, small and fast; `test_bad_input` replaces arguments."""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from bad_input import Call

import jaxbandit
from jaxbandit import environments, families
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import programs

FOLDER = Path(tempfile.mkdtemp(prefix="jaxbandit-bad-input-"))
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ROWS = np.array([[[0.5, 0.5], [0.4, 0.6]], [[0.6, 0.4], [0.55, 0.45]]])
PAID = np.array([[0.0, 1.0], [0.0, 1.0]])
STARTS = np.array([[1.0, 0.0], [0.5, 0.5]])
THREE = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
COUNTS = np.array([[60, 40], [40, 20]])
KEY = jax.random.wrap_key_data(np.zeros(2, np.uint32), impl="threefry2x32")
ARMS = jaxbandit.markov(ROWS, PAID)
IID = jaxbandit.bernoulli([0.5, 0.4])
RESTLESS = environments.restless([[[0.8, 0.2], [0.2, 0.8]]] * 2, (0, 1))
ALL_PAY = environments.restless(RESTLESS.transition, (0, 1), [[[0.9, 0.1], [0.3, 0.7]]] * 2, observed=True, paid="all")
HIDDEN = environments.hidden([[[0.9, 0.1], [0.2, 0.8]]] * 2, [[0.2, 0.7], [0.1, 0.3]])
PROCESS = environments.decision_process(ROWS, PAID)
CASE = {"scenarios": ARMS, "policies": {"U": jaxbandit.UCB1()}, "key": KEY, "runs": 2, "horizon": 3, "times": [1, 2, 3]}
RUN = {"key": KEY, "runs": 2, "horizon": 3, "plays": 1, "times": [1, 2, 3], "progress": False}
LATE = {"delay": 1, "batch": 1}
ASKED = {**RUN, **LATE, "shuffle": False, "random_numbers": "common", "chunk": 3, "tile": 2, "devices": None}


def traced(scenarios: Any, policies: Any) -> Any:
    """What `simulate` does before it compiles anything: it checks its arguments, then traces every program."""
    return programs(check(scenarios, policies, KEY, 2, 3))


def policy(kind: type, arms: Any = ARMS, **fields: Any) -> Call:
    return Call(lambda **given: traced(arms, {"p": kind(**given)}), fields, also="family")


def detector(kind: type, **fields: Any) -> Call:
    return Call(lambda **given: traced(ARMS, {"p": jaxbandit.WithDetector(jaxbandit.UCB1(), kind(**given))}), fields)


def played(make: Any, **arguments: Any) -> Call:
    """An environment that is made and then traced."""
    return Call(lambda **given: traced(make(**given), {"p": jaxbandit.UCB1()}), arguments)


def taken(make: Any, **arguments: Any) -> Call:
    """A decision process that is made and then traced."""
    return Call(lambda **given: traced(make(**given), {"p": jaxbandit.Uniform()}), arguments)


def swept(**given: Any) -> Any:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        given["folder"] = f"{folder}/sweep" if given["folder"] is FOLDER else given["folder"]
        return jaxbandit.sweep(**given)


def recorded(environment: Any, policy: Any, t: Any) -> Any:
    return t


SIMULATE = {
    "simulate": Call(jaxbandit.simulate, {"scenarios": ARMS, "policies": {"U": jaxbandit.UCB1()}, **ASKED}),
    "simulate resumed": Call(
        jaxbandit.simulate,
        {"scenarios": ARMS, "policies": {"U": jaxbandit.UCB1()}, **RUN, "record": None, "resume": None},
    ),
    "simulate recording": Call(
        lambda record: jaxbandit.simulate(ARMS, {"U": jaxbandit.UCB1()}, **RUN, record={"r": record}),
        {"record": recorded},
    ),
    "simulate one scenario": Call(
        lambda scenarios: traced({"a": ARMS, "b": scenarios}, {"U": jaxbandit.UCB1()}), {"scenarios": ARMS}
    ),
    "simulate one policy": Call(lambda policies: traced(ARMS, {"p": policies}), {"policies": jaxbandit.UCB1()}),
    "simulate two policies": Call(
        lambda policies: traced(ARMS, {"p": [jaxbandit.UCB1(), policies]}), {"policies": jaxbandit.UCB1()}
    ),
    "sweep": Call(
        swept,
        {
            "cases": {"a": CASE},
            **{"folder": FOLDER, "executor": None, "block": 2, "every": 1.0, "progress": False},
        },
        (OSError,),
    ),
    "grid": Call(jaxbandit.grid, {"make": lambda scale, kind: {}, "scale": [1, 2], "kind": ["x"]}),
}

ENVIRONMENTS = {
    "markov": played(jaxbandit.markov, transition=ROWS, reward=PAID, initial_state=0),
    "two_state": played(jaxbandit.two_state, p01=[0.5, 0.4], p10=[0.4, 0.55], reward=[0.0, 1.0], initial_state=[0, 1]),
    "bernoulli": played(jaxbandit.bernoulli, means=[0.5, 0.4], initial_state=0),
    "random_arms": played(jaxbandit.random_arms, key=KEY, arms=2, states=2, concentration=1.0, initial_state=0),
    "environments.restless": played(
        environments.restless, transition=ROWS, reward=PAID, passive=ROWS, initial_state="stationary", observed=True
    ),
    "environments.restless all": played(
        environments.restless, transition=ROWS, reward=PAID, passive=ROWS, observed=True, paid="all", cost=[0.1, 0.2]
    ),
    "environments.hidden": played(
        environments.hidden, transition=ROWS, emission=STARTS, reward=[0.0, 1.0], initial_state=0
    ),
    "environments.piecewise": played(environments.piecewise, breaks=[2], levels=[[0.5, 0.4], [0.4, 0.5]], horizon=3),
    "environments.sinusoid": played(environments.sinusoid, horizon=3, budget=1.0, amplitude=0.5, until=1.0),
    "environments.lower_bound_instance": played(environments.lower_bound_instance, horizon=3, budget=1.0, arms=2),
    "environments.rewards_table": played(
        environments.rewards_table, rewards=[[0.5, 0.4], [0.0, 1.0], [1.0, 0.0]], draw=True
    ),
    "environments.changing_markov": played(
        environments.changing_markov,
        **{"breaks": [2], "transition": [ROWS, ROWS[::-1]], "reward": PAID, "initial_state": "stationary"},
        **{"restless": False, "horizon": 3},
    ),
    "environments.restarting": played(environments.restarting, arms=ARMS, discount=0.9),
    "environments.decision_process": taken(
        environments.decision_process, transition=ROWS, reward=PAID, initial_state=[0.5, 0.5], steps=2
    ),
    "environments.riverswim": taken(
        environments.riverswim,
        **{"states": 3, "up": 0.35, "down": 0.05, "up_first": 0.6, "down_last": 0.4, "reward_left": 0.005},
        **{"reward_right": 1.0, "slip": 0.01, "initial_state": 0, "steps": None},
    ),
    "environments.grid": taken(environments.grid, plan=["S.", "#G"], slip=0.1, steps=3),
    "environments.random_decision_process": taken(
        environments.random_decision_process,
        **{"key": KEY, "states": 3, "actions": 2, "concentration": 1.0, "initial_state": 0, "steps": None},
    ),
    "environments.as_decision_process": taken(environments.as_decision_process, arms=ARMS, most_states=64, steps=None),
    "environments.gaussian": played(environments.gaussian, means=[0.5, 0.4], deviation=[1.0, 2.0]),
    "environments.poisson": played(environments.poisson, means=[0.5, 0.4]),
    "environments.exponential": played(environments.exponential, means=[0.5, 0.4]),
    "environments.beta": played(environments.beta, a=[0.5, 2.0], b=[0.5, 3.0]),
    "environments.uniform": played(environments.uniform, low=[0.0, 0.1], high=[1.0, 0.5]),
    "environments.exponential_family": played(
        environments.exponential_family, theta=[-1.0, 1.0], generator=ROWS[0], reward=[0.0, 1.0], initial_state=0
    ),
    "environments.fit_exponential_family": Call(
        environments.fit_exponential_family, {"counts": [COUNTS, COUNTS], "generator": ROWS[0], "reward": [0.0, 1.0]}
    ),
    "environments.fit": Call(
        environments.fit,
        {
            **{"data": [[0, 1, 0, 0, 1], [1, 0, 1, 1, 0]], "reward": [0.0, 1.0]},
            **{"prior": 0.5, "level": 0.01, "initial_state": 0},
        },
        (OSError,),
    ),
    "environments.fit of rewards": Call(
        environments.fit, {"data": [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0]], "prior": 0.5}, (OSError,)
    ),
    "environments.fit of a file": Call(
        environments.fit, {"data": environments.EXAMPLE, "columns": {"arm": "arm", "round": "step"}}, (OSError,)
    ),
}

POLICIES = {
    "CUSUM": detector(jaxbandit.CUSUM, first=5, drift=0.1, threshold=None, horizon=100, changes=2),
    "DMED": policy(jaxbandit.DMED, plus=True),
    "DSEE": policy(jaxbandit.DSEE, D=10.0),
    "Discounted": policy(lambda **given: jaxbandit.UCB1(memory=jaxbandit.Discounted(**given)), discount=0.9),
    "DiscountedThompson": policy(jaxbandit.DiscountedThompson, IID, discount=0.9, a=1.0, b=1.0),
    "DiscountedUCB": policy(jaxbandit.DiscountedUCB, IID, discount=0.9, xi=0.6),
    "DiscountedUCB by changes": policy(jaxbandit.DiscountedUCB, IID, discount=None, xi=0.6, horizon=100, changes=2),
    "EmpiricalKLUCB": policy(
        jaxbandit.EmpiricalKLUCB, exploration=1.0, top=False, solver="halley", memory=jaxbandit.Window(3)
    ),
    "Exp3": policy(jaxbandit.Exp3, gamma=0.1, horizon=None),
    "Exp3S": policy(jaxbandit.Exp3S, gamma=None, alpha=0.1, horizon=100, hardness=2),
    "GLR": detector(jaxbandit.GLR, delta=0.1, alpha=None, horizon=100, changes=2, grid=10, corners=4),
    "Gittins": policy(jaxbandit.Gittins, indices=PAID, unseen=[0.5, 0.5]),
    "Gittins.of": Call(jaxbandit.Gittins.of, {"arms": ARMS, "discount": 0.9}),
    "GradientBandit": policy(jaxbandit.GradientBandit, optimiser=None, learning_rate=0.1),
    "HiddenMyopic": policy(
        jaxbandit.HiddenMyopic, HIDDEN, transition=HIDDEN.transition, emission=HIDDEN.emission, initial=STARTS
    ),
    "HiddenMyopic.of": Call(jaxbandit.HiddenMyopic.of, {"environment": HIDDEN}),
    "IMED": policy(jaxbandit.IMED, family=None),
    "IMEDMC": policy(jaxbandit.IMEDMC, exponent=0.5, gap=None),
    "IMEDRL": policy(jaxbandit.IMEDRL, PROCESS, rewards="learned", normalised=True),
    "JointKLUCB": policy(jaxbandit.JointKLUCB, exploration=1.0, clock="round"),
    "KLUCB": policy(
        jaxbandit.KLUCB,
        **{"exploration": 1.0, "solver": "halley", "family": None, "horizon": None, "clock": "round"},
        memory=jaxbandit.Discounted(0.9),
    ),
    "KLUCBMC": policy(jaxbandit.KLUCBMC, exploration=1.0, unvisited=1.0, samples="arm", solver="halley"),
    "KnownProcess": policy(jaxbandit.KnownProcess, PROCESS, actions=[1, 0]),
    "KnownProcess.of": Call(jaxbandit.KnownProcess.of, {"process": PROCESS}),
    "KLUCRL": policy(jaxbandit.KLUCRL, PROCESS, delta=0.1, rewards="learned"),
    "KnownBreaks": detector(jaxbandit.KnownBreaks, breaks=[2, 5]),
    "MOSS": policy(jaxbandit.MOSS, horizon=100),
    "MUCB": detector(jaxbandit.MUCB, window=6, threshold=None, alpha=None, horizon=100, changes=2),
    "Myopic": policy(jaxbandit.Myopic, RESTLESS, transition=ROWS, initial=STARTS, passive=ROWS, paid="played"),
    "Myopic all": policy(jaxbandit.Myopic, ALL_PAY, transition=ROWS, initial=STARTS, paid="all", cost=[0.1, 0.2]),
    "Myopic.of": Call(jaxbandit.Myopic.of, {"environment": RESTLESS}),
    "Oracle": policy(jaxbandit.Oracle, means=[0.5, 0.4]),
    "PlugInGittins": policy(jaxbandit.PlugInGittins, discount=0.9, prior=1.0, initial_state=0),
    "PosteriorGittins": policy(jaxbandit.PosteriorGittins, discount=0.9, prior=1.0, initial_state=0),
    "PosteriorWhittle": policy(
        jaxbandit.PosteriorWhittle, ALL_PAY, cost=[0.0, 0.0], paid="all", prior=1.0, discount=0.9
    ),
    "PosteriorWhittle.of": Call(jaxbandit.PosteriorWhittle.of, {"arms": ALL_PAY, "prior": 1.0, "discount": 0.9}),
    "PSRL": policy(jaxbandit.PSRL, PROCESS, prior=1.0, rewards="known", tsde=False),
    "RCA": policy(jaxbandit.RCA, L=2.0),
    "Rexp3": policy(jaxbandit.Rexp3, gamma=0.1, batch=5, horizon=None, budget=None),
    "Rexp3 by budget": policy(jaxbandit.Rexp3, gamma=None, horizon=100, budget=2.0),
    "RoundRobinKLUCB": policy(jaxbandit.RoundRobinKLUCB, exploration=1.0, solver="halley", family=None, delta=0.0),
    "SlidingWindowUCB": policy(jaxbandit.SlidingWindowUCB, IID, window=3, xi=0.6),
    "SlidingWindowUCB by changes": policy(jaxbandit.SlidingWindowUCB, IID, window=None, xi=0.6, horizon=3, changes=2),
    "TUCRL": policy(jaxbandit.TUCRL, PROCESS, delta=0.1, rewards="learned"),
    "TVKLUCB": policy(
        jaxbandit.TVKLUCB,
        **{"exploration": 1.0, "unvisited": 1.0, "exponent": 0.25, "scale": 1.0, "samples": "arm", "clock": "round"},
        **{"distance": "total_variation", "solver": "halley"},
    ),
    "Thompson": policy(jaxbandit.Thompson, a=1.0, b=1.0, family=None),
    "ThompsonMC": policy(jaxbandit.ThompsonMC, leaving=1.0, staying=1.0),
    "TsallisINF": policy(jaxbandit.TsallisINF, reduced_variance=False),
    "UCB1": policy(jaxbandit.UCB1, bonus=2.0),
    "UCBSM": policy(jaxbandit.UCBSM, L=343.0),
    "UCBVI": policy(
        jaxbandit.UCBVI,
        environments.riverswim(3, steps=2),
        **{"steps": 2, "horizon": 100, "bonus": "BF", "delta": 0.1, "scale": 1.0},
    ),
    "UCRL2": policy(jaxbandit.UCRL2, PROCESS, delta=0.1, rewards="learned"),
    "UCRL2B": policy(jaxbandit.UCRL2B, PROCESS, delta=0.1, rewards="learned"),
    "UCWhittle": policy(
        jaxbandit.UCWhittle,
        ALL_PAY,
        **{"cost": [0.0, 0.0], "paid": "all", "eta": 0.1, "scale": 0.5, "discount": 0.9},
    ),
    "UCWhittle.of": Call(jaxbandit.UCWhittle.of, {"arms": ALL_PAY, "eta": 0.1, "scale": 0.5, "discount": 0.9}),
    "Uniform": policy(jaxbandit.Uniform),
    "LPPriority": policy(jaxbandit.LPPriority, ALL_PAY, indices=PAID, unseen=[0.5, 0.5], plays=1),
    "LPPriority.of": Call(jaxbandit.LPPriority.of, {"arms": ALL_PAY, "plays": 1}),
    "Whittle": policy(jaxbandit.Whittle, indices=PAID, unseen=[0.5, 0.5]),
    "Window": policy(lambda **given: jaxbandit.UCB1(memory=jaxbandit.Window(**given)), length=3),
    "Whittle.of": Call(jaxbandit.Whittle.of, {"arms": ARMS, "discount": 0.9}),
    "WhittleBelief": policy(
        jaxbandit.WhittleBelief, RESTLESS, transition=RESTLESS.transition, initial=STARTS, discount=0.9
    ),
    "WhittleLastSeen": policy(jaxbandit.WhittleLastSeen, RESTLESS, indices=[[[0.1, 0.2], [0.3, 0.2], [0.2, 0.2]]] * 2),
    "WhittleLastSeen.of": Call(jaxbandit.WhittleLastSeen.of, {"arms": RESTLESS, "ages": 3, "discount": 0.9}),
    "WhittleBelief.of": Call(jaxbandit.WhittleBelief.of, {"environment": RESTLESS, "discount": 0.9}),
    "WithDetector": policy(
        jaxbandit.WithDetector, policy=jaxbandit.KLUCB(), detector=jaxbandit.GLR(horizon=100), local=True
    ),
    "families.Bernoulli": policy(lambda **given: jaxbandit.KLUCB(family=families.Bernoulli(**given)), solver="halley"),
    "families.Gaussian": policy(lambda **given: jaxbandit.KLUCB(family=families.Gaussian(**given)), variance=1.0),
    "families.Poisson": policy(lambda: jaxbandit.KLUCB(family=families.Poisson())),
    "families.Exponential": policy(lambda: jaxbandit.KLUCB(family=families.Exponential())),
    "families.TwoStateChains": policy(
        lambda **given: jaxbandit.KLUCB(family=families.TwoStateChains(**given)), kappa=0.5, low=0.0, high=1.0, steps=1
    ),
    "families.TabledChains": policy(
        lambda **given: jaxbandit.KLUCB(family=families.TabledChains(**given)),
        jaxbandit.markov([THREE, THREE], (0.0, 0.5, 1.0)),
        **vars(families.chain_family(THREE, (0.0, 0.5, 1.0))),
    ),
    "families.chain_family": Call(families.chain_family, {"generator": ROWS[0], "reward": [0.0, 1.0]}),
}
