"""Policies of known and of estimated chains, arms that begin again, discounted sums."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.random import threefry_2x32
from scipy import stats

import jaxbandit
from jaxbandit import Feedback, Gittins, PlugInGittins, PosteriorGittins, Uniform, Whittle, indices, metrics, two_state
from jaxbandit.environments import restarting, restless

FIRST = ([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7])
ARMS = two_state(*FIRST)
# one sure coin, and an arm that pays only after two rounds without reward
CORRIDOR = [[0, 1, 0], [0, 0, 1], [0.05, 0, 0.95]], [[0.55, 0.45, 0]] * 3
CORRIDOR = jaxbandit.markov(CORRIDOR, [[0, 0, 1], [0, 1, 0]], initial_state=0)
A_PASSIVE = np.array([[0.9, 0.1, 0], [0.3, 0.6, 0.1], [0.1, 0.3, 0.6]])
A_ACTIVE = np.array([[0.5, 0.4, 0.1], [0.2, 0.5, 0.3], [0.05, 0.25, 0.7]])
B_PASSIVE = np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.1, 0.2, 0.7]])
B_ACTIVE = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.3, 0.1, 0.6]])


def discounted(environment, policies, discount, runs, **options):
    """By label, the discounted reward of every run."""
    times = indices.rounds_to_record(discount)
    asked = {"runs": runs, "horizon": int(times[-1]), "times": times, "progress": False, **options}
    result = jaxbandit.simulate(environment, policies, **asked)
    return {label: metrics.discounted_reward(result, label, discount)[0, 0] for label in policies}


def check_mean(values, expected, more=0.0):
    """The mean of independent values is `expected` to within 6.1 standard errors (1 fail in 10^9) and `more`."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - expected) <= 6.1 * error + more, f"{values.mean()} ± {error}, not {expected}"


@pytest.mark.parametrize("start", ["corridor", 0, 1, "stationary"])
def test_gittins_collects_what_is_the_most(start):
    """Also where the first states are not seen; the corridor's myopic player would collect 4.5 of its 8.3."""
    if start == "corridor":
        arms, best = CORRIDOR, 8.291110088
    else:
        arms = two_state([0.3, 0.1, 0.6], [0.5, 0.05, 0.9], [[0, 1], [0.2, 0.6], [0.4, 0.5]], initial_state=start)
        best = indices.gittins_value(arms.transition, arms.reward, 0.9, arms.initial)
    collected = discounted(arms, {"g": Gittins.of(arms, 0.9), "u": Uniform()}, 0.9, 10_000)
    check_mean(collected["g"], best, more=1e-3)
    assert collected["u"].mean() < best - 0.1


def test_the_table_is_read_where_the_arms_are():
    policy = Gittins([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [7.0, 8.0, 9.0])
    state = policy.init(jnp.zeros((3, 2)))
    np.testing.assert_allclose(policy.scores(None, state, 1)[0], [7, 8, 9])
    one = jnp.array([1], jnp.int32)
    state = policy.update(state, Feedback(one, one, one, jnp.zeros(1), 1))
    np.testing.assert_allclose(policy.scores(None, state, 2)[0], [7, 0.4, 9])
    np.testing.assert_allclose(Gittins(policy.indices).scores(None, state, 2)[0], [0.1, 0.4, 0.5])
    text = Feedback(one, one, one, jnp.zeros(1), 1, shown=jnp.array([1, 0, 1], jnp.int32))
    np.testing.assert_allclose(policy.scores(None, policy.update(state, text), 3)[0], [0.2, 0.3, 0.6])
    again = Feedback(one, one, one, jnp.zeros(1), 1, restarted=jnp.uint32(5))
    np.testing.assert_allclose(policy.scores(None, policy.update(state, again), 3)[0], [7, 8, 9])
    same = Feedback(one, one, one, jnp.zeros(1), 1, restarted=jnp.uint32(0))
    np.testing.assert_allclose(policy.scores(None, policy.update(state, same), 3)[0], [7, 0.4, 9])


@pytest.mark.parametrize("kind", ["Gittins", "Whittle", "indices", "observed"])
@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.slow
def test_any_order_of_the_arms(plays, kind):
    arms = jaxbandit.random_arms(jax.random.key(0), 4, 2)
    if kind == "observed":  # all arms show their states
        arms = restless(arms.transition, arms.reward, observed=True)
    policy = Whittle.of(arms, 0.95) if kind in ("Whittle", "observed") else Gittins.of(arms, 0.95)
    if kind == "indices":
        policy = Gittins(policy.indices)
    asked = {"runs": 20, "horizon": 100, "times": [10, 100], "plays": plays, "progress": False}
    plain, shuffled = (jaxbandit.simulate(arms, {"p": policy}, shuffle=item, **asked) for item in (False, True))
    np.testing.assert_array_equal(plain.visits["p"], shuffled.visits["p"])


def test_whittle_of_restless_arms_that_are_watched():
    """It collects 5.81 from both states 0, as value iteration of its rule says; the optimum is larger by 0.03."""
    active, passive = np.stack([A_ACTIVE, B_ACTIVE]), np.stack([A_PASSIVE, B_PASSIVE])
    arms = restless(active, (0, 0.5, 1), passive, observed=True, initial_state=0)
    result = discounted(arms, {"w": Whittle.of(arms, 0.9)}, 0.9, 20_000)["w"]
    check_mean(result, 5.81028043, more=1e-3)
    assert np.isfinite(Whittle.of(arms).indices).all()  # the long-run average has indices, too


@pytest.mark.parametrize("states", [3, 5])
@pytest.mark.slow
def test_plugged_in_estimates_of_more_states(states):
    """Every round played again in float64: counts, estimates, indices from their definitions; arms begin again."""
    arms = restarting(jaxbandit.random_arms(jax.random.key(5), 3, states, initial_state=1), 0.9)
    policy = PlugInGittins(discount=0.9, prior=2.0, initial_state=1)
    state, stands = policy.init(jnp.asarray(arms.reward, float)), arms.init(jax.random.key(1))
    update, step = jax.jit(policy.update), jax.jit(arms.step)
    counts, here = np.zeros((3, states, states)), np.ones(3, int)
    for t in range(60):
        arm = jnp.array([t % 3 if t < 3 else np.random.default_rng(t).integers(3)], jnp.int32)
        stands, feedback = step(jax.random.key(1), stands, arm, jnp.int32(t + 1))
        state = update(state, feedback)
        counts[int(arm[0]), int(feedback.before[0]), int(feedback.states[0])] += 1
        here[int(arm[0])] = int(feedback.states[0])
        here = np.ones(3, int) if feedback.restarted > 0 else here
        rows = (counts + 2 / states) / (counts.sum(-1, keepdims=True) + 2)
        expected = indices.gittins(rows, arms.reward, 0.9)[np.arange(3), here]
        expected[counts.sum((1, 2)) == 0] = np.inf
        np.testing.assert_allclose(policy.scores(None, state, t + 2)[0], expected, rtol=1e-5)


@pytest.mark.slow
def test_posterior_gittins_chooses_as_often_as_draws_say():
    """Exact binomial test at 1e-9 of 50,000 choices against 400,000 draws by NumPy, whose share may be off by 0.004."""
    counts = np.array([[[3, 2], [1, 4]], [[0, 1], [2, 2]]])
    policy = PosteriorGittins(discount=0.9, prior=1.0)
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
    policy = PosteriorGittins(discount=0.9, initial_state=1)
    state = policy.init(jnp.array([[0.0, 1.0, 0.3]] * 3))
    keys = jax.random.split(jax.random.key(0), 2)

    def scores(state):
        return [np.asarray(policy.scores(key, state, 5)[0]) for key in keys]

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
    arms = two_state([0.5, 0.3], [0.4, 0.6], initial_state="stationary")
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


@pytest.mark.slow
def test_restarting_arms_pay_the_discounted_reward():
    """What one arm pays alone is `means`; what Gittins collects is `comparator`; no other policy collects more."""
    arms = two_state([0.3, 0.1, 0.6], [0.5, 0.05, 0.9], [[0, 1], [0.2, 0.6], [0.4, 0.5]], initial_state="stationary")
    environment = restarting(arms, 0.9)
    policies = {f"only {k}": jaxbandit.Oracle(np.eye(3)[k]) for k in range(3)} | {"g": Gittins.of(environment, 0.9)}
    policies |= {"drawn": PosteriorGittins(0.9), "u": Uniform()}
    result = jaxbandit.simulate(environment, policies, runs=1000, horizon=2000, times=[2000], progress=False)
    visits = {label: result.visits[label][0, 0, :, 0] for label in policies}
    collected = {label: np.einsum("rks,ks->r", counts, arms.reward) / 2000 for label, counts in visits.items()}
    for k in range(3):
        check_mean(collected[f"only {k}"], environment.means()[k], more=10 / 2000)  # of the last episode, cut short
    check_mean(collected["g"], environment.comparator(1), more=10 / 2000)
    assert max(collected[label].mean() for label in policies) == collected["g"].mean()
    assert environment.comparator(1) > environment.means().max() + 0.02
    best = indices.gittins_value(arms.transition, arms.reward, 0.9, arms.initial)
    assert environment.comparator(1) == pytest.approx(0.1 * best)
    with pytest.raises(ValueError, match="^plays: 2"):
        environment.comparator(2)


def test_discounted_reward_against_a_loop():
    environment = two_state([0.5, 0.3], [0.4, 0.6], [[0.0, 2.0], [-1.0, 1.0]])
    asked = {"runs": 7, "horizon": 40, "plays": 2, "progress": False}
    full = jaxbandit.simulate(environment, {"u": Uniform()}, times=np.arange(1, 41), **asked)
    paid = np.diff(np.einsum("rtks,ks->rt", full.visits["u"][0, 0], environment.reward), axis=1, prepend=0)
    for discount in (0.0, 0.7, 0.99):
        expected = sum(discount**t * paid[:, t] for t in range(40))
        np.testing.assert_allclose(metrics.discounted_reward(full, "u", discount)[0, 0], expected, atol=1e-12)
        times = [1, 2, 5, 6, 20, 40]
        some = jaxbandit.simulate(environment, {"u": Uniform()}, times=times, **asked)
        result = metrics.discounted_reward(some, "u", discount)[0, 0]
        weights = discount ** np.arange(40)
        spread = [weights[a:b] - weights[a:b].mean() for a, b in itertools.pairwise([0, *times])]
        bound = 2 * 3 / 2 * np.abs(np.concatenate(spread)).sum()  # plays, range of rewards
        assert (np.abs(result - expected) <= bound + 1e-12).all()


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95, 0.999])
@pytest.mark.parametrize("error", [0.3, 1e-2, 1e-3])
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


def test_whittle_refuses_an_arm_without_indices():
    rng = np.random.default_rng(0)
    while True:  # a few hundred arms are tried
        active, passive, reward = *rng.dirichlet([0.2] * 3, (2, 3)), rng.uniform(size=3)
        if not indices.whittle(active[None], passive[None], reward, discount=0.99).indexable[0]:
            break
    arms = restless(np.stack([A_ACTIVE, active]), reward, np.stack([A_PASSIVE, passive]), observed=True)
    with pytest.raises(ValueError, match=r"^arms: \[1\] are not indexable with discount 0.99"):
        Whittle.of(arms, 0.99)


def play(policy):
    jaxbandit.simulate(ARMS, {"p": policy}, runs=1, horizon=10)


BAD = [
    (lambda: restarting(ARMS, 1.0), r"discount: 1.0 lies outside \[0, 0.9999999995\]"),
    (lambda: restarting("arms", 0.9), "arms: str are not rested arms"),
    (lambda: Whittle.of(ARMS), "passive: arm 0 has several recurrent classes"),
    (lambda: indices.rounds_to_record(0.9, 0.0), "error: 0.0"),
    (lambda: metrics.discounted_reward(None, "u", 1.0), "discount: 1.0"),
    (lambda: play(Gittins([[0.1, 0.2]])), r"policies\['p'\].indices: shape"),
    (lambda: play(Gittins(np.zeros((5, 2)), [0.1])), r"policies\['p'\].unseen: shape"),
    (lambda: play(Whittle(np.where(np.eye(5, 2) > 0, np.nan, 0.0))), r"policies\['p'\].indices: arm 0 has NaN"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
