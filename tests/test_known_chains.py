"""Policies of known and of estimated chains, arms that begin again, discounted sums; what policies were made for."""

import itertools
import pickle
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats
from test_indices import ODD

import jaxbandit
from jaxbandit import KLUCB, Feedback, Gittins, Myopic, Task, Uniform, Whittle, environments, indices, metrics, simulate
from jaxbandit.environments import restarting, restless
from jaxbandit.policies import GLR, MOSS, HiddenMyopic, KnownBreaks, WhittleLastSeen, WithDetector
from jaxbandit.policies.parts.knowledge import made_for

ARMS = jaxbandit.two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
ACTIVE = np.array(
    [[[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.05, 0.25, 0.7]], [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.3, 0.1, 0.6]]]
)
PASSIVE = np.array(
    [[[0.9, 0.1, 0], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]], [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.1, 0.2, 0.7]]]
)


def test_tables_are_the_indices_of_the_arms():
    """An arm not seen yet has the index of a state from which it begins, or the mean of its indices."""
    arms = jaxbandit.markov(ACTIVE, (0, 0.5, 1), initial_state="stationary")
    policy = Gittins.of(arms, 0.9)
    rows, pays = indices.with_start(arms.transition, arms.reward, arms.initial)
    table = np.column_stack([policy.indices, policy.unseen])
    np.testing.assert_allclose(table, indices.gittins(rows, pays, 0.9), rtol=1e-12)
    arms = restless(ACTIVE, (0, 0.5, 1), PASSIVE, observed=True, initial_state=[1, 2])
    for discount in (0.9, None):
        policy, exact = Whittle.of(arms, discount), indices.whittle(ACTIVE, PASSIVE, arms.reward, discount=discount)
        np.testing.assert_allclose(policy.indices, exact.index, rtol=1e-12)
        np.testing.assert_allclose(policy.unseen, exact.index[[0, 1], [1, 2]], rtol=1e-12)


def test_the_table_is_read_where_the_arms_are():
    policy = Gittins([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [7.0, 8.0, 9.0])
    start, one = policy.init(jnp.zeros((3, 2))), jnp.array([1], jnp.int32)
    np.testing.assert_allclose(policy.scores(None, start, 1)[0], [7, 8, 9])
    np.testing.assert_allclose(Gittins(policy.indices).scores(None, start, 1)[0], [0.1, 0.3, 0.5])
    state = policy.update(start, Feedback(one, one, one, jnp.zeros(1), 1))
    for more, expected in (
        ({}, [7, 0.4, 9]),
        ({"shown": jnp.array([1, 0, 1], jnp.int32)}, [0.2, 0.3, 0.6]),
        ({"restarted": jnp.uint32(5)}, [7, 8, 9]),
        ({"restarted": jnp.uint32(0)}, [7, 0.4, 9]),
    ):
        after = policy.update(state, Feedback(one, one, one, jnp.zeros(1), 1, **more))
        np.testing.assert_allclose(policy.scores(None, after, 3)[0], expected)


@pytest.mark.slow
def test_plugged_in_estimates_of_more_states():
    """Every round played again in float64: counts, estimates, indices from their definitions; arms begin again."""
    arms = restarting(jaxbandit.random_arms(jax.random.key(5), 3, 3, initial_state=1), 0.9)
    policy = jaxbandit.PlugInGittins(discount=0.9, prior=2.0, initial_state=1)
    state, stands = policy.init(jnp.asarray(arms.reward, float)), arms.init(jax.random.key(1))
    scores, update, step = jax.jit(policy.scores), jax.jit(policy.update), jax.jit(arms.step)
    counts, here = np.zeros((3, 3, 3)), np.ones(3, int)
    for t in range(30):
        arm = jnp.array([t % 3 if t < 3 else np.random.default_rng(t).integers(3)], jnp.int32)
        stands, feedback = step(jax.random.key(1), stands, arm, jnp.int32(t + 1))
        state = update(state, feedback)
        counts[int(arm[0]), int(feedback.before[0]), int(feedback.states[0])] += 1
        here[int(arm[0])] = int(feedback.states[0])
        here = np.ones(3, int) if feedback.restarted > 0 else here
        rows = (counts + 2 / 3) / (counts.sum(-1, keepdims=True) + 2)
        expected = indices.gittins(rows, arms.reward, 0.9)[np.arange(3), here]
        expected[counts.sum((1, 2)) == 0] = np.inf
        np.testing.assert_allclose(scores(None, state, t + 2)[0], expected, rtol=1e-5)


@pytest.mark.slow
def test_posterior_gittins_chooses_as_often_as_draws_say():
    """Exact binomial test at 1e-9 of 50,000 choices against 400,000 draws by NumPy, whose share may be off by 0.004."""
    counts = np.array([[[3, 2], [1, 4]], [[0, 1], [2, 2]]])
    policy = jaxbandit.PosteriorGittins(discount=0.9, prior=1.0)
    state = policy.init(jnp.array([[0.0, 1.0]] * 2))
    state = state._replace(counts=jnp.asarray(counts), known=jnp.asarray(counts), states=jnp.array([1, 0]))
    rng = np.random.default_rng(0)
    drawn = [[rng.dirichlet(0.5 + counts[k, s], 400_000) for s in (0, 1)] for k in (0, 1)]
    rows = [np.stack(item, axis=1) for item in drawn]
    scores = []
    for k, s in ((0, 1), (1, 0)):  # the closed form of two states
        once, other, stays = rows[k][:, s, 1], rows[k][:, 1 - s, 1], 0.9 * rows[k][:, s, 1 - s]
        stays = stays / (1 - 0.9 * rows[k][:, 1 - s, 1 - s])
        scores.append(np.maximum(once, (once + stays * other) / (1 + stays)))
    share = (scores[0] >= scores[1]).mean()
    for episodes in (False, True):  # the round's key draws, or the number of the episode
        numbers = jnp.arange(1, 50_001, dtype=jnp.uint32) if episodes else jnp.zeros(50_000, jnp.uint32)
        keys = jax.random.split(jax.random.key(0), 50_000)
        choose = jax.vmap(lambda key, n: jnp.argmax(policy.scores(key, state._replace(episode=n), 9)[0]))
        first = int((np.asarray(jax.jit(choose)(keys, numbers)) == 0).sum())
        assert max(stats.binomtest(first, 50_000, share + error).pvalue for error in (-0.004, 0, 0.004)) > 1e-9


@pytest.mark.slow
def test_rows_are_drawn_once_an_episode():
    policy = jaxbandit.PosteriorGittins(discount=0.9, initial_state=1)
    state = policy.init(jnp.array([[0.0, 1.0, 0.3]] * 3))
    keys, of_key = jax.random.split(jax.random.key(0), 2), jax.jit(policy.scores)

    def scores(state):
        return [np.asarray(of_key(key, state, 5)[0]) for key in keys]

    def play(state, restarted):
        one = jnp.array([2], jnp.int32)
        return policy.update(state, Feedback(one, one, one, jnp.zeros(1), 1, restarted=jnp.uint32(restarted)))

    assert (np.subtract(*scores(state)) != 0).all()  # before the first return every round draws anew
    state = play(play(state, 0), 77)
    assert state.states.tolist() == [1, 1, 1] and int(state.known.sum()) == 2
    assert (np.subtract(*scores(state)) == 0).all()
    after = play(state, 0)
    assert int(after.counts.sum()) == 3 and int(after.known.sum()) == 2
    after = after._replace(states=state.states)
    np.testing.assert_array_equal(scores(after)[0], scores(state)[0])  # what was seen since does not count yet
    other = play(after, 1)
    assert (scores(other)[0] != scores(state)[0]).all() and int(other.known.sum()) == 4


def plain_draw(words, counter, number):
    return min(int(threefry_2x32(words, jnp.array([counter, number], jnp.uint32))[0]), 2**32 - 2)


def test_restarting_arms_draw_by_arm_episode_and_play():
    """Every round played again in Python integers, from the run's key: moves, returns and first states."""
    arms = jaxbandit.two_state([0.5, 0.3], [0.4, 0.6], initial_state="stationary")
    environment = restarting(arms, 0.8)
    key = jax.random.key(4)
    words = jax.random.key_data(key)

    def state_of(bits, law):
        return int(bits >= round(law[0] * 2**32))

    state = environment.init(key)
    expected = [state_of(plain_draw(words, k, 0), arms.initial[k]) for k in (0, 1)]
    start, played, returns = 0, [0, 0], 0
    step = jax.jit(environment.step)
    for t in range(1, 60):
        arm = (t * t // 3) % 2
        state, feedback = step(key, state, jnp.array([arm], jnp.int32), jnp.int32(t))
        played[arm] += 1
        row = arms.transition[arm, expected[arm]]
        assert int(feedback.before[0]) == expected[arm]
        expected[arm] = state_of(plain_draw(words, arm, start + played[arm]), row)
        assert int(feedback.states[0]) == expected[arm]
        ended = plain_draw(words, 2, t) < round(0.2 * 2**32)
        assert (int(feedback.restarted) > 0) == ended
        if ended:
            assert int(feedback.restarted) == plain_draw(words, 3, t) | 1
            expected = [state_of(plain_draw(words, 4 + k, t), arms.initial[k]) for k in (0, 1)]
            start, played, returns = t, [0, 0], returns + 1
        assert state.states.tolist() == expected
    assert returns > 4


def test_restarting_arms_pay_the_discounted_reward():
    """What one arm pays alone is `means`, what Gittins collects is `comparator`."""
    arms = jaxbandit.two_state(
        [0.3, 0.1, 0.6], [0.5, 0.05, 0.9], [[0, 1], [0.2, 0.6], [0.4, 0.5]], initial_state="stationary"
    )
    environment = restarting(arms, 0.9)
    for k, rows in enumerate(arms.transition):
        values = np.linalg.solve(np.eye(2) - 0.9 * rows, rows @ arms.reward[k])
        assert environment.means()[k] == pytest.approx(0.1 * arms.initial[k] @ values)
    best = indices.gittins_value(arms.transition, arms.reward, 0.9, arms.initial)
    assert environment.comparator(1) == pytest.approx(0.1 * best) and 0.1 * best > environment.means().max() + 0.02


def test_discounted_reward_against_a_loop():
    environment = jaxbandit.two_state([0.5, 0.3], [0.4, 0.6], [[0.0, 2.0], [-1.0, 1.0]])
    asked = {"runs": 7, "horizon": 40, "plays": 2, "progress": False}
    times = [1, 2, 5, 6, 20, 40]
    full, some = (simulate(environment, {"u": Uniform()}, times=each, **asked) for each in (np.arange(1, 41), times))
    paid = np.diff(np.einsum("rtks,ks->rt", full.visits["u"][0, 0], environment.reward), axis=1, prepend=0)
    for discount in (0.0, 0.7, 0.99):
        weights = discount ** np.arange(40)
        np.testing.assert_allclose(metrics.discounted_reward(full, "u", discount)[0, 0], paid @ weights, atol=1e-12)
        # a mean weight for each stretch between recorded rounds
        expected = sum(weights[a:b].mean() * paid[:, a:b].sum(1) for a, b in itertools.pairwise([0, *times]))
        np.testing.assert_allclose(metrics.discounted_reward(some, "u", discount)[0, 0], expected, atol=1e-12)


@pytest.mark.parametrize(("discount", "error"), [(0.0, 1e-2), (0.5, 1e-3), (0.95, 0.3), (0.999, 1e-3)])
def test_recorded_rounds_tell_the_sum_to_within_the_error(discount, error):
    """The worst rewards, 1 where a round weighs more than the mean between recorded rounds, and 1 for ever after."""
    times = indices.rounds_to_record(discount, error)
    weights = discount ** np.arange(times[-1])
    rest = discount ** float(times[-1]) / (1 - discount)
    worst = 0.0
    for a, b in itertools.pairwise([0, *times.tolist()]):
        part = weights[a:b]
        worst += part[part > part.mean()].sum() - (part > part.mean()).sum() * part.mean()
    assert worst + rest <= error / (1 - discount) * (1 + 1e-9)
    assert (np.diff(times) > 0).all() and times[0] >= 1


# what a policy was told or made for is compared with what it is asked to play, before anything is compiled

ROWS = np.array([[[0.1, 0.9], [0.2, 0.8]], [[0.2, 0.8], [0.4, 0.6]], [[0.3, 0.7], [0.35, 0.65]]])
WAIT = np.array([[[0.9, 0.1], [0.3, 0.7]]] * 3)
RESTED = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
OTHER = jaxbandit.two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.6])
SEEN = restless(ROWS, (0, 1), WAIT, observed=True)
UNSEEN = restless(ROWS, (0, 1), WAIT)
ALL = {"observed": True, "paid": "all"}
ALL_PAY = restless(ROWS, (0, 1), WAIT, **ALL)
ALIKE = restless(ROWS, (0, 1))  # arms that move alike, played or not
SHOWS = np.array([[0.2, 0.7], [0.3, 0.9], [0.05, 0.4]])
HIDDEN = environments.hidden(ROWS, SHOWS)
RIVER = environments.riverswim(4)
of_rows = partial(restless, ROWS, (0, 1), WAIT)
MADE = {  # by policy: it, the arms that it was made for, and others, with what is said of them
    "Gittins": (Gittins.of(RESTED, 0.9), RESTED, OTHER, "which differ in transition"),
    "Whittle-rows": (Whittle.of(SEEN), SEEN, restless(WAIT, (0, 1), ROWS, observed=True), "in transition, passive"),
    "Whittle-pays": (Whittle.of(SEEN), SEEN, restless(ROWS, (0, 2), WAIT, observed=True), "in reward"),
    "Whittle-played": (Whittle.of(SEEN), SEEN, ALL_PAY, "those that are played pay; in .* all pay, played or not"),
    "LPPriority": (jaxbandit.LPPriority.of(ALL_PAY, 1), ALL_PAY, of_rows(**ALL, cost=0.1), "in cost"),
    "WhittleLastSeen": (WhittleLastSeen.of(UNSEEN, 5), UNSEEN, of_rows(initial_state=0), "in initial"),
    "Myopic": (Myopic.of(ALIKE), ALIKE, UNSEEN, "in passive"),
    "HiddenMyopic": (HiddenMyopic.of(HIDDEN), HIDDEN, environments.hidden(ROWS, SHOWS[::-1]), "in emission"),
    "KnownProcess": (jaxbandit.KnownProcess.of(RIVER), RIVER, environments.riverswim(4, up=0.3), "in transition"),
    "KnownProcess-steps": (jaxbandit.KnownProcess.of(RIVER), RIVER, environments.riverswim(4, steps=5), "in steps"),
}


@pytest.mark.parametrize("case", MADE)
def test_a_policy_made_for_other_arms_is_refused(case):
    policy, arms, other, reason = MADE[case]
    for each in (policy, pickle.loads(pickle.dumps(policy))):
        each.validate(Task(arms))
        with pytest.raises(ValueError, match=rf"policies\['p'\]: {type(policy).__name__} was made for .*{reason}"):
            simulate(other, {"p": each}, runs=1, horizon=5)


@pytest.mark.parametrize("case", ["Gittins", "Whittle-rows", "HiddenMyopic"])
@pytest.mark.slow
def test_any_order_of_the_arms(case):
    policy, arms, *_ = MADE[case]
    asked = {"runs": 20, "horizon": 100, "times": [10, 100], "progress": False}
    plain, shuffled = (simulate(arms, {"p": policy}, shuffle=item, **asked) for item in (False, True))
    np.testing.assert_array_equal(plain.visits["p"], shuffled.visits["p"])


def test_numbers_given_by_hand_are_played_on_all_arms_that_they_fit():
    by_hand = Whittle(Whittle.of(SEEN).indices), replace(Whittle.of(SEEN), unseen=None)
    for policy in by_hand:
        policy.validate(Task(ALL_PAY))
        simulate(ALL_PAY, {"p": policy}, runs=1, horizon=3, progress=False)
    Myopic(WAIT, ALIKE.initial).validate(Task(UNSEEN))


def test_the_same_arms_made_again_are_the_same():
    """Rows in float32 and episodes of the same arms are no others; a probability of 1e-7 is not one of 2e-7."""
    rounded = restless(ROWS.astype(np.float32), (0, 1), WAIT.astype(np.float32), observed=True)
    Whittle.of(SEEN).validate(Task(rounded))
    Gittins.of(RESTED, 0.9).validate(Task(environments.restarting(RESTED, 0.9)))
    Whittle.of(RESTED, 0.9).validate(Task(environments.restarting(RESTED, 0.9)))
    rare = [restless([[[1 - p, p], [0.5, 0.5]]] * 2, (0, 1), [[[0.5, 0.5]] * 2] * 2) for p in (1e-7, 2e-7)]
    Myopic.of(rare[0]).validate(Task(rare[0]))
    with pytest.raises(ValueError, match="in transition"):
        Myopic.of(rare[0]).validate(Task(rare[1]))
    mine = made_for(KLUCB(), RESTED.known())  # which is no field of the policy
    assert mine == KLUCB() and repr(mine) == repr(KLUCB())


def test_what_environments_tell_of_their_laws():
    """Averages by loops over states: of a play less its cost, of a round without one, and of hidden arms by symbol."""
    cost = [0.1, 0.0, 0.2]
    laws = restless(ROWS, (0, 1), WAIT, paid="all", cost=cost).known()
    for k in range(3):
        for s in range(2):
            assert laws.earned[k, s] == pytest.approx(sum(ROWS[k, s, to] * to for to in range(2)) - cost[k])
            assert laws.kept[k, s] == pytest.approx(sum(WAIT[k, s, to] * to for to in range(2)))
    rested, hidden, river = RESTED.known(), HIDDEN.known(), environments.riverswim(4, steps=5).known()
    assert not rested.uncontrolled and (rested.passive == np.eye(2)).all() and not rested.kept.any()
    assert ALIKE.known().uncontrolled and not UNSEEN.known().uncontrolled
    for k, s in np.ndindex(3, 2):  # SHOWS is how likely each state shows symbol 1, which pays 1
        assert hidden.earned[k, s] == pytest.approx(sum(ROWS[k, s, to] * SHOWS[k, to] for to in range(2)))
    assert (river.earned == river.reward).all() and river.steps == 5 and rested.steps is None


CHANGING = environments.piecewise([11], [[0.5, 0.3], [0.2, 0.9]])
TOLD = [KLUCB(horizon=50.0), MOSS(horizon=50), jaxbandit.Exp3(horizon=50), jaxbandit.UCBVI(steps=4, horizon=50)]
TOLD += [GLR(horizon=50), jaxbandit.CUSUM(horizon=50, changes=2), jaxbandit.MUCB(horizon=50, changes=2)]
TOLD += [jaxbandit.Exp3S(horizon=50, hardness=2), jaxbandit.Rexp3(horizon=50, budget=2)]
TOLD += [jaxbandit.Exp3P(horizon=50, delta=0.1), jaxbandit.Exp3IX(horizon=50), jaxbandit.Exp4(np.eye(2), horizon=50)]
TOLD += [jaxbandit.DiscountedUCB(horizon=50, changes=2), jaxbandit.SlidingWindowUCB(horizon=50, changes=2)]


@pytest.mark.parametrize("policy", TOLD, ids=lambda policy: type(policy).__name__)
def test_a_horizon_that_ends_before_the_game_is_refused(policy):
    name = type(policy).__name__
    arms = environments.riverswim(3, steps=4) if name == "UCBVI" else CHANGING
    policy = policy if hasattr(policy, "scores") else WithDetector(KLUCB(), policy)
    policy.validate(Task(arms, horizon=50))
    policy.validate(Task(arms))  # says nothing of how many rounds will be played
    with pytest.raises(ValueError, match=f"{name} is made for 50 rounds, and 100 will be played; give horizon=100"):
        simulate(arms, {"p": policy}, runs=1, horizon=100)


def test_breaks_that_the_environment_does_not_have_are_refused():
    arms = environments.piecewise([11, 31], [[0.5, 0.3], [0.2, 0.9], [0.5, 0.3]])
    for breaks, horizon in (([11, 31], 50), ([31, 11], 50), ([11], 30), ([11, 40], 30), ([], 10)):
        WithDetector(jaxbandit.UCB1(), KnownBreaks(np.array(breaks, int))).validate(Task(arms, horizon=horizon))
    with pytest.raises(ValueError, match=r"detector: breaks: round 31 is a break of .*; give KnownBreaks\(environment"):
        simulate(arms, {"p": WithDetector(jaxbandit.UCB1(), KnownBreaks([11]))}, runs=1, horizon=50)
    with pytest.raises(ValueError, match="breaks: round 12 is no break of"):
        simulate(arms, {"p": WithDetector(jaxbandit.UCB1(), KnownBreaks([11, 12, 31]))}, runs=1, horizon=50)
    WithDetector(jaxbandit.UCB1(), KnownBreaks([12])).validate(Task(RESTED, horizon=50))  # arms that declare none


LAWS = [ACTIVE[0], ODD["active"]], [[0, 0.5, 1], ODD["earned"]], [PASSIVE[0], ODD["passive"]]
NO_INDEX = restless(*LAWS, observed=True, paid="present", passive_reward=[[0, 0, 0], ODD["kept"]])
BAD = [
    (lambda: restarting(ARMS, 1.0), r"discount: 1.0 lies outside \[0, 0.9999999995\]"),
    (lambda: restarting(ARMS, 0.9).comparator(2), "plays: 2"),
    (lambda: indices.rounds_to_record(0.9, 0.0), "error: 0.0"),
    (lambda: metrics.discounted_reward(None, "u", 1.0), "discount: 1.0"),
    (lambda: Whittle.of(ARMS), "passive: arm 0 has several recurrent classes"),
    (lambda: Whittle.of(NO_INDEX, 0.99), r"arms: \[1\] are not indexable with discount 0.99"),
    (lambda: simulate(ARMS, {"p": Gittins([[0.1, 0.2]])}, runs=1, horizon=10), r"policies\['p'\].indices: shape"),
    (lambda: Myopic.of(HIDDEN), "environment: one of environments.restless is needed, and "),
    (lambda: jaxbandit.LPPriority.of(RIVER, 1), "arms: one of environments.restless is needed, and "),
    (lambda: jaxbandit.WhittleBelief.of(None), "environment: one of environments.restless is needed, and "),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
