"""Policies that learn decision processes, against float64 loops that are handed the same rounds and the same draws."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference_processes as reference

import jaxbandit
from jaxbandit import simulate
from jaxbandit.environments import decision_process, random_decision_process, riverswim
from jaxbandit.policies import IMEDRL, KLUCRL, PSRL, TUCRL, UCBVI, UCRL2, UCRL2B
from jaxbandit.policies.processes.moves import Moves, doubled
from jaxbandit.testing import check_policy

KEY = jax.random.key(3)
PROCESSES = {
    "riverswim": riverswim(),
    "random": random_decision_process(jax.random.key(1), states=4, actions=3),
    "two": decision_process(
        [[[0.9, 0.1], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5]]], [[0.2, 1.0], [0.0, 0.7]], reward_axes="action, state"
    ),
}
RUNS, ROUNDS = 2, 400
OPTIMISTS = {kind.__name__: kind() for kind in (UCRL2, KLUCRL, TUCRL)}
OPTIMISTS |= {"UCRL2-known": UCRL2(rewards="known"), "UCRL2B": UCRL2B(delta=0.1)}


@functools.cache
def rounds(name, policy, steps=None):
    """Of each run the actions and the states before and after every round."""
    process = PROCESSES[name] if steps is None else riverswim(4, steps=steps)
    record = {"counts": lambda process, state, t: state.seen.counts}
    size = {"runs": RUNS, "horizon": ROUNDS, "times": range(1, ROUNDS + 1)}
    result = simulate(process, {"p": policy}, **size, record=record, key=KEY)
    counts = result.recorded["counts"]["p"][0, 0]
    changes = np.diff(counts, axis=1, prepend=0)
    return [[tuple(map(int, np.argwhere(change)[0])) for change in changes[run]] for run in range(RUNS)]


def compared(played, counts, choose, left_out=0.1):
    """Every action that `choose(t, s)` is sure of is the one played; of how many it is not sure is bounded."""
    unsure = 0
    for t, (a, s, following) in enumerate(played, 1):
        action, sure = choose(t, s)
        unsure += not sure
        assert not sure or action == a, (t, s, action, a)
        counts[a, s, following] += 1
    assert unsure <= left_out * len(played)


@pytest.mark.parametrize("process", list(PROCESSES))
@pytest.mark.parametrize("name", list(OPTIMISTS))
def test_optimists_play_as_their_loops(name, process):
    """Round by round, with the episodes' ends; episodes are as few as the theorem says."""
    policy, kind = OPTIMISTS[name], type(OPTIMISTS[name]).__name__
    reward = np.asarray(PROCESSES[process].reward)
    A, S = reward.shape
    for played in rounds(process, policy):
        counts, before = np.zeros((A, S, S), int), np.zeros((A, S), int)
        plan, episodes = None, 0

        def choose(t, s, counts=counts, played=played):
            nonlocal before, plan, episodes
            left = counts.sum(-1)
            if plan is not None:
                a = plan[0][s]
                new = (left[:, s].sum() == 0) if kind == "TUCRL" else False
            if plan is None or left[a, s] - before[a, s] >= max(1, before[a, s]) or new:
                plan = reference.optimistic(kind, counts, reward, t, s, policy.rewards, float(policy.delta))
                before, episodes = left, episodes + 1
            margin = plan[3][s]
            # exact ties go to the lowest action; what nearly ties may go either way in float32
            sure = margin == 0 or margin > 2e-5
            if not sure:
                plan[0][s] = played[t - 1][0]
            return plan[0][s], sure

        compared(played, counts, choose)
        if kind != "TUCRL":
            assert episodes <= S * A * math.log2(8 * ROUNDS / (S * A))


@pytest.mark.parametrize("process", list(PROCESSES))
@pytest.mark.parametrize("fields", [{}, {"tsde": True}, {"rewards": "learned"}], ids=["known", "tsde", "learned"])
def test_posterior_sampling_plays_as_its_loop(fields, process):
    """With the rows that the policy draws; whether these have their law is tested below."""
    policy, reward = PSRL(**fields), np.asarray(PROCESSES[process].reward)
    A, S = reward.shape
    draw = jax.jit(lambda seen, key, t: policy.draw(seen, jax.random.key_data(jax.random.fold_in(key, t))))
    keys = jaxbandit.run_keys(KEY, jnp.arange(RUNS))
    for run, played in enumerate(rounds(process, policy)):
        counts, before = np.zeros((A, S, S), int), np.zeros((A, S), int)
        began, length, plan = 0, 0, None

        def choose(t, s, counts=counts, run=run, played=played):
            nonlocal before, plan, began, length
            left = counts.sum(-1)
            if policy.tsde:
                ends = (left > 2 * before).any() or t > began + length
            else:
                ends = t == 1 or (left >= np.maximum(2 * before, 1))[played[t - 2][:2]]
            if ends:
                seen = Moves(*(jnp.asarray(item, jnp.int32) for item in (counts, left, s)), jnp.asarray(reward, float))
                rows, paid = (np.asarray(item, float) for item in draw(seen, keys.policy[run], t))
                plan = reference.iterate(lambda u: paid + rows @ u, S, min(max(1 / t, 1e-6), 0.01), waiting=0.1)
                before, began, length = left, t, t - began
            return plan[0][s], plan[3][s] > 1e-4

        compared(played, counts, choose)


def test_drawn_processes_have_their_law():
    """Means and variances of 4,000 draws within 5 standard errors of Dirichlet and beta laws: by chance 1 in 50,000."""
    policy, number = PSRL(prior=0.5, rewards="learned"), 4000
    counts = np.array([[[3, 1, 0], [0, 0, 0], [10, 20, 30]], [[1, 1, 1], [0, 5, 0], [2, 0, 0]]])
    left, paid = counts.sum(-1), np.array([[0.25, 0, 1.0], [0.5, 0.9, 0.0]])
    seen = Moves(*(jnp.asarray(item, jnp.int32) for item in (counts, left, 0)), jnp.asarray(paid, float))
    words = jax.random.bits(jax.random.key(7), (number, 2))
    rows, rewards = jax.jit(jax.vmap(lambda words: policy.draw(seen, words)))(words)
    a = 0.5 + counts
    total = a.sum(-1, keepdims=True)
    gained, missed = 1 + left * paid, 1 + left * (1 - paid)
    for draws, mean, variance in (
        (rows, a / total, a * (total - a) / (total**2 * (total + 1))),
        (rewards, gained / (gained + missed), gained * missed / ((gained + missed) ** 2 * (gained + missed + 1))),
    ):
        off = np.asarray(draws, float) - mean
        assert (np.abs(off.mean(0)) <= 5 * np.sqrt(variance / number)).all()
        spread = (off**2 - variance).std(0) / math.sqrt(number)
        assert (np.abs((off**2).mean(0) - variance) <= 5 * spread + 1e-7).all()
    together = np.corrcoef(np.asarray(rows).reshape(number, -1)[:, ::3].T)
    assert np.abs(together - np.eye(6)).max() < 5 / math.sqrt(number)


@pytest.mark.parametrize("process", list(PROCESSES))
@pytest.mark.parametrize(
    "fields", [{}, {"normalised": False}, {"rewards": "known"}], ids=["normalised", "published", "known"]
)
def test_imed_rl_plays_as_its_loop(fields, process):
    policy, reward = IMEDRL(**fields), np.asarray(PROCESSES[process].reward)
    A, S = reward.shape
    for played in rounds(process, policy):
        counts, phi = np.zeros((A, S, S), int), np.zeros(S)

        def choose(t, s, counts=counts):
            nonlocal phi
            index, phi = reference.imed_rl(counts, reward, phi, s, policy.rewards, policy.normalised)
            best = np.sort(index)
            return int(index.argmin()), best[0] == -np.inf or best[1] - best[0] > 1e-3 * max(1, abs(best[0]))

        compared(played, counts, choose, left_out=0.2)


@pytest.mark.parametrize("bonus", ["CH", "BF"])
def test_ucbvi_plays_as_its_loop(bonus):
    """Episodes of five steps, with a bonus that lets the policy settle."""
    policy, steps = UCBVI(steps=5, horizon=ROUNDS, bonus=bonus, scale=0.01), 5
    reward = np.asarray(riverswim(4).reward)
    A, S = reward.shape
    for played in rounds("episodes", policy, steps):
        counts, visits, Q = np.zeros((A, S, S), int), np.zeros((steps, S), int), np.full((steps, A, S), float(steps))

        def choose(t, s, counts=counts, visits=visits):
            nonlocal Q
            h = (t - 1) % steps
            if h == 0:
                Q = reference.ucbvi(counts, visits, Q, reward, steps, ROUNDS, bonus, 0.05, 0.01)
            visits[h, s] += 1
            best = np.sort(Q[h, :, s])
            return int(Q[h, :, s].argmax()), best[-1] == best[-2] or best[-1] - best[-2] > 1e-5

        compared(played, counts, choose)


def test_who_may_not_play():
    arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    for policy in (*OPTIMISTS.values(), PSRL(), IMEDRL(), UCBVI(steps=5, horizon=9)):
        with pytest.raises(ValueError, match=f"{type(policy).__name__} is for decision processes"):
            check_policy(policy, arms)
    with pytest.raises(ValueError, match="episodes"):
        check_policy(UCBVI(steps=5, horizon=100), riverswim())
    with pytest.raises(ValueError, match="steps: 4, and episodes of .* have 5 rounds"):
        check_policy(UCBVI(steps=4, horizon=100), riverswim(steps=5))


def test_counts_double_up_to_the_largest_integer():
    result = doubled(jnp.array([0, 1, 3, 2**30 - 1, 2**30, 2**31 - 1]))
    assert result.tolist() == [1, 2, 6, 2**31 - 2, 2**31 - 1, 2**31 - 1]


def test_states_out_of_reach():
    """UCRL2 is optimistic for ever about a state that no action reaches; TUCRL is not, once pairs are known."""
    process = riverswim()
    moves = np.zeros((2, 7, 7))
    moves[:, :6, :6], moves[:, 6, 0] = process.transition, 1
    counts = np.rint(moves * 10_000).astype(int)
    counts[:, 6] = 0
    reward = np.pad(process.reward, ((0, 0), (0, 1)))
    seen = Moves(*(jnp.asarray(item, jnp.int32) for item in (counts, counts.sum(-1), 0)), jnp.asarray(reward, float))
    t = int(counts.sum()) + 1
    plan = jax.jit(lambda policy, seen, t: policy.plan(seen, t))
    assert plan(UCRL2(), seen, t).gain > 0.99
    result = plan(TUCRL(), seen, t)
    expected = reference.optimistic("TUCRL", counts, reward, t, 0)
    np.testing.assert_allclose(result.gain, expected[1], rtol=1e-4)
    assert result.gain < 0.7 and result.actions[:6].tolist() == expected[0][:6].tolist() == [1] * 6
