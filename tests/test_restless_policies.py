"""Policies for restless arms: RCA as coroutines and DSEE epoch by epoch, round by round; published vectors of DSEE."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import DSEE, RCA, DecentralisedDSEE, simulate, top_arms, two_state
from jaxbandit.base import Feedback
from jaxbandit.environments import colliding, hidden, restless
from jaxbandit.testing import check_policy

SCENARIO = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
PATHS = "0110111001011101100111010111001101110101 1001001101000110010010110001001010010011 "
PATHS = np.array([list(map(int, path)) for path in (PATHS + "0000101100011111000001110000011110001110").split()])


def on_paths(policy, paths, plays, reward=(0.0, 1.0)):
    """The arms played [rounds, M] where arm k shows paths[k, t] in round t, if played; and the last state."""
    reward = jnp.broadcast_to(jnp.asarray(reward, float), (len(paths), len(reward)))

    @jax.jit
    def all_rounds(policy, paths):
        def body(state, now):
            t, view = now
            arms = top_arms(policy.scores(None, state, t)[0], plays)
            states = view[arms]
            feedback = Feedback(arms, jnp.zeros_like(arms), states, reward[arms, states], t)
            return policy.update(state, feedback), arms

        rounds = jnp.arange(1, paths.shape[1] + 1, dtype=jnp.int32)
        return jax.lax.scan(body, policy.init(reward), (rounds, paths.T))

    state, arms = all_rounds(policy, jnp.asarray(paths, jnp.int32))
    return np.asarray(arms), state


# RCA


def block(first, arm, count):
    """One block of an arm as the pseudo-code reads; is sent what the arm shows."""
    view = yield
    first.setdefault(arm, view)
    while view != first[arm]:
        view = yield
    count(arm, view)
    view = yield
    while view != first[arm]:
        count(arm, view)
        view = yield


def rca_by_coroutines(L, paths, plays, reward):
    first, counted, running, rounds = {}, np.zeros((len(paths), len(reward)), int), {}, []

    def count(arm, view):
        counted[arm, view] += 1

    def index(arm):
        if arm not in first:
            return math.inf
        own = counted[arm].sum()
        return counted[arm] @ reward / own + math.sqrt(L * math.log(counted.sum()) / own)

    for view in paths.T:
        idle = sorted((arm for arm in range(len(paths)) if arm not in running), key=lambda arm: (-index(arm), arm))
        for arm in idle[: plays - len(running)]:
            running[arm] = block(first, arm, count)
            next(running[arm])
        rounds.append(sorted(running))
        for arm in rounds[-1]:
            try:
                running[arm].send(int(view[arm]))
            except StopIteration:
                del running[arm]
    return np.array(rounds), counted


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_rca_is_what_its_blocks_are(plays):
    """60 random problems of 5 arms with 2 and 3 states; in double precision, so that rounding decides nothing."""
    random = np.random.default_rng(plays)
    for reward in (np.array([0.0, 1.0]), np.array([0.0, 0.37, 1.0])):
        with jax.enable_x64(True):
            for L in (0.0, 0.3, 2.0, 17.0, *random.random(6)):
                paths = random.integers(len(reward), size=(5, 150))
                result, state = on_paths(RCA(float(L)), paths, plays, tuple(reward))
                expected, counted = rca_by_coroutines(L, paths, plays, reward)
                np.testing.assert_array_equal(np.sort(result, axis=1), expected)
                np.testing.assert_array_equal(state.counts, counted)


# DSEE


def dsee_by_epochs(D, paths, plays, reward):
    """Epochs as (first round, kind, length), the arms of every round, and the sums of rewards explored."""
    arms, rounds = paths.shape
    sums, samples, epochs, played = np.zeros(arms), np.zeros(arms, int), [], []
    explorations = exploitations = 0
    while len(played) < rounds:
        t = len(played) + 1
        if (4**explorations - 1) / 3 > D * math.log(t):
            leaders = sorted(sorted(range(arms), key=lambda k: (-sums[k] / samples[k], k))[:plays])
            length = 2 * 4**exploitations
            epochs.append((t, "I", length))
            played += [leaders] * min(length, rounds - len(played))
            exploitations += 1
        else:
            groups = [[(start + m) % arms for m in range(plays)] for start in range(0, arms, plays)]
            epochs.append((t, "O", len(groups) * 4**explorations))
            for group in groups:
                for _ in range(4**explorations):
                    if len(played) < rounds:
                        for arm in group:
                            sums[arm] += reward[paths[arm, len(played)]]
                            samples[arm] += 1
                        played.append(sorted(group))
            explorations += 1
    return epochs, np.array(played), sums


@pytest.mark.parametrize(
    ("D", "epochs"),
    [
        (1.0, "1:O3 4:O12 16:I2 18:I8 26:I32 58:I128 186:O48 234:I512 746:I2048 2794:I8192"),
        (2.0, "1:O3 4:O12 16:O48 64:I2 66:I8 74:I32 106:I128 234:I512"),
        (10.0, "1:O3 4:O12 16:O48 64:O192 256:I2 258:I8 266:I32 298:I128 426:I512 938:I2048 2986:I8192"),
    ],
)
def test_dsee_vectors(D, epochs):
    rounds = 400 if D == 2 else 5000
    paths = np.tile(PATHS, 10) if D == 2 else np.random.default_rng(0).integers(2, size=(3, rounds))
    listed, expected, sums = dsee_by_epochs(D, paths, 1, (0.0, 1.0))
    assert " ".join(f"{t}:{kind}{length}" for t, kind, length in listed) == epochs
    result, state = on_paths(DSEE(D), paths, 1)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(state.counts[:, 1], sums)
    if D == 2:
        assert state.counts[:, 1].tolist() == [13, 9, 12] and state.counts.sum(-1).tolist() == [21] * 3
        assert (result[63:] == 0).all()
    # as its guarantee counts them, after the exploration of every arm
    for t in range(4, rounds + 1):
        exploitations = sum(kind == "I" and start <= t for start, kind, _ in listed)
        assert exploitations <= math.ceil(math.log(1.5 * (t - 3) + 1, 4) + 1e-12)


@pytest.mark.parametrize("plays", [1, 2, 3, 5])
def test_dsee_is_what_its_epochs_are(plays):
    random = np.random.default_rng(plays)
    for D in (0.1, 0.7, 3.0, 25.0):
        paths = random.integers(3, size=(5, 700))
        _, expected, _ = dsee_by_epochs(D, paths, plays, (0.0, 0.25, 1.0))
        result, _ = on_paths(DSEE(D), paths, plays, (0.0, 0.25, 1.0))
        np.testing.assert_array_equal(np.sort(result, axis=1), expected)


def test_epochs_end_before_integers_do():
    """In the last epochs of the largest horizon nothing is negative, and an epoch does not end in its first round."""
    policy = DSEE(1e-9)
    state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    feedback = Feedback(*[jnp.array([x], jnp.int32) for x in (0, 0, 1)], jnp.array([1.0]), jnp.int32(2**31 - 2))
    for exploited in (14, 15, 16):
        numbers = {"explored": jnp.int32(16), "exploited": jnp.int32(exploited), "left": jnp.int32(1)}
        ending = state._replace(explores=jnp.bool_(False), **numbers)
        after = policy.update(ending, feedback)
        assert int(after.left) == min(2 ** (2 * exploited + 3), 2**30)


LEFT_FOR_EVER = restless([[[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.0, 0.3, 0.7]]] * 2, (0.0, 0.5, 1.0))


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        (hidden(SCENARIO.transition[:2], [[0.2, 0.7]] * 2), "RCA is for rested or restless or observed arms"),
        (LEFT_FOR_EVER, "RCA needs .*; arm 0 of .* has a state to which it does not"),
    ],
    ids=["hidden", "transient"],
)
def test_rca_sees_states_to_which_arms_return(arms, message):
    with pytest.raises(ValueError, match=rf"^policies\['r'\]: {message}"):
        simulate(arms, {"r": RCA()}, runs=1, horizon=3)


# several players


def one_player(m, players, arms, D):
    """Decentralised DSEE of player m, who is sent the reward of each of its plays, and knows nothing else."""
    sums, samples, t, explorations, exploitations = np.zeros(arms), np.zeros(arms, int), 1, 0, 0
    while True:
        if (4**explorations - 1) / 3 > D * math.log(t):
            order = sorted(range(arms), key=lambda k: (-sums[k] / samples[k], k))
            for part in range(players):
                for _ in range(2 * 4**exploitations):
                    yield order[(m + part) % players]
                    t += 1
            exploitations += 1
        else:
            for part in range(arms):
                for _ in range(4**explorations):
                    arm = (m + part) % arms
                    sums[arm] += yield arm
                    samples[arm] += 1
                    t += 1
            explorations += 1


@pytest.mark.parametrize(("players", "D"), [(3, 2.0), (4, 0.1)])
def test_players_of_dsee_need_nothing_but_what_they_saw(players, D):
    """Each is a coroutine of its own; arms are shuffled, collisions happen, and only in exploitations."""
    shared = restless(np.random.default_rng(4).dirichlet(np.ones(3), (4, 3)), (0.0, 0.25, 1.0))
    arms = colliding(shared, players)
    options = {"runs": 2, "horizon": 400, "times": np.arange(1, 401), "plays": players, "shuffle": True}
    with jax.enable_x64(True):
        result = simulate(arms, {"p": DecentralisedDSEE.of(arms, D)}, **options)
    collisions = 0
    for run in range(2):
        minds = [one_player(m, players, 4, D) for m in range(players)]
        wanted = [next(mind) for mind in minds]
        for visits in np.diff(result.visits["p"][0, 0, run], axis=0, prepend=0):
            seen = {(i // 4, i % 4): s for i, s in np.argwhere(visits).tolist()}
            assert sorted(seen) == list(enumerate(wanted))
            for (_, k), s in seen.items():
                assert (s == 3) == (wanted.count(k) > 1)
            collisions += sum(s == 3 for s in seen.values())
            paid = [shared.reward[k, s] if s < 3 else 0.0 for (_, k), s in sorted(seen.items())]
            wanted = [mind.send(reward) for mind, reward in zip(minds, paid)]
    assert collisions > 0 or players < 4


@pytest.mark.slow
def test_players_move_the_arms_that_they_play():
    """As the same arms do that one player plays: an arm with a collision moves as a played one, and shows nothing."""
    rows = np.random.default_rng(6).dirichlet(np.ones(2), (2, 3, 2))
    shared = restless(rows[0], (0.0, 1.0), rows[1])
    arms, key = colliding(shared, 2), jax.random.key(2)
    state, alone, step, one_step = arms.init(key), shared.init(key), jax.jit(arms.step), jax.jit(shared.step)
    for t, (one, two) in enumerate([(0, 1), (1, 1), (2, 0), (2, 2), (0, 0), (1, 2)], start=1):
        state, feedback = step(key, state, jnp.array([one, 3 + two]), jnp.int32(t))
        alone, expected = one_step(key, alone, jnp.array(sorted({one, two})), jnp.int32(t))
        assert state.states.tolist() == alone.states.tolist()
        seen = dict(zip(expected.arms.tolist(), expected.states.tolist()))
        assert feedback.states.tolist() == [2, 2] if one == two else [seen[one], seen[two]]
        assert feedback.rewards.tolist() == ([0.0, 0.0] if one == two else [float(seen[one]), float(seen[two])])
    _, feedback = step(key, state, jnp.array([0, 1]), jnp.int32(7))
    assert feedback.states.tolist() == [2, 2]  # one player cannot play two arms
    check_policy(DecentralisedDSEE.of(arms), arms, plays=2)
    best = np.sort(shared.means())[1:].sum()
    assert abs(arms.comparator(2) - best) < 1e-12


def two_players(arms, policy, plays=2):
    return simulate(colliding(arms, 2), {"p": policy}, runs=1, horizon=3, plays=plays)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda arms: colliding(arms, 4), "^players: 4 is not among the integers from 2 to 3"),
        (lambda arms: colliding(SCENARIO, 2), "^arms: arms of environments.restless are needed"),
        (lambda arms: DecentralisedDSEE.of(arms), "^arms: one of environments.colliding is needed"),
        (lambda arms: two_players(arms, jaxbandit.UCB1()), "UCB1 is for .* are colliding"),
        (lambda arms: two_players(arms, DecentralisedDSEE.of(colliding(arms, 3))), "player: is not that of"),
        (lambda arms: two_players(arms, DecentralisedDSEE.of(colliding(arms, 2)), 1), "plays: 1, and there are 2"),
    ],
)
def test_errors_of_players(call, message):
    with pytest.raises(ValueError, match=message):
        call(restless([[[0.5, 0.5], [0.4, 0.6]]] * 3, (0, 1)))
