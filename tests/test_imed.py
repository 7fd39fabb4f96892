"""IMED and its kin where they are hard to get right: arms that pay a constant, several plays a round, absorbed arms."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_law, reference_draws
from reference_chain import stationary_mean
from reference_dmed import Lists

import jaxbandit
from jaxbandit import ALL, two_state
from jaxbandit.policies.chains.imed_mc import cycles

# Arms that pay a constant


def tours(path, states):
    """How often a path, its start left out, has been in every state again."""
    completed, seen = 0, set()
    for state in path:
        seen.add(state)
        if len(seen) == states:
            completed, seen = completed + 1, set()
    return completed


PAID = [(0.4, 0.4), (0.0, 1.0), (0.4, 0.4, 0.4), (0.0, 0.5, 1.0), (0.3, 0.3, 0.9), (0.2, 0.7, 0.7), (0.4,) * 4]


@pytest.mark.parametrize("reward", [*PAID, (0.4, 0.4, 0.4, 0.5), (0.0, 0.0, 1.0, 1.0)])
def test_cycles_grow_with_tours_wherever_the_mean_lies(reward):
    """Condition (2) of the proof with A = 2, on random paths of fixed seeds: tours <= 2 (c + 1) and c <= T."""
    generator, states = np.random.default_rng(0), len(reward)
    for _ in range(20):
        chain = generator.dirichlet(np.full(states, 0.5), states)
        path = [0]
        for _ in range(120):
            path.append(int(generator.choice(states, p=chain[path[-1]])))
        counts = np.zeros((states, states), np.int32)
        np.add.at(counts, (path[:-1], path[1:]), 1)
        low, high = min(reward), max(reward)
        for mean in (low - 1e-7, low, (low + high) / 2, reward[1], high, high + 1e-7):
            c = int(cycles(jnp.array([counts]), jnp.array([reward]), jnp.array([mean]))[0])
            assert tours(path[1:], states) <= 2 * (c + 1) and c <= 120


def test_cycles_are_passages_below_and_back_where_rewards_differ():
    """By hand: 0 to 1 and back twice, 0 to 2 and back once; the mean lies above what state 0 pays."""
    counts = jnp.array([[[4, 2, 1], [2, 3, 0], [1, 0, 5]]])
    for mean, expected in ((0.3, 3), (0.7, 1)):
        assert cycles(counts, jnp.array([[0.0, 0.5, 1.0]]), jnp.array([mean])).tolist() == [expected]
    assert cycles(counts, jnp.array([[0.5, 0.5, 0.5]]), jnp.array([0.5])).tolist() == [18]


# Several plays a round

THREE = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91)])
FOUR = two_state([0.5, 0.4, 0.3, 0.6], [0.4, 0.55, 0.65, 0.3], [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91), (0.02, 0.97)])
PLAYED = [("IMED", {}), ("IMEDMC", {}), ("IMEDMC", {"exponent": 0.5}), ("IMEDMC", {"gap": 0.1})]


def mean_of(name, count, reward, fields):
    """The mean by which the policy tells arms apart."""
    if name == "IMED":
        return reference.sample_mean(count, reward)
    return stationary_mean(count, reward, reference.least_gap(count, reference.DEFAULTS[name] | fields))


def choose(name, counts, states, t, reward, fields, number):
    """The arms of a round: unplayed ones first, then the largest means; the last one as with one play of the others."""
    fresh = [k for k in range(len(counts)) if reference.plays(counts[k]) == 0]
    old = [k for k in range(len(counts)) if k not in fresh]
    lead = sorted(old, key=lambda k: (-mean_of(name, counts[k], reward[k], fields), k))[: number - 1]
    rest = [k for k in old if k not in lead]
    chosen = [*fresh, *sorted(lead)]
    if rest:
        of_rest = ([values[k] for k in rest] for values in (counts, states))
        chosen.append(rest[reference.choose(name, *of_rest, t, [reward[k] for k in rest], fields)])
    return chosen[:number]


@pytest.mark.parametrize(("name", "fields"), PLAYED)
@pytest.mark.parametrize("number", [2, 3])
def test_several_plays_as_the_reference_in_every_round(name, fields, number):
    key, rounds = jax.random.key(7), 400
    asked = {"runs": 5, "horizon": rounds, "times": np.arange(1, rounds + 1), "plays": number, "progress": False}
    with jax.enable_x64(True):
        result = jaxbandit.simulate(FOUR, {name: ALL[name](**fields)}, key=key, **asked)
    played = np.diff(result.visits[name][0, 0].sum(-1), axis=1, prepend=0)  # [R, T, K]
    for run in range(5):
        draws = reference_draws(FOUR, key, run)
        counts, states, reward = reference.start(FOUR.reward, 0)
        for t in range(1, rounds + 1):
            arms = choose(name, counts, states, t, reward, fields, number)
            assert sorted(arms) == np.flatnonzero(played[run, t - 1]).tolist(), (run, t)
            for k in arms:
                after = int(draws(k, reference.plays(counts[k]) + 1, states[k]))
                counts[k][states[k]][after] += 1
                states[k] = after


def exact_law(chosen, reward, rounds):
    """The probability of every final count of visits with two plays a round, all arms beginning in state 0."""
    law = {}

    def walk(history, t, probability):
        counts, states = np.zeros((3, 2, 2), int), [0, 0, 0]
        for arms, after in history:
            for k, s in zip(arms, after, strict=True):
                counts[k, states[k], s] += 1
                states[k] = s
        if t > rounds:
            key = tuple(counts.sum(1).ravel().tolist())
            law[key] = law.get(key, 0.0) + probability
            return
        arms = chosen(history, counts.tolist(), states, t, reward)
        for after in itertools.product((0, 1), repeat=2):
            chances = [THREE.transition[k][states[k]][s] for k, s in zip(arms, after, strict=True)]
            walk([*history, (arms, after)], t + 1, probability * float(np.prod(chances)))

    walk([], 1, 1.0)
    return law


def by_lists(history, counts, states, t, reward):
    """The arms of DMED after what was seen, found from the beginning."""
    lists, seen, at = Lists(reward, 2), [[[0, 0], [0, 0]] for _ in reward], [0] * len(reward)
    for _, after in history:
        arms = lists.choose(seen)
        for k, s in zip(arms, after, strict=True):
            seen[k][at[k]][s] += 1
            at[k] = s
        lists.see(seen, arms)
    return lists.choose(seen)


@pytest.mark.parametrize("name", ["IMED", "IMEDMC", "DMED"])
def test_exact_law_of_two_plays_a_round(name):
    """All 1,024 trajectories of five rounds against 20,000 runs, chi-square at 1e-9 (false fails below 3e-9)."""

    def by_index(history, counts, states, t, reward):
        return choose(name, counts, states, t, reward, {}, 2)

    law = exact_law(by_lists if name == "DMED" else by_index, THREE.reward.tolist(), 5)
    assert abs(sum(law.values()) - 1) < 1e-9
    asked = {"runs": 20_000, "horizon": 5, "times": [5], "plays": 2, "progress": False}
    result = jaxbandit.simulate(THREE, {"p": ALL[name]()}, **asked)
    check_law(result.visits["p"][0, 0, :, 0], law)
