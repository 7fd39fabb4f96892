"""Policies against two independent oracles: exact enumeration, and float64 loops written from the paper."""

import ast
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_law, check_same_arms
from every_policy import ARMS, POLICIES
from scipy import stats

import jaxbandit
from jaxbandit import ALL, Oracle, Task, Uniform, two_state

# those that depend on more than counts and the round; the oracle of DMED is in test_independent.py, those of RCA and
# DSEE are in test_restless.py, those of UCB2, Boltzmann and EpsilonGreedy in test_textbook.py
OTHERS = """Boltzmann DMED DSEE EpsilonGreedy GradientBandit PosteriorGittins RCA Thompson ThompsonMC UCB2
Uniform""".split()
DETERMINISTIC = [name for name in ALL if name not in OTHERS]


def rewards(name, arms=3):
    """IMED of rewards 0 and 1 ties where log T of one arm is T d of another (3 log 2 = log 8), which rounding decides;
    with these only arms with equal counts tie, and the lower arm is played. IMED-MC sees shares of states, which are
    ratios of counts; with these the share that one arm needs for the mean of another is none. An index of estimates is
    the mean of a row, or of two equal ones, and ties with another arm's with the same rewards."""
    if name in ("IMEDMC", "PlugInGittins"):
        return [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91)][:arms]
    return (0.1, 0.83) if name == "IMED" else (0.0, 1.0)


# The fields that differ from the defaults, a line of cases a policy. In KLUCBMC with an exploration of 3 log f(2) is 0,
# over 0 departures. In KLUCB an exploration of 2 is Agrawal's level, the arm's clock without exploration KL-UCB+, a
# horizon KL-UCB++.
FIELDS = """
TVKLUCB: samples="state", clock="arm", exploration=3.0; unvisited=0.0, exponent=0.3, scale=0.5
KLUCBMC: samples="state", exploration=3.0; unvisited=0.25, exploration=0.0
KLUCB: exploration=2.0; exploration=0.0, clock="arm"; exploration=3.0, clock="arm"; horizon=300.0
RoundRobinKLUCB: exploration=3.0, delta=0.25
UCBSM: L=2.0
UCB1: bonus=0.5
PlugInGittins: discount=0.5, prior=3.0; discount=0.9, prior=0.2
MOSS: horizon=300.0
UCBV: zeta=0.5, c=0.2
"""
SLOW_FIELDS = """
TVKLUCB: distance="squared_hellinger", scale=0.3; distance="jensen_shannon", scale=0.2; distance="kl", samples="state"
IMEDMC: exponent=0.5; exponent=0.2; gap=0.1; gap=1.0
JointKLUCB: exploration=0.0; exploration=3.0, clock="arm"
EmpiricalKLUCB: exploration=3.0
"""


def listed(text, marks=()):
    """A policy's name and its fields in each case."""
    rows = (line.partition(": ") for line in text.strip().splitlines())
    return [
        pytest.param(name, eval(f"dict({fields})"), marks=marks)
        for name, _, many in rows
        for fields in many.split("; ")
    ]


SLOW = ("IMEDMC", "JointKLUCB", "EmpiricalKLUCB")
DEFAULTS = [pytest.param(name, {}, marks=pytest.mark.slow if name in SLOW else ()) for name in DETERMINISTIC]


@pytest.mark.parametrize("name", ["KLUCBMC", "TVKLUCB", "IMED"])
def test_exact_law_of_ten_rounds(name):
    """In float32 all 1,024 trajectories against 20,000 runs, chi-square at 1e-9 (three cases)."""
    environment = two_state([0.5, 0.3], [0.4, 0.6], rewards(name, 2))
    law = reference.exact_law(name, environment.transition.tolist(), environment.reward.tolist(), 0, 10)
    result = jaxbandit.simulate(environment, {name: ALL[name]()}, runs=20_000, horizon=10, times=[10])
    check_law(result.visits[name][0, 0, :, 0], law)


@pytest.mark.parametrize(("name", "fields"), DEFAULTS + listed(FIELDS) + listed(SLOW_FIELDS, pytest.mark.slow))
def test_same_arm_as_the_reference_in_every_round(name, fields):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], rewards(name))
    check_same_arms(reference.play, name, fields, arms, runs=3, rounds=300)


@pytest.mark.parametrize("name", "IMED IMEDMC TVKLUCB UCB1Normal UCBV".split())
@pytest.mark.slow
def test_same_arm_as_the_reference_for_long(name):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], rewards(name))
    check_same_arms(reference.play, name, {}, arms, runs=8, rounds=2000)


slow = partial(pytest.param, marks=pytest.mark.slow)
OTHER_ARMS = [(name, {}, kind) for name in ("KLUCBMC", "TVKLUCB") for kind in ("reversed", "rare")]
OTHER_ARMS += [slow("JointKLUCB", {}, "reversed"), slow("IMEDMC", {}, "reversed"), slow("IMEDMC", {}, "rare")]
OTHER_ARMS += [slow("IMEDMC", {"exponent": 0.5}, "rare")]


@pytest.mark.parametrize(("name", "fields", "kind"), OTHER_ARMS)
def test_other_arms_against_the_reference(name, fields, kind):
    """Rewards the other way round, and arms that hardly move, which all begin in the state that pays less."""
    if kind == "reversed":
        arms, rounds = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], np.flip(rewards(name), -1)), 300
    else:
        arms, rounds = two_state([0.5, 0.0004, 0.0003], [0.4, 0.00055, 0.00065], rewards(name)), 1000
    check_same_arms(reference.play, name, fields, arms, runs=3, rounds=rounds)


@pytest.mark.slow
def test_uniform_plays_every_arm_alike():
    """Exact binomial tests at 1e-9 over 100,000 plays, alone and with two plays a round."""
    for plays in (1, 2):
        result = jaxbandit.simulate(ARMS, {"u": Uniform()}, runs=500, horizon=200, times=[200], plays=plays)
        for count in result.visits["u"][0, 0, :, 0].sum((0, -1)):
            assert stats.binomtest(int(count), 100_000, plays / 3).pvalue > 1e-9


def test_thompson_keeps_few_failures_among_many_plays():
    """At 2^24 plays and more, plays less rewards would lose the failures and the prior, or turn negative: NaN."""
    policy = ALL["Thompson"]()
    reward = jnp.array([[0.0, 1.0, 1.0]] * 4)
    counts = jnp.array([[3, 2**24 + 1, 7], [0, 2**29, 2**28 + 1], [0, 2**25 + 3, 2**26 + 5], [1, 0, 2**30]], jnp.int32)
    state = policy.init(reward)._replace(counts=counts)
    keys = jax.random.split(jax.random.key(0), 2000)
    draws = jax.jit(jax.vmap(lambda key: policy.scores(key, state, 2**30)[0]))(keys)
    assert jnp.isfinite(draws).all()


BAD = """
TVKLUCB: samples="play"; clock="wall"; distance="hellinger"; test="ratio"; scale=-1.0; exponent=-0.25
KLUCBMC: unvisited=1.5
RoundRobinKLUCB: delta=0.5
UCBSM: L=-1.0
RCA: L=-1.0
DSEE: D=0.0
UCB1: bonus=-1.0
UCB2: alpha=0.0; alpha=1.0
UCBV: zeta=-1.0; c=-1.0
EpsilonGreedy: epsilon=1.5; epsilon=-0.1; c=0.0, d=0.5; d=0.0, c=1.0; d=1.5, c=1.0; d=0.5, epsilon=0.1, c=None
ExploreThenCommit: m=0; m=2.5
Boltzmann: temperature=0.0
Thompson: a=0.0; b=1e-38
ThompsonMC: leaving=0.0
Oracle: means=[0.1, 0.2]
KLUCB: solver="newton"; clock="wall"; horizon=0.0; horizon=300.0, exploration=0.0; horizon=300.0, clock="arm"
MOSS: horizon=-1.0
DMED: plus=1
EmpiricalKLUCB: exploration="log"; top="yes"
IMEDMC: exponent=0.0; gap=1.5; gap=0.1, exponent=0.5
JointKLUCB: clock="wall"
PlugInGittins: discount=1.0; prior=0.0; initial_state=2
PosteriorGittins: discount=-0.1
PosteriorWhittle: prior=0.0, paid="played"; discount=1.0, paid="played"
UCWhittle: discount=0.9999, paid="played"; eta=0.0, paid="played"; scale=-1.0, paid="played"
UCRL2: delta=0.0
KLUCRL: delta=1.0
UCRL2B: rewards="seen"
PSRL: prior=0.0; tsde=1; rewards=True
IMEDRL: normalised="no"
UCBVI: horizon=0, steps=4; bonus="B", steps=4, horizon=9; scale=-1.0, steps=4, horizon=9; delta=2.0, steps=4, horizon=9
"""


@pytest.mark.parametrize(("name", "fields"), listed(BAD))
def test_bad_fields(name, fields):
    """The first one is named."""
    policy = getattr(jaxbandit.policies, name)(**fields)
    with pytest.raises(ValueError, match=rf"^policies\['p'\].{next(iter(fields))}: "):
        jaxbandit.simulate(POLICIES[name][1], {"p": policy}, runs=1, horizon=9)


ENDS = """
TVKLUCB: exponent=0.0, scale=0.0, unvisited=0.0
KLUCBMC: unvisited=1.0
RoundRobinKLUCB: delta=0.0; delta=1 / 3
UCBSM: L=0.0
RCA: L=0.0
UCB1: bonus=0.0
UCB2: alpha=1e-6
UCBV: zeta=0.0, c=0.0
EpsilonGreedy: epsilon=0.0; epsilon=1.0; c=1e-3, d=1.0
Boltzmann: temperature=1e-30
DSEE: D=1e-3
MOSS: horizon=1e-3
Thompson: a=1e-3, b=1e-3
ThompsonMC: leaving=1e-30, staying=1e-30
IMEDMC: exponent=1e-3; gap=1.0
PlugInGittins: discount=0.0, prior=1e-3, initial_state=1
PosteriorGittins: discount=1 - 1e-6, initial_state=0
"""


def test_ends_of_ranges_are_allowed():
    for case in listed(ENDS):
        name, fields = case.values
        ALL[name](**fields).validate(Task(ARMS))


@pytest.mark.slow
def test_the_oracle_plays_the_best_arms_in_every_order():
    for plays in (1, 2):
        asked = {"runs": 50, "horizon": 20, "times": [20], "shuffle": True, "plays": plays}
        result = jaxbandit.simulate(ARMS, {"o": Oracle(ARMS.means())}, **asked)
        assert np.abs(jaxbandit.metrics.pseudo_regret(result, "o")).max() < 1e-12


def test_no_check_is_a_bare_assert():
    """In no module that users run: what `python -O` takes away is for tests alone."""
    package = Path(jaxbandit.__file__).parent
    for path in package.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path
