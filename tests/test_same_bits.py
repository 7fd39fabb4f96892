"""The same counts to the bit, however the work is cut, resumed or swept, and by a policy within a wrapper."""

import dataclasses
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from environments import Rotting
from every_policy import ARMS, EPISODES, POLICIES, SEEN

import jaxbandit
from jaxbandit import Feedback, KnownBreaks, Result, Task, TsallisINF, simulate, sweep, two_state
from jaxbandit.environments import gaussian, piecewise, restless
from jaxbandit.families import Gaussian
from jaxbandit.policies import CUSUM, TVKLUCB, UCB1, GradientBandit, KnownProcess, Thompson, Uniform, WithDetector
from jaxbandit.simulation.asking.contracts import check_task
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.uneven_delays import delayed

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
    "independent": game({"a": ARMS, "c": OTHER}, {"g": GRADIENT}, random_numbers="independent", shuffle=True),
    "recorded": game({"a": ARMS, "b": OTHER}, JUDGED, record=RECORD),
}
SIZE = {"key": jax.random.key(5), "runs": 23, "horizon": 60, "times": [1, 7, 31, 60]}
SHORT = SIZE | {"horizon": 31, "times": [1, 7, 31]}
TILES, DEVICE = {"tile": 4, "chunk": 40}, {"devices": jax.devices()[:1], "tile": 5}
slow = partial(pytest.param, marks=pytest.mark.slow)


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


@pytest.mark.parametrize(
    ("game", "cut"),
    [
        ("rotting", {"chunk": 1}),
        ("independent", {"chunk": 1}),
        ("numbers", {"chunk": 7}),
        ("delayed", {"chunk": 7}),
        slow("rejected", TILES),
        slow("rested", TILES),
        slow("episodes", TILES),
        slow("recorded", TILES),
        slow("restless", DEVICE),
        slow("changing", DEVICE),
    ],
)
def test_resumed_from_a_file_however_the_work_is_cut(game, cut, tmp_path):
    simulate(**GAMES[game], **SHORT, chunk=20).save(tmp_path / "short.npz")
    short = Result.load(tmp_path / "short.npz")
    same(simulate(**GAMES[game], **SIZE, **cut, resume=short), undisturbed(game))


@pytest.mark.parametrize("game", ["delayed", "independent", slow("recorded")])
def test_swept_in_blocks_to_which_runs_are_added(game, tmp_path):
    case, options = GAMES[game] | SIZE | {"chunk": 20}, {"block": 12, "every": 1e-9, "progress": False}
    same(sweep({"c": case | {"runs": 11}}, tmp_path, **options)["c"], undisturbed(game), slice(11))
    swept = sweep({"c": case}, tmp_path, **options)["c"]
    same(swept, undisturbed(game))
    assert swept.provenance["scenarios"] == undisturbed(game).provenance["scenarios"]


@pytest.mark.parametrize("game", ["rejected", "restless"])
@pytest.mark.slow
def test_more_runs_and_a_part_of_them(game):
    same(undisturbed(game), simulate(**GAMES[game], **SIZE | {"runs": 40}), slice(23))
    same(simulate(**GAMES[game], **SIZE | {"runs": range(3, 8)}), undisturbed(game), slice(3, 8))


@pytest.mark.slow
def test_scenarios_and_variants_alone_and_in_another_order():
    """What else is played changes nothing: the counts follow the name and the number of a variant."""
    game = GAMES["restless"]
    turned = simulate(**game | {"scenarios": dict(reversed(RESTLESS.items()))}, **SIZE)
    expected = undisturbed("restless").visits["ucb"]
    np.testing.assert_array_equal(turned.visits["ucb"][::-1], expected)
    for number, policy in enumerate(UCB["ucb"]):
        alone = simulate(**game | {"scenarios": {"b": RESTLESS["b"]}, "policies": {"ucb": policy}}, **SIZE)
        np.testing.assert_array_equal(alone.visits["ucb"][0, 0], expected[-1, number])


# Wrapped policies play as they do alone: inside a detector that never fires, and where feedback is no round late

NEVER = KnownBreaks([10**6])
REFUSED = (
    dict.fromkeys(
        "KLUCBMC TVKLUCB IMEDMC JointKLUCB ThompsonMC PlugInGittins PosteriorGittins Gittins Whittle LPPriority "
        "WhittleLastSeen BayesGittins BayesOptimal FollowVirtualAdvice LPUpdate TwoSet".split(),
        "remembers in which state each arm is",
    )
    | dict.fromkeys("RatioKLUCB MixtureKLUCB PrimalDualBwK".split(), "forgets the money")
    | dict.fromkeys("KnownProcess UCRL2 KLUCRL UCRL2B TUCRL PSRL IMEDRL UCBVI".split(), "share one state")
)


def test_who_may_be_restarted():
    for name, (policy, environment) in POLICIES.items():
        watched, task = WithDetector(policy, NEVER), Task(environment, horizon=20)
        if name in REFUSED:
            with pytest.raises(ValueError, match=REFUSED[name]):
                check_task(name, watched, task)
        else:
            check_task(name, watched, task)


def heard_at_once(policy, environment):
    """The policy with its feedback no round late, through the wrapper for late feedback."""
    view = check(environment, {"u": jaxbandit.Uniform()}, runs=1, horizon=20).traced.environment.shapes.feedback
    return dataclasses.replace(delayed(policy, 1, 1, view, 1), delay=0)


@pytest.mark.parametrize("name", ["UCB1", slow("TVKLUCB")])
def test_a_wrapped_policy_plays_the_same(name):
    """One that a detector may restart, in both wrappers, and one that remembers the arms' states."""
    policy, environment = POLICIES[name]
    wrapped = heard_at_once(policy if name in REFUSED else WithDetector(policy, NEVER), environment)
    asked = {"runs": 3, "horizon": 20, "times": range(1, 21), "shuffle": True, "progress": False}
    result = simulate(environment, {"alone": policy, "wrapped": wrapped}, **asked)
    np.testing.assert_array_equal(result.visits["wrapped"], result.visits["alone"])


@jaxbandit.pytree
class Counting:
    """Plays arm 0, and counts how often it was asked for scores."""

    init = lambda self, reward: (jnp.int32(0), jnp.zeros(reward.shape[0]))
    scores = lambda self, key, state, t: (state[1], (state[0] + 1, state[1]))
    update = lambda self, state, feedback: state


@pytest.mark.slow
def test_a_policy_keeps_what_it_counts():
    policies = {"alone": Counting(), "watched": WithDetector(Counting(), NEVER)}
    record = {"calls": {"alone": lambda _, state, t: state[0], "watched": lambda _, state, t: state.policy[0]}}
    for delay in (0, 2):
        result = simulate(ARMS, policies, runs=2, horizon=20, times=[20], record=record, delay=delay, progress=False)
        assert all((result.recorded["calls"][label] == 20).all() for label in policies)


@jaxbandit.pytree
class Lottery(Uniform):
    """Has probabilities which are a field and no method."""

    probabilities: float = 1 / 3


@pytest.mark.slow
def test_the_probabilities_are_those_of_the_watched_policy():
    """Late feedback is divided by the probability of its play."""
    policies = {"alone": TsallisINF(), "watched": WithDetector(TsallisINF(), NEVER)}
    visits = simulate(ARMS, policies, runs=3, horizon=20, delay=4).visits
    np.testing.assert_array_equal(visits["watched"], visits["alone"])


@pytest.mark.slow
def test_arms_are_played_by_turns_with_certainty():
    """With all rounds by turns arm (t mod 3) has the probability 1, and its loss counts once, not divided by 1/3."""
    policy = WithDetector(TsallisINF(), jaxbandit.CUSUM(threshold=9.0, alpha=1.0))
    scores, update, probabilities = map(jax.jit, (policy.scores, policy.update, policy.probabilities))
    state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    for t in (1, 2):
        assert probabilities(state, jnp.int32(t)).tolist() == [float(k == t % 3) for k in range(3)]
        assert int(jnp.argmax(scores(jax.random.key(t), state, jnp.int32(t))[0])) == t % 3
        arm, nothing = jnp.array([t % 3], jnp.int32), jnp.zeros(1, jnp.int32)
        state = update(state, Feedback(arm, nothing, nothing, jnp.zeros(1), jnp.int32(t)))
    np.testing.assert_allclose(-state.policy.gains.high, [0, 1, 1])


def test_a_wrapper_has_what_its_policy_has():
    for policy in (jaxbandit.KLUCB(), TsallisINF(), jaxbandit.TVKLUCB(), Lottery()):
        for wrapper in (heard_at_once(policy, ARMS), WithDetector(policy, NEVER)):
            for method in ("probabilities", "markovian"):
                assert callable(getattr(wrapper, method, None)) == callable(getattr(policy, method, None))
    policy = jaxbandit.TVKLUCB()
    waiting = heard_at_once(policy, ARMS)
    state = waiting.init(jnp.asarray(ARMS.reward))
    counts = jnp.array([[[9, 1], [1, 9]], [[5, 5], [5, 5]], [[0, 0], [0, 0]]], jnp.int32)
    seen = state.policy.seen._replace(counts=counts)
    state = state._replace(policy=state.policy._replace(seen=seen))
    expected = policy.markovian(state.policy, jnp.int32(31))
    assert waiting.markovian(state, jnp.int32(31)).tolist() == expected.tolist() and expected.tolist()[:2] == [1, 0]
    with pytest.raises(ValueError, match="SlidingWindowUCB|window"):
        heard_at_once(jaxbandit.SlidingWindowUCB(50), ARMS).validate(Task(ARMS, horizon=20))


def test_an_arm_alone_is_not_restarted_where_all_share_a_round():
    policy, arms = POLICIES["PosteriorWhittle"]
    with pytest.raises(ValueError, match="policy: PosteriorWhittle needs one round for all arms, .* give local=False"):
        WithDetector(policy, jaxbandit.GLR(delta=0.1, alpha=0.1)).validate(Task(arms))
    WithDetector(policy, jaxbandit.GLR(delta=0.1, alpha=0.1), local=False).validate(Task(arms))
