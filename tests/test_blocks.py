"""The stopping rule `Blocks`, against a loop in float64, and its fair bets by enumeration."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import jaxbandit
from jaxbandit import Feedback
from jaxbandit.policies import Blocks, Identify, RoundRobin
from jaxbandit.policies.identify.blocks import gains, grid_of

CELLS, DELTA, ROUNDS = 100, 0.1, 2400
FAST, SLOW = [[0.5, 0.4], [0.4, 0.55]], [[0.004, 0.004], [0.002, 0.006]]  # p01 and p10 of each arm


def moves_of(arms, seed):
    """The states before and after each round of two arms played in turn, from state 0."""
    random, state = np.random.default_rng(seed), [0, 0]
    for t in range(ROUNDS):
        arm = t % 2
        before = state[arm]
        state[arm] = before ^ int(random.random() < arms[arm][before])
        yield arm, before, state[arm]


@partial(jax.jit, static_argnames="joint")
def by_rule(reward, rounds, joint):
    """The leader after each round [T], the excess of the other arm [T], and the largest wealths at the end."""
    rule = Blocks(joint=joint, grid=CELLS)

    def step(memory, move):
        t, arm, before, after = (number[None] for number in move)
        memory = memory.counted(Feedback(arm, before, after, jnp.zeros(1), t[0]))
        leader = jnp.argmax(rule.means(memory)).astype(jnp.int32)
        return memory, (leader, rule.excess(memory, leader, None, DELTA, t[0])[1 - leader])

    memory, (leaders, excess) = jax.lax.scan(step, rule.begin(reward), rounds)
    return leaders, excess, memory.largest


def by_loop(rounds, leaders, joint):
    """The last two, from the definition: lists of moves that wait, the nearest chain from its quadratic equation."""
    means = np.sin(np.arange(1, CELLS) / CELLS * np.pi / 2) ** 2
    level = -math.log(DELTA)
    level = level if joint else brentq(lambda y: y - math.log(1 + y) - level, 0.1, 100)
    queue, used = [[[], []], [[], []]], np.zeros((2, 2, 2))  # used: arm, state, stayed and left
    wealth, excess = np.zeros((2, 2, CELLS - 1)), []
    largest = np.zeros((2, CELLS) if joint else wealth.shape)

    def estimate(arm):
        a = (used[arm, :, 1] + 5) / (used[arm].sum(1) + 10)
        single = a.astype(np.float32)  # so that what lies between two sizes is rounded alike
        n0 = min(max(round(float(4 * (1 - single[0] / (single[0] + single[1])))), 1), 3)
        return a, np.array([n0, 4 - n0])

    def cells(numbers, arm):  # at most g_i, at least g_(i - 1)
        return np.r_[numbers[arm, 0], 0] + np.r_[0, numbers[1 - arm, 1]]

    def bet(arm):
        a, n = estimate(arm)
        left = np.array([sum(queue[arm][s][: n[s]]) for s in (0, 1)])
        queue[arm] = [queue[arm][s][n[s] :] for s in (0, 1)]
        c, A, B, C = means / (1 - means), n @ a, n[0] * (1 - a[0]), n[1] * (1 - a[1])
        b = A * (1 + c) + c * B + C
        q1 = (b - np.sqrt(b**2 - 4 * c * (A + B + C) * A)) / (2 * c * (A + B + C))
        terms = [
            left[s] * np.log(a[s] / q) + (n[s] - left[s]) * np.log((1 - a[s]) / (1 - q))
            for s, q in enumerate([c * q1, q1])
        ]
        wealth[arm, 0] += np.where(a[0] / a.sum() > means, sum(terms), 0)
        wealth[arm, 1] += np.where(a[0] / a.sum() < means, sum(terms), 0)
        used[arm, :, 0] += n - left
        used[arm, :, 1] += left

    def complete(arm):
        return all(len(moves) >= n for moves, n in zip(queue[arm], estimate(arm)[1]))

    for t, (arm, before, after) in enumerate(rounds, 1):
        if len(queue[arm][before]) < 256:
            queue[arm][before].append(int(before != after))
        if t % 4 == 0:
            those = [k for k in (0, 1) if complete(k)]
            if not joint:
                those = sorted(those, key=lambda k: -len(queue[k][0]) - len(queue[k][1]))[:1]
            elif len(those) < 2:
                those = []
            for k in those:
                bet(k)
            largest = np.maximum(largest, [cells(wealth, k) for k in (0, 1)] if joint else wealth)
            leader = leaders[t - 1]
            least = (largest[leader] if joint else cells(largest, leader)).min() - level
        excess.append(least if t >= 4 and leaders[t - 1] == leader else -np.inf)
    return np.array(excess), largest


@pytest.mark.parametrize("joint", [False, True], ids=["separate", "joint"])
@pytest.mark.parametrize(("arms", "seeds"), [(FAST, range(8)), (SLOW, range(8, 12))], ids=["fast", "slow"])
def test_stops_as_a_loop(arms, seeds, joint):
    stops = 0
    for seed in seeds:
        rounds = list(moves_of(arms, seed))
        flipped = seed % 2  # rewards (1, 0): the states change their names
        moves = np.array(rounds, np.int32).T
        moves[1:] ^= flipped
        reward = jnp.array([[[0.0, 1.0]] * 2, [[1.0, 0.0]] * 2][flipped])
        leaders, found, reached = by_rule(reward, (np.arange(1, ROUNDS + 1, dtype=np.int32), *moves), joint)
        excess, largest = by_loop(rounds, np.asarray(leaders), joint)
        assert ((np.asarray(found) >= 0) == (excess >= 0)).all()
        np.testing.assert_allclose(reached, largest, rtol=2e-4, atol=2e-4)
        stops += (excess >= 0).any()
    assert stops > len(seeds) / 2 or arms is SLOW


def test_every_bet_is_fair():
    """The mean factor of a block, over all its outcomes, is at most 1 for every chain that the bet is against."""
    mean, rest = grid_of(8)
    p01, p10 = np.meshgrid(np.linspace(0.001, 0.999, 60), np.linspace(0.001, 0.999, 61), indexing="ij")
    largest = []
    every = jax.jit(jax.vmap(gains, in_axes=(None, None, 0, None, None)))
    for a in ([0.5, 0.5], [0.1, 0.3], [0.9, 0.2], [0.02, 0.01]):
        for n in ([2, 2], [1, 3], [3, 1]):
            left = np.array([(i, j) for i in range(n[0] + 1) for j in range(n[1] + 1)])
            block = np.stack([n - left, left], axis=2)
            factor = np.exp(np.asarray(every(jnp.array(a), jnp.array(n), jnp.array(block), mean, rest), float))
            chance = [binom.pmf(i, n[0], p01) * binom.pmf(j, n[1], p10) for i, j in left]
            for m, expected in zip(np.asarray(mean, float), np.einsum("bg,bxy->gxy", factor, np.array(chance))):
                share = p01 / (p01 + p10)
                against = share <= m if a[0] / sum(a) > m else share >= m
                largest.append(expected[against].max())
    assert max(largest) <= 1 + 1e-5 and np.median(largest) > 0.99


@pytest.mark.slow
def test_stops_as_early_as_a_program_of_its_own():
    """Mean rounds of 400 runs of another program, with delta .1 and .01; false alarm 1 in 100."""
    arms = jaxbandit.two_state(*np.array(FAST).T)
    published = {False: ([855, 1347], [25, 32]), True: ([705, 1139], [24, 29])}
    rules = {joint: [Identify(RoundRobin(), Blocks(joint), d) for d in (0.1, 0.01)] for joint in published}
    policies = {str(joint): both for joint, both in rules.items()}
    result = jaxbandit.simulate(arms, policies, until="stopped", runs=32, horizon=10_000, progress=False)
    for joint, (mean, error) in published.items():
        stopped, answers = result.stopped[str(joint)][0], result.answers[str(joint)][0]
        assert (stopped > 0).all() and (answers == 0).all()
        assert (abs(stopped.mean(1) - mean) < 3 * np.hypot(stopped.std(1) / math.sqrt(32), error)).all()
