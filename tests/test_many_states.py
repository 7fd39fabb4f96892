"""Arms with three and more states: KL-UCB-MC, TV-KL-UCB and IMED-MC against float64 loops and searches."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
import reference_likelihood
from against import check_same_arms

from jaxbandit import IMEDMC, KLUCBMC, TVKLUCB, Feedback, markov
from jaxbandit.chains import stationary
from jaxbandit.policies.chains import tv_kl_ucb_many_states as many_states
from jaxbandit.policies.chains.mean_lower_bound import after_a_departure, lower_bound

# Three arms whose means lie close together: a clear chain, one that is nearly i.i.d., one that moves in circles.
ROWS = [
    [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]],
    [[0.45, 0.25, 0.3], [0.4, 0.3, 0.3], [0.4, 0.25, 0.35]],
    [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]],
]
# Without symmetry: otherwise arms tie in the real numbers, and rounding decides.
UNIT = (0.1, 0.83, 0.37)
OUTSIDE = (3.0, -2.0, 0.43)

STARTS = [2, 0, 1]
LOW, OUT = (markov(ROWS, reward, initial_state=STARTS) for reward in (UNIT, OUTSIDE))
# Rewards differ from arm to arm, one arm is i.i.d., another has a state never moved to.
FIVE, PAID = np.random.default_rng(5).dirichlet(np.ones(5), (3, 5)), np.random.default_rng(6).uniform(-1, 2, (3, 5))
FIVE[1], FIVE[2, :, 2] = FIVE[1, :1], 0
FIVE = markov(FIVE / FIVE.sum(-1, keepdims=True), PAID.round(3), initial_state=STARTS)

VARIANTS = [
    # log f(2) is 0, over 0 departures
    ("KLUCBMC", {"samples": "state", "exploration": 3.0, "unvisited": 0.5}, OUT),
    ("TVKLUCB", {}, LOW),
    ("TVKLUCB", {"clock": "arm", "unvisited": 0.0, "exponent": 0.3, "scale": 1.2}, LOW),
    ("TVKLUCB", {"test": "likelihood_ratio"}, LOW),
    ("TVKLUCB", {"clock": "arm", "distance": "kl", "scale": 1.5}, FIVE),
]


@pytest.mark.parametrize(("name", "fields", "arms"), VARIANTS)
@pytest.mark.slow
def test_same_arm_as_the_reference_in_every_round(name, fields, arms, monkeypatch):
    """900 rounds in float64; TV-KL-UCB meets each verdict on arms of three states 50 times, as the reference counts."""
    verdicts = []
    judge = reference.is_markovian
    monkeypatch.setattr(reference, "is_markovian", lambda *case: verdicts.append(judge(*case)) or verdicts[-1])
    check_same_arms(reference.play, name, fields, arms, 3, 300, STARTS)
    if name == "TVKLUCB" and arms is LOW:
        assert 50 <= sum(verdicts) <= len(verdicts) - 50, (sum(verdicts), len(verdicts))


def test_markovian_compares_all_pairs_of_rows():
    """By hand: two rows are 0.25 apart, the third is half-way or equal; a threshold that is met is not exceeded."""
    one, other, middle = [4, 2, 2], [2, 4, 2], [3, 3, 2]
    arms = [[one, other, middle], [one, middle, other], [middle, one, other], [one, one, other], [one, one, one]]
    none, beyond = [False] * 5, [True] * 4 + [False]
    markovian = jax.jit(lambda policy, state, t: policy.markovian(state, t))
    for policy, t, verdicts in (
        (TVKLUCB(), 257, none),  # 256^(-1/4) = 0.25 exactly: not above
        (TVKLUCB(), 262, beyond),
        (TVKLUCB(clock="arm"), 10_000, none),  # 24^(-1/4) = 0.45
        (TVKLUCB(clock="arm", exponent=0.5), 2, beyond),  # 24^(-1/2) = 0.20
    ):
        state = policy.init(jnp.tile(jnp.array(UNIT), (5, 1)))
        state = state._replace(seen=state.seen._replace(counts=jnp.array(arms, jnp.int32)))
        assert markovian(policy, state, t).tolist() == verdicts


@pytest.mark.parametrize("policy", [IMEDMC(), IMEDMC(exponent=0.5)])
@pytest.mark.slow
def test_imed_mc_of_three_states_against_the_search(policy):
    """Its index after 40 random plays of three arms, 1e-3 max(1, index), and the class renewed at plays alone."""
    rng = np.random.default_rng(31)
    reward = np.tile(np.array(UNIT, np.float32), (3, 1)).astype(float)
    state, counts, now = policy.init(jnp.array(reward, float)), np.zeros((3, 3, 3)), [0, 0, 0]
    update = jax.jit(policy.update)
    for _ in range(40):
        k = int(rng.integers(3))
        after = int(rng.choice(3, p=ROWS[k][now[k]]))
        state = update(state, Feedback(*(jnp.array([a]) for a in (k, now[k], after, reward[k, after])), 1))
        counts[k, now[k], after] += 1
        now[k] = after
    plays = counts.sum((1, 2))
    gaps = plays**-0.5 if policy.exponent is not None else np.full(3, policy.gap or 0.0)
    means = [reference_likelihood.likeliest_mean(n, r, g) for n, r, g in zip(counts, reward, gaps, strict=True)]
    expected = []
    for n, r, g, mean in zip(counts, reward, gaps, means, strict=True):
        poor = r < mean
        passages = min(n[np.ix_(poor, ~poor)].sum(), n[np.ix_(~poor, poor)].sum())
        expected.append(reference_likelihood.ratio(n, r, max(means), g) + np.log(1 + passages))
    result = -np.asarray(policy.scores(None, state, 41)[0], float)
    assert (np.abs(result - expected) < 1e-3 * np.maximum(1, expected)).all()


# The lower bound on the stationary mean of an estimated chain

STATES = 6
cycles_of = jax.jit(many_states._cycles_of)


@jax.jit
def bounded(reference, before, row, mean, plays, state, reward):
    """The reference after a departure, and the bound with it."""
    reference = after_a_departure(reference, row, before, reward)
    return reference, lower_bound(reference, mean, plays, state, reward)[0]


MIXING = np.random.default_rng(1).dirichlet(np.ones(STATES), STATES)
KINDS = {
    "mixing": MIXING,
    "slow": 0.97 * np.eye(STATES) + 0.03 * MIXING,
    "rare state": np.where(np.arange(STATES) == 3, 0.002, MIXING),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_never_above_the_mean_and_soon_close_to_it(kind):
    """After every play of a path, with references from 1 to 150 plays before.

    Where the reference is new the bound is within .01 of the mean, of the slow chain within .1.
    """
    random, rows, states = np.random.default_rng(3), KINDS[kind] / KINDS[kind].sum(1, keepdims=True), [0]
    for _ in range(900):
        states.append(int(random.choice(STATES, p=rows[states[-1]])))
    reward = np.random.default_rng(2).random(STATES).astype(np.float32)
    paid = reward.astype(float)
    counts, arrivals, reference = np.zeros((STATES, STATES), np.int32), np.zeros(STATES), None
    distances = []
    for n, (before, state) in enumerate(pairwise(states), 1):
        counts[before, state] += 1
        arrivals[state] += 1
        if reference is not None:
            left = counts.sum(1, keepdims=True, dtype=np.float64)
            exact = np.where(left > 0, counts / np.maximum(left, 1), (1 - np.eye(STATES)) / (STATES - 1))
            now = [np.array([item]) for item in (before, exact[before].astype(np.float32))]
            mean = np.array([arrivals @ paid / n], np.float32)
            reference, bound = bounded(reference, *now, mean, np.array([n]), np.array([state]), reward[None])
            true, known = stationary(exact) @ paid, jax.device_get(reference)
            assert not bound > true
            values, times = known.values[0].astype(float), known.times[0].astype(float)
            gain = paid + exact @ values - values
            assert known.least[0] <= gain.min() and gain.max() <= known.largest[0]
            assert (exact @ times - times + 1)[times > 0].max() <= known.slower[0]
            if 1 <= n % 150 <= 5 and n > 500:
                distances.append(true - bound)
        if n % 150 == 0 or n in (20, 60):
            every = cycles_of(counts, np.int32(state), reward, np.float32(1))[1]
            reference = jax.tree.map(lambda leaf: leaf[None], every)
    assert len(distances) == 10 and max(distances) < (0.1 if kind == "slow" else 0.01)


def test_a_broken_path_has_no_bound():
    """A play that does not begin where the one before ended, as when plays are reported out of order."""
    arms = jnp.tile(jnp.linspace(0, 1, many_states.BOUNDED_FROM), (2, 1))
    policy = KLUCBMC()
    one_round = jax.jit(lambda state, told: policy.scores(None, policy.update(state, told), told.t + 1)[1])

    def played(state, before, after, t):
        return one_round(state, Feedback.of(0, t=t, table=arms, state=after, before=before))

    state = policy.init(arms)
    for t, (before, after) in enumerate(zip([3, 1, 0, 3, 1, 0, 3, 1], [1, 0, 3, 1, 0, 3, 1, 0]), 1):
        state = played(state, before, after, t)
    assert np.isfinite(state.known.bounds.lower[0])
    for t, (before, after) in enumerate([(2, 0), (0, 3), (3, 1)], 9):
        state = played(state, before, after, t)
        assert state.known.bounds.lower[0] == -np.inf
