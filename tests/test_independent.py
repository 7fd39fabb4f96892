"""Policies of information: IMED and DMED against their loops and lists, empirical KL-UCB, and the information K_inf."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_same_arms, reference_draws
from reference_chain import stationary_mean

import jaxbandit
from jaxbandit import ALL, DMED, EmpiricalKLUCB, Feedback, bounds, markov, top_arms, two_state
from jaxbandit.bounds.nearest import nearest_row
from jaxbandit.confidence import kl_ball_max
from jaxbandit.policies.chains.imed_mc import cycles
from jaxbandit.policies.parts.exploration import level

# IMED-MC of arms that pay a constant


def tours(path, states):
    """How often a path, its start left out, has been in every state again."""
    completed, seen = 0, set()
    for state in path:
        seen.add(state)
        if len(seen) == states:
            completed, seen = completed + 1, set()
    return completed


PAID = [(0.4, 0.4), (0.0, 1.0)]
PAID += [(0.4, 0.4, 0.4), (0.0, 0.5, 1.0), (0.3, 0.3, 0.9), (0.2, 0.7, 0.7)]
PAID += [(0.4,) * 4, (0.4, 0.4, 0.4, 0.5), (0.0, 0.0, 1.0, 1.0)]


@pytest.mark.parametrize("states", [2, 3, 4])
def test_cycles_grow_with_tours_wherever_the_mean_lies(states):
    """Condition (2) of the proof with A = 2, on random paths of fixed seeds: tours <= 2 (c + 1) and c <= T."""
    generator, cases = np.random.default_rng(0), []
    for reward in (item for item in PAID if len(item) == states):
        low, high = min(reward), max(reward)
        for _ in range(20):
            chain, path = generator.dirichlet(np.full(states, 0.5), states), [0]
            for _ in range(120):
                path.append(int(generator.choice(states, p=chain[path[-1]])))
            counts = np.zeros((states, states), np.int32)
            np.add.at(counts, (path[:-1], path[1:]), 1)
            means = (low - 1e-7, low, (low + high) / 2, reward[1], high, high + 1e-7)
            cases += [(counts, reward, mean, tours(path[1:], states)) for mean in means]
    *inputs, completed = (np.array(item) for item in zip(*cases))
    number = np.asarray(jax.jit(cycles)(*inputs))
    assert (completed <= 2 * (number + 1)).all() and (number <= 120).all()


def test_cycles_are_passages_below_and_back_where_rewards_differ():
    """By hand: 0 to 1 and back twice, 0 to 2 and back once; the mean lies above what state 0 pays."""
    counts = jnp.array([[[4, 2, 1], [2, 3, 0], [1, 0, 5]]] * 3)
    rewards, means = jnp.array([[0.0, 0.5, 1.0]] * 2 + [[0.5] * 3]), jnp.array([0.3, 0.7, 0.5])
    assert jax.jit(cycles)(counts, rewards, means).tolist() == [3, 1, 18]


# Several plays a round, against loops

FOUR = two_state([0.5, 0.4, 0.3, 0.6], [0.4, 0.55, 0.65, 0.3], [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91), (0.02, 0.97)])


class Indices:
    """IMED or IMED-MC: unplayed arms first, then the largest means; the last one as with one play of the others."""

    def __init__(self, name, reward, number, **fields):
        self.name, self.reward, self.number, self.fields = name, reward, number, fields

    def mean_of(self, count, reward):
        """The mean by which the policy tells arms apart."""
        if self.name == "IMED":
            return reference.sample_mean(count, reward)
        return stationary_mean(count, reward, reference.least_gap(count, reference.DEFAULTS[self.name] | self.fields))

    def choose(self, counts, states, t):
        fresh = [k for k in range(len(counts)) if reference.plays(counts[k]) == 0]
        old = [k for k in range(len(counts)) if k not in fresh]
        lead = sorted(old, key=lambda k: (-self.mean_of(counts[k], self.reward[k]), k))[: self.number - 1]
        rest = [k for k in old if k not in lead]
        chosen = [*fresh, *sorted(lead)]
        if rest:
            of_rest = ([values[k] for k in rest] for values in (counts, states))
            rewards = [self.reward[k] for k in rest]
            chosen.append(rest[reference.choose(self.name, *of_rest, t, rewards, self.fields)])
        return chosen[: self.number]

    def see(self, counts, chosen):
        pass


class Lists:
    """DMED: what is left of the current list, and the next one."""

    def __init__(self, name, reward, number, plus=True):
        self.reward, self.number, self.plus, self.rounds = reward, number, plus, 0
        self.left, self.next = list(range(len(reward))), set()

    def means(self, counts):
        """Those of the plays, 0 for an arm never played."""
        pairs = zip(counts, self.reward, strict=True)
        return [reference.sample_mean(*pair) if reference.plays(pair[0]) else 0.0 for pair in pairs]

    def choose(self, counts, states, t):
        means = self.means(counts)
        others = sorted((k for k in range(len(counts)) if k not in self.left), key=lambda k: (-means[k], k))
        return [*self.left, *others][: self.number]

    def see(self, counts, chosen):
        self.rounds += 1
        self.left = [k for k in self.left if k not in chosen]
        means = self.means(counts)
        least = sorted(means)[-self.number]
        for k in range(len(counts)):
            number = max(reference.plays(counts[k]), 1)
            cost = number * reference.kl(min(means[k], least), least)
            level = math.log(self.rounds) - (math.log(number) if self.plus else 0)
            first = (self.rounds - 1) * self.number < len(counts)  # the second list holds all arms, as the first does
            if k not in self.left and (cost <= level * (1 + 1e-5) or first):
                self.next.add(k)
        if not self.left:
            self.left, self.next = sorted(self.next), set()


THREE, ENDS = (two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward) for reward in ((0.1, 0.83), (0.0, 1.0)))
PLAYED = [
    (Indices, "IMED", {}, FOUR, 3, 300),
    pytest.param(Indices, "IMEDMC", {"exponent": 0.5}, FOUR, 2, 300, marks=pytest.mark.slow),
    (Lists, "DMED", {}, FOUR, 2, 300),
    (Lists, "DMED", {}, THREE, 1, 900),
    (Lists, "DMED", {"plus": False}, ENDS, 1, 900),
]


@pytest.mark.parametrize(("kind", "name", "fields", "arms", "number", "rounds"), PLAYED)
def test_the_arms_of_a_loop_in_every_round(kind, name, fields, arms, number, rounds):
    """Four runs in float64."""
    key = jax.random.key(7)
    asked = {"runs": 4, "horizon": rounds, "times": np.arange(1, rounds + 1), "plays": number, "progress": False}
    with jax.enable_x64(True):
        result = jaxbandit.simulate(arms, {name: ALL[name](**fields)}, key=key, **asked)
    played = np.diff(result.visits[name][0, 0].sum(-1), axis=1, prepend=0)  # [R, T, K]
    for run in range(4):
        draws = reference_draws(arms, key, run)
        counts, states, reward = reference.start(arms.reward, 0)
        loop = kind(name, reward, number, **fields)
        for t in range(1, rounds + 1):
            chosen = loop.choose(counts, states, t)
            assert sorted(chosen) == np.flatnonzero(played[run, t - 1]).tolist(), (run, t)
            for k in chosen:
                after = int(draws(k, reference.plays(counts[k]) + 1, states[k]))
                counts[k][states[k]][after] += 1
                states[k] = after
            loop.see(counts, chosen)


def test_dmed_fills_up_a_list_with_the_best_means():
    """Two plays a round of four arms, by hand: the list holds arm 3 alone, arm 1 has the best mean of the others."""
    policy = DMED()
    state = policy.init(jnp.tile(jnp.array([0.0, 1.0]), (4, 1)))
    counts = jnp.array([[15, 15], [10, 30], [15, 5], [8, 2]], jnp.int32)
    state = state._replace(now=jnp.array([False, False, False, True]), counts=counts)

    @jax.jit
    def one_round(state):
        arms = top_arms(policy.scores(None, state, 51)[0], 2)
        nothing = jnp.zeros(2, jnp.int32)
        return arms, policy.update(state, Feedback(arms, nothing, nothing, jnp.zeros(2), jnp.int32(51)))

    arms, state = one_round(state)
    assert sorted(arms.tolist()) == [1, 3]
    # means 1/2, 30/41, 1/4, 2/11, the second largest arm 0's: 20 d(1/4, 1/2) = 2.6 and 11 d(2/11, 1/2) = 2.3 are more
    # than log 51/20 and log 51/11
    assert state.now.tolist() == [True, True, False, False] and not bool(state.following.any())


# Empirical KL-UCB, and the round robin of Lai and Robbins

VALUES = (0.0, 0.25, 0.5, 1.0)
BALL = [
    ((5, 3, 2, 0), 0.1, 0.2774249998, (0.3612875001, 0.2890300001, 0.2890300001, 0.06065249971)),
    ((5, 3, 2, 0), 0.6, 0.5617361084, (0.2191319458, 0.1753055566, 0.1753055566, 0.430256941)),
    ((1, 1, 1, 1), 0.05, 0.5585037973, None),
    ((0, 4, 0, 0), 0.3, 0.4443863345, (0, 0.7408182207, 0, 0.2591817793)),
    ((2, 0, 6, 2), 0.2, 0.7031166851, (0.08330711343, 0, 0.4271524029, 0.4895404836)),
]
largest = jax.jit(kl_ball_max)


@pytest.mark.slow
def test_empirical_kl_ucb_vectors():
    """By the multiplier's form and by a general solver; the policy has this radius in round exp(radius T)."""
    policy = EmpiricalKLUCB(exploration=0.0)
    start, scores = policy.init(jnp.array([VALUES] * 2)), jax.jit(policy.scores)
    for counts, radius, index, law in BALL:
        maximum, row = largest(np.array(counts) / sum(counts), np.array(VALUES), radius)
        assert float(maximum) == pytest.approx(index, abs=2e-6)
        if law is not None:
            assert row.tolist() == pytest.approx(law, abs=2e-6)
        state = start._replace(counts=jnp.array([counts, (0, 0, 0, 0)], jnp.int32))
        answer = scores(None, state, math.exp(radius * sum(counts)))[0]
        assert answer.tolist() == pytest.approx([index, math.inf], abs=2e-6)


# Three arms whose laws have close means; rewards without symmetry, so that no two arms tie
LAWS = np.array([[0.2, 0.5, 0.3], [0.35, 0.3, 0.35], [0.15, 0.2, 0.65]])
LOW, OUTSIDE = (markov(np.repeat(LAWS[:, None], 3, axis=1), row) for row in ((0.1, 0.83, 0.37), (3.0, -2.0, 0.43)))
IN_LOOPS = [
    ("EmpiricalKLUCB", {"top": True}, LOW),
    ("EmpiricalKLUCB", {"exploration": None}, OUTSIDE),
    ("RoundRobinKLUCB", {"exploration": 0.0, "delta": 0.25}, two_state([0.5, 0.3], [0.4, 0.6], (0.1, 0.83))),
]


@pytest.mark.parametrize(("name", "fields", "arms"), IN_LOOPS)
@pytest.mark.slow
def test_the_arms_of_the_reference_in_every_round(name, fields, arms):
    """In float64: roots of the divergence by its multiplier, where the chain's rows do not matter; the rule of 1985."""
    check_same_arms(reference.play, name, fields, arms, runs=3, rounds=200)


K_INF = [
    ((5, 3, 2, 0), 0.5, 0.4682131227),
    ((5, 3, 2, 0), 0.9, 2.077651035),
    ((1, 1, 1, 1), 0.7, 0.2354846947),
    ((2, 6, 2, 0), 0.45, 0.2865983212),
]


def test_information_of_laws_on_four_values():
    """Maximum of the dual and inverse of the ball; the best arm has any law with this mean."""
    for counts, mean, information in K_INF:
        law, values = np.array(counts) / sum(counts), np.array(VALUES)
        assert nearest_row(law[None], values[None] - mean).cost[0] == pytest.approx(information, rel=1e-9)
        assert float(largest(law, values, information)[0]) == pytest.approx(mean, abs=2e-6)
        laws = np.array([[1 - mean, 0, 0, mean], law])
        bound = bounds.lai_robbins(markov(np.repeat(laws[:, None], 4, axis=1), VALUES))
        assert bound.per_arm.tolist() == pytest.approx([0, (mean - law @ values) / information], rel=1e-6)


# Double precision


def test_the_arms_clock_counts_in_float64_under_x64():
    """t / T of large integers against Python's floats; float32 would be off by 1e-8."""
    plays = (3, 1_000_003, 2**24 + 1)
    with jax.enable_x64(True):
        result = level(jnp.int32(2**31 - 1), 3.0, "arm", jnp.array(plays, jnp.int32))
    logs = [math.log((2**31 - 1) / T) for T in plays]
    np.testing.assert_allclose(result, [each + 3 * math.log(each) for each in logs], rtol=1e-14)


OF_ALL = [{}, {"clock": "arm"}, {"horizon": 300.0}, {"solver": "bisection"}]  # each for the policies that have it
WITH = [(name, each) for each in OF_ALL for name in ALL if each.keys() <= ALL[name].__annotations__.keys()]


@pytest.mark.parametrize(("name", "fields"), WITH)
def test_no_policy_computes_in_float32_under_x64(name, fields):
    """No number of its program has that type, for arms with two states, and of the defaults with three."""

    def one_round(policy, key, t, reward, arm, paid):
        state = policy.init(reward)
        return policy.scores(key, state, t)[0], policy.update(state, Feedback(arm, arm, arm, paid, t))

    for values in ((0.0, 1.0), *(() if fields else ((0.0, 0.5, 1.0),))):
        with jax.enable_x64(True):
            policy, reward = jax.tree.map(jnp.asarray, ALL[name](**fields)), jnp.tile(jnp.array(values), (3, 1))
            arm = jnp.array([1], jnp.int32)
            program = jax.make_jaxpr(one_round)(policy, jax.random.key(0), jnp.int32(5), reward, arm, jnp.ones(1))
        assert "f64[" in str(program) and "f32[" not in str(program)
