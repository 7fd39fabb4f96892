"""Decision processes: solved, against all policies and linear programmes; played, against a loop; what is refused."""

import functools
import itertools

import environments
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import UCB1, KnownProcess, Task, Uniform, chains, draws, metrics, simulate
from jaxbandit.decision_processes import diameter, discounted, episodes, hitting_times, long_run, optimal, structure
from jaxbandit.decision_processes.gymnasium_tables import from_gymnasium
from jaxbandit.environments import as_decision_process, decision_process, grid, riverswim
from jaxbandit.policies.processes import process_checks

EVEN, FAST = {"down": 0.05, "down_last": 0.05}, {"reward_left": 0.1, "reward_right": 0.99}
SWIMS = [  # numbers of RiverSwim; its gain, span of the bias and diameter, by enumeration and a linear programme
    ({}, 0.4286224338, 6.310324308, 14.72233791),
    ({"states": 20}, 0.4285714286, 26.30952381, 61.38888889),
    ({"states": 6, "up": 0.6, "up_first": 0.6} | FAST | EVEN, 0.9075003039, 8.100003, 8.925620),
]
CASES = range(25)
AXES = {"reward_axes": "action, state"}  # needed where there are as many actions as states


def random_process(seed):
    """Two to four states, two or three actions, with many moves that cannot be made: classes of every kind occur."""
    random = np.random.default_rng(seed)
    states, actions = int(random.integers(2, 5)), int(random.integers(2, 4))
    moves = (random.random((actions, states, states)) + 0.1) * (random.random((actions, states, states)) < 0.2)
    nowhere = moves.sum(-1) == 0
    moves[nowhere] = np.eye(states)[random.integers(states, size=nowhere.sum())]
    return moves / moves.sum(-1, keepdims=True), random.random((actions, states))


def all_policies(moves):
    return [np.array(item) for item in itertools.product(range(len(moves)), repeat=moves.shape[1])]


def reachable(rows):
    """[S, S], whether one state can be reached from another in some number of steps, 0 included."""
    return np.linalg.matrix_power((rows > 0) + np.eye(len(rows)), len(rows)) > 0


@pytest.mark.parametrize(("numbers", "gain", "span", "far"), SWIMS)
def test_riverswim(numbers, gain, span, far):
    process = riverswim(**numbers)
    result = optimal(process.transition, process.reward)
    np.testing.assert_allclose(result.gain, gain, rtol=2e-9)
    assert result.span == pytest.approx(span, rel=1e-6) and result.policy.min() == 1
    assert diameter(process.transition) == pytest.approx(far, rel=1e-6)
    assert structure(process.transition).kind == "communicating"


def test_gain_and_bias_are_what_small_discounts_of_the_future_leave():
    """Of the value with discount b: g / (1 - b) + h + O(1 - b), with every kind of chain."""
    discount = 1 - 1e-6
    for seed in CASES:
        moves, reward = random_process(seed)
        every = np.arange(moves.shape[1])
        for policy in all_policies(moves)[:8]:
            rows, paid = moves[policy, every], reward[policy, every]
            result = long_run(moves, reward, policy, **AXES)
            value = np.linalg.solve(np.eye(len(rows)) - discount * rows, paid)
            np.testing.assert_allclose((1 - discount) * value, result.gain, atol=1e-3)
            np.testing.assert_allclose(result.gain + result.bias, paid + rows @ result.bias, atol=1e-9)
            np.testing.assert_allclose(value - result.gain / (1 - discount), result.bias, atol=1e-2)


@pytest.mark.parametrize("seed", CASES)
def test_no_policy_has_a_larger_gain(seed):
    moves, reward = random_process(seed)
    result = optimal(moves, reward, **AXES)
    gains = np.array([long_run(moves, reward, policy, **AXES).gain for policy in all_policies(moves)])
    np.testing.assert_allclose(result.gain, gains.max(0), rtol=1e-9)
    np.testing.assert_allclose(long_run(moves, reward, result.policy, **AXES).gain, result.gain, rtol=1e-12)
    if structure(moves).kind != "multichain":
        assert np.ptp(result.gain) < 1e-9
    solves_both_equations(moves, reward, result)


def solves_both_equations(moves, reward, found):
    """g = max P_a g, and g + h = max (r_a + P_a h) over the actions with P_a g = g: Puterman 1994, section 9.1."""
    gains = moves @ found.gain
    np.testing.assert_allclose(gains.max(0), found.gain, atol=1e-9)
    best = np.where(gains >= found.gain - 1e-9, reward + moves @ found.bias, -np.inf).max(0)
    np.testing.assert_allclose(found.gain + found.bias, best, atol=1e-9)


def test_an_action_that_loses_gain_has_no_part_in_the_equation_of_the_bias():
    """State 0 pays 1 for ever, or 100 once and then nothing: with all actions the equation would not hold."""
    moves, reward = np.array([[[1.0, 0], [0, 1]], [[0, 1], [0, 1]]]), np.array([[1.0, 0], [100, 0]])
    result = optimal(moves, reward, **AXES)
    assert result.gain.tolist() == [1, 0] and result.policy[0] == 0
    solves_both_equations(moves, reward, result)
    assert (reward + moves @ result.bias).max(0)[0] > result.gain[0] + result.bias[0] + 90


@pytest.mark.parametrize("seed", CASES)
def test_where_policies_come_to(seed):
    """From all policies: of each, mean times to states that it reaches with probability 1, and what is recurrent."""
    moves, _ = random_process(seed)
    states = moves.shape[1]
    best, by_policy = np.full((states, states), np.inf), []
    for policy in all_policies(moves):
        by_policy.append(chains.recurrent_classes(moves[policy, range(states)]))
        for target in range(states):
            rows = moves[policy, range(states)]
            rows[target] = np.eye(states)[target]
            ways = reachable(rows)
            sure = np.array([ways[ways[s], target].all() for s in range(states)])
            others = np.flatnonzero(sure & (np.arange(states) != target))
            times = np.where(sure, 0.0, np.inf)
            times[others] = np.linalg.solve(np.eye(len(others)) - rows[np.ix_(others, others)], np.ones(len(others)))
            best[:, target] = np.minimum(best[:, target], times)
    np.testing.assert_allclose(hitting_times(moves), best, rtol=1e-9)
    assert diameter(moves) == hitting_times(moves).max()
    stays = sorted({s for classes in by_policy for one in classes for s in one})
    ways, result = reachable(moves.sum(0)), structure(moves)
    assert result.transient == [s for s in range(states) if s not in stays]
    assert sorted(s for one in result.classes for s in one) == stays
    expected = "weakly communicating" if ways[np.ix_(stays, stays)].all() else "multichain"
    expected = "communicating" if ways.all() else expected
    expected = "ergodic" if all(classes == [list(range(states))] for classes in by_policy) else expected
    assert result.kind == expected and (len(result.classes) == 1) == (expected != "multichain")


def test_diameter_where_equations_have_no_digits_left():
    """Two pairs of states; pairs are changed once in 10^18 rounds, so that a probability to stay is 1 as a float."""
    assert diameter(np.ones((1, 1, 1))) == 0
    rare = 1e-18
    rows = np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, rare, 0], [0, 0, 0.5, 0.5], [rare, 0, 0.5, 0.5]])
    assert diameter(rows[None]) == pytest.approx(2 / rare, rel=1e-9)


def test_rare_moves_keep_their_digits():
    """Between two classes that are left once in 10^9 rounds, the gain is a mean by how often each is left."""
    rows = np.array([[[1 - 1e-9, 1e-9], [3e-9, 1 - 3e-9]]])
    result = long_run(rows, [[1.0, 0.0]], [0, 0])
    np.testing.assert_allclose(result.gain, 0.75, rtol=1e-12)
    np.testing.assert_allclose(result.bias, [0.25 / 4e-9, -0.75 / 4e-9], rtol=1e-7)
    np.testing.assert_allclose(hitting_times(rows), [[0, 1e9], [1 / 3e-9, 0]], rtol=1e-9)


def test_a_gain_that_takes_long_to_come_to():
    """Half a unit for ever, or nothing until a state that pays one for ever, a million rounds away."""
    moves = np.array([np.eye(2), [[1 - 1e-6, 1e-6], [0, 1]]])
    result = optimal(moves, [[0.5, 1.0], [0.0, 1.0]], **AXES)
    assert result.policy[0] == 1 and result.gain.tolist() == [1, 1]
    np.testing.assert_allclose(result.bias, [-1e6, 0], rtol=1e-9)


def test_discounted_values_against_all_policies():
    """Processes of every kind; each value is the largest of all policies, which a linear solve in float64 gives."""
    for seed in CASES[:10]:
        moves, reward = random_process(seed)
        every, policies = np.arange(moves.shape[1]), np.array(all_policies(moves))
        left = np.eye(len(every)) - 0.9 * moves[policies, every]
        values = np.linalg.solve(left, reward[policies, every][..., None])[..., 0]
        best = discounted(moves, reward, 0.9, **AXES)
        np.testing.assert_allclose(best.values, values.max(0), rtol=1e-12)
        for policy, value in [(best.policy, best.values), *zip(policies, values)][:5]:
            np.testing.assert_allclose(discounted(moves, reward, 0.9, policy, **AXES).values, value, rtol=1e-12)


def test_discounted_values_close_to_no_discount():
    """Of the river in which the right action is best: a solve with 40 digits, and costs, which are negative."""
    process, discount = riverswim(**SWIMS[1][0]), 1 - 2.0**-30
    states = process.reward.shape[1]
    for paid in (process.reward, process.reward - 1):
        best = discounted(process.transition, paid, discount)
        with mp.workdps(40):
            rows = mp.matrix(process.transition[1].tolist())
            for s in range(states):  # which sum up to 1 with 40 digits, too
                rows[s, s] = 1 - mp.fsum(rows[s, n] for n in range(states) if n != s)
            matrix = mp.eye(states) - mp.mpf(discount) * rows
            exact = mp.lu_solve(matrix, mp.matrix(paid[1].tolist()))
        assert best.policy.tolist() == [1] * states
        np.testing.assert_allclose(best.values, np.array(exact.tolist(), float)[:, 0], rtol=1e-13)


@pytest.mark.parametrize("actions", [2, 3])
def test_rewards_in_every_order_of_their_axes(actions):
    """With as many actions as states and with others, by the state left and by the move."""
    random = np.random.default_rng(2)
    moves, by_move = random.dirichlet(np.ones(3), (actions, 3)), 50 * random.random((actions, 3, 3))
    for table, expected in ((by_move[:, :, 0], by_move[:, :, 0]), (by_move, (moves * by_move).sum(-1))):
        for reward, axes in ((table, "action, state"), (np.swapaxes(table, 0, 1), "state, action")):
            for order in ({"reward_axes": axes}, {})[: 1 + (actions != 3)]:
                np.testing.assert_allclose(decision_process(moves, reward, **order).reward, expected)
            if actions == 3:
                with pytest.raises(ValueError, match=r"^reward: shape .* does not tell actions from states"):
                    decision_process(moves, reward)


def test_a_gymnasium_dictionary():
    """Values by sweeps of a plain loop; what ends is worth nothing."""
    outcomes, values = pytest.importorskip("gymnasium").make("FrozenLake-v1").unwrapped.P, np.zeros(16)
    every = [outcomes[s][a] for s in range(16) for a in outcomes[s]]
    for _ in range(500):
        after = ([p * (r + 0.95 * values[n] * (not end)) for p, n, r, end in each] for each in every)
        values = np.array([sum(each) for each in after]).reshape(16, -1).max(1)
    best = discounted(*from_gymnasium(outcomes), 0.95)
    np.testing.assert_allclose(best.values, np.append(values, 0), rtol=1e-7, atol=1e-9)


# played

KEY = jax.random.key(0)
LAW = [0.2, 0.3, 0.5, 0.0, 0.0, 0.0]
SWIM = riverswim()
EPISODES = riverswim(steps=7, initial_state=LAW)
ARMS = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
HORIZON = 24


def words(key, stream, t):
    bits = draws.play_bits(key, jnp.array([stream], jnp.int32), jnp.array([t], jnp.int32))
    return int(bits[0])


def chosen(law, bits):
    """The state that 32 bits choose: how many of the rounded sums of probabilities are not above them."""
    return int((bits >= np.minimum(np.rint(np.cumsum(law)[:-1] * 2**32), 2**32 - 1)).sum())


@pytest.mark.parametrize(
    ("process", "shuffle", "double"),
    [(SWIM, True, False), (EPISODES, True, False), (EPISODES, False, True)],
    ids=["continuing", "episodes", "double"],
)
def test_a_run_is_a_loop_in_numpy(process, shuffle, double):
    """Moves, counts by the state left, starts of episodes and regret of the policy that is best, in every round."""
    policies = {"k": KnownProcess.of(process)}
    with jax.enable_x64(double):
        result = simulate(process, policies, runs=2, horizon=HORIZON, times=range(1, HORIZON + 1), shuffle=shuffle)
    actions = np.asarray(policies["k"].actions)
    values = np.zeros((1, 6))
    for _ in range(process.steps or 0):
        values = np.concatenate([(process.reward + process.transition @ values[0]).max(0)[None], values])
        best = (process.reward + process.transition @ values[1]).argmax(0)
        np.testing.assert_array_equal(actions[process.steps - len(values) + 1], best)
    gain = process.comparator(1)
    for run in range(2):
        key = jaxbandit.run_keys(KEY, np.arange(run, run + 1)).environment[0]
        state, visits, regret = chosen(process.initial, words(key, 1, 0)), np.zeros((2, 6), int), 0.0
        for t in range(1, HORIZON + 1):
            step = (t - 1) % process.steps if process.steps else 0
            action = actions[step, state] if process.steps else actions[state]
            if process.steps and step == 0:
                regret += values[0, state]
            visits[action, state] += 1
            paid = process.reward[action, state]
            state = chosen(process.transition[action, state], words(key, 0, t))
            regret += (0 if process.steps else gain) - paid
            ahead = values[step + 1, state] if process.steps else 0
            np.testing.assert_array_equal(result.visits["k"][0, 0, run, t - 1], visits)
            assert metrics.regret(result, "k")[0, 0, run, t - 1] == pytest.approx(regret - ahead, abs=1e-12)
            if process.steps and t % process.steps == 0:
                state = chosen(process.initial, words(key, 1, t))
            if process.steps:
                assert result.recorded["state_now"]["k"][0, 0, run, t - 1] == state
    name = "regret of episodes" if process.steps else "realised regret"
    data = result.to_xarray()
    assert metrics.regret_name(result) == data["regret"].long_name == name
    assert data["episode_value" if process.steps else "gain"].item() == pytest.approx((process.steps or 1) * gain)
    if process.steps:
        counts = result.recorded["episodes"]["k"][0, 0]
        np.testing.assert_array_equal(counts.sum(-1), np.tile((np.arange(HORIZON) // 7) + 1, (2, 1)))


def test_feedback_tells_where_the_next_round_begins():
    """At the end of an episode the state moved to is not the one of the next round."""
    state, step = EPISODES.init(KEY), jax.jit(EPISODES.step)
    for t in range(1, 15):
        state, feedback = step(KEY, state, jnp.array([1]), jnp.int32(t))
        assert feedback.now.tolist() == [int(state.state)] == feedback.shown[:1].tolist()
        assert (feedback.restarted > 0) == (t % 7 == 0)
        assert t % 7 == 0 or feedback.now[0] == feedback.states[0]
    assert state.starts.sum() == 2
    _, feedback = SWIM.step(KEY, SWIM.init(KEY), jnp.array([1]), jnp.int32(1))
    assert feedback.shown is None and feedback.restarted is None and feedback.now.tolist() == feedback.states.tolist()


def test_runs_that_lose_linearly():
    """Of actions by chance, counted by hand; the least reward is -5."""
    process = decision_process(SWIM.transition, SWIM.reward - 5)
    result = simulate(process, {"u": Uniform()}, runs=30, horizon=400, times=[200, 400])
    regret = metrics.regret(result, "u")[0, 0]
    shares = (regret[:, 1] - regret[:, 0]) / (200 * (process.comparator(1) + 5))
    threshold = shares.mean()
    assert metrics.linear_share(result, "u", threshold).item() == pytest.approx((shares > threshold).mean())


def test_means_are_the_gains_of_always_the_same_action():
    process = decision_process(np.stack([np.eye(3), np.full((3, 3), 1 / 3)]), [[0, 1, 2], [0, 0, 3]], [0.5, 0.5, 0])
    np.testing.assert_allclose(process.means(), [0.5, 1.0])  # the first one stays where it begins
    assert process.comparator(1) == pytest.approx(2)  # in state 2 it collects 2 for ever
    short = decision_process(process.transition, process.reward, [0.5, 0.5, 0], steps=2)
    np.testing.assert_allclose(short.means(), [0.5, (0 + 1) / 2])
    assert short.comparator(1) * 2 == pytest.approx(short.initial @ short.episode_values()[0])


def test_rested_arms_as_a_process():
    """Gain and diameter as computed elsewhere; every action moves its own arm alone; the start is that of the arms."""
    process = as_decision_process(ARMS)
    best = optimal(process.transition, process.reward)
    np.testing.assert_allclose(best.gain, 0.5555555556, rtol=1e-9)
    assert diameter(process.transition) == pytest.approx(5)
    three = jaxbandit.random_arms(KEY, 3, 2, initial_state=[1, 0, 1])
    process = as_decision_process(three)
    for k in range(3):
        moves = [three.transition[i] if i == k else np.eye(2) for i in range(3)]
        np.testing.assert_allclose(process.transition[k], functools.reduce(np.kron, moves))
        pays = [three.transition[i] @ three.reward[i] if i == k else np.ones(2) for i in range(3)]
        np.testing.assert_allclose(process.reward[k], functools.reduce(np.kron, pays))
    assert process.initial[np.ravel_multi_index((1, 0, 1), (2, 2, 2))] == 1
    assert process.comparator(1) == pytest.approx(three.means().max())
    assert as_decision_process(jaxbandit.bernoulli([0.1] * 6 + [0.2]), most_states=128).reward.shape == (7, 128)


def test_a_walk_through_rooms():
    process = grid(["S.", "#G"], slip=0.2)
    assert process.transition.shape == (4, 3, 3) and process.initial.tolist() == [1, 0, 0]
    np.testing.assert_allclose(process.transition[1, 0], [0.2, 0.8, 0])  # to the right; up and down are walls
    np.testing.assert_allclose(process.transition[2, 1], [0.1, 0.1, 0.8])
    np.testing.assert_allclose(process.transition[:, 2, 0], 1)
    assert process.reward.tolist() == [[0, 0, 1]] * 4
    rooms = grid()
    assert rooms.reward.shape == (4, 20) and structure(rooms.transition).kind == "communicating"


def play(arms, policy):
    simulate(arms, {"p": policy}, runs=1, horizon=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: optimal(np.full((2, 2, 2), 0.5), np.zeros((3, 2))), r"reward: shape \(3, 2\) is not \[A, S\] = \(2"),
        (lambda: long_run(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), [0, 2]), "policy: action 2; there are 2"),
        (lambda: episodes(np.full((2, 2, 2), 0.5), np.zeros((2, 2)), 0), "steps: 0 is not among"),
        (lambda: discounted(SWIM.transition, SWIM.reward, 0.9, [2] * 6), "policy: action 2; there are 2"),
        (lambda: from_gymnasium([[[(1, 1, 0, False)]]]), "table: a next state is none of the 1 states"),
        (lambda: from_gymnasium([[[(0.5, 0, 0, False)]]]), "table: row 0 of arm 0 sums to 0.5"),
        (lambda: decision_process([np.eye(2)] * 2, np.ones((2, 2))), "reward: every action pays 1.0"),
        (lambda: decision_process(np.full((2, 2, 2), [1 - 1e-10, 1e-10]), np.eye(2)), "transition: .* too rare"),
        (lambda: riverswim(6, up=0.96), "down: 0.05 and up = 0.96 are more than 1"),
        (lambda: grid(["S.", "G"]), "plan: .* lines of one length"),
        (lambda: as_decision_process(jaxbandit.bernoulli([0.1] * 7)), r"arms: 7 arms .* 2\^7 = 128 joint states"),
        (lambda: as_decision_process(jaxbandit.environments.restless(ARMS.transition, (0, 1))), "arms: .* neither"),
        (lambda: play(SWIM, UCB1()), ".*UCB1 is for arms with states of their own"),
        (lambda: play(ARMS, KnownProcess([0, 1])), ".*KnownProcess is for decision processes; .* has rested arms"),
        (lambda: play(SWIM, KnownProcess([0, 1])), r".*actions: .* are not integers \(6,\)$"),
        (lambda: play(EPISODES, KnownProcess([[0] * 6] * 6)), r".*actions: .* are not integers \(6,\) or \(7, 6\)$"),
        (lambda: play(SWIM, KnownProcess([0, 1, 2, 0, 0, 0])), ".*actions: .* are not all among actions 0..1"),
        (lambda: play({"a": EPISODES, "b": SWIM}, Uniform()), "scenarios: .* are not alike"),
        (lambda: play({"a": EPISODES, "b": riverswim(steps=8)}, Uniform()), "scenarios: .* are not alike"),
    ],
)
def test_what_is_wrong_is_said(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_policies_ask_how_states_communicate():
    policy, more = Uniform(), np.pad(SWIM.transition, ((0, 0), (0, 1), (0, 1)))
    more[:, 6, 0] = 1  # a state that is never reached
    apart = Task(decision_process(more, np.eye(2, 7)), name="apart")
    process_checks.communicating(policy, Task(SWIM))
    process_checks.communicating(policy, Task(riverswim(slip=0.1)), "ergodic")
    process_checks.communicating(policy, apart, "communicating", "weakly communicating")
    process_checks.communicating(policy, Task(environments.Process(environments.MOVES, environments.PAYS)))
    with pytest.raises(ValueError, match=r"^Uniform is for ergodic or communicating .* states \[6\] cannot be"):
        process_checks.communicating(policy, apart)
    with pytest.raises(ValueError, match="^Uniform is for ergodic processes; .*: some policies never come to"):
        process_checks.communicating(policy, Task(SWIM), "ergodic")
    with pytest.raises(ValueError, match=r"is multichain: .* no way back, \[\[0\], \[1\]\]"):
        process_checks.communicating(policy, Task(decision_process([np.eye(2)] * 2, np.eye(2))))
    assert process_checks.episodes(policy, Task(EPISODES)) == 7
    with pytest.raises(ValueError, match="^Uniform needs episodes, and the river has none; make it with steps"):
        process_checks.episodes(policy, Task(SWIM, name="the river"))
