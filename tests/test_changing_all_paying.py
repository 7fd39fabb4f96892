"""Restless arms that all pay and whose laws change: against the arms of each segment, a loop, and value iteration."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_all_paying import best_gain

from jaxbandit import PosteriorWhittle, Result, Uniform, Whittle, Window, metrics, simulate
from jaxbandit.environments import changing_markov, restless
from jaxbandit.testing import check_environment

ARMS, STATES, STARTS, HORIZON = 3, 2, (1, 21, 36), 50
ACTIVE, PASSIVE = np.random.default_rng(4).dirichlet(np.ones(STATES), (2, 3, ARMS, STATES))
REWARD, COST = np.array([[0, 1], [0.2, 0.7], [0, 0.9]]), [0.1, 0.0, 0.2]
SIZES = {"runs": 5, "horizon": HORIZON, "times": range(1, HORIZON + 1), "plays": 2, "progress": False}
build = partial(changing_markov, restless=True, paid="all", horizon=HORIZON, cost=COST)
CHANGING = build(STARTS[1:], ACTIVE, REWARD, passive=PASSIVE, observed=True)


def test_arms_move_by_the_laws_of_the_round():
    """In each segment as the arms of that segment alone do, from the same states, with the draws of the same rounds."""
    key, state = jax.random.key(3), CHANGING.init(jax.random.key(3))
    random = np.random.default_rng(0)
    step, seen = jax.jit(CHANGING.step), []
    for t in range(1, HORIZON + 1):
        segment = CHANGING.segment(sum(start <= t for start in STARTS) - 1)
        played = jnp.asarray(random.permutation(ARMS)[:2], jnp.int32)
        alone = jax.jit(segment.step)(key, state, played, jnp.int32(t))
        state, feedback = step(key, state, played, jnp.int32(t))
        for one, other in zip(jax.tree.leaves((state, feedback)), jax.tree.leaves(alone), strict=True):
            np.testing.assert_array_equal(one, other)
        seen.append(np.asarray(feedback.shown))
    assert len(np.unique(seen, axis=0)) > 4
    np.testing.assert_allclose([CHANGING.segment(n).transition for n in range(3)], ACTIVE)


def test_one_law_is_that_of_arms_that_do_not_change():
    fixed = restless(ACTIVE[0], REWARD, PASSIVE[0], 0, observed=True, paid="all", cost=COST)
    alike = build(STARTS[1:], [ACTIVE[0]] * 3, REWARD, passive=PASSIVE[0], observed=True)
    policies = {"U": Uniform(), "W": Whittle.of(fixed)}
    one, other = (simulate(arms, policies, **SIZES) for arms in (fixed, alike))
    for label in policies:
        np.testing.assert_array_equal(one.visits[label], other.visits[label])
        np.testing.assert_allclose(metrics.regret(one, label), metrics.regret(other, label), atol=1e-9)
    assert alike.breaks.tolist() == [] and alike.numbers()["variation"] == 0
    np.testing.assert_allclose(alike.means(), fixed.means())


def test_regret_is_against_the_best_policy_of_each_segment(tmp_path):
    """Round by round, from the states after it, and the gain by value iteration over all states and sets of arms."""
    path = {"record": {"path": lambda arms, policy, t: arms.arms.states}}
    result = simulate(CHANGING, {"u": Uniform()}, **SIZES, **path)
    plays = np.diff(result.visits["u"][0, 0].sum(-1), axis=1, prepend=0)  # [run, t, K]
    states = result.recorded["path"]["u"][0, 0]
    paid = REWARD[np.arange(ARMS), states].sum(-1) - (plays * COST).sum(-1)
    gains = [best_gain(CHANGING.segment(number), 2) for number in range(3)]
    number = np.searchsorted(STARTS, np.arange(1, HORIZON + 1), side="right") - 1
    expected = np.cumsum(np.array(gains)[number] - paid, axis=1)
    np.testing.assert_allclose(metrics.regret(result, "u")[0, 0], expected, atol=1e-6)
    assert metrics.regret_name(result) == "regret against the best policy of each segment"
    assert CHANGING.breaks.tolist() == [21, 36]
    result.save(tmp_path / "r.npz")
    loaded = Result.load(tmp_path / "r.npz")
    np.testing.assert_array_equal(metrics.regret(loaded, "u"), metrics.regret(result, "u"))
    half = simulate(CHANGING, {"u": Uniform()}, **(SIZES | {"times": [10, 50]}))
    np.testing.assert_allclose(metrics.regret(half, "u")[0, 0], expected[:, [9, 49]], atol=1e-6)
    both = {"a": CHANGING, "b": build(STARTS[1:], ACTIVE[::-1], REWARD, passive=PASSIVE[::-1], observed=True)}
    assert simulate(both, {"u": Uniform()}, **SIZES).comparator.shape == (2, HORIZON)
    assert loaded.provenance["scenarios"]["scenario"]["breaks"] == [21, 36]


@pytest.mark.slow
def test_contract():
    check_environment(CHANGING, settle=64, plays=24)
    check_environment(build(STARTS[1:], ACTIVE, REWARD, passive=PASSIVE[0]), settle=64, plays=24)  # not observed


@pytest.mark.slow
def test_a_window_helps_where_laws_change():
    """Two groups of arms swap their laws twice: who forgets has less regret, by five standard errors of 20 runs."""
    helped, idle = [[0.3, 0.7], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]
    alone = [[0.9, 0.1], [0.7, 0.3]]
    first, second = [helped, helped, idle, idle], [idle, idle, helped, helped]
    arms = changing_markov(
        [501, 1001], [first, second, first], (0, 1), restless=True, paid="all", horizon=1500, observed=True,
        passive=[[alone] * 4] * 3,
    )  # fmt: skip
    policies = {
        "all": PosteriorWhittle.of(arms),
        "window": PosteriorWhittle.of(arms, memory=Window(150)),
        "unknown": PosteriorWhittle.of(arms, memory=Window(150), unknown_rewards=(0.0, 1.0)),
    }
    result = simulate(arms, policies, runs=20, horizon=1500, plays=2, times=[1500], progress=False)
    final = {label: metrics.regret(result, label)[0, 0, :, -1] for label in policies}
    for label in ("window", "unknown"):
        gained = final["all"] - final[label]
        assert gained.mean() > 5 * gained.std(ddof=1) / np.sqrt(20)


def test_errors():
    good = {"breaks": STARTS[1:], "transition": ACTIVE, "reward": REWARD, "passive": PASSIVE}
    for other, message in (
        ({"horizon": None}, 'horizon: missing with paid="all"'),
        ({"passive": None}, 'passive: missing with paid="all", so that a play would change nothing'),
        ({"passive": PASSIVE[:2]}, "passive: shape (2, 3, 2, 2) is not that of `transition`, (3, 3, 2, 2)"),
        ({"passive": PASSIVE * 2}, "passive: "),
        ({"restless": False}, 'paid: "all" is for arms that move in every round'),
        ({"paid": "played"}, 'passive: is for arms that all pay; give paid="all"'),
        ({"paid": "played", "passive": None, "observed": True}, "observed: is for arms that all pay"),
        ({"paid": "played", "passive": None}, "cost: is for arms that all pay"),
        ({"paid": "some"}, "paid"),
        ({"cost": [0.1, 0.2]}, "cost: shape (2,)"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            build(**(good | other))
    with pytest.raises(ValueError, match="number: 3; the segments are 0 to 2"):
        CHANGING.segment(3)
    with pytest.raises(ValueError, match="horizon: the arms were made for 50 rounds"):
        simulate(CHANGING, {"u": Uniform()}, runs=2, horizon=60)
    with pytest.raises(ValueError, match="plays: 3 of 3 arms that all pay"):
        simulate(CHANGING, {"u": Uniform()}, runs=2, horizon=50, plays=3)
    with pytest.raises(ValueError, match=r"arms: .* does not tell its laws"):
        Whittle.of(CHANGING)
    with pytest.raises(ValueError, match=r"unknown_rewards: \(1, 0\); give the least and the largest"):
        simulate(CHANGING, {"p": PosteriorWhittle.of(CHANGING, unknown_rewards=(1, 0))}, runs=2, horizon=50)
    with pytest.raises(ValueError, match="memory: 3 is not a memory"):
        simulate(CHANGING, {"p": PosteriorWhittle.of(CHANGING, memory=3)}, runs=2, horizon=50)
