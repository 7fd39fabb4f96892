"""Identification of the best arm: when it stops, what it samples and what it answers, against loops and exact laws."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import xlogy
from scipy.stats import binom

from jaxbandit import Feedback, bernoulli, bounds, chains, gaussian, markov, members, run_keys, simulate, two_state
from jaxbandit.confidence import chain_mixture, chain_order
from jaxbandit.policies import (
    LUCB,
    BernoulliGLR,
    Blocks,
    Budget,
    ChainGLR,
    Identify,
    RoundRobin,
    SequentialHalving,
    SuccessiveElimination,
    TopTwo,
    TrackAndStop,
)
from jaxbandit.policies.identify.blocks import gains, grid_of
from jaxbandit.policies.identify.evidence import against_all
from jaxbandit.policies.identify.track_and_stop import optimal_shares

ARMS = two_state([0.7, 0.4, 0.3], [0.2, 0.5, 0.6])
TABLE, THREE = (jnp.array([[0.0, 1.0]] * arms) for arms in (2, 3))
HORIZON, RUNS, DELTA = 150, 3, 0.2
COUNTS = jnp.array([[[10, 20], [15, 25]], [[40, 12], [14, 8]], [[4, 2], [2, 2]]])


def chain_mean(counts):
    p = counts[0, 1] / counts[0].sum(), counts[1, 0] / counts[1].sum()
    return p[0] / sum(p)


def order(one, other):
    return float(chain_order(one.astype(float), other.astype(float), np.array([0.0, 1.0])).ratio)


def price(rows):
    """What the mixture of Krichevsky and Trofimov loses to the likeliest rows, one or two."""
    return -float(chain_mixture(np.concatenate([rows, np.zeros_like(rows)])[:2].astype(float)))


def bernoulli_evidence(one, other):
    def likelihood(n, mean):
        return xlogy(n[1], mean) + xlogy(n[0], 1 - mean)

    if not one.sum() * other.sum() or one[1] * other.sum() <= other[1] * one.sum():
        return 0.0
    apart = sum(likelihood(n, n[1] / n.sum()) for n in (one, other))
    return float(apart - likelihood(one + other, (one + other)[1] / (one + other).sum()))


def test_evidence_of_chains():
    """The likelihood ratio for the order of two means, less what the mixture of each arm loses; 0 of unseen rows."""
    rule = ChainGLR()

    @jax.jit
    def of_memory(memory):
        evidence = against_all(rule.pair, jnp.int32(0), rule.compared(memory))
        return evidence.ratio[1], rule.excess(memory, jnp.int32(0), evidence, 1.0, jnp.int32(100))[1]

    for counts, ratio in ((COUNTS[:2], 8.4210019919), (jnp.array([[[0, 5], [4, 0]], [[12, 1], [0, 0]]]), 0)):
        found, excess = map(float, of_memory(rule.begin(TABLE)._replace(counts=counts)))
        assert found == pytest.approx(ratio, rel=1e-5)
        assert excess == pytest.approx(ratio + float(chain_mixture(counts.astype(float)).sum()), abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "threshold", "sampling"),
    [
        (ChainGLR, "mixture", LUCB()),
        (ChainGLR, "heuristic", SuccessiveElimination()),
        (BernoulliGLR, "mixture", RoundRobin()),
        (BernoulliGLR, "heuristic", LUCB()),
    ],
)
@pytest.mark.slow
def test_stops_and_answers_as_a_loop(kind, threshold, sampling):
    """Every sampling rule without random numbers chooses as the loop does, and all stop in the loop's round."""
    rule, of_chains, heuristic = kind(threshold=threshold), kind is ChainGLR, threshold == "heuristic"
    size = {"until": "stopped", "runs": RUNS, "horizon": HORIZON, "times": range(1, HORIZON + 1), "progress": False}
    record = {"counts": lambda arms, state, t: state.memory.counts}
    result = simulate(ARMS, {"p": Identify(sampling, rule, DELTA)}, record=record, **size)
    evidence = order if of_chains else bernoulli_evidence
    undecided = 0
    for run in range(RUNS):
        counts, end = result.recorded["counts"]["p"][0, 0, run], result.stopped["p"][0, 0, run]
        for t in range(1, HORIZON + 1 if end == 0 else end + 1):
            now = np.asarray(counts[t - 1], int)
            rows = now.reshape(3, -1, 2)
            if of_chains and rows.sum(-1).min() == 0:
                assert end != t
                continue
            if t % 9 and end not in (t, t + 1):
                continue
            plays = rows.sum((1, 2))
            means = [chain_mean(arm) if of_chains else arm[0, 1] / max(arm.sum(), 1) for arm in rows]
            leader = int(np.argmax(means))
            others = [b for b in range(3) if b != leader]
            ratio = {b: evidence(*(rows if of_chains else now)[[leader, b]]) for b in others}
            asked = np.log(2 / DELTA) + (np.log1p(np.log(t)) if heuristic else price(rows[leader]))
            excess = {b: ratio[b] - asked - (0 if heuristic else price(rows[b])) for b in others}
            if min(map(abs, excess.values())) < 2e-3 or np.ptp(means) < 1e-6:
                undecided += 1
                continue
            assert (min(excess.values()) >= 0) == (end == t), (run, t)
            if end == t:
                assert result.answers["p"][0, 0, run] == leader
            elif t < HORIZON:
                played = int(np.argmax(np.asarray(counts[t]).reshape(3, -1).sum(1) - plays))
                weakest = min(others, key=lambda b: (ratio[b], b))
                left = [b for b in range(3) if b == leader or excess[b] < 0]
                wanted = {
                    LUCB: weakest if plays[weakest] < plays[leader] else leader,
                    SuccessiveElimination: min(left, key=lambda b: (plays[b], b)),
                    RoundRobin: t % 3,
                }[type(sampling)]
                tie = type(sampling) is LUCB and np.ptp(list(ratio.values())) < 1e-3
                assert tie or played == wanted, (run, t)
    assert undecided < 0.05 * RUNS * HORIZON
    assert not heuristic or (result.stopped["p"] > 0).any()


@pytest.mark.slow
def test_top_two_plays_the_leader_and_its_challenger():
    """The challenger has the least W + log T; the leader's share is its part of W. One time in 10,000 this fails."""
    memory = ChainGLR().begin(THREE)
    policy = Identify(TopTwo(), ChainGLR())
    state = policy.init(THREE)
    state = state._replace(seen=policy._seen(memory._replace(counts=COUNTS), jnp.int32(130)))
    keys = run_keys(jax.random.key(3), jnp.arange(4000)).policy
    played = np.asarray(jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, jnp.int32(131))[0])))(keys))
    cost = [order(COUNTS[0], COUNTS[b]) + np.log(COUNTS[b].sum()) for b in (1, 2)]
    challenger = 1 + int(np.argmin(cost))
    assert set(played.tolist()) == {0, challenger}
    share = float(state.seen.evidence.share[challenger])
    assert abs((played == 0).mean() - share) < 4 * (share * (1 - share) / 4000) ** 0.5


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Identify(delta=1.0), "delta: 1.0"),
        (Identify(stopping=TopTwo()), r"stopping: TopTwo.* is not a rule"),
        (SequentialHalving(5), "budget: 5 is not"),
        (SequentialHalving(60), "budget: 60 is beyond the horizon of 50"),
        (Identify(TopTwo(), Budget(0)), "rounds: 0 is not"),
        (Identify(TopTwo(), Budget(51)), "rounds: 51 is beyond the horizon"),
        (Identify(TopTwo(), Budget(5, RoundRobin())), "rule: RoundRobin.* is not a rule"),
        (Identify(stopping=BernoulliGLR()), "two states; those of .* have 3"),
    ],
)
def test_what_cannot_be_played_is_refused(policy, words):
    arms = markov(np.full((3, 3, 3), 1 / 3), [0, 0.5, 1]) if "have 3" in words else ARMS
    with pytest.raises(ValueError, match=words):
        simulate(arms, {"p": policy}, until="stopped", runs=2, horizon=50, progress=False)


def test_which_rules_need_moves_in_order():
    rules = ChainGLR(), Blocks(), ChainGLR("heuristic"), BernoulliGLR(), Budget(9)
    assert [members.in_order(Identify(stopping=rule)) for rule in rules] == [True, True, False, False, False]


# --- track and stop: the shares that it aims at, and which arm it plays ---

ROWS = 1e5
PROBLEMS = {
    "Garivier and Kaufmann 1": (BernoulliGLR(), bernoulli([0.5, 0.45, 0.43, 0.4])),
    "near the ends": (BernoulliGLR(), bernoulli([0.002, 0.999, 0.99])),
    "slow chains": (ChainGLR(), two_state([0.05, 0.02, 0.3], [0.05, 0.03, 0.5])),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.slow
def test_the_shares_are_those_of_the_lower_bound(name):
    """Of counts as the stationary laws have them: another solver, in float64, for the same problem."""
    rule, arms = PROBLEMS[name]
    transition = np.asarray(arms.transition)
    law = np.array([chains.stationary(rows) for rows in transition])
    counts = ROWS * (law if isinstance(rule, BernoulliGLR) else law[..., None] * transition)
    policy = Identify(TrackAndStop(), rule)
    state = policy.init(jnp.asarray(arms.reward, float))
    memory = state.memory._replace(counts=jnp.asarray(np.round(counts), jnp.int32))
    plays, leader = jnp.asarray(rule.plays(memory)), jnp.argmax(jnp.asarray(arms.means())).astype(jnp.int32)
    state = state._replace(memory=memory, seen=state.seen._replace(leader=leader, plays=plays))

    @jax.jit
    def shares(state):
        return optimal_shares(policy._information(state), state.seen.leader, len(plays), jnp.int32(18))

    expected = bounds.identification(arms).weights
    np.testing.assert_allclose(np.asarray(shares(state)), expected, atol=2e-3)
    tied = state._replace(memory=memory._replace(counts=memory.counts.at[:].set(memory.counts[:1])))
    np.testing.assert_allclose(np.asarray(shares(tied)), 1 / len(plays), rtol=1e-6)


@pytest.mark.slow
def test_it_plays_the_arm_that_is_farthest_behind():
    """By a loop that reads the recorded shares: few plays first, else the arm farthest behind, until the end."""
    arms, rounds = bernoulli([0.7, 0.5, 0.4]), 100
    record = {"w": lambda _, state, t: state.sampling}
    policy = {"T": Identify(TrackAndStop(), BernoulliGLR(), 1e-9)}
    size = {"runs": 2, "horizon": rounds, "times": range(1, rounds + 1)}
    result = simulate(arms, policy, until="stopped", record=record, **size)
    for run in range(2):
        plays = np.zeros(3, int)
        for t in range(1, rounds + 1):
            now = result.visits["T"][0, 0, run, t - 1].sum(1)
            weights = result.recorded["w"]["T"][0, 0, run, t - 1].astype(float)
            (arm,) = np.flatnonzero(now > plays)
            if plays.min() < np.sqrt(t - 1) - 1.5:
                assert arm == plays.argmin()
            else:
                behind = (t - 1) * weights - plays
                assert behind[arm] > behind.max() - 1e-3 and (behind[:arm] < behind[arm] + 1e-3).all()
            if t > 64 and t % 2:  # they are computed in every second round
                np.testing.assert_array_equal(weights, result.recorded["w"]["T"][0, 0, run, t - 2])
            plays = now


# --- the stopping rule `Blocks`: a loop in float64, and its fair bets by enumeration ---

CELLS, ERROR, ROUNDS = 100, 0.1, 2400
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
        return memory, (leader, rule.excess(memory, leader, None, ERROR, t[0])[1 - leader])

    memory, (leaders, excess) = jax.lax.scan(step, rule.begin(reward), rounds)
    return leaders, excess, memory.largest


def by_loop(rounds, leaders, joint):
    """The last two, from the definition: lists of moves that wait, the nearest chain from its quadratic equation."""
    means = np.sin(np.arange(1, CELLS) / CELLS * np.pi / 2) ** 2
    level = -math.log(ERROR)
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
@pytest.mark.parametrize(("arms", "seeds"), [(FAST, range(4)), (SLOW, range(8, 10))], ids=["fast", "slow"])
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


# --- the best arm after a budget of rounds ---


def halving(rewards, budget):
    """The arms that sequential halving plays and its answer; `rewards[k][n]` is paid by the n-th play of arm k."""
    left, played, phases = list(range(len(rewards))), [], math.ceil(math.log2(len(rewards)))

    def mean(arm):
        return np.mean(rewards[arm][: played.count(arm)])

    for phase in range(phases):
        for _ in range(budget // (len(left) * phases)):
            played += left
        if phase < phases - 1:
            ordered = sorted(left, key=lambda arm: (-mean(arm), arm))
            left = sorted(ordered[: math.ceil(len(left) / 2)])
    for arm in itertools.islice(itertools.cycle(sorted(left, key=played.count)), budget - len(played)):
        played.append(arm)
    return played, min(left, key=lambda arm: (-mean(arm), arm))


@pytest.mark.parametrize(("arms", "budgets"), [(5, (15, 47)), (3, (6, 20))])
def test_sequential_halving_is_a_loop(arms, budgets):
    """Arms and answers of every run; rewards are .1, .2, .. by the states of a chain, so that means rarely tie."""
    chains = two_state(np.linspace(0.3, 0.6, arms), np.linspace(0.6, 0.3, arms))
    policies = {"S": [SequentialHalving(budget) for budget in budgets]}
    size = {"runs": 4, "horizon": max(budgets), "times": range(1, max(budgets) + 1)}
    result = simulate(chains, policies, until="stopped", **size)
    for (v, budget), run in itertools.product(enumerate(budgets), range(4)):
        visits = result.visits["S"][0, v, run].astype(int)
        steps = np.diff(visits, axis=0, prepend=0)[:budget]
        rewards = [[step[k, 1] for step in steps if step[k].sum()] for k in range(arms)]
        played, answer = halving(rewards, budget)
        assert [int(step.sum(1).argmax()) for step in steps] == played
        assert result.answers["S"][0, v, run] == answer and result.stopped["S"][0, v, run] == budget


def test_a_budget_ends_with_the_best_mean():
    """Ten plays of each of two arms; on ties the first arm is answered."""
    policy = Identify(RoundRobin(), Budget(20, BernoulliGLR()))
    result = simulate(bernoulli([0.6, 0.5]), {"U": policy}, until="stopped", runs=50, horizon=100, times=[100])
    visits = result.visits["U"][0, 0, :, -1]
    assert (visits.sum(-1) == 10).all() and (result.stopped["U"] == 20).all()
    np.testing.assert_array_equal(result.answers["U"][0, 0], visits[..., 1].argmax(-1))


def test_late_feedback_and_numbers():
    """Halves by what has come; arms whose rewards are any real numbers, some of them negative."""
    arms = gaussian([-1.0, -3.0, -2.0, -4.0], 0.01)
    result = simulate(arms, {"S": SequentialHalving(40)}, until="stopped", runs=4, horizon=40, delay=3)
    assert (result.answers["S"] == 0).all() and (result.stopped["S"] == 40).all()
    np.testing.assert_array_equal(result.visits["S"][0, 0, :, -1].sum(-1), [[15, 5, 15, 5]] * 4)
