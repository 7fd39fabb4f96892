"""What `simulate` takes: bad input is refused by name before anything is compiled, what is recorded, what is traced."""

import functools
import json
from collections import namedtuple
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import GLR, KLUCB, TVKLUCB, UCBSM, Oracle, Thompson, Uniform, Window, pytree, simulate, two_state
from jaxbandit.base import Feedback
from jaxbandit.fast.target import traced_for
from jaxbandit.policies import ChainGLR, RoundRobin
from jaxbandit.policies.parts.memory import no_visits
from jaxbandit.simulation import tiles
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.library_code import ask
from jaxbandit.simulation.telling.fingerprint import provenance
from jaxbandit.testing import check_policy

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")


class NoPytree:
    """A policy whose author forgot the decorator."""

    init = lambda self, reward: reward
    scores = lambda self, key, state, t: (state[:, 0], state)
    update = lambda self, state, feedback: state


TWO = two_state([0.5, 0.4], [0.4, 0.55])
BAD = [
    ({"runs": 0}, "runs: 0"),
    ({"horizon": 0}, "horizon: 0 is not among the integers from 1"),
    ({"plays": 4}, "plays: 4"),
    ({"times": [5, 3]}, "times: not sorted"),
    ({"times": [3, 11]}, "times: rounds 3..11 reach beyond 1..10"),
    ({"times": []}, "times: give a list"),
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
    ({"policies": {"k": KLUCB(exploration=np.array([0.0, 3.0]))}}, r"policies\['k'\].exploration: .* give a list"),
    ({"scenarios": [ARMS]}, "scenarios: a list has no names; give a dict"),
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
    others = {"runs": 5, "key": jax.random.key(1), "plays": 2, "shuffle": True, "delay": 2, "batch": 3}
    others["random_numbers"] = "independent"
    for name, value in others.items():
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


class Fixed(NamedTuple):
    """A policy that is a tuple, too."""

    means: np.ndarray
    init = lambda self, reward: reward
    scores = lambda self, key, state, t: (self.means, state)
    update = lambda self, state, feedback: state


@pytest.mark.slow
def test_a_named_tuple_is_a_policy_and_no_list_of_variants():
    good, other = Fixed(np.array([0.0, 1.0, 0.5])), Fixed(np.array([1.0, 0.0, 0.5]))
    check_policy(good, arms=3)
    result = simulate(ARMS, {"one": good, "two": [good, other]}, runs=2, horizon=9, times=[9])
    assert result.visits["one"].sum((0, 1, 2, 3, 5)).tolist() == [0, 18, 0]
    assert result.visits["two"].sum((0, 2, 3, 5)).tolist() == [[0, 18, 0], [18, 0, 0]]
    assert result.hyperparameters("one") == {"means": [[0.0, 1.0, 0.5]]}


# what a policy thinks, recorded

JUDGED = {"tv": [TVKLUCB(scale=scale) for scale in (0.3, 1.0)], "ucb": UCBSM()}
judged = lambda arms, state, t, policy: policy.markovian(state, t + 1)
plays = lambda arms, state, t: arms.plays
mean = lambda arms, state, t: (jax.tree.leaves(state)[0].sum() / t).astype(jnp.float32)  # counts are the first leaf
RECORD = {"Markovian": {"tv": judged}, "plays": plays, "share": {"ucb": mean, "tv": mean}}
RECORDED = {"key": jax.random.key(5), "runs": 23, "horizon": 60, "times": [1, 7, 31, 60], "record": RECORD}


@pytest.fixture(scope="module")
def recorded():
    return simulate({"a": ARMS, "b": OTHER}, JUDGED, **RECORDED)


@pytest.mark.slow
def test_shapes_types_and_values(recorded):
    answer = {name: {label: (a.shape, a.dtype) for label, a in of.items()} for name, of in recorded.recorded.items()}
    assert answer == {
        "Markovian": {"tv": ((2, 2, 23, 4, 3), bool)},
        "plays": {"tv": ((2, 2, 23, 4, 3), np.uint32), "ucb": ((2, 1, 23, 4, 3), np.uint32)},
        "share": {"tv": ((2, 2, 23, 4), np.float32), "ucb": ((2, 1, 23, 4), np.float32)},
    }
    for label in recorded.labels:
        np.testing.assert_array_equal(recorded.recorded["plays"][label], recorded.visits[label].sum(-1))
        np.testing.assert_array_equal(recorded.recorded["share"][label], 1)
    dataset = recorded.to_xarray()
    assert dataset.Markovian.dims == ("scenario", "policy", "run", "time", "arm") and dataset.plays.dtype == np.uint32
    assert dataset.Markovian.dtype == float and np.isnan(dataset.Markovian.sel(policy="ucb")).all()
    np.testing.assert_array_equal(dataset.Markovian.sel(policy="tv"), recorded.recorded["Markovian"]["tv"])


@pytest.mark.slow
def test_what_is_recorded_is_what_the_policy_says_by_hand(recorded):
    """One run of each variant, played round by round without the simulator."""
    chance = jaxbandit.run_keys(RECORDED["key"], jnp.arange(23, dtype=jnp.int32))
    for v, policy in enumerate(JUDGED["tv"]):
        carry = jaxbandit.initial_carry(OTHER, policy, chance)
        for first, last, slot in ((1, 1, 0), (2, 7, 1), (8, 31, 2), (32, 60, 3)):
            carry, _ = jaxbandit.advance(OTHER, policy, chance, carry, first, last - first + 1)
            answer = jax.vmap(lambda state, p=policy, t=last: p.markovian(state, t + 1), in_axes=-1)(carry.policy)
            np.testing.assert_array_equal(recorded.recorded["Markovian"]["tv"][1, v, :, slot], answer)
    assert 0 < recorded.recorded["Markovian"]["tv"].mean() < 1


def test_with_orders_the_recorder_sees_the_policy_of_its_run():
    """An oracle in every run's own order: the policy that is handed over plays the best arm."""
    record = {"best": lambda arms, state, t, policy: jnp.argmax(policy.means)}
    oracle = {"o": jaxbandit.Oracle(ARMS.means())}
    result = simulate(ARMS, oracle, runs=20, horizon=5, times=[5], shuffle=True, record=record)
    assert len(np.unique(result.recorded["best"]["o"])) > 1


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"a/b": plays}, "record: the name 'a/b' is not a text without"),
        ({"x": lambda arms, state, t: arms.plays.astype(jnp.bfloat16)}, r"record\['x'\]: returns bfloat16"),
        ({"x": {"zz": plays}}, r"record\['x'\]: 'zz' is not a policy; there are tv, ucb"),
        ({"x": lambda state: state}, r"record\['x'\]: the function takes \(state\)"),
        ({"x": judged}, r"record\['x'\]: it fails on the state of 'ucb'"),
        ({"x": lambda arms, state, t: (t, t)}, r"record\['x'\]: returns tuple for 'tv', not one array"),
    ],
)
def test_what_cannot_be_recorded_is_refused_before_anything_is_played(record, words):
    with pytest.raises(ValueError, match=words):
        simulate(ARMS, JUDGED, runs=2, horizon=10, record=record)


# what methods return is looked at before anything is compiled; errors name policy, method and the user's line

SIZE = {"runs": 2, "horizon": 10, "progress": False}


def greedy(**methods):
    """A policy that plays the largest mean, with these methods in place of its own."""
    own = {
        "init": lambda self, reward: no_visits(reward),
        "scores": lambda self, key, state, t: (state.mean_and_plays()[0], state),
        "update": lambda self, state, feedback: state.counted(feedback),
    }
    return pytree(type("Greedy", (), own | methods))()


Two = namedtuple("Two", "count more")


def has_no_such_name(self, key, state, t):
    return undefined_name + t  # noqa: F821


def adds_what_does_not_fit(self, key, state, t):
    return state.counts + jnp.ones(7)


WRONG = [
    ({"scores": lambda self, key, state, t: (jnp.float32(t), state)}, r"scores: an array float32\[\] is not \[K\]"),
    ({"scores": lambda self, key, state, t: ((t, t), state)}, r"scores: tuple is not \[K\] = \(3,\)"),
    ({"scores": lambda self, key, state, t: (jnp.arange(3), state)}, r"scores: int32 is not a float"),
    ({"scores": lambda self, key, state, t: (jnp.arange(3.0), (state, t))}, r"scores: a state of"),
    ({"scores": lambda self, key, state, t: jnp.arange(3.0)}, r"scores: returns .*, not a pair; write `return scores"),
    ({"update": lambda self, state, feedback: None}, r"update: returns None; return the state after the round"),
    ({"init": lambda self, reward: jnp.zeros(3, int), "scores": lambda self, key, state, t: (1.0 * state, state),
      "update": lambda self, state, feedback: state + 0.5}, r"update: state was int32\[3\] and becomes float32\[3\];"),
    ({"init": lambda self, reward: Two(jnp.zeros(3), jnp.zeros(3)),
      "scores": lambda self, key, state, t: (state.count, state),
      "update": lambda self, state, feedback: state._replace(more=jnp.append(state.more, 1.0))},
     r"update: state\.more was float32\[3\] and becomes float32\[4\]"),
    ({"init": lambda self, reward: 0, "scores": lambda self, key, state, t: (jnp.zeros(3) + state, state),
      "update": lambda self, state, feedback: jnp.zeros(2) + state}, r"update: state was .*\[\].*becomes float32\[2\]"),
    ({"update": lambda self, state, feedback: (state, state)}, r"update: a state of the form .* becomes one"),
    ({"scores": has_no_such_name}, r"scores: test_arguments.py, line \d+: .*undefined_name \+ t .*NameError: name"),
    ({"scores": adds_what_does_not_fit}, r"scores: test_arguments.py, line \d+: return state.counts \+ jnp.ones"),
]  # fmt: skip


@pytest.mark.parametrize(("methods", "words"), WRONG, ids=[f"{words[:6]}{n}" for n, (_, words) in enumerate(WRONG)])
def test_what_cannot_be_played_is_refused_before_anything_is_compiled(methods, words, monkeypatch):
    monkeypatch.setattr(tiles, "_program", None)  # nothing is compiled
    with pytest.raises(ValueError, match=r"^policies\['mine'\]\." + words):
        simulate(ARMS, {"uniform": Uniform(), "mine": greedy(**methods)}, **SIZE)
    with pytest.raises(AssertionError, match=r"^Greedy\." + words):
        check_policy(greedy(**methods), arms=3)


def test_an_environment_is_looked_at_too():
    @pytree
    class Bad(type(ARMS)):
        def step(self, key, state, arms, t):
            return super(type(self), self).step(key, state, arms, t)[1]

    fields = {name: getattr(ARMS, name) for name in ARMS.__dataclass_fields__}
    for environment, message in (
        (Bad(**fields), r"\['scenario'\]\.step: returns Feedback, not a pair"),
        (type(ARMS)(**fields | {"reward": ARMS.reward[0]}), r"\['scenario'\]\.reward: shape \(2,\) is not \[K, S\]"),
        ([ARMS, ARMS], ": a list has no names; give a dict from name to environment"),
    ):
        with pytest.raises(ValueError, match=f"^scenarios{message}"):
            simulate(environment, {"u": Uniform()}, **SIZE)


@pytest.mark.parametrize("name", ["rewards", "visits"])
def test_names_of_what_results_have_anyway_are_not_recorders(name):
    arms = jaxbandit.environments.gaussian([0.1, 0.2])
    with pytest.raises(ValueError, match=f"^record: the name '{name}' is"):
        simulate(arms, {"u": Uniform()}, record={name: lambda arms, state, t: t}, **SIZE)
    assert "rewards" in simulate(arms, {"u": Uniform()}, **SIZE).recorded


@pytest.mark.slow
def test_nan_among_the_scores_is_noticed_in_the_very_round():
    """0/0 in round 7, in every run; and the logarithm of less than 0 in some runs. Infinite scores are none."""
    finite = greedy(scores=lambda self, key, state, t: (jnp.array([-jnp.inf, jnp.inf, 0.1]), state))
    zero = greedy(scores=lambda self, key, state, t: (jnp.where(t == 7, 0.0, 1.0) / (t - 7) * jnp.ones(3), state))
    with pytest.warns(UserWarning, match=r"^policies\['zero'\]: scores were NaN in 40 of 40 runs, first in round 7;"):
        result = simulate(ARMS, {"finite": finite, "zero": [zero, zero]}, runs=20, horizon=10, chunk=4)
    assert result.complete
    simulate(ARMS, {"finite": finite}, runs=20, horizon=10)  # warnings are errors here
    some = greedy(scores=lambda self, key, state, t: (jnp.log(jax.random.uniform(key, 3) - 0.001), state))
    with pytest.warns(UserWarning, match=r"scores were NaN in \d+ of 500 runs") as seen:
        short = simulate(ARMS, {"some": some}, runs=500, horizon=20)
    counted = int(str(seen[0].message).split(" in ")[1].split()[0])
    assert abs(counted / 500 - (1 - 0.999**60)) < 5 * (0.058 * 0.942 / 500) ** 0.5  # 5 standard errors: 1 in 10^6
    with pytest.warns(UserWarning, match="scores were NaN") as again:
        simulate(ARMS, {"some": some}, runs=500, horizon=21, resume=short)
    assert int(str(again[0].message).split(" in ")[1].split()[0]) >= counted


def test_the_code_of_the_library_is_traced_once(monkeypatch):
    """By the check before compilation, and not again for the program; no other test has so many arms."""
    calls, scores = [], KLUCB.scores

    @functools.wraps(scores)
    def counted(self, key, state, t):
        calls.append(t)
        return scores(self, key, state, t)

    monkeypatch.setattr(KLUCB, "scores", counted)
    arms = jaxbandit.bernoulli(np.linspace(0.2, 0.7, 29))
    simulate(arms, {"p": KLUCB()}, runs=3, horizon=90, chunk=40, progress=False)
    assert len(calls) == 1


def test_a_program_for_another_device_has_its_own_trace():
    """Where many counts are changed in another way."""
    policy, number = KLUCB(), jnp.zeros(1, jnp.int32)
    feedback = Feedback(number, number, number, jnp.zeros(1), jnp.int32(1))
    state = policy.init(jnp.zeros((40, 40)))

    def text(on_cpu):
        update = traced_for(on_cpu, lambda state, feedback: ask("update", policy, state, feedback))
        return str(jax.make_jaxpr(update)(state, feedback))

    assert text(True) == text(True) != text(False)
