"""What methods return is looked at before anything is compiled; errors name policy, method and the user's line."""

import functools
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, Uniform, pytree, simulate, two_state
from jaxbandit.base import Feedback
from jaxbandit.fast.target import traced_for
from jaxbandit.policies.parts.memory import no_visits
from jaxbandit.simulation import tiles
from jaxbandit.simulation.library_code import ask
from jaxbandit.testing import check_policy

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
SIZE = {"runs": 2, "horizon": 10, "progress": False}


def policy(**methods):
    """A policy that plays the largest mean, with these methods in place of its own."""

    class Greedy:
        def init(self, reward):
            return no_visits(reward)

        def scores(self, key, state, t):
            return state.mean_and_plays()[0], state

        def update(self, state, feedback):
            return state.counted(feedback)

    for name, method in methods.items():
        setattr(Greedy, name, method)
    return pytree(Greedy)()


Two = namedtuple("Two", "count more")


def forgets_to_return(self, state, feedback):
    state.counted(feedback)


def adds_a_float(self, state, feedback):
    return state + 0.5


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
    ({"update": forgets_to_return}, r"update: returns None; return the state after the round"),
    ({"init": lambda self, reward: jnp.zeros(3, int), "scores": lambda self, key, state, t: (1.0 * state, state),
      "update": adds_a_float}, r"update: state was int32\[3\] and becomes float32\[3\]; shapes and types must not"),
    ({"init": lambda self, reward: Two(jnp.zeros(3), jnp.zeros(3)),
      "scores": lambda self, key, state, t: (state.count, state),
      "update": lambda self, state, feedback: state._replace(more=jnp.append(state.more, 1.0))},
     r"update: state\.more was float32\[3\] and becomes float32\[4\]"),
    ({"init": lambda self, reward: 0, "scores": lambda self, key, state, t: (jnp.zeros(3) + state, state),
      "update": lambda self, state, feedback: jnp.zeros(2) + state}, r"update: state was .*\[\].*becomes float32\[2\]"),
    ({"update": lambda self, state, feedback: (state, state)}, r"update: a state of the form .* becomes one"),
    ({"scores": has_no_such_name}, r"scores: test_tracing.py, line \d+: return undefined_name \+ t .*NameError: name"),
    ({"scores": adds_what_does_not_fit}, r"scores: test_tracing.py, line \d+: return state.counts \+ jnp.ones"),
]  # fmt: skip


@pytest.mark.parametrize(("methods", "words"), WRONG, ids=[f"{words[:6]}{n}" for n, (_, words) in enumerate(WRONG)])
def test_what_cannot_be_played_is_refused_before_anything_is_compiled(methods, words, monkeypatch):
    monkeypatch.setattr(tiles, "_program", None)  # nothing is compiled
    with pytest.raises(ValueError, match=r"^policies\['mine'\]\." + words):
        simulate(ARMS, {"uniform": Uniform(), "mine": policy(**methods)}, **SIZE)
    with pytest.raises(AssertionError, match=r"^Greedy\." + words):
        check_policy(policy(**methods), arms=3)


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
    finite = policy(scores=lambda self, key, state, t: (jnp.array([-jnp.inf, jnp.inf, 0.1]), state))
    zero = policy(scores=lambda self, key, state, t: (jnp.where(t == 7, 0.0, 1.0) / (t - 7) * jnp.ones(3), state))
    with pytest.warns(UserWarning, match=r"^policies\['zero'\]: scores were NaN in 40 of 40 runs, first in round 7;"):
        result = simulate(ARMS, {"finite": finite, "zero": [zero, zero]}, runs=20, horizon=10, chunk=4)
    assert result.complete
    simulate(ARMS, {"finite": finite}, runs=20, horizon=10)  # warnings are errors here
    some = policy(scores=lambda self, key, state, t: (jnp.log(jax.random.uniform(key, 3) - 0.001), state))
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
    simulate(arms, {"p": KLUCB()}, runs=3, horizon=5, progress=False)
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
