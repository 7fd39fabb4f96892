"""Wrapped policies play as they do alone: inside a detector that never fires, and where feedback is no round late."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from every_policy import ARMS, POLICIES

import jaxbandit
from jaxbandit import Feedback, KnownBreaks, Task, TsallisINF, WithDetector, simulate
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.uneven_delays import delayed

NEVER = KnownBreaks([10**6])
STATES = "remembers in which state each arm is"
REFUSED = (
    dict.fromkeys(
        "KLUCBMC TVKLUCB IMEDMC JointKLUCB ThompsonMC PlugInGittins PosteriorGittins Gittins Whittle LPPriority "
        "WhittleLastSeen BayesGittins BayesOptimal FollowVirtualAdvice LPUpdate TwoSet".split(),
        STATES,
    )
    | dict.fromkeys("RatioKLUCB MixtureKLUCB PrimalDualBwK".split(), "forgets the money")
    | dict.fromkeys("KnownProcess UCRL2 KLUCRL UCRL2B TUCRL PSRL IMEDRL UCBVI".split(), "share one state")
)


def test_every_policy_is_wrapped():
    every = {name for name in jaxbandit.policies.__all__ if hasattr(getattr(jaxbandit.policies, name), "scores")}
    assert (
        every - {"WithDetector", "DecentralisedDSEE", "Identify", "SequentialHalving"} <= POLICIES.keys()
    )  # for several plays; until it stops


def heard_at_once(policy, environment):
    """The policy with its feedback no round late, through the wrapper for late feedback."""
    view = check(environment, {"u": jaxbandit.Uniform()}, runs=1, horizon=20).traced.environment.shapes.feedback
    return dataclasses.replace(delayed(policy, 1, 1, view, 1), delay=0)


@pytest.mark.parametrize("name", POLICIES)
def test_a_wrapped_policy_plays_the_same(name):
    """Three runs of 20 rounds, arms in another order, in both wrappers where a detector may hold the policy."""
    policy, environment = POLICIES[name]
    watched = WithDetector(policy, NEVER)
    asked = {"runs": 3, "horizon": 20, "times": range(1, 21), "shuffle": True, "progress": False}
    if name in REFUSED:
        with pytest.raises(ValueError, match=rf"policies\['p'\].*{REFUSED[name]}"):
            simulate(environment, {"p": watched}, **asked)
    wrapped = heard_at_once(policy if name in REFUSED else watched, environment)
    result = simulate(environment, {"alone": policy, "wrapped": wrapped}, **asked)
    np.testing.assert_array_equal(result.visits["wrapped"], result.visits["alone"])


@jaxbandit.pytree
class Counting:
    """Plays arm 0, and counts how often it was asked for scores."""

    def init(self, reward):
        return jnp.int32(0), jnp.zeros(reward.shape[0])

    def scores(self, key, state, t):
        return state[1], (state[0] + 1, state[1])

    def update(self, state, feedback):
        return state


@pytest.mark.slow
def test_a_policy_keeps_what_it_counts():
    policies = {"alone": Counting(), "watched": WithDetector(Counting(), NEVER)}
    record = {"calls": {"alone": lambda _, state, t: state[0], "watched": lambda _, state, t: state.policy[0]}}
    for delay in (0, 2):
        result = simulate(ARMS, policies, runs=2, horizon=20, times=[20], record=record, delay=delay, progress=False)
        assert all((result.recorded["calls"][label] == 20).all() for label in policies)


@jaxbandit.pytree
class Lottery:
    """Plays arms by fixed probabilities, which are a field and no method."""

    probabilities: np.ndarray

    def init(self, reward):
        return ()

    def scores(self, key, state, t):
        return jnp.log(jnp.asarray(self.probabilities)) + jax.random.gumbel(key, (3,)), state

    def update(self, state, feedback):
        return state


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
    for policy in (jaxbandit.KLUCB(), TsallisINF(), jaxbandit.TVKLUCB(), Lottery(np.array([0.2, 0.3, 0.5]))):
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
