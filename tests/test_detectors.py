"""Detectors and the policies that they restart: published steps, plain loops, false alarms and delays."""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import CUSUM, GLR, KLUCB, MUCB, UCB1, Feedback, KnownBreaks, Task, WithDetector, simulate
from jaxbandit.policies.changing.glr import added, largest_ratio, no_corners

ARMS = jaxbandit.bernoulli([0.5, 0.4, 0.3])


def kl(p, q):
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def all_splits(rewards, grid=1):
    """The largest likelihood ratio over splits that are multiples of `grid`: every split in a loop."""
    n, mean = len(rewards), sum(rewards) / len(rewards)
    largest = 0.0
    for s in range(grid, n, grid):
        before, after = sum(rewards[:s]) / s, sum(rewards[s:]) / (n - s)
        largest = max(largest, s * kl(before, mean) + (n - s) * kl(after, mean))
    return largest


def corner_ratios(rewards, grid=1, corners=32):
    """The same from the corners of the convex hull, after every reward."""

    def step(hull, n_and_total):
        n, total = n_and_total
        return added(hull, n, total), (largest_ratio(hull, n.astype(float), total), hull.number)

    n = jnp.arange(1, len(rewards) + 1, dtype=jnp.int32)
    totals = jnp.asarray(np.cumsum(np.asarray(rewards, float)), float)
    return [np.asarray(part) for part in jax.lax.scan(step, no_corners(corners, grid), (n, totals))[1]]


@pytest.mark.parametrize(
    ("kind", "grid"), [("coins", 1), ("fractions", 10), ("jumps", 1), ("all", 10), ("none", 1), ("rising", 1)]
)
def test_corners_lose_no_split(kind, grid):
    """All splits in a loop, in float64, after each of 150 rewards."""
    random = np.random.default_rng(0)
    rewards = {
        "coins": random.random(150) < 0.3,
        "fractions": random.beta(0.4, 0.8, 150),
        "jumps": random.random(150) < np.repeat([0.1, 0.8, 0.2], 50),
        "all": np.ones(150),
        "none": np.zeros(150),
        "rising": np.arange(150) / 150,
    }[kind].astype(float)
    result, number = corner_ratios(rewards, grid, corners=150)
    for n in range(1, 151):
        assert result[n - 1] == pytest.approx(all_splits(rewards[:n].tolist(), grid), rel=1e-4, abs=2e-5)
    assert number.max() < 20 or kind == "rising"


def test_few_corners_only_lower_the_ratio():
    """Rewards that rise by and by make a corner of every split; with room for 8 some are dropped."""
    rewards = np.arange(150) / 150
    full, few = corner_ratios(rewards, corners=150), corner_ratios(rewards, corners=8)
    assert full[1].max() == 149 and few[1].max() == 8
    assert (few[0] <= full[0] * (1 + 1e-5)).all() and (few[0] < full[0] * (1 - 1e-3)).any()
    assert (few[0][20:] > 0.8 * full[0][20:]).all()


@jax.jit
def raised(detector, rewards):
    """Whether an arm's detector raises an alarm at each reward, restarted after each."""

    def step(state, t_and_reward):
        t, reward = t_and_reward
        state, alarm = detector.watched(state, reward, t, 3)
        return jax.tree.map(lambda fresh, leaf: jnp.where(alarm, fresh, leaf), detector.init(), state), alarm

    return jax.lax.scan(step, detector.init(), (jnp.arange(1, len(rewards) + 1, dtype=jnp.int32), rewards))[1]


def test_numbers_that_follow_from_the_horizon():
    n, changes, arms = 5000, 4, 3
    assert float(GLR(horizon=n).threshold(jnp.array(7.0))) == pytest.approx(math.log(7**1.5 * math.sqrt(n)), rel=1e-6)
    assert float(GLR(horizon=n).share(arms)) == pytest.approx(0.1 * math.sqrt(arms * math.log(n) / n), rel=1e-6)
    share = float(GLR(horizon=n, changes=changes).share(arms))
    assert share == pytest.approx(math.sqrt(changes * arms * math.log(n) / n), rel=1e-6)
    cusum = CUSUM(horizon=n, changes=changes)
    assert float(cusum.share(arms)) == pytest.approx(math.sqrt(changes * math.log(n / changes) / n), rel=1e-6)
    assert float(cusum._segment_level()) == pytest.approx(math.log(n / changes), rel=1e-6)
    mucb = MUCB(horizon=n, changes=changes)
    assert float(mucb._limit(arms)) == pytest.approx(37.57606870, rel=1e-6)
    assert float(mucb.share(arms)) == pytest.approx(0.3664333231, rel=1e-6)
    assert KnownBreaks([3]).share(arms) is None


def alarms(rewards, judge):
    """The rounds in which the rewards since the alarm before are judged to be of two kinds."""
    result, seen = [], []
    for t, reward in enumerate(rewards, 1):
        seen.append(reward)
        if judge(seen):
            result.append(t)
            seen = []
    return result


def glr(seen, delta, grid):
    return len(seen) % grid == 0 and all_splits(seen, grid) >= math.log(len(seen) ** 1.5 / delta)


def cusum(seen, first, drift, threshold):
    mean, below, above = sum(seen[:first]) / first, 0.0, 0.0
    for reward in seen[first:]:
        above = max(0.0, above + reward - mean - drift)
        below = max(0.0, below + mean - reward - drift)
    return max(below, above) >= threshold


def mucb(seen, window, threshold):
    last = seen[-window:]
    return len(last) == window and abs(sum(last[: window // 2]) - sum(last[window // 2 :])) > threshold


LOOPS = {
    "GLR": (GLR(delta=0.1, alpha=0.0), lambda seen: glr(seen, 0.1, 10)),
    "CUSUM": (CUSUM(20, 0.07, 3.3, 0.0), lambda seen: cusum(seen, 20, 0.07, 3.3)),
    "MUCB": (MUCB(40, 6.1, 0.0), lambda seen: mucb(seen, 40, 6.1)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_same_alarms_as_a_plain_loop(name):
    """Coins and fractions whose mean jumps every 150 rewards."""
    detector, judge = LOOPS[name]
    random, total = np.random.default_rng(3), 0
    for _ in range(3):
        means = np.repeat(random.random(3), 150)
        for rewards in (random.random(450) < means, random.beta(4 * means + 0.1, 4.1 - 4 * means)):
            expected = alarms(rewards.astype(float).tolist(), judge)
            assert (1 + np.flatnonzero(raised(detector, rewards.astype(np.float32)))).tolist() == expected
            total += len(expected)
    assert total > 4


@jaxbandit.pytree
class Every:
    """A user's own detector: an alarm at every n-th reward of an arm, and arms by turns."""

    local: ClassVar = True

    period: int = 5
    turns: float = 0.0

    def init(self):
        return jnp.int32(0)

    def watched(self, state, reward, t, arms):
        return state + 1, state + 1 == self.period

    def share(self, arms):
        return jnp.asarray(self.turns, float)


UPDATE = jax.jit(lambda policy, state, feedback: policy.update(state, feedback))
SCORES = jax.jit(lambda policy, state, t: policy.scores(None, state, t)[0])


def play(policy, arms, rewards=(1.0,) * 8):
    """Play arms by hand; the states after each round."""
    state, states = policy.init(table := np.tile(np.array([0.0, 1.0]), (3, 1))), []
    for t, (arm, paid) in enumerate(zip(arms, rewards), 1):
        state = UPDATE(policy, state, Feedback.of(arm, paid, t=t, table=table))
        states.append(state)
    return states


@pytest.mark.parametrize(
    ("local", "plays", "restarted", "watched"),
    [
        (True, [[2, 2, 0], [0, 2, 0], [0, 0, 0], [0, 0, 1]], [5, 6, 0], [0, 0, 1]),
        (False, [[2, 2, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1]], [5, 5, 5], [0, 1, 1]),
    ],
)
def test_a_restart_empties_one_arm_or_all(local, plays, restarted, watched):
    states = play(WithDetector(KLUCB(), Every(3), local=local), [0, 1, 0, 1, 0, 1, 2])
    assert [state.policy.counts.sum(1).tolist() for state in states[3:]] == plays
    assert states[-1].restarted.tolist() == restarted and states[-1].detector.tolist() == watched


def test_the_index_counts_rounds_from_the_restart():
    """UCB1's bonus by hand: after round 8, arms restarted after rounds 3, 0 and 6."""
    policy = WithDetector(UCB1(), Every(1000))
    state = play(policy, [0, 1, 2, 0, 0, 1, 2, 2], [0, 1, 1, 1, 0, 0, 1, 1])[-1]
    state = state._replace(restarted=jnp.array([3, 0, 6], jnp.int32))
    means, plays = np.array([1 / 3, 1 / 2, 1]), np.array([3, 2, 3])
    expected = means + np.sqrt(2 * np.log(np.array([9 - 3, 9 - 0, 9 - 6]) - 1) / plays)
    np.testing.assert_allclose(SCORES(policy, state, 9), expected, rtol=1e-6)
    together = WithDetector(UCB1(), Every(1000), local=False)
    state = state._replace(restarted=jnp.array([4, 4, 4], jnp.int32))
    expected = means + np.sqrt(2 * np.log(9 - 4 - 1) / plays)
    np.testing.assert_allclose(SCORES(together, state, 9), expected, rtol=1e-6)


@pytest.mark.parametrize(("turns", "period"), [(1.0, 3), (0.4, 7)])
def test_arms_are_played_by_turns(turns, period):
    """Arm a in round t where (t - tau) mod floor(K / alpha) = a, tau the last restart of any arm."""
    policy = WithDetector(KLUCB(), Every(1000, turns))
    state = play(policy, [0, 1, 2])[-1]._replace(restarted=jnp.array([1, 3, 0], jnp.int32))
    for t in range(4, 20):
        arm = (t - 3) % period
        scores = SCORES(policy, state, t)
        if arm < 3:
            assert int(jnp.argmax(scores)) == arm and jnp.isfinite(scores).sum() == 2
        else:
            plain = SCORES(WithDetector(KLUCB(), Every(1000)), state, t)
            np.testing.assert_array_equal(scores, plain)


def test_known_breaks_restart_all_arms():
    """The runs of three segments are those of KL-UCB begun anew: counts between breaks are one game each."""
    policy = WithDetector(KLUCB(), KnownBreaks([4, 6]))
    states = play(policy, [0, 1, 2, 0, 1, 2, 0])
    plays = [int(state.policy.counts.sum()) for state in states]
    assert plays == [1, 2, 0, 1, 0, 1, 2]
    assert states[-1].restarted.tolist() == [5, 5, 5]


def test_an_oracle_under_a_detector_knows_the_order_of_the_arms():
    oracle = WithDetector(jaxbandit.Oracle(ARMS.means()), KnownBreaks([9]))
    kept = simulate(ARMS, {"o": oracle}, runs=7, horizon=20, shuffle=True)
    assert (jaxbandit.metrics.pseudo_regret(kept, "o") == 0).all()


OK = GLR(delta=0.1, alpha=0.1)
BAD = [
    (WithDetector(KLUCB(clock="wall"), OK), "policy: clock: 'wall'"),
    (WithDetector(KLUCB(), KLUCB()), "detector: a detector is needed, and KLUCB has no local, watched, share"),
    (WithDetector(KLUCB(), MUCB(alpha=0.1, horizon=10), local=True), "local: MUCB raises alarms for all arms"),
    (WithDetector(jaxbandit.TVKLUCB(), OK), "policy: TVKLUCB remembers in which state"),
    *(
        (WithDetector(policy, OK), f"policy: the memory of {type(policy).__name__} cannot be reset for one arm")
        for policy in (jaxbandit.RoundRobinKLUCB(), jaxbandit.GradientBandit(), KLUCB(memory=jaxbandit.Window(3)))
    ),
    (WithDetector(KLUCB(), GLR()), "detector: delta: missing; give it, or horizon"),
    (WithDetector(KLUCB(), GLR(delta=0.1, alpha=0.1, horizon=10)), "detector: horizon: 10 beside delta and alpha"),
    (WithDetector(KLUCB(), GLR(alpha=0.1, horizon=10, changes=2)), "detector: changes: 2 beside alpha"),
    (WithDetector(KLUCB(), GLR(horizon=10, changes=10)), "detector: changes: 10 lies outside"),
    (WithDetector(KLUCB(), CUSUM(horizon=10)), "detector: threshold: missing; give it, or horizon and changes"),
    (WithDetector(KLUCB(), MUCB(window=5, horizon=10, changes=1)), "detector: window: 5 is odd"),
    (WithDetector(KLUCB(), GLR(horizon=9)), "detector: horizon: GLR is made for 9 rounds, and 10 will be played; give"),
    (WithDetector(KLUCB(), KnownBreaks([1, 5])), r"detector: breaks: \[1, 5\] is not a list of rounds from 2 on"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\].{message}"):
        simulate(ARMS, {"p": policy}, runs=1, horizon=10)


def test_tasks_that_it_is_not_for():
    with pytest.raises(ValueError, match="WithDetector plays one arm a round, and plays is 2"):
        simulate(ARMS, {"p": WithDetector(KLUCB(), OK)}, runs=1, horizon=10, plays=2)
    gaussian = jaxbandit.gaussian([0.0, 1.0])
    with pytest.raises(ValueError, match="detector: GLR plays rewards from 0 to 1"):
        simulate(gaussian, {"p": WithDetector(UCB1(), OK)}, runs=1, horizon=10)
    WithDetector(UCB1(), KnownBreaks([5])).validate(Task(gaussian))
    WithDetector(jaxbandit.GradientBandit(), OK, local=False).validate(Task(ARMS))
