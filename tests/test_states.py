"""KL-UCB-MC and TV-KL-UCB for arms with three and more states: float64 loops of their own."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
import reference_likelihood
from against import check_same_arms

import jaxbandit
from jaxbandit import IMEDMC, TVKLUCB, Feedback, markov

# Three arms whose means lie close together: a clear chain, one that is nearly i.i.d., one that moves in circles.
ROWS = [
    [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]],
    [[0.45, 0.25, 0.3], [0.4, 0.3, 0.3], [0.4, 0.25, 0.35]],
    [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]],
]
# Without symmetry: otherwise arms tie in the real numbers, and rounding decides.
UNIT = (0.1, 0.83, 0.37)
OUTSIDE = (3.0, -2.0, 0.43)

VARIANTS = [
    ("KLUCBMC", {}, OUTSIDE),
    ("KLUCBMC", {"samples": "state", "exploration": 3.0, "unvisited": 0.5}, UNIT),  # log f(2) is 0, over 0 departures
    ("TVKLUCB", {}, UNIT),
    ("TVKLUCB", {"samples": "state", "clock": "arm", "unvisited": 0.5, "exploration": 3.0}, UNIT),
    ("TVKLUCB", {"clock": "arm", "unvisited": 0.0, "exponent": 0.3, "scale": 1.2}, UNIT),
    ("TVKLUCB", {"distance": "squared_hellinger", "scale": 0.8}, UNIT),
    ("TVKLUCB", {"distance": "kl", "samples": "state", "scale": 2.0}, UNIT),
    ("TVKLUCB", {"test": "likelihood_ratio"}, UNIT),
]


@pytest.mark.parametrize(("name", "fields", "reward"), VARIANTS)
@pytest.mark.slow
def test_same_arm_as_the_reference_in_every_round(name, fields, reward, monkeypatch):
    """900 rounds in float64; of TV-KL-UCB each verdict on an arm is met at least 50 times, by the reference's count."""
    verdicts = []
    judge = reference.is_markovian
    monkeypatch.setattr(reference, "is_markovian", lambda *case: verdicts.append(judge(*case)) or verdicts[-1])
    starts = [2, 0, 1]
    check_same_arms(reference.play, name, fields, markov(ROWS, reward, initial_state=starts), 3, 300, starts)
    if name == "TVKLUCB":
        assert 50 <= sum(verdicts) <= len(verdicts) - 50, (sum(verdicts), len(verdicts))


MARKOVIAN = jax.jit(lambda policy, state, t: policy.markovian(state, t))


def verdicts(policy, arms, t):
    """For each arm with these counts whether the policy takes it for a Markov chain before round t."""
    state = policy.init(jnp.tile(jnp.array(UNIT), (len(arms), 1)))
    state = state._replace(seen=state.seen._replace(counts=jnp.array(arms, jnp.int32)))
    return MARKOVIAN(policy, state, t).tolist()


def test_markovian_compares_all_pairs_of_rows():
    """By hand: two rows are 0.25 apart, the third is half-way or equal; a threshold that is met is not exceeded."""
    one, other, middle = [4, 2, 2], [2, 4, 2], [3, 3, 2]
    arms = [[one, other, middle], [one, middle, other], [middle, one, other], [one, one, other], [one, one, one]]
    beyond = [True] * 4 + [False]
    assert verdicts(TVKLUCB(), arms, 257) == [False] * 5  # 256^(-1/4) = 0.25 exactly: not above
    assert verdicts(TVKLUCB(), arms, 262) == beyond
    assert verdicts(TVKLUCB(clock="arm"), arms, 10_000) == [False] * 5  # 24^(-1/4) = 0.45
    assert verdicts(TVKLUCB(clock="arm", exponent=0.5), arms, 2) == beyond  # 24^(-1/2) = 0.20


@pytest.mark.slow
def test_markovian_of_every_distance():
    """By hand, (1/2, 1/4, 1/4), (1/4, 1/2, 1/4) twice: just below the distance and just above; unseen rows too."""
    hellinger = (np.sqrt(0.5) - 0.5) ** 2
    shannon = 0.5 * np.log(4 / 3) + 0.25 * np.log(2 / 3)
    by_hand = {"total_variation": 0.25, "squared_hellinger": hellinger, "jensen_shannon": shannon, "kl": np.log(2) / 4}
    seen, unseen = [[4, 2, 2], [2, 4, 2], [2, 4, 2]], [[0, 0, 0], [0, 4, 4], [0, 4, 4]]
    for factor, verdict in ((0.999, True), (1.001, False)):
        for name, distance in by_hand.items():
            policy = TVKLUCB(distance=name, exponent=0.0, scale=factor * distance)
            assert verdicts(policy, [seen] * 2, 100) == [verdict] * 2, (name, factor)
        policy = TVKLUCB(unvisited=0.5, exponent=0.0, scale=factor * 0.5)
        assert verdicts(policy, [unseen] * 2, 100) == [verdict] * 2
    assert verdicts(TVKLUCB(scale=1e-3), [unseen] * 2, 100) == [False] * 2


FIVE = [VARIANTS[1][:2], ("TVKLUCB", {"clock": "arm", "distance": "kl", "scale": 1.5})]
FIVE += [("TVKLUCB", {"test": "likelihood_ratio", "clock": "arm"})]


@pytest.mark.parametrize(("name", "fields"), FIVE)
def test_five_states_in_every_round(name, fields):
    """900 rounds in float64; rewards differ from arm to arm, one arm is i.i.d., another has a state never moved to."""
    rng = np.random.default_rng(5)
    rows, reward = rng.dirichlet(np.ones(5), (3, 5)), rng.uniform(-1, 2, (3, 5)).round(3)
    rows[1], rows[2, :, 2] = rows[1, :1], 0
    check_same_arms(reference.play, name, fields, markov(rows / rows.sum(-1, keepdims=True), reward), 3, 300, 0)


def test_sixty_four_states_are_played():
    """Every arm at least once, without a warning; a program that grew with the states would compile for minutes."""
    arms = jaxbandit.random_arms(jax.random.key(0), 3, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = jaxbandit.simulate(arms, {"p": TVKLUCB()}, runs=4, horizon=20, times=[20], progress=False)
    plays = result.visits["p"][0, 0, :, 0].sum(-1)
    assert (plays.sum(-1) == 20).all() and (plays >= 1).all()


@pytest.mark.parametrize("policy", [IMEDMC(), IMEDMC(exponent=0.5), IMEDMC(gap=0.1)])
@pytest.mark.slow
def test_imed_mc_of_three_states_against_the_search(policy):
    """Its index after 60 random plays of three arms, 1e-3 max(1, index), and the class renewed at plays alone."""
    rng = np.random.default_rng(31)
    reward = np.tile(np.array(UNIT, np.float32), (3, 1)).astype(float)
    state, counts, now = policy.init(jnp.array(reward, float)), np.zeros((3, 3, 3)), [0, 0, 0]
    update = jax.jit(policy.update)
    for _ in range(60):
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
    result = -np.asarray(policy.scores(None, state, 61)[0], float)
    assert (np.abs(result - expected) < 1e-3 * np.maximum(1, expected)).all()
