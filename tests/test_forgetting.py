"""Policies that forget, against loops that count the whole history anew in every round, as the definitions say."""

import math
import re

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
import reference_likelihood
from against import state_after
from reference_chain import weighted_mean
from scipy import stats

import jaxbandit
from jaxbandit import ALL, Discounted, Feedback, Window, run_keys, simulate, two_state
from jaxbandit.confidence import chain_likelihood_ratio
from jaxbandit.environments import gaussian
from jaxbandit.fast import PLAIN
from jaxbandit.policies import KLUCB, TVKLUCB, UCB1, DiscountedThompson, DiscountedUCB, SlidingWindowUCB
from jaxbandit.policies.parts.memory import no_transitions, no_visits
from jaxbandit.simulation.asking.request import check
from jaxbandit.simulation.rounds import initial_carry, play_chunk
from jaxbandit.simulation.telling import free_memory

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
PAID = jnp.array([[0.0, 0.5, 1.0]] * 3)

# The published indices


def test_numbers_that_are_left_out_follow_from_horizon_and_changes():
    """1 - sqrt(U / n) / 4 and 2 sqrt(n log n / U); a window is never longer than the game."""
    with jax.enable_x64(True):
        state = DiscountedUCB(horizon=10_000, changes=2).init(PAID)
        np.testing.assert_allclose(state.discount, 0.9964644661, rtol=1e-10)
    assert SlidingWindowUCB(horizon=10_000, changes=2).length() == round(429.1932053)
    assert [SlidingWindowUCB(horizon=n, changes=1).length() for n in (1, 5, 20)] == [1, 5, 15]


# Memories


def history(plays, rounds=40, arms=4, states=3, seed=0):
    """Arms [T, M], states before and after [T, M], of random plays; the last arm is played in the first rounds only."""
    generator = np.random.default_rng(seed)
    played = np.stack([generator.permutation(arms if t < 3 else arms - 1)[:plays] for t in range(rounds)])
    return played, *generator.integers(0, states, (2, rounds, plays))


def weights(forgets, now, rounds):
    """What a play in each of these rounds, from 1, counts after round `now`."""
    ages = now - np.arange(1, rounds + 1)
    if isinstance(forgets, Window):
        return ((ages >= 0) & (ages < forgets.length)).astype(float)
    return np.where(ages >= 0, forgets.discount ** np.maximum(ages, 0.0), 0)


KEPT = [
    pytest.param("visits", 1, (Discounted(0.7), Window(1), Window(6), Window(100)), marks=pytest.mark.slow),
    ("sums", 2, (Discounted(0.7), Window(6))),
    pytest.param("transitions", 2, (Discounted(0.7), Window(1), Window(6)), marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("kept", "plays", "memories"), KEPT)
def test_what_is_remembered_after_every_round(kept, plays, memories):
    """Also of an arm with less than one play left, and of one with none; the last window is longer than the game."""
    arms, before, states = history(plays)
    paid = np.array([0.0, 0.3, 1.0]) if kept != "sums" else np.array([-1.7, 0.1, 12.3])
    for forgets in memories:
        table = jnp.zeros((4, 0)) if kept == "sums" else jnp.tile(jnp.array(paid), (4, 1))
        start = no_transitions(table, forgets) if kept == "transitions" else no_visits(table, None, forgets)

        def one(state, one_round, kept=kept):
            state = state.counted(one_round)
            return state, (state.mean_and_plays(), state.counts if kept == "transitions" else state.gained_and_missed())

        feedback = Feedback(*map(jnp.asarray, (arms, before, states, paid[states])), jnp.arange(1, 41))
        last, (known, more) = jax.jit(lambda state, rounds, one=one: jax.lax.scan(one, state, rounds))(start, feedback)
        moves = np.zeros((40, 4, 3, 3))
        np.add.at(moves, (np.arange(40)[:, None], arms, before, states), 1)
        counts = np.einsum("nt,tkij->nkij", [weights(forgets, now, 40) for now in range(1, 41)], moves)
        number, gained, missed = counts.sum((2, 3)), counts.sum(2) @ paid, counts.sum(2) @ (1 - paid)
        expected = gained / np.where(number > 0, number, 1), number
        chex.assert_trees_all_close(known, expected, rtol=1e-5, atol=1e-6)
        if kept == "transitions":
            np.testing.assert_allclose(more, counts, rtol=1e-5)
            assert last.states.tolist() == [states[arms == k][-1] for k in range(4)]
        else:
            np.testing.assert_allclose(more[0], gained, rtol=1e-5, atol=1e-5)
        if kept == "visits":
            np.testing.assert_allclose(more[1], missed, rtol=1e-5, atol=1e-6)


def test_sums_of_a_window_do_not_drift():
    """30,000 rewards of all sizes, then ten of 0.1: their mean is 0.1 to a float's precision; then none is left."""
    rewards = jnp.asarray(np.random.default_rng(0).lognormal(0, 4, 30_020)).at[30_000:].set(0.1)
    arms = jnp.where(jnp.arange(30_020) < 30_010, 0, 1)[:, None]
    feedback = Feedback(arms, 0 * arms, 0 * arms, rewards[:, None], jnp.arange(1, 30_021))
    state = no_visits(jnp.zeros((2, 0)), None, Window(10))
    count = lambda state, one: ((state := state.counted(one)), state.mean_and_plays()[0])
    means = jax.jit(lambda state: jax.lax.scan(count, state, feedback)[1])(state)
    np.testing.assert_allclose(means[30_009], [0.1, 0], rtol=1e-6)
    np.testing.assert_allclose(means[30_019], [0, 0.1], rtol=1e-6)


@pytest.mark.parametrize("arms", [pytest.param(ARMS, marks=pytest.mark.slow), gaussian([0.5, 0.4, 0.3])], ids=type)
def test_a_window_is_written_in_its_place(arms):
    """No copy of the whole window in the compiled rounds: it would take 20 times as long as all the rest."""
    policy, keys = UCB1(memory=Window(50)), run_keys(jax.random.key(0), jnp.arange(16))

    def play(carry):
        return play_chunk(arms, policy, keys, carry, 1, jnp.array([100, 0], jnp.int32), 100)

    carry = initial_carry(arms, policy, keys)
    compiled = jax.jit(play, donate_argnums=0).lower(carry).compile().as_text()
    whole = [line for line in compiled.splitlines() if re.search(r"= \w+\[50,3,16\]", line)]
    assert any("dynamic-update-slice" in line for line in whole)
    assert PLAIN or not [line for line in whole if " copy(" in line]


# Indices

DISCOUNTED = [
    *[("UCB1", {}), ("MOSS", {}), ("IMED", {}), ("KLUCB", {"exploration": 0.0, "clock": "arm"})],
    *[("KLUCB", {"horizon": 300.0}), ("KLUCBMC", {}), ("TVKLUCB", {"samples": "state", "clock": "arm"})],
    ("RoundRobinKLUCB", {"delta": 0.2}),
]
WINDOWS = [
    *[("UCBSM", {"L": 2.0}), ("MOSS", {"horizon": 300.0}), ("KLUCB", {}), ("EmpiricalKLUCB", {}), ("TVKLUCB", {})],
    *[("IMEDMC", {"exponent": 0.5}), ("JointKLUCB", {})],
]
CASES = [(Discounted(0.8), *case) for case in DISCOUNTED] + [(Window(6), *case) for case in WINDOWS]
CASES += [pytest.param(Discounted(0.8), "IMEDMC", {}, marks=pytest.mark.slow)]


def share(count, reward):
    zeros, ones = reference.visits(count)
    return weighted_mean(reward[0], reward[1], zeros, ones)


def expected_scores(name, fields, counts, states, t, most):
    """The index of each arm, or for policies that choose otherwise 1 for the arm chosen and 0 for the others."""
    fields = reference.DEFAULTS[name] | fields | {"arms": 3}
    if fields.get("horizon") is not None:
        fields["horizon"] = min(fields["horizon"], most)
    time, plays = min(t, most), [reference.plays(count) for count in counts]
    if name in ("IMED", "IMEDMC", "RoundRobinKLUCB"):
        inputs = {field: value for field, value in fields.items() if field != "arms"}
        if name != "RoundRobinKLUCB" or 0 in plays:
            chosen = reference.choose(name, counts, states, time, [(0.0, 1.0)] * 3, inputs)
        else:
            means = [share(count, (0.0, 1.0)) for count in counts]
            leader = max((k for k in range(3) if plays[k] >= fields["delta"] * time), key=means.__getitem__)
            bound = reference.mean_index(counts[t % 3], time, (0.0, 1.0), fields)
            chosen = t % 3 if bound > means[leader] else leader
        return np.eye(3)[chosen]
    result = []
    for count, state, number in zip(counts, states, plays, strict=True):
        if name == "UCB1":
            time = min(t - 1, most) + 1  # the source counts the rounds before
        if name != "TVKLUCB" or number == 0:
            result.append(reference.index(name, count, state, time, (0.0, 1.0), fields))
        elif reference.is_markovian(count, min(t - 1, most) + 1, fields):
            result.append(reference.transition_index(count, state, time, (0.0, 1.0), fields))
        else:
            result.append(reference.mean_index(count, time, (0.0, 1.0), fields))
    return result


@pytest.mark.parametrize(("forgets", "name", "fields"), CASES)
def test_scores_on_what_is_remembered(forgets, name, fields, monkeypatch):
    """The plain loops of `reference`, given the counts of the definition and the rounds remembered for t."""
    monkeypatch.setattr(reference, "sample_mean", share)
    arms, _, after = history(1, arms=3, states=2, seed=1)
    arms, after, now, before = np.int32(arms[:, 0]), np.int32(after[:, 0]), [0] * 3, []
    for arm, state in zip(arms, after, strict=True):
        before.append(now[arm])
        now[arm] = state
    before = np.array(before, np.int32)
    most = 5.0 if isinstance(forgets, Discounted) else 6
    with jax.enable_x64(True):
        policy, table = ALL[name](**fields, memory=forgets), np.array([[0.0, 1.0]] * 3)
        state, update = jax.jit(policy.init)(table), jax.jit(policy.update)
        scores = jax.jit(lambda state, t: policy.scores(None, state, t)[0])
        for t in range(1, 31):
            play = (item[t - 1 : t] for item in (arms, before, after))
            state = update(state, Feedback(*play, after[t - 1 : t].astype(float), np.int32(t)))
            if t not in (3, 7, 16, 30):
                continue
            counts = np.zeros((3, 2, 2))
            np.add.at(counts, (arms, before, after), weights(forgets, t, 40))
            states = [int(after[:t][arms[:t] == k][-1]) if (arms[:t] == k).any() else 0 for k in range(3)]
            expected = expected_scores(name, fields, counts.tolist(), states, t + 1, most)
            result = np.asarray(scores(state, np.int32(t + 1)))
            if name in ("IMED", "IMEDMC", "RoundRobinKLUCB"):
                assert result.argmax() == np.argmax(expected), t
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-6, err_msg=f"round {t + 1}")


def with_counts(policy, counts):
    """The state of a policy that remembers these counts of arms that pay 0 and 1."""
    state = policy.init(jnp.array([[0.0, 1.0]] * len(counts)))
    return state._replace(seen=state.seen._replace(kept=state.seen.kept._replace(counts=jnp.array(counts))))


@pytest.mark.slow
def test_the_test_for_chains_knows_the_rounds_remembered():
    """By hand: rows 0.25 apart; the threshold is 100^(-1/4) = 0.316 or 300^(-1/4) = 0.24, by the window."""
    for length, markovian in ((100, False), (300, True)):
        policy = TVKLUCB(memory=Window(length))
        state = with_counts(policy, [[[6, 2], [2, 2]], [[1, 1], [1, 1]]])
        assert policy.markovian(state, jnp.int32(10**6)).tolist() == [markovian, False]
        assert policy.markovian(state, jnp.int32(17)).tolist() == [False, False]  # 0.5


@pytest.mark.parametrize("name", ["Thompson", "ThompsonMC"])  # which choose by chance; the others are held above
@pytest.mark.slow
def test_a_window_as_long_as_the_game_forgets_nothing(name):
    kinds = {"all": ALL[name](), "window": ALL[name](memory=Window(80))}
    result = simulate(ARMS, kinds, runs=20, horizon=80, times=[40, 80]).visits
    np.testing.assert_array_equal(result["all"], result["window"])


def test_few_discounted_transitions_have_their_likelihood():
    """Counts between 0 and 3 against a search over all chains in float64.

    Divergences scale with the counts, of which `reference_likelihood` divides by one departure at least.
    """
    random = np.random.default_rng(2)
    counts = random.exponential(1.0, (200, 2, 2)) * random.integers(0, 3, (200, 2, 2))
    mean = random.uniform(0.05, 0.95, 200)
    inputs = jnp.array(counts), jnp.array([0.0, 1.0]), jnp.array(mean)
    for gap in (None, 0.3):
        result = chain_likelihood_ratio(*inputs, None if gap is None else jnp.full(200, gap))
        expected = reference_likelihood.ratio_of_two_states(1000 * counts, mean, gap or 0.0) / 1000
        np.testing.assert_allclose(result, expected, atol=1e-3)


# Games


def index_of_loop(policy, t, arms, rewards):
    """The scores of D-UCB or SW-UCB for round t, from all arms and rewards before it."""
    discounts = isinstance(policy, DiscountedUCB)
    weight = weights(Discounted(policy.discount) if discounts else Window(policy.window), t - 1, t - 1)
    number = np.bincount(arms, weight, 3)
    time = number.sum() if discounts else min(t - 1, policy.window)
    with np.errstate(divide="ignore", invalid="ignore"):
        width = (2 if discounts else 1) * np.sqrt(policy.xi * math.log(max(time, 1)) / number)
        return np.where(number == 0, np.inf, np.bincount(arms, weight * rewards, 3) / number + width)


@pytest.mark.parametrize("policy", [DiscountedUCB(0.95), SlidingWindowUCB(30)], ids=["D-UCB", "SW-UCB"])
def test_every_round_of_a_game(policy):
    """200 rounds of 4 runs: each plays the largest index of the loop, up to rounding."""
    visits = simulate(ARMS, {"p": policy}, runs=4, horizon=200, times=range(1, 201)).visits["p"][0, 0]
    played = np.diff(visits, axis=1, prepend=0)
    arms, paid = played.sum(-1).argmax(-1), played[..., 1].sum(-1)
    for run in range(4):
        for t in range(1, 201):
            index = index_of_loop(policy, t, arms[run, : t - 1], paid[run, : t - 1])
            chosen = arms[run, t - 1]
            assert index[chosen] >= index.max() * (1 - 1e-5)
            assert np.isfinite(index[chosen]) or chosen == index.argmax()


@pytest.mark.slow
def test_discounted_thompson_draws_from_discounted_counts():
    """Exact binomial test at 1e-9 of 20,000 choices between Beta(1 + .49 + 1, 1) and Beta(1, 1 + .7), by quadrature."""
    policy = DiscountedThompson(0.7)
    state = state_after(policy, jnp.array([[0.0, 1.0]] * 2), [0, 1, 0], [1, 0, 1], states=[1, 0, 1])
    keys = jax.random.split(jax.random.key(0), 20_000)
    choose = jax.jit(jax.vmap(lambda key: jnp.argmax(policy.scores(key, state, 4)[0])))
    first = int(jnp.sum(choose(keys) == 0))
    x = np.linspace(0, 1, 100_001)
    better = np.trapezoid(stats.beta(2.49, 1).pdf(x) * stats.beta(1, 1.7).cdf(x), x)
    assert stats.binomtest(first, 20_000, better).pvalue > 1e-9


@pytest.mark.slow
def test_leaders_are_played_before_an_index_below_zero():
    """With a play's tenth left, log T is -2.3: more than any leader's score would be if that were 1."""
    policy = jaxbandit.IMED(memory=Discounted(0.5))
    state = with_counts(policy, [[0.0, 4.0], [0.05, 0.05], [1.0, 1.0]])
    scores = policy.scores(None, state._replace(leads=jnp.array([True, False, False])), jnp.int32(9))[0]
    assert scores.argmax() == 0 and jaxbandit.top_arms(scores, 2).tolist() == [0, 1]


# What is refused, and what is counted before

THREE, FOUR = (jaxbandit.markov(np.full((2, n, n), 1 / n), np.arange(n)) for n in (3, 4))
REFUSED = [
    (KLUCB(memory=Discounted(1.0)), {}, r"\.memory: discount: 1.0 lies outside \(0, 1\)"),
    (UCB1(memory=Window(0)), {}, r"\.memory: length: 0 is not among the integers from 1 on"),
    (UCB1(memory=Window(11)), {}, r"\.memory: length: a window of 11 rounds is longer than the horizon, 10"),
    (DiscountedUCB(), {}, r"\.discount: give a discount, or both"),
    (DiscountedUCB(0.9, changes=2), {}, r"\.discount: a discount and changes; give"),
    (DiscountedUCB(horizon=10, changes=0), {}, r"\.changes: 0 lies outside \[1, 10\]"),
    (DiscountedUCB(0.9), {"plays": 2}, ": DiscountedUCB plays one arm a round, and plays is 2"),
    (SlidingWindowUCB(), {}, r"\.window: give a window, or both"),
    (SlidingWindowUCB(horizon=10_000, changes=2), {}, r"\.window: a window of 429 rounds is longer than the horizon"),
    (SlidingWindowUCB(3), {"plays": 2}, ": SlidingWindowUCB plays one arm a round"),
    (DiscountedThompson(0.9), {"plays": 2}, ": DiscountedThompson plays one arm a round"),
    (ALL["IMEDMC"](memory=Discounted(0.9)), {"scenarios": THREE}, r"\.memory: IMEDMC discounts .* give a Window"),
    (ALL["JointKLUCB"](memory=Discounted(0.9)), {}, r"\.memory: JointKLUCB needs integer counts .* give a Window"),
    (TVKLUCB(memory=Window(9)), {"scenarios": FOUR}, r"\.memory: TVKLUCB can forget for .* up to 3 states, .* have 4"),
    (DiscountedUCB(0.9), {"scenarios": gaussian([0.1, 0.2])}, ": DiscountedUCB plays rewards from 0 to 1"),
]


@pytest.mark.parametrize(("policy", "more", "message"), REFUSED)
def test_refused_by_name(policy, more, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\]{message}"):
        simulate(**{"scenarios": ARMS, "policies": {"p": policy}, "runs": 1, "horizon": 10} | more)


@jaxbandit.pytree
class Own:
    """A user's memory that keeps everything, and says what it is not for."""

    rounds = math.inf

    def initial_state(self, kept):
        return kept

    def validate(self, task):
        if task.plays > 1:
            raise ValueError(f"plays: {task.plays} are too many")


@pytest.mark.slow
def test_a_memory_of_ones_own_is_taken_by_what_it_can_do():
    """It plays as without a memory, and refuses for itself what it is not for."""
    policies = {"own": UCB1(memory=Own()), "none": UCB1()}
    visits = simulate(ARMS, policies, runs=5, horizon=60, times=[60], progress=False).visits
    np.testing.assert_array_equal(visits["own"], visits["none"])
    with pytest.raises(ValueError, match=r"^policies\['p'\].memory: plays: 2 are too many"):
        simulate(ARMS, {"p": KLUCB(memory=Own())}, runs=1, horizon=10, plays=2)
    for wrong in (Discounted, Own, jaxbandit.families.Gaussian(1.0)):
        with pytest.raises(ValueError, match=r"memory: .* is not a memory; .* with rounds and initial_state"):
            simulate(ARMS, {"p": KLUCB(memory=wrong)}, runs=1, horizon=10)


def test_a_window_is_counted_before_it_is_allocated(monkeypatch, tmp_path):
    """K bytes a round and run, twice while they are played; the error names what carries most, of a block as well."""
    asked = {"runs": 100, "horizon": 10**6, "times": [10**6]}
    without = free_memory.bytes_carried(check(ARMS, {"p": UCB1()}, **asked))
    request = check(ARMS, {"u": UCB1(), "w": [UCB1(memory=Window(10**6)), UCB1(1.0, memory=Window(10**6))]}, **asked)
    assert free_memory.bytes_carried(request) == 3 * without + 2 * 2 * 100 * 3 * 10**6
    monkeypatch.setattr(free_memory, "free_bytes", lambda: 10**9)
    with pytest.raises(ValueError, match=r"reduce the state of policies\['w'\], 3,0.* bytes a run .*window"):
        free_memory.check_memory("runs", [request], playing=True)
    case = {"scenarios": ARMS, "policies": {"w": UCB1(memory=Window(10**6))}, **asked | {"runs": 10**4}}
    with pytest.raises(ValueError, match=r"^block: 1,000 runs x .* reduce the state of policies\['w'\], 3,0"):
        jaxbandit.sweep({"c": case}, tmp_path / "s", block=1000)
    assert not (tmp_path / "s").exists()
