"""Bad input of `simulate`: each is a ValueError that names the argument, before anything is compiled."""

import json
from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np
import pytest

from jaxbandit import GLR, KLUCB, TVKLUCB, UCBSM, Oracle, Thompson, Uniform, Window, pytree, simulate, two_state
from jaxbandit.policies import ChainGLR, RoundRobin
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import provenance
from jaxbandit.testing import check_policy

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")


class NoPytree:
    """A policy whose author forgot the decorator."""

    def init(self, reward):
        return reward

    def scores(self, key, state, t):
        return state[:, 0], state

    def update(self, state, feedback):
        return state


TWO = two_state([0.5, 0.4], [0.4, 0.55])
BAD = [
    ({"runs": 0}, "runs: 0"),
    ({"horizon": 0}, "horizon: 0 is not among the integers from 1"),
    ({"horizon": 2**31}, r"horizon: 2147483648 is not among"),
    ({"plays": 4}, "plays: 4"),
    ({"times": [5, 3]}, "times: not sorted"),
    ({"times": [3, 11]}, "times: rounds 3..11 reach beyond 1..10"),
    ({"times": []}, "times: give a list"),
    ({"key": 3}, "key: 3 is not one key"),
    ({"key": jax.random.key(0, impl="rbg")}, "key: only keys of the default"),
    ({"chunk": 0}, "chunk: 0"),
    ({"devices": []}, "devices: an empty list"),
    ({"scenarios": {}}, "scenarios: none given"),
    ({"scenarios": {"a": ARMS, "b": TWO}}, "scenarios: 'b' has"),
    ({"policies": {}}, "policies: give a dict"),
    ({"policies": {"k": []}}, r"policies\['k'\]: an empty list"),
    ({"policies": {"k": KLUCB}}, r"policies\['k'\]: KLUCB is a class"),
    ({"policies": {"k": "KLUCB"}}, r"policies\['k'\]: a policy is needed, and str has no init, scores, update$"),
    ({"policies": {"k": RoundRobin()}}, r".* no init, scores, update; give Identify\(sampling=RoundRobin\(\)\)$"),
    ({"policies": {"k": ChainGLR()}}, r".*; give Identify\(stopping=ChainGLR\(\)\)$"),
    ({"policies": {"k": GLR(horizon=9)}}, r".*; give WithDetector\(KLUCB\(\), GLR\(\.\.\)\)$"),
    ({"policies": {"k": Window(9)}}, r".*; give KLUCB\(memory=Window\(\.\.\)\)$"),
    ({"policies": {"k": NoPytree()}}, r"policies\['k'\]: NoPytree is not a pytree"),
    ({"policies": {1: KLUCB(), "1": UCBSM()}}, "policies: two names are the same"),
    ({"policies": {"k": KLUCB(exploration="x")}}, r"policies\['k'\].exploration: 'x' is not a number"),
    ({"policies": {"k": KLUCB(exploration=float("nan"))}}, r"policies\['k'\].exploration: nan lies outside"),
    ({"policies": {"k": KLUCB(exploration=np.array([0.0, 3.0]))}}, r"policies\['k'\].exploration: .* give a list"),
    ({"scenarios": [ARMS]}, "scenarios: a list has no names; give a dict"),
    ({"scenarios": None}, r"scenarios\['scenario'\]: an environment is needed, and NoneType has no means"),
    ({"resume": "x.npz"}, "resume: 'x.npz' is not a Result"),
    ({"devices": "cpu"}, "devices: 'cpu' is not a list"),
    ({"policies": {"k": [KLUCB(), UCBSM()]}}, r"policies\['k'\]: .* are not alike"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input_is_refused_before_compilation(change, message):
    arguments = {"scenarios": ARMS, "policies": {"k": KLUCB()}, "runs": 2, "horizon": 10} | change
    with pytest.raises(ValueError, match=f"^{message}"):
        simulate(arguments.pop("scenarios"), arguments.pop("policies"), **arguments)


POLICIES = {"tv": TVKLUCB(), "ucb": UCBSM(2.0)}
COMMON = {"runs": 4, "horizon": 300, "times": [7, 150, 299, 300]}


@pytest.fixture(scope="module")
def done():
    return simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON)


@pytest.mark.slow
def test_resume_names_what_changed(done):
    for name, value in {"runs": 5, "key": jax.random.key(1), "plays": 2, "shuffle": True}.items():
        with pytest.raises(ValueError, match=f"resume: {name} changed since"):
            simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON | {name: value}, resume=done)
    with pytest.raises(ValueError, match=r"resume: policies\['ucb'\]\.L changed since"):
        simulate({"a": ARMS, "b": OTHER}, {**POLICIES, "ucb": UCBSM(3.0)}, **COMMON, resume=done)
    with pytest.raises(ValueError, match="resume: scenarios changed since"):
        simulate({"b": OTHER, "a": ARMS}, POLICIES, **COMMON, resume=done)
    with pytest.raises(ValueError, match="resume: .* other times"):
        simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON | {"times": [8, 300]}, resume=done)
    with pytest.raises(ValueError, match="resume: .* 300 rounds already"):
        simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON | {"horizon": 200, "times": [7, 150]}, resume=done)


@pytree
class Nested:
    """Hyper-parameters that are not single numbers: a policy inside, a large table, none."""

    inner: KLUCB
    table: np.ndarray
    nothing: float | None = None

    init, scores, update = NoPytree.init, NoPytree.scores, NoPytree.update


def test_provenance_says_every_value():
    policies = {"kl": [KLUCB(0.5, solver="bisection"), KLUCB(np.float32(0.1), solver="bisection")]}
    policies |= {"o": Oracle([0.0, 1.0, 2.0]), "n": Nested(KLUCB(3.0), np.zeros((300, 2)))}
    text = json.loads(json.dumps(provenance(check(ARMS, policies))))
    kl, o, n = (text["policies"][label] for label in policies)
    values = {"exploration": [0.5, float(np.float32(0.1))], "solver": ["bisection"] * 2, "clock": ["round"] * 2}
    assert kl == {"class": "KLUCB", "hyperparameters": values}
    assert o["hyperparameters"] == {"means": [[0.0, 1.0, 2.0]]}
    inner = {"inner.exploration": [3.0], "inner.clock": ["round"], "inner.solver": ["halley"]}
    assert n["hyperparameters"] == inner | {"table": ["float64[300, 2]"]}
    assert text["versions"]["numpy"] == np.__version__


@pytest.mark.slow
def test_an_environment_without_rewards_and_a_short_horizon():
    class NoReward:
        means = init = step = lambda self, *inputs: None

    with pytest.raises(ValueError, match=r"scenarios\['scenario'\]: .* NoReward has no reward"):
        simulate(NoReward(), {"k": KLUCB()}, runs=2, horizon=10)
    for policy in (Uniform(), Thompson(), Oracle(ARMS.means()), KLUCB()):
        assert simulate(ARMS, {"p": policy}, runs=2, horizon=2, times=[2]).visits["p"].sum() == 4


@pytest.mark.slow
def test_a_stopped_result_is_complete_where_no_more_is_asked_for(done):
    stopped = replace(done, horizon=600)  # as one that Ctrl-C ended at 300 of 600 rounds
    assert not stopped.complete
    result = simulate({"a": ARMS, "b": OTHER}, POLICIES, **COMMON, resume=stopped)
    assert result.complete and result.horizon == result.rounds == 300
    np.testing.assert_array_equal(result.visits["tv"], done.visits["tv"])


class Fixed(NamedTuple):
    """A policy that is a tuple, too."""

    means: np.ndarray

    def init(self, reward):
        return reward

    def scores(self, key, state, t):
        return self.means, state

    def update(self, state, feedback):
        return state


@pytest.mark.slow
def test_a_named_tuple_is_a_policy_and_no_list_of_variants():
    good, other = Fixed(np.array([0.0, 1.0, 0.5])), Fixed(np.array([1.0, 0.0, 0.5]))
    check_policy(good, arms=3)
    result = simulate(ARMS, {"one": good, "two": [good, other]}, runs=2, horizon=9, times=[9])
    assert result.visits["one"].sum((0, 1, 2, 3, 5)).tolist() == [0, 18, 0]
    assert result.visits["two"].sum((0, 2, 3, 5)).tolist() == [[0, 18, 0], [18, 0, 0]]
    assert result.hyperparameters("one") == {"means": [[0.0, 1.0, 0.5]]}
