"""What the counts depend on: changed code is refused by name, equal code is known again in every process."""

import json
import os
import subprocess
import sys
import types
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from environments import telling

import jaxbandit
from jaxbandit import KLUCB, GradientBandit, Myopic, Uniform, pytree, simulate, static, sweep, two_state
from jaxbandit.environments import restless
from jaxbandit.policies.parts.memory import no_visits
from jaxbandit.simulation import tiles
from jaxbandit.simulation.asking import tracing
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.telling.fingerprint import fingerprint

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
SIZE = {"runs": 5, "horizon": 40, "times": [20, 40]}
SOURCE = """
@pytree
class Mine:
    optimism: float = 1.0

    def init(self, reward):
        return no_visits(reward)

    def scores(self, key, state, t):
        mean, plays = state.mean_and_plays()
        return mean + self.optimism / ({body}), state

    def update(self, state, feedback):
        return state.counted(feedback)
"""


def mine(body="1 + plays", module="notebook"):
    """The policy as a cell of a notebook makes it: a new class each time it is run."""
    place = types.ModuleType(module)
    names = {"pytree": pytree, "no_visits": no_visits}
    vars(place).update(names, jnp=jnp)
    exec(SOURCE.format(body=body), vars(place))
    return place.Mine()


def case(policy, **more):
    return {"m": {"scenarios": ARMS, "policies": {"mine": policy, "u": Uniform()}, **SIZE, **more}}


def test_a_sweep_refuses_other_code_by_name_and_knows_the_same_again(tmp_path):
    first = sweep(case(mine()), tmp_path)["m"]
    again = sweep(case(mine(module="elsewhere")), tmp_path)["m"]
    np.testing.assert_array_equal(first.visits["mine"], again.visits["mine"])
    with pytest.raises(ValueError, match=r"cases\['m'\]: the code of policy 'mine' changed since"):
        sweep(case(mine("2 + plays")), tmp_path)
    with pytest.raises(ValueError, match=r"cases\['m'\]: policies\['mine'\]\.optimism changed since"):
        sweep(case(type(mine())(2.0)), tmp_path)


def test_what_a_policy_makes_of_all_shown_states_is_told():
    """The program of a policy that reads more where the environment shows more is another one there."""
    programs = []
    for observed in (False, True):
        arms = restless(ARMS.transition, ARMS.reward, observed=observed)
        programs.append(fingerprint(check(arms, {"known": Myopic.of(arms)}))["programs"]["policy"])
    assert programs[0] != programs[1]


def test_resume_refuses_other_code():
    short = simulate(**case(mine())["m"])
    longer = {"horizon": 60, "times": [20, 40, 60]}
    assert simulate(**case(mine(), **longer)["m"], resume=short).complete
    with pytest.raises(ValueError, match="resume: the code of policy 'mine' changed since the result was made"):
        simulate(**case(mine("3 + plays"), **longer)["m"], resume=short)


@pytest.mark.slow
def test_an_environment_and_a_recorder_are_told_by_their_code(tmp_path):
    late = telling(ARMS, lambda feedback: feedback._replace(before=feedback.states))
    sweep(case(mine()), tmp_path / "a")
    with pytest.raises(ValueError, match=r"the code of the environment changed"):
        sweep(case(mine(), scenarios=late), tmp_path / "a")
    sweep(case(mine(), record={"t": lambda arms, state, t: t}), tmp_path / "b")
    sweep(case(mine(), record={"t": lambda environment_state, policy_state, round: round}), tmp_path / "b")
    with pytest.raises(ValueError, match=r"the code of record 't', policy 'mine', .* policy 'u' changed"):
        sweep(case(mine(), record={"t": lambda arms, state, t: t + 1}), tmp_path / "b")
    with pytest.raises(ValueError, match=r"cases\['m'\]: record changed"):
        sweep(case(mine()), tmp_path / "b")


def of_every_policy():
    """The fingerprint of every policy and of an optimiser whose functions have addresses, as text."""
    policies = {name: policy() for name, policy in jaxbandit.ALL.items()} | {"adam": GradientBandit(optax.adam(0.1))}
    return json.dumps(fingerprint(check(ARMS, policies, shuffle=True)))


@pytest.mark.slow
def test_the_same_in_another_process_with_other_hashes():
    tests = Path(__file__).parent
    environment = os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"}
    code = "import test_fingerprint as here; print(here.of_every_policy())"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    here = json.loads(of_every_policy())
    assert json.loads(done.stdout) == here
    assert len(set(here["programs"]["policy"].values())) == len(jaxbandit.ALL) + 1


@pytest.mark.slow
def test_other_versions_go_on_with_one_warning_that_names_both(tmp_path, monkeypatch):
    cases = {"a": case(mine())["m"], "b": case(mine(), runs=3)["m"]}
    before = sweep(cases, tmp_path)
    monkeypatch.setattr("jaxbandit.simulation.telling.fingerprint.__version__", "7.0")
    with pytest.warns(UserWarning, match=r"jaxbandit 0.* and continues with jaxbandit 7.0, jax .*: the values") as seen:
        after = sweep({name: {**item, "runs": 8} for name, item in cases.items()}, tmp_path)
    assert len(seen) == 1
    np.testing.assert_array_equal(after["a"].visits["mine"][:, :, :5], before["a"].visits["mine"])
    sweep({name: {**item, "runs": 8} for name, item in cases.items()}, tmp_path)  # known by now: no warning
    with pytest.raises(ValueError, match="the code of policy 'mine' changed"):
        sweep(case(mine("2 + plays")) | {"a": case(mine("2 + plays"))["m"]}, tmp_path)
    monkeypatch.setattr("jaxbandit.simulation.telling.fingerprint.__version__", "8.0")
    with (
        pytest.raises(ValueError, match=r"cases\['a'\]: key changed"),
        pytest.warns(UserWarning, match="continues with jaxbandit 8.0"),
    ):
        sweep({"a": {**cases["a"], "key": jax.random.key(3)}}, tmp_path)


class Maker:
    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rate):
        return optax.sgd(self.rate * rate)

    def make(self, rate):
        return self(rate)


FUNCTIONS = [  # those of a line compute the same
    [Maker(1.0), Maker(1.0).make],
    [optax.sgd, lambda rate: optax.sgd(rate)],
    [Maker(2.0), Maker(2.0).make],
    [lambda rate: optax.sgd(lambda n: rate / (1 + 0.01 * n))],
    [lambda rate: optax.sgd(lambda n: rate / (1 + 0.1 * n))],
    [lambda rate: optax.adam(rate, *(0.9, 0.99)), partial(optax.adam, b1=0.9, b2=0.99)],
    [optax.sgd(0.1), optax.sgd(0.1)],
    [optax.sgd(optax.exponential_decay(0.1, 100, 0.9))],
    [optax.sgd(optax.exponential_decay(0.1, 200, 0.9))],
    [optax.inject_hyperparams(optax.adam, static_args={"b1", "b2"})],
    [partial(optax.sgd, momentum=0.8), lambda rate: optax.sgd(rate, momentum=0.8)],
]


def program(policy):
    return fingerprint(check(ARMS, {"p": policy}))["programs"]["policy"]["p"]


def test_optimisers_are_told_apart_by_what_they_compute():
    def rate_of(function):  # a ready optimiser has its own
        return None if isinstance(function, optax.GradientTransformation) else 0.1

    result = [{program(GradientBandit(item, rate_of(item))) for item in line} for line in FUNCTIONS]
    assert all(len(line) == 1 for line in result)
    assert len(set.union(*result)) == len(FUNCTIONS)


@pytest.mark.parametrize("wrap", [lambda function: function, jax.jit], ids=["plain", "jitted"])
def test_constants_count_by_value(wrap):
    """A large table that a method reads, which differs in its last entry by one rounding."""

    def reading(table):
        policy, read = mine(), wrap(lambda t: jnp.asarray(table)[t % 2000])
        type(policy).scores = lambda self, key, state, t: (read(t) * state.reward[:, 0], state)
        return policy

    zeros, other = np.zeros(2000), np.append(np.zeros(1999), 1e-12)
    assert program(reading(zeros)) == program(reading(zeros.copy())) != program(reading(other))


def test_settings_of_jax_and_tuples_count():
    @pytree
    class Shaped(type(mine())):
        shape: tuple = static((1.0, 2.0))

    one, other = (fingerprint(check(ARMS, {"p": Shaped(shape=shape)}))["asked"] for shape in ((1.0, 2.0), (-1.0, 4.0)))
    assert one["policies"]["p"]["shape"] != other["policies"]["p"]["shape"]
    with jax.threefry_partitionable(False):
        assert fingerprint(check(ARMS, {"u": Uniform()}))["asked"]["threefry_partitionable"] is False


class Holder:
    """What methods read an attribute or a function of."""

    weight = 1.0


def changes_of(names):
    """By name: what stands behind plays in a score, and how it becomes twice as much, the class staying as it is."""
    module = types.ModuleType("helpers")
    module.of = lambda plays: plays
    names.update(a=1.0, b=1.0, c=2.0, values=[1.0], array=np.ones(2), kind=Holder, module=module)
    names.update(part=partial(lambda factor, plays: factor * plays, 1.0), lax=jax.lax)
    inner = {"weight": 1.0}
    exec("helper = lambda plays: a * plays", names)
    names.update(body=lambda n, x: x * inner["weight"], jitted=jax.jit(lambda x: x * inner["weight"]))
    return {
        "number": ("b * plays + 0 * (a + c)", lambda: names.update(b=2.0)),  # the numbers that are read are the same
        "helper": ("helper(plays)", lambda: names.update(a=2.0)),
        "list": ("values[0] * plays", lambda: names["values"].__setitem__(0, 2.0)),
        "array": ("array[0] * plays", lambda: names["array"].__setitem__(0, 2.0)),
        "attribute": ("kind.weight * plays", lambda: setattr(Holder, "weight", 2.0)),
        "module": ("module.of(plays)", lambda: setattr(module, "of", lambda plays: 2 * plays)),
        "partial": ("part(plays)", lambda: names.update(part=partial(names["part"].func, 2.0))),
        "loop": ("lax.fori_loop(0, 2, body, 1.0 * plays)", lambda: inner.update(weight=2.0)),
        "jit": ("jitted(plays)", lambda: inner.update(weight=2.0)),
    }


@pytest.mark.parametrize("name", changes_of({}))
def test_whatever_a_method_reads_is_read_again(name, monkeypatch):
    """In one process, with the class as it is, the program becomes that of a class that always read the new value."""
    monkeypatch.setattr(Holder, "weight", 1.0)
    policies = [mine(f"0.1 + {changes_of({})[name][0]}") for _ in range(2)]
    changes = [changes_of(type(policy).scores.__globals__)[name][1] for policy in policies]
    before = program(policies[0])
    assert program(policies[0]) == before
    for change in changes:
        change()
    assert program(policies[0]) == program(policies[1]) != before


@pytest.mark.slow
def test_an_environment_and_a_recorder_are_read_again():
    rate = [0.0]
    arms = telling(ARMS, lambda feedback: feedback._replace(rewards=feedback.rewards + rate[0]))
    asked = {"scenarios": arms, "policies": {"u": Uniform()}, "record": {"rate": lambda arms, state, t: t * rate[0]}}
    for value in (1.0, 2.0):
        rate[0] = value
        result = simulate(**asked, **SIZE)
        np.testing.assert_array_equal(result.recorded["rate"]["u"][0, 0, 0], [20 * value, 40 * value])


def test_a_method_of_the_library_that_somebody_replaces_is_played(monkeypatch):
    before = simulate(**case(KLUCB())["m"]).visits["mine"]
    monkeypatch.setattr(KLUCB, "scores", lambda self, key, state, t: (-1.0 * state.counts.sum(-1), state))  # in turn
    after = simulate(**case(KLUCB())["m"]).visits["mine"]
    assert (before != after).any() and np.ptp(after.sum(-1)[..., 1, :]) <= 1
    assert not tracing.trusted(KLUCB())
    monkeypatch.setattr(KLUCB, "scores", jax.jit(KLUCB.scores))  # no function of Python's own kind
    assert not tracing.trusted(KLUCB())


@pytest.mark.slow
def test_a_program_is_compiled_again_only_where_what_was_traced_is_another():
    """A class made anew by the cell of a notebook is compiled anew by JAX; a recorder that computes the same is not."""
    tiles._program.cache_clear()
    for _ in range(3):
        simulate(**case(Uniform(), record={"t": lambda arms, state, t: t})["m"])
    assert tiles._program.cache_info().misses == 1
    simulate(**case(Uniform(), record={"t": lambda arms, state, t: t + 1})["m"])
    assert tiles._program.cache_info().misses == 2


def test_what_calls_back_into_python_is_refused():
    policy = mine("1 + jax.pure_callback(lambda plays: plays, plays, plays)")
    type(policy).scores.__globals__["jax"] = jax
    with pytest.raises(ValueError, match=r"policies\['mine'\]\.scores: calls back into Python.*jax\.numpy"):
        simulate(**case(policy)["m"])
