"""Restless arms: their law, regret against the best arm, RCA and DSEE against loops, policies that know the chains."""

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import mpmath as mp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

import jaxbandit
from jaxbandit import DSEE, RCA, DecentralisedDSEE, Feedback, Uniform, bounds, members, metrics, simulate, two_state
from jaxbandit.environments import colliding, hidden, restless
from jaxbandit.policies import Myopic, WhittleBelief
from jaxbandit.policies.restless.whittle_belief import whittle
from jaxbandit.testing import check_environment

SCENARIO = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7], initial_state="stationary")
MOVING = restless(SCENARIO.transition, (0, 1))
PASSIVE = restless(SCENARIO.transition, (0, 1), SCENARIO.transition[::-1])


@pytest.mark.parametrize(
    ("passive", "observed", "double"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_a_loop_finds_the_same_states_in_the_same_bits(passive, observed, double):
    """From the definition, in NumPy: JAX's threefry on (arm, round), thresholds summed up in float64."""
    random = np.random.default_rng(5)
    active, left = random.dirichlet(np.ones(3), (2, 4, 3))
    pays, order = random.random((4, 3)), np.stack([random.permutation(4)[:2] for _ in range(40)])
    environment = restless(active, pays, left if passive else None, observed=observed)
    keys = jax.random.split(jax.random.key(7), 2)

    def one(key):
        def body(state, played):
            following, feedback = environment.step(key, state, *played)
            return following, (feedback, following.states)

        return jax.lax.scan(body, environment.init(key), (jnp.asarray(order, jnp.int32), 1 + jnp.arange(40)))[1]

    with jax.enable_x64(double):
        feedback, paths = jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys))

    def state(key, arm, number, law):
        counter = jnp.array([arm, number], jnp.uint32)
        return int(np.searchsorted(np.cumsum(law)[:-1], int(threefry_2x32(key, counter)[0]) / 2.0**32, side="right"))

    assert (feedback.shown is not None) == observed
    for run, key in enumerate(jax.random.key_data(keys)):
        states = [state(key, k, 0, jaxbandit.chains.stationary(active[k])) for k in range(4)]
        view = list(states)
        for t, arms in enumerate(order):
            laws = [(active if k in arms or not passive else left)[k, states[k]] for k in range(4)]
            states = [state(key, k, t + 1, laws[k]) for k in range(4)]
            assert feedback.before[run, t].tolist() == [view[k] for k in arms]
            assert feedback.states[run, t].tolist() == [states[k] for k in arms]
            np.testing.assert_allclose(feedback.rewards[run, t], [pays[k, states[k]] for k in arms], rtol=1e-6)
            assert paths[run, t].tolist() == states
            if observed:
                assert feedback.shown[run, t].tolist() == states
            for k in range(4) if observed else arms:
                view[k] = states[k]


def of_kind(environment, **more):
    """An environment of the same fields whose class declares or does something else."""
    declared = {name: more.pop(name) for name in jaxbandit.Declares._fields if name in more}
    declares = members.declares(environment)._replace(**declared)
    kind = jaxbandit.pytree(type("Other", (type(environment),), {"declares": declares, **more}))
    return kind(**{field.name: getattr(environment, field.name) for field in dataclasses.fields(environment)})


@pytest.mark.slow
def test_contract_tests_the_pairing_that_is_declared():
    arms = restless(SCENARIO.transition[:3], (0, 1))
    with pytest.raises(AssertionError, match="n-th play of an arm depends on the plays of other arms"):
        check_environment(of_kind(arms, pairing="play"))
    rested = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
    with pytest.raises(AssertionError, match="path of arm 0 depends on when it is played"):
        check_environment(of_kind(rested, pairing="round", problem="restless"))
    with pytest.raises(AssertionError, match="Other.declares.pairing: 'turn' is not one of play, round"):
        check_environment(of_kind(rested, pairing="turn"))

    restless_step = type(arms).step

    def step(self, key, state, arms, t):
        """What a round draws depends on when arm 2 was last played."""
        turned = t + 1000 * (state.shown[2] != state.states[2]).astype(jnp.int32)
        following, feedback = restless_step(self, key, state, arms, turned)
        return following, feedback._replace(t=t)

    with pytest.raises(AssertionError, match="depends on which of the others were played"):
        check_environment(of_kind(arms, step=step))


# regret


@pytest.mark.slow
def test_the_headline_is_realised_regret_and_everything_says_so():
    result = simulate(MOVING, {"u": Uniform()}, runs=8, horizon=60, times=[10, 60])
    visits = result.visits["u"][0, 0, :, -1]
    np.testing.assert_allclose(metrics.regret(result, "u")[0, 0, :, -1], 60 * 5 / 9 - visits[..., 1].sum(-1))
    data = result.to_xarray()
    assert data.regret.attrs["long_name"] == "realised regret" and data.attrs["problem"] == "restless"
    ax = jaxbandit.plotting.plot_regret(result)
    assert ax.get_ylabel() == "realised regret" and ax.get_ylim()[0] != 0
    plt.close()


@jaxbandit.pytree
class Compared(type(SCENARIO)):
    """Rested arms whose comparator is one number if `best` is, and a number for each round if not."""

    best: np.ndarray | None = None

    def comparator(self, plays):
        return plays * (self.best[0] if (self.best == self.best[0]).all() else self.best)


def test_a_declared_comparator_is_what_regret_is_measured_against(tmp_path):
    rounds, once = np.arange(1, 16) / 15, np.full(15, 0.9)
    asked = {"policies": {"u": Uniform()}, "runs": 2, "horizon": 15, "times": [5, 15], "plays": 2}

    def played(best, **more):
        return simulate(Compared(**vars(SCENARIO), best=best), **asked | more)

    for best in (rounds, once):
        result = played(best)
        for metric, pays in ((metrics.pseudo_regret, SCENARIO.means()[:, None]), (metrics.realised_regret, [0, 1])):
            expected = 2 * np.cumsum(best)[[4, 14]] - (result.visits["u"] * pays).sum((-2, -1))
            np.testing.assert_allclose(metric(result, "u"), expected, atol=1e-12)
    result.save(tmp_path / "r.npz")
    assert jaxbandit.Result.load(tmp_path / "r.npz").comparator.tolist() == result.comparator.tolist() == [1.8]
    with pytest.raises(ValueError, match=r"resume: scenarios.* changed since the result was made"):
        played(0.4 * once, horizon=20, times=[5, 15, 20], resume=result)
    for wrong, words in (
        (np.full(15, np.inf), "is inf, not a finite number"),
        (rounds[1:], r"has the shape \(14,\); it is one number, or one for each of 15"),
    ):
        with pytest.raises(ValueError, match=rf"scenarios\['scenario'\]: comparator\(2\) {words}"):
            played(wrong)


# RCA


@functools.partial(jax.jit, static_argnums=3)
def every_round(policy, paths, reward, plays):
    def body(state, now):
        t, view = now
        arms = jaxbandit.top_arms(policy.scores(None, state, t)[0], plays)
        states = view[arms]
        return policy.update(state, Feedback(arms, jnp.zeros_like(arms), states, reward[arms, states], t)), arms

    rounds = jnp.arange(1, paths.shape[1] + 1, dtype=jnp.int32)
    return jax.lax.scan(body, policy.init(reward), (rounds, paths.T))


def on_paths(policy, paths, plays, reward=(0.0, 1.0)):
    """The arms played [rounds, M] where arm k shows paths[k, t] in round t, if played; and the last state."""
    table = jnp.broadcast_to(jnp.asarray(reward, float), (len(paths), len(reward)))
    state, arms = every_round(policy, jnp.asarray(paths, jnp.int32), table, plays)
    return np.asarray(arms), state


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


@pytest.mark.parametrize(("plays", "reward"), [(1, (0.0, 1.0)), (1, (0.0, 0.37, 1.0)), (3, (0.0, 0.37, 1.0))])
def test_rca_is_what_its_blocks_are(plays, reward):
    """Random problems of 5 arms; in double precision, so that rounding decides nothing."""
    random = np.random.default_rng(plays)
    with jax.enable_x64(True):
        for L in (0.0, 0.3, 2.0, 17.0, *random.random(2)):
            paths = random.integers(len(reward), size=(5, 150))
            result, state = on_paths(RCA(float(L)), paths, plays, reward)
            expected, counted = rca_by_coroutines(L, paths, plays, np.array(reward))
            np.testing.assert_array_equal(np.sort(result, axis=1), expected)
            np.testing.assert_array_equal(state.counts, counted)


# DSEE


def dsee(sums, D, groups, leaders):
    """One mind as a coroutine: it yields the arms of a round and is sent their rewards, which it adds to `sums`.

    It explores each of `groups` in turn, and exploits each of the groups that `leaders` makes of the arms' order.
    """
    samples, t, explorations, exploitations = np.zeros(len(sums), int), 1, 0, 0
    while True:
        explores = (4**explorations - 1) / 3 <= D * math.log(t)
        if explores:
            epoch, length = groups, 4**explorations
        else:
            order = sorted(range(len(sums)), key=lambda k: (-sums[k] / samples[k], k))
            epoch, length = leaders(order), 2 * 4**exploitations
        for arms, _ in itertools.product(epoch, range(length)):
            rewards = yield arms
            if explores:
                sums[arms] += rewards
                samples[arms] += 1
            t += 1
        explorations, exploitations = explorations + explores, exploitations + (not explores)


@pytest.mark.parametrize("plays", [1, 2, 3, 5])
def test_dsee_is_what_its_epochs_are(plays):
    random, reward = np.random.default_rng(plays), np.array([0.0, 0.25, 1.0])
    groups = [[(start + m) % 5 for m in range(plays)] for start in range(0, 5, plays)]
    for D in (0.1, 3.0):
        paths, sums, expected = random.integers(3, size=(5, 700)), np.zeros(5), []
        mind = dsee(sums, D, groups, lambda order: [order[:plays]])
        arms = next(mind)
        for view in paths.T:
            expected.append(sorted(arms))
            arms = mind.send(reward[view[arms]])
        result, state = on_paths(DSEE(D), paths, plays, reward)
        np.testing.assert_array_equal(np.sort(result, axis=1), expected)
        np.testing.assert_allclose(state.counts @ reward, sums)


def test_epochs_end_before_integers_do():
    """In the last epochs of the largest horizon nothing is negative, and an epoch does not end in its first round."""
    policy, update = DSEE(1e-9), jax.jit(DSEE.update)
    state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    feedback = Feedback.of(0, 1.0, t=2**31 - 2, table=[[0.0, 1.0]] * 3, before=0)
    for exploited in (14, 15, 16):
        numbers = {"explored": jnp.int32(16), "exploited": jnp.int32(exploited), "left": jnp.int32(1)}
        ending = state._replace(explores=jnp.bool_(False), **numbers)
        after = update(policy, ending, feedback)
        assert int(after.left) == min(2 ** (2 * exploited + 3), 2**30)


# several players


def one_player(m, players, arms, D):
    """Decentralised DSEE of player m, who is sent the reward of each of its plays, and knows nothing else."""
    groups = [[(m + part) % arms] for part in range(arms)]
    return dsee(np.zeros(arms), D, groups, lambda order: [[order[(m + part) % players]] for part in range(players)])


@pytest.mark.parametrize(("players", "D"), [pytest.param(3, 2.0, marks=pytest.mark.slow), (4, 0.1)])
def test_players_of_dsee_need_nothing_but_what_they_saw(players, D):
    """Each is a coroutine of its own; arms are shuffled, collisions happen, and only in exploitations."""
    shared = restless(np.random.default_rng(4).dirichlet(np.ones(3), (4, 3)), (0.0, 0.25, 1.0))
    arms = colliding(shared, players)
    options = {"runs": 2, "horizon": 200, "times": np.arange(1, 201), "plays": players, "shuffle": True}
    with jax.enable_x64(True):
        result = simulate(arms, {"p": DecentralisedDSEE.of(arms, D)}, **options)
    collisions = 0
    for run in range(2):
        minds = [one_player(m, players, 4, D) for m in range(players)]
        wanted = [next(mind)[0] for mind in minds]
        for visits in np.diff(result.visits["p"][0, 0, run], axis=0, prepend=0):
            seen = {(i // 4, i % 4): s for i, s in np.argwhere(visits).tolist()}
            assert sorted(seen) == list(enumerate(wanted))
            for (_, k), s in seen.items():
                assert (s == 3) == (wanted.count(k) > 1)
            collisions += sum(s == 3 for s in seen.values())
            paid = [shared.reward[k, s] if s < 3 else 0.0 for (_, k), s in sorted(seen.items())]
            wanted = [mind.send(reward)[0] for mind, reward in zip(minds, paid)]
    assert collisions > 0 or players < 4


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
    best = np.sort(shared.means())[1:].sum()
    assert abs(arms.comparator(2) - best) < 1e-12


# policies that know the chains


def arms_of(*pairs):
    """Restless arms from (p01, p11) of each."""
    rows = [[[1 - p01, p01], [1 - p11, p11]] for p01, p11 in pairs]
    return restless(rows, (0, 1), initial_state=[1, 0, 0][: len(pairs)])


def index_of_50_digits(w, p01, p10, d):
    """The subsidy of the three equations in the docstring of `whittle`, solved as they stand."""
    w, p01, p11, d = mp.mpf(w), mp.mpf(p01), 1 - mp.mpf(p10), mp.mpf(d)
    if w <= p01 or w >= p11:
        return w
    if w >= p01 / (1 - p11 + p01):
        return w / (1 - d * p11 + d * w)
    later, b, waited = p01 + (p11 - p01) * w, p01, mp.mpf(1)
    while b <= w:
        b, waited = p01 + (p11 - p01) * b, waited * d
    after, values = d * waited * b, mp.matrix([-p11, -waited * b, w - d * later])
    of = [[0, d * (1 - p11), d * p11 - 1], [(1 - waited) / (1 - d), d * waited - after - 1, after]]
    of.append([1, d * d * (1 - later) - d * (1 - w), d * d * later - d * w])
    return mp.lu_solve(mp.matrix(of), values)[0]


@pytest.mark.parametrize(
    ("p01", "p10", "discount"),
    [(0.2, 0.2, 0.9999), (0.3, 0.6, 0.999999), (0.01, 0.01, 0.9), (0.01, 0.01, 0.999999), (0.001, 0.002, 0.9999)],
)
def test_index_in_float32_near_discount_1(p01, p10, discount):
    """Within 2e-6 of 50 digits, in the beliefs of an arm that showed 0 and waits and in others; found: 1.1e-6."""
    p01, p10 = np.float32(p01), np.float32(p10)
    waiting = p01 / (p01 + p10) * (1 - (1 - p01 - p10) ** np.arange(2, 30, 3))
    beliefs = np.append(waiting, np.linspace(p01, 1 - p10, 12)).astype(np.float32)
    result = whittle(jnp.asarray(beliefs), p01, p10, jnp.float32(discount))
    assert result.dtype == jnp.float32
    with mp.workdps(50):
        expected = [float(index_of_50_digits(float(w), float(p01), float(p10), discount)) for w in beliefs]
    np.testing.assert_allclose(result, expected, atol=2e-6)


STICKY = arms_of((0.2, 0.8), (0.1, 0.95), (0.3, 0.4))


@pytest.mark.parametrize("case", ["one law", "passive", "index"])
def test_beliefs_are_those_of_a_loop(case):
    """The expected reward of the next round with and without a passive law; and Whittle's index on beliefs."""
    random = np.random.default_rng(3)
    active, left = random.dirichlet(np.ones(3), (2, 4, 3))
    arms = restless(active, random.random((4, 3)), left if case == "passive" else None)
    arms, policy = (STICKY, WhittleBelief.of(STICKY)) if case == "index" else (arms, Myopic.of(arms))
    rows, (K, S) = np.asarray(arms.transition), arms.reward.shape
    state, expected = policy.init(arms.reward), np.array(arms.initial)
    scores, update = jax.jit(policy.scores), jax.jit(policy.update)
    for t in range(30):
        law = np.einsum("ks,kst->kt", expected, rows)
        worth = (law * arms.reward).sum(1)
        if case == "index":
            worth = [float(index_of_50_digits(w, p[0, 1], p[1, 0], 0.9)) for w, p in zip(law[:, 1], rows)]
        np.testing.assert_allclose(scores(None, state, t)[0], worth, rtol=3e-6)
        played, view = random.permutation(K)[:2], random.integers(S, size=2)
        inputs = [jnp.asarray(x, jnp.int32) for x in (played, view, view)]
        state = update(state, Feedback(*inputs, jnp.zeros(2), 1))
        expected = np.einsum("ks,kst->kt", expected, left) if case == "passive" else law
        expected[played] = np.eye(S)[view]


# who refuses them


def play(arms, policy, plays=1):
    simulate(arms, {"p": policy}, runs=1, horizon=3, plays=plays)


ROWS = [[[0.5, 0.5], [0.4, 0.6]]] * 3
GOOD, TURNING, PAYS_2 = restless(ROWS, (0, 1)), arms_of((0.2, 0.8), (0.7, 0.2)), restless(STICKY.transition, (0, 2))
FOR_EVER = restless([[[0.0, 0.5, 0.5], [0.0, 0.5, 0.5], [0.0, 0.3, 0.7]]] * 2, (0.0, 0.5, 1.0))
HIDDEN, TWO_PLAYERS = hidden(SCENARIO.transition[:2], [[0.2, 0.7]] * 2), colliding(GOOD, 2)
BAD = [
    (lambda: restless(np.eye(2)[None].repeat(2, 0), (0, 1)), "^transition: arm 0 is reducible"),
    (lambda: restless(ROWS, (1, 1)), "^reward: every state"),
    (lambda: restless(ROWS, (0, 1), ROWS[:1]), r"^passive: shape \(1, 2, 2\) is not that of `transition`"),
    (lambda: restless(ROWS[:2], (0, 1), [[[1 - 1e-11, 1e-11], [0.4, 0.6]]] * 2), "^passive: a positive probability"),
    (lambda: simulate({"a": MOVING, "b": PASSIVE}, {"u": Uniform()}, runs=1, horizon=1), "^scenarios: .* not alike"),
    (lambda: bounds.lower(restless(ROWS, (0, 1), observed=True)), "^environment: RestlessArms has observed arms"),
    (lambda: play(HIDDEN, RCA()), "RCA is for rested or restless or observed arms"),
    (lambda: play(FOR_EVER, RCA()), "RCA needs .*; arm 0 of .* has a state to which it does not"),
    (lambda: colliding(GOOD, 4), "^players: 4 is not among the integers from 2 to 3"),
    (lambda: colliding(SCENARIO, 2), "^arms: arms of environments.restless are needed"),
    (lambda: DecentralisedDSEE.of(GOOD), "^arms: one of environments.colliding is needed"),
    (lambda: play(TWO_PLAYERS, jaxbandit.UCB1(), 2), "UCB1 is for .* are colliding"),
    (lambda: play(TWO_PLAYERS, DecentralisedDSEE.of(colliding(GOOD, 3)), 2), "player: is not that of"),
    (lambda: play(TWO_PLAYERS, DecentralisedDSEE.of(TWO_PLAYERS)), "plays: 1, and there are 2"),
    (lambda: play(SCENARIO, Myopic(SCENARIO.transition, SCENARIO.initial)), "Myopic is for restless or observed arms"),
    (lambda: play(MOVING, Myopic.of(STICKY)), r"\.transition: shape \(3, 2, 2\) is not \(5, 2, 2\)"),
    (lambda: play(STICKY, Myopic(STICKY.transition, np.ones((3, 2)))), ".initial: row 0 sums to 2.0"),
    (lambda: WhittleBelief.of(PASSIVE), "^environment: has a `passive` law"),
    (lambda: play(TURNING, WhittleBelief.of(TURNING)), ".transition: p11 < p01 for arm 1"),
    (lambda: play(STICKY, WhittleBelief(STICKY.transition, STICKY.initial, 1.0)), ".discount: 1.0 lies outside"),
    (lambda: play(PAYS_2, WhittleBelief.of(PAYS_2)), "reward: Whittle's index on beliefs is for two states that pay 0"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bounds_for_rested_arms_refuse_restless_ones():
    names = "lower lower_paper lai_robbins ucb_sm_upper ucb_sm_constant upper_asymptotic eigenvalue_condition"
    more = {"upper_finite": ([10],), "price_of_slow_arms": ([10], 0.1, 0.1)}
    for name, numbers in (dict.fromkeys(names.split(), ()) | more).items():
        with pytest.raises(ValueError, match="^environment: RestlessArms has restless arms; the bounds are for rested"):
            getattr(bounds, name)(MOVING, *numbers)
