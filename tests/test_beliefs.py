"""Policies that know the chains: beliefs as float64 loops, the tree of all that can be seen, indices by bisection."""

import functools
import itertools

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from jaxbandit import chains, simulate, top_arms, two_state
from jaxbandit.base import Feedback
from jaxbandit.environments import hidden, restless
from jaxbandit.policies import HiddenMyopic, Myopic, WhittleBelief
from jaxbandit.policies.restless.whittle_belief import whittle
from jaxbandit.testing import check_policy

SCENARIO = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
TWO, THREE = [[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.5, 0.3], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7]]


def arms_of(*pairs):
    """Restless arms from (p01, p11) of each."""
    return restless([[[1 - p01, p01], [1 - p11, p11]] for p01, p11 in pairs], (0, 1))


def optimum(environment, rounds):
    """The largest expected reward of a player who sees what is played: recursion over what can be seen, float64."""
    transition = np.asarray(environment.transition)

    @functools.cache
    def belief(arm, known, ago):
        law = np.asarray(environment.initial[arm]) if known is None else np.eye(2)[known]
        return law @ np.linalg.matrix_power(transition[arm], ago)

    @functools.cache
    def value(left, arms):
        if left == 0:
            return 0.0
        result = []
        for arm, (known, ago) in enumerate(arms):
            chance = belief(arm, known, ago + 1)[1]
            later = [(state, since + 1) for state, since in arms]
            nexts = [value(left - 1, (*later[:arm], (view, 0), *later[arm + 1 :])) for view in (0, 1)]
            result.append(chance * (1 + nexts[1]) + (1 - chance) * nexts[0])
        return max(result)

    return value(rounds, ((None, 0),) * len(transition))


def expected_reward(policy, environment, rounds):
    """What a policy collects: played on all 2^rounds words that it may be shown, weighed by their probabilities."""
    reward = jnp.asarray(environment.reward, float)
    words = np.array(list(itertools.product((0, 1), repeat=rounds)))

    def one(word):
        def body(state, view):
            arms = top_arms(policy.scores(None, state, 1)[0], 1)
            feedback = Feedback(arms, jnp.zeros(1, jnp.int32), view[None], jnp.zeros(1), 1)
            return policy.update(state, feedback), arms[0]

        return jax.lax.scan(body, policy.init(reward), word)[1]

    played = np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(words, jnp.int32)))
    beliefs = np.broadcast_to(environment.initial, (len(words), *environment.initial.shape)).copy()
    likely, here = np.ones(len(words)), np.arange(len(words))
    for arm, view in zip(played.T, words.T, strict=True):
        beliefs = np.einsum("wks,kst->wkt", beliefs, environment.transition)
        likely *= beliefs[here, arm, view]
        beliefs[here, arm] = np.eye(2)[view]
    np.testing.assert_allclose(likely.sum(), 1)
    return float(likely @ words.sum(1))


@pytest.mark.parametrize(
    ("pairs", "rounds", "best_reward", "myopic"),
    [
        ([(0.2, 0.8)] * 2, 10, 6.35, 6.35),
        ([(0.2, 0.9), (0.45, 0.6)], 12, 8.849710161, 8.758125138),
        ([(0.1, 0.95), (0.5, 0.62)], 12, 9.353995096, 9.192710854),
        ([(0.7, 0.2), (0.6, 0.1), (0.5, 0.3)], 8, 4.378745684, 4.352647361),
    ],
)
def test_myopic_against_the_tree(pairs, rounds, best_reward, myopic):
    arms = arms_of(*pairs)
    np.testing.assert_allclose(optimum(arms, rounds), best_reward, rtol=2e-10)
    np.testing.assert_allclose(expected_reward(Myopic.of(arms), arms, rounds), myopic, rtol=2e-10)


# the index


def index_by_bisection(w, p01, p11, d, most=150):
    """The subsidy at which playing and waiting are worth the same, by value iteration on w, p01 and p11."""
    orbit = [w, p01, p11]
    beliefs = np.array([orbit] + [orbit := [p01 + (p11 - p01) * x for x in orbit] for _ in range(most)])
    following = np.minimum(np.arange(most + 1) + 1, most)

    def advantage(subsidy):
        values = np.zeros_like(beliefs)
        while True:
            play = beliefs * (1 + d * values[0, 2]) + (1 - beliefs) * d * values[0, 1]
            wait = subsidy + d * values[following]
            new = np.maximum(play, wait)
            if np.abs(new - values).max() < 1e-13:
                return play[0, 0] - wait[0, 0]
            values = new

    low, high = 0.0, 1.0
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (middle, high) if advantage(middle) > 0 else (low, middle)
    return (low + high) / 2


def index_of(w, p01, p11, d):
    with jax.enable_x64(True):
        w = jnp.atleast_1d(jnp.asarray(w, float))
        return np.asarray(whittle(w, jnp.full_like(w, p01), jnp.full_like(w, 1 - p11), jnp.asarray(d, float)))


@pytest.mark.parametrize(("p01", "p11", "d"), [(0.2, 0.8, 0.9), (0.05, 0.9, 0.5), (0.3, 0.4, 0.8), (0.0, 0.6, 0.7)])
def test_index_by_bisection(p01, p11, d):
    mean = p01 / (1 - p11 + p01)
    beliefs = [p01, *np.linspace(p01, mean, 5)[1:-1], mean, (mean + p11) / 2, p11, 0.99 * p11 + 0.01]
    expected = [index_by_bisection(w, p01, p11, d) for w in beliefs]
    np.testing.assert_allclose(index_of(beliefs, p01, p11, d), expected, atol=1e-10)


def index_of_50_digits(w, p01, p10, d):
    """The subsidy of the three equations in the docstring of `whittle`, solved as they stand."""
    w, p01, p11, d = mp.mpf(w), mp.mpf(p01), 1 - mp.mpf(p10), mp.mpf(d)
    if w <= p01 or w >= p11:
        return w
    if w >= p01 / (1 - p11 + p01):
        return w / (1 - d * p11 + d * w)
    later, b, waited = p01 + (p11 - p01) * w, p01, mp.mpf(1)
    while b <= w:
        b, waited = p01 + (p11 - p01) * b, waited * d
    after, values = d * waited * b, mp.matrix([-p11, -waited * b, w - d * later])
    of = [[0, d * (1 - p11), d * p11 - 1], [(1 - waited) / (1 - d), d * waited - after - 1, after]]
    of.append([1, d * d * (1 - later) - d * (1 - w), d * d * later - d * w])
    return mp.lu_solve(mp.matrix(of), values)[0]


@pytest.mark.parametrize("discount", [0.9, 0.9999, 0.999999])
@pytest.mark.parametrize(("p01", "p10"), [(0.2, 0.2), (0.3, 0.6), (0.01, 0.01), (0.001, 0.002)])
def test_index_in_float32_near_discount_1(p01, p10, discount):
    """Within 2e-6 of 50 digits, in the beliefs of an arm that showed 0 and waits and in others; found: 1.1e-6."""
    p01, p10 = np.float32(p01), np.float32(p10)
    waiting = p01 / (p01 + p10) * (1 - (1 - p01 - p10) ** np.arange(2, 30, 3))
    beliefs = np.append(waiting, np.linspace(p01, 1 - p10, 12)).astype(np.float32)
    result = whittle(jnp.asarray(beliefs), p01, p10, jnp.float32(discount))
    assert result.dtype == jnp.float32
    with mp.workdps(50):
        expected = [float(index_of_50_digits(float(w), float(p01), float(p10), discount)) for w in beliefs]
    np.testing.assert_allclose(result, expected, atol=2e-6)


# beliefs


@pytest.mark.parametrize("passive", [False, True])
def test_beliefs_are_those_of_a_loop(passive):
    random = np.random.default_rng(3)
    active, left = random.dirichlet(np.ones(3), (2, 4, 3))
    arms = restless(active, random.random((4, 3)), left if passive else None)
    policy = Myopic.of(arms)
    state, expected = policy.init(arms.reward), np.array(arms.initial)
    update = jax.jit(policy.update)
    for t in range(60):
        scores = [expected[k] @ active[k] @ arms.reward[k] for k in range(4)]
        np.testing.assert_allclose(policy.scores(None, state, t)[0], scores, rtol=2e-6)
        played, view = random.permutation(4)[:2], random.integers(3, size=2)
        inputs = [jnp.asarray(x, jnp.int32) for x in (played, view, view)]
        state = update(state, Feedback(*inputs, jnp.zeros(2), 1))
        expected = np.einsum("ks,kst->kt", expected, left if passive else active)
        expected[played] = np.eye(3)[view]


@pytest.mark.parametrize(("transition", "emission"), [(TWO, (0.2, 0.7)), (THREE, (0.1, 0.5, 0.9))])
def test_hidden_beliefs(transition, emission):
    """Against the sum over all hidden paths for every word of up to five symbols."""
    arms = hidden([transition] * 2, [emission] * 2, initial_state="stationary")
    policy = HiddenMyopic.of(arms)
    law = chains.stationary(transition)
    shows = [np.diag(1 - np.array(emission)), np.diag(emission)]

    def probability(word):
        return functools.reduce(lambda row, symbol: row @ transition @ shows[symbol], word, law).sum()

    scores, update = jax.jit(lambda state: policy.scores(None, state, 1)[0]), jax.jit(policy.update)
    with jax.enable_x64(True):
        for length in range(6):
            for word in itertools.product((0, 1), repeat=length):
                state = policy.init(arms.reward)
                other, log = float(scores(state)[1]), 0.0
                for symbol in word:
                    chance = float(scores(state)[0])
                    log += np.log(chance if symbol else 1 - chance)
                    inputs = [jnp.array([x], jnp.int32) for x in (0, 0, symbol)]
                    state = update(state, Feedback(*inputs, jnp.zeros(1), 1))
                result = scores(state)
                np.testing.assert_allclose(result[0], probability((*word, 1)) / probability(word), rtol=1e-12)
                assert float(result[1]) == other  # rested: what is not played stays
                np.testing.assert_allclose(log, np.log(probability(word)), atol=1e-12)


def test_what_cannot_be_shown_leaves_the_belief_a_law():
    policy = HiddenMyopic([TWO] * 2, [[[1.0, 0.0], [1.0, 0.0]]] * 2, [[0.5, 0.5]] * 2)
    inputs = [jnp.array([x], jnp.int32) for x in (0, 0, 1)]
    state = policy.update(policy.init(jnp.array([[0.0, 1.0]] * 2)), Feedback(*inputs, jnp.zeros(1), 1))
    np.testing.assert_allclose(state.beliefs.sum(-1), 1, rtol=1e-6)


# the contract, and what they refuse

MOVING = restless(SCENARIO.transition, (0, 1))
WAITING = restless(SCENARIO.transition, (0, 1), SCENARIO.transition[::-1])
STICKY = arms_of((0.2, 0.8), (0.1, 0.95), (0.3, 0.4))
HIDDEN = hidden([TWO, TWO[::-1]], [[0.2, 0.7], [0.3, 0.6]])
KNOWING = [(Myopic, MOVING), (Myopic, WAITING), (WhittleBelief, STICKY), (HiddenMyopic, HIDDEN)]


@pytest.mark.parametrize(("policy", "environment"), KNOWING)
@pytest.mark.slow
def test_contract(policy, environment):
    check_policy(policy.of(environment), environment)
    check_policy(policy.of(environment), environment, plays=2, rounds=20)


@pytest.mark.parametrize(("policy", "environment"), KNOWING)
@pytest.mark.slow
def test_orders_and_tiles_change_nothing(policy, environment):
    asked = {"policies": {"p": policy.of(environment)}, "runs": 40, "horizon": 200, "times": [50, 200]}
    plain = simulate(environment, **asked).visits["p"]
    np.testing.assert_array_equal(simulate(environment, **asked, tile=3, chunk=7).visits["p"], plain)
    np.testing.assert_array_equal(simulate(environment, **asked, shuffle=True).visits["p"], plain)


def test_what_they_are_not_for():
    with pytest.raises(ValueError, match=r"^policies\['p'\]: Myopic is for restless or observed arms; .* are rested"):
        simulate(SCENARIO, {"p": Myopic(SCENARIO.transition, SCENARIO.initial)}, runs=1, horizon=2)
    with pytest.raises(ValueError, match="^environment: has a `passive` law"):
        WhittleBelief.of(WAITING)
    with pytest.raises(ValueError, match="^discount: -0.1 lies outside"):
        WhittleBelief.of(STICKY, -0.1)
    pays, turning = restless(STICKY.transition, (0, 2)), arms_of((0.2, 0.8), (0.7, 0.2))
    for policy, environment, name in (
        (WhittleBelief.of(turning), turning, ".transition: p11 < p01 for arm 1"),
        (WhittleBelief(STICKY.transition, STICKY.initial, 1.0), STICKY, ".discount: 1.0 lies outside"),
        (WhittleBelief.of(pays), pays, ": reward: Whittle's index on beliefs is for two states that pay 0 and 1"),
        (Myopic.of(STICKY), MOVING, r".transition: shape \(3, 2, 2\) is not \(5, 2, 2\)"),
        (Myopic(STICKY.transition, np.ones((3, 2))), STICKY, ".initial: row 0 sums to 2.0"),
        (Myopic(STICKY.transition, STICKY.initial, "none"), STICKY, ".passive: "),
        (HiddenMyopic(HIDDEN.transition, HIDDEN.emission[:, :, :1], [[1, 0]] * 2), HIDDEN, ".emission: shape"),
    ):
        with pytest.raises(ValueError, match=rf"^policies\['p'\]{name}"):
            simulate(environment, {"p": policy}, runs=1, horizon=2)
