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
from jaxbandit import ALL, Feedback, bounds, markov, two_state
from jaxbandit.bounds.nearest import nearest_row
from jaxbandit.confidence import kl_ball_max
from jaxbandit.policies.chains.imed_mc import cycles

# IMED-MC of arms that pay a constant


def test_cycles_are_passages_below_and_back_where_rewards_differ():
    """By hand: 0 to 1 and back twice, 0 to 2 and back once; wherever the mean lies, there are worse and better states.

    Then one move back from 1 is missing, and in the last row one to 1: the fewer moves count.
    """
    cases = [((0.0, 0.5, 1.0), mean, number) for mean, number in ((-0.1, 3), (0.3, 3), (0.5, 3), (0.7, 1), (1.1, 1))]
    cases += [((0.2, 0.7, 0.7), 0.7, 3), ((0.3, 0.3, 0.9), 0.3, 1), ((0.5, 0.5, 0.5), 0.5, 18)]
    rewards, means, numbers = zip(*cases, ((0.0, 0.5, 1.0), 0.3, 2), ((0.0, 0.5, 1.0), 0.3, 2))
    counts = np.tile(np.array([[4, 2, 1], [2, 3, 0], [1, 0, 5]], np.int32), (len(numbers), 1, 1))
    counts[-2, 1, 0], counts[-1, 0, 1] = 1, 1
    assert tuple(jax.jit(cycles)(counts, np.array(rewards), np.array(means)).tolist()) == numbers


# Several plays a round, against loops

FOUR = two_state([0.5, 0.4, 0.3, 0.6], [0.4, 0.55, 0.65, 0.3], [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91), (0.02, 0.97)])


class Indices:
    """IMED or IMED-MC: unplayed arms first, then the largest means; the last one as with one play of the others."""

    def __init__(self, name, reward, number, **fields):
        self.name, self.reward, self.number, self.fields = name, reward, number, fields

    def mean(self, count, reward):
        """The mean by which the policy tells arms apart."""
        if self.name == "IMED":
            return reference.sample_mean(count, reward)
        return stationary_mean(count, reward, reference.least_gap(count, self.fields))

    def choose(self, counts, states, t):
        fresh = [k for k in range(len(counts)) if reference.plays(counts[k]) == 0]
        old = [k for k in range(len(counts)) if k not in fresh]
        lead = sorted(old, key=lambda k: (-self.mean(counts[k], self.reward[k]), k))[: self.number - 1]
        rest = [k for k in old if k not in lead]
        chosen = [*fresh, *sorted(lead)]
        if rest:
            of_rest = ([values[k] for k in rest] for values in (counts, states))
            rewards = [self.reward[k] for k in rest]
            chosen.append(rest[reference.choose(self.name, *of_rest, t, rewards, self.fields)])
        return chosen[: self.number]


class Lists:
    """DMED: what is left of the current list, and the next one."""

    def __init__(self, name, reward, number, plus=True):
        self.reward, self.number, self.plus, self.rounds = reward, number, plus, 0
        self.left, self.next = list(range(len(reward))), set()

    def means(self, counts):
        """Those of the plays, 0 for an arm never played."""
        return [reference.sample_mean(*arm) if reference.plays(arm[0]) else 0.0 for arm in zip(counts, self.reward)]

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
            if kind is Lists:
                loop.see(counts, chosen)


# Empirical KL-UCB

VALUES = (0.0, 0.25, 0.5, 1.0)
# Three arms whose laws have close means; rewards without symmetry, so that no two arms tie
LAWS = np.array([[0.2, 0.5, 0.3], [0.35, 0.3, 0.35], [0.15, 0.2, 0.65]])
LOW, OUTSIDE = (markov(np.repeat(LAWS[:, None], 3, axis=1), row) for row in ((0.1, 0.83, 0.37), (3.0, -2.0, 0.43)))
IN_LOOPS = [
    ("EmpiricalKLUCB", {"top": True}, LOW),
    ("EmpiricalKLUCB", {"exploration": None}, OUTSIDE),
]


@pytest.mark.parametrize(("name", "fields", "arms"), IN_LOOPS)
@pytest.mark.slow
def test_the_arms_of_the_reference_in_every_round(name, fields, arms):
    """In float64: roots of the divergence by its multiplier, where the chain's rows do not matter."""
    check_same_arms(reference.play, name, fields, arms, runs=3, rounds=200)


K_INF = [
    ((5, 3, 2, 0), 0.5, 0.4682131227),
    ((5, 3, 2, 0), 0.9, 2.077651035),
    ((1, 1, 1, 1), 0.7, 0.2354846947),
    ((2, 6, 2, 0), 0.45, 0.2865983212),
]


def test_information_of_laws_on_four_values():
    """Maximum of the dual, by a general solver, and inverse of the ball; the best arm has any law with this mean."""
    for counts, mean, information in K_INF:
        law, values = np.array(counts) / sum(counts), np.array(VALUES)
        assert nearest_row(law[None], values[None] - mean).cost[0] == pytest.approx(information, rel=1e-9)
        assert float(kl_ball_max(law, values, information)[0]) == pytest.approx(mean, abs=2e-6)
        laws = np.array([[1 - mean, 0, 0, mean], law])
        bound = bounds.lai_robbins(markov(np.repeat(laws[:, None], 4, axis=1), VALUES))
        assert bound.per_arm.tolist() == pytest.approx([0, (mean - law @ values) / information], rel=1e-6)


# Double precision


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
