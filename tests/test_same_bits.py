"""The same counts to the bit, however the work is cut, resumed from a file, swept, and whichever runs are asked for."""

from functools import cache

import jax
import numpy as np
import optax
import pytest
from environments import Rotting
from every_policy import ARMS, EPISODES, SEEN

from jaxbandit import Result, simulate, sweep, two_state
from jaxbandit.environments import gaussian, piecewise, restless
from jaxbandit.families import Gaussian
from jaxbandit.policies import CUSUM, TVKLUCB, UCB1, GradientBandit, KnownProcess, Thompson, Uniform, WithDetector

OTHER = two_state([0.1, 0.4, 0.6], [0.4, 0.25, 0.3], initial_state="stationary")
RECORD = {
    "Markovian": {"tv": lambda arms, state, t, policy: policy.markovian(state, t + 1)},
    "plays": lambda arms, state, t: arms.plays,
    "states": lambda arms, state, t: arms.states.sum(),
}
UCB = {"ucb": [UCB1(), UCB1(0.5)]}
RESTLESS = {name: restless(arms.transition, (0, 1), SEEN.passive) for name, arms in (("a", ARMS), ("b", OTHER))}
REAL = {"a": gaussian([0.5, 0.2, -0.1], [1.0, 0.5, 2.0]), "b": gaussian([0.0, 0.3, 0.2])}
FALLING = Rotting(np.array([0.9, 0.8, 0.5]), np.array([0.2, 0.4, 0.3]))
PIECES = piecewise([20, 41], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]])
WATCHED = [WithDetector(UCB1(), CUSUM(5, 0.05, threshold, 0.1)) for threshold in (1.0, 2.0)]
INJECTED = optax.inject_hyperparams(optax.adam)
GRADIENT = [GradientBandit(INJECTED, rate) for rate in (0.1, 0.5)]
JUDGED = {"tv": [TVKLUCB(scale=scale) for scale in (0.3, 1.0)], "ucb": UCB1()}


def game(scenarios, policies, **options):
    return {"scenarios": scenarios, "policies": policies, **options}


GAMES = {
    "rested": game(ARMS, {"tv": TVKLUCB(samples="state", clock="arm"), "u": Uniform()}),
    "rejected": game(ARMS, {"t": Thompson()}),  # whether one run's draws are accepted
    "restless": game(RESTLESS, UCB | {"u": Uniform()}, plays=2, shuffle=True),
    "rotting": game(FALLING, {"ucb": UCB1()}),
    "changing": game(PIECES, {"d": WATCHED}, shuffle=True),
    "numbers": game(REAL, UCB | {"t": Thompson(family=Gaussian())}),
    "episodes": game(EPISODES, {"k": KnownProcess.of(EPISODES), "u": Uniform()}),
    "delayed": game(ARMS, UCB, delay=3, batch=2, shuffle=True),
    "independent": game(
        {"a": ARMS, "b": ARMS, "c": OTHER}, {"g": GRADIENT}, random_numbers="independent", shuffle=True
    ),
    "recorded": game({"a": ARMS, "b": OTHER}, JUDGED, record=RECORD),
}
SIZE = {"key": jax.random.key(5), "runs": 23, "horizon": 60, "times": [1, 7, 31, 60]}
SHORT = SIZE | {"horizon": 31, "times": [1, 7, 31]}
CUTS = {
    "chunk": {"chunk": 7},
    "round": {"chunk": 1},
    "tile": {"tile": 4, "chunk": 40},
    "device": {"devices": jax.devices()[:1], "tile": 5},
}


@cache
def undisturbed(game):
    return simulate(**GAMES[game], **SIZE)


def same(found, whole, runs=slice(None)):
    """Visits and what was recorded are equal to the bit; `runs` are those of the whole that were played."""
    assert len(jax.local_devices()) == 2 and found.recorded.keys() == whole.recorded.keys()
    pairs = [(found.visits, whole.visits), *((found.recorded[name], whole.recorded[name]) for name in whole.recorded)]
    for left, right in pairs:
        assert left.keys() == right.keys()
        for label in right:
            assert left[label].dtype == right[label].dtype
            np.testing.assert_array_equal(left[label], right[label][:, :, runs])


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("game", GAMES)
def test_however_the_work_is_cut(game, cut):
    same(simulate(**GAMES[game], **SIZE, **CUTS[cut]), undisturbed(game))


@pytest.mark.parametrize("game", GAMES)
def test_resumed_from_a_file(game, tmp_path):
    simulate(**GAMES[game], **SHORT, chunk=20).save(tmp_path / "short.npz")
    short = Result.load(tmp_path / "short.npz")
    same(simulate(**GAMES[game], **SIZE, resume=short), undisturbed(game))


@pytest.mark.parametrize("game", GAMES)
def test_swept_in_blocks_to_which_runs_are_added(game, tmp_path):
    case, options = GAMES[game] | SIZE | {"chunk": 20}, {"block": 12, "every": 1e-9, "progress": False}
    same(sweep({"c": case | {"runs": 11}}, tmp_path, **options)["c"], undisturbed(game), slice(11))
    swept = sweep({"c": case}, tmp_path, **options)["c"]
    same(swept, undisturbed(game))
    assert swept.provenance["scenarios"] == undisturbed(game).provenance["scenarios"]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.slow
def test_more_runs_and_a_part_of_them(game):
    for runs, those in ((40, slice(23)), (range(3, 8), slice(3, 8))):
        result = simulate(**GAMES[game], **SIZE | {"runs": runs})
        if runs == 40:
            same(undisturbed(game), result, those)
        else:
            same(result, undisturbed(game), those)


@pytest.mark.parametrize("game", ["restless", "independent", "recorded"])
@pytest.mark.slow
def test_scenarios_and_variants_alone_and_in_another_order(game):
    """What else is played changes nothing: the counts follow the name and the number of a variant."""
    scenarios, policies = GAMES[game]["scenarios"], GAMES[game]["policies"]
    turned = simulate(**GAMES[game] | {"scenarios": dict(reversed(scenarios.items()))}, **SIZE)
    for label, variants in policies.items():
        expected = undisturbed(game).visits[label]
        np.testing.assert_array_equal(turned.visits[label][::-1], expected)
        for number, policy in enumerate(variants if isinstance(variants, list) else [variants]):
            name = list(scenarios)[-1]
            asked = GAMES[game] | {"scenarios": {name: scenarios[name]}, "policies": {label: policy}, "record": None}
            np.testing.assert_array_equal(simulate(**asked, **SIZE).visits[label][0, 0], expected[-1, number])


@pytest.mark.parametrize(
    ("game", "change"),
    [("delayed", {"delay": 2}), ("delayed", {"batch": 1}), ("independent", {"random_numbers": "common"})],
)
def test_what_changed_is_refused(game, change, tmp_path):
    (name,) = change
    with pytest.raises(ValueError, match=f"resume: {name} changed since"):
        simulate(**GAMES[game] | change, **SIZE, resume=simulate(**GAMES[game], **SHORT))
    sweep({"c": GAMES[game] | SHORT}, tmp_path, progress=False)
    with pytest.raises(ValueError, match=rf"cases\['c'\]: {name} changed since"):
        sweep({"c": GAMES[game] | SHORT | change}, tmp_path, progress=False)
