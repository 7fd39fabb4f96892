"""Decision processes as environments: draws, counts, episodes, regret, and what is refused."""

import environments
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import UCB1, KnownProcess, Task, Uniform, decision_processes, draws, metrics, simulate
from jaxbandit.environments import as_decision_process, decision_process, grid, random_decision_process, riverswim
from jaxbandit.policies.processes.process_checks import communicating, episodes
from jaxbandit.testing import check_environment

KEY = jax.random.key(0)
LAW = [0.2, 0.3, 0.5, 0.0, 0.0, 0.0]
SWIM = riverswim()
EPISODES = riverswim(steps=7, initial_state=LAW)
ARMS = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
HORIZON = 40
PROCESSES = {
    "riverswim": SWIM,
    "episodes": EPISODES,
    "slipping": riverswim(4, slip=0.1),
    "grid": grid(),
    "random": random_decision_process(jax.random.key(1), 5, 3, concentration=0.5, initial_state=2),
    "arms": as_decision_process(ARMS),
}


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.slow
def test_the_contract(name):
    check_environment(PROCESSES[name])


def words(key: jax.Array, stream: int, t: int) -> int:
    bits = draws.play_bits(key, jnp.array([stream], jnp.int32), jnp.array([t], jnp.int32))
    return int(bits[0])


def chosen(law: np.ndarray, bits: int) -> int:
    """The state that 32 bits choose: how many of the rounded sums of probabilities are not above them."""
    return int((bits >= np.minimum(np.rint(np.cumsum(law)[:-1] * 2**32), 2**32 - 1)).sum())


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("process", [SWIM, EPISODES], ids=["continuing", "episodes"])
def test_a_run_is_a_loop_in_numpy(process, shuffle):
    """Moves, counts by the state left, starts of episodes and regret of the policy that is best, in every round."""
    policies = {"k": KnownProcess.of(process)}
    result = simulate(process, policies, runs=2, horizon=HORIZON, times=range(1, HORIZON + 1), shuffle=shuffle)
    actions = np.asarray(policies["k"].actions)
    values = np.zeros((1, 6))
    for _ in range(process.steps or 0):
        values = np.concatenate([(process.reward + process.transition @ values[0]).max(0)[None], values])
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


@pytest.mark.slow
def test_in_double_precision_the_process_moves_alike():
    asked = {"policies": {"k": KnownProcess.of(EPISODES)}, "runs": 6, "horizon": 30}
    with jax.enable_x64(True):
        double = simulate(EPISODES, **asked)
    np.testing.assert_array_equal(double.visits["k"], simulate(EPISODES, **asked).visits["k"])


def test_scenarios_have_episodes_of_one_length():
    for other in (SWIM, riverswim(steps=8)):
        with pytest.raises(ValueError, match="^scenarios: .* are not alike"):
            simulate({"a": EPISODES, "b": other}, {"u": Uniform()}, runs=1, horizon=3)


def test_feedback_tells_where_the_next_round_begins():
    """At the end of an episode the state moved to is not the one of the next round."""
    state, seen = EPISODES.init(KEY), []
    for t in range(1, 15):
        state, feedback = EPISODES.step(KEY, state, jnp.array([1]), jnp.int32(t))
        assert feedback.now.tolist() == [int(state.state)] == feedback.shown[:1].tolist()
        assert (feedback.restarted > 0) == (t % 7 == 0)
        seen.append(bool(feedback.now[0] == feedback.states[0]))
    assert all(seen[:6]) and all(seen[7:13])
    assert state.starts.sum() == 2
    _, feedback = SWIM.step(KEY, SWIM.init(KEY), jnp.array([1]), jnp.int32(1))
    assert feedback.shown is None and feedback.restarted is None and feedback.now.tolist() == feedback.states.tolist()


def test_runs_that_lose_linearly():
    """Right everywhere loses nothing for long, left everywhere nearly all; actions by chance are counted by hand."""
    policies = {"k": KnownProcess.of(SWIM), "left": KnownProcess(np.zeros(6, int)), "u": Uniform()}
    result = simulate(SWIM, policies, runs=30, horizon=4000, times=[2000, 4000])
    assert metrics.linear_share(result, "left").item() == 1 and metrics.linear_share(result, "k").item() < 1
    regret = metrics.regret(result, "u")[0, 0]
    shares = np.sort((regret[:, 1] - regret[:, 0]) / (2000 * SWIM.comparator(1)))
    half = (shares[14] + shares[15]) / 2  # half of the runs lose more
    assert metrics.linear_share(result, "u", half).item() == 0.5
    process = decision_process(SWIM.transition, SWIM.reward - 5)
    shifted = simulate(process, {"u": Uniform()}, runs=30, horizon=4000, times=[2000, 4000])
    assert metrics.linear_share(shifted, "u", half).item() == 0.5


def test_means_are_the_gains_of_always_the_same_action():
    process = decision_process(np.stack([np.eye(3), np.full((3, 3), 1 / 3)]), [[0, 1, 2], [0, 0, 3]], [0.5, 0.5, 0])
    np.testing.assert_allclose(process.means(), [0.5, 1.0])  # the first one stays where it begins
    assert process.comparator(1) == pytest.approx(2)  # in state 2 it collects 2 for ever
    short = decision_process(process.transition, process.reward, [0.5, 0.5, 0], steps=2)
    np.testing.assert_allclose(short.means(), [0.5, (0 + 1) / 2])
    assert short.comparator(1) * 2 == pytest.approx(short.initial @ short.episode_values()[0])


def test_rested_arms_as_a_process():
    """Gain and diameter as computed elsewhere; every action moves its own arm alone; the start is that of the arms."""

    class Own:  # taken by what it declares and has
        known = ARMS.known

    process = as_decision_process(Own())
    best = decision_processes.optimal(process.transition, process.reward)
    np.testing.assert_allclose(best.gain, 0.5555555556, rtol=1e-9)
    assert decision_processes.diameter(process.transition) == pytest.approx(5)
    three = jaxbandit.random_arms(KEY, 3, 3, initial_state=[2, 0, 1])
    process = as_decision_process(three)
    joint = np.array(np.unravel_index(np.arange(27), (3, 3, 3)))
    for k in range(3):
        for s in range(27):
            for after in range(27):
                others = all(joint[i, s] == joint[i, after] for i in range(3) if i != k)
                expected = three.transition[k, joint[k, s], joint[k, after]] if others else 0
                assert process.transition[k, s, after] == pytest.approx(expected)
            assert process.reward[k, s] == pytest.approx(three.transition[k, joint[k, s]] @ three.reward[k])
    assert process.initial[np.ravel_multi_index((2, 0, 1), (3, 3, 3))] == 1
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
    assert rooms.reward.shape == (4, 20) and decision_processes.structure(rooms.transition).kind == "communicating"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: decision_process(np.eye(2), [[0, 1]]), "transition: shape .* a matrix for each action"),
        (lambda: decision_process([np.eye(2)] * 2, [[0, 1]]), r"reward: shape \(1, 2\) is not \[A, S\]"),
        (lambda: decision_process([np.eye(2)] * 2, np.ones((2, 2))), "reward: every action pays 1.0"),
        (lambda: decision_process([np.eye(2)] * 2, np.eye(2), [0.5, 0.6]), "initial_state: it sums to 1.1"),
        (lambda: decision_process(np.full((2, 2, 2), [1 - 1e-10, 1e-10]), np.eye(2)), "transition: .* too rare"),
        (lambda: riverswim(6, up=0.96), "down: 0.05 and up = 0.96 are more than 1"),
        (lambda: grid(["S.", "G"]), "plan: .* lines of one length"),
        (lambda: as_decision_process(jaxbandit.bernoulli([0.1] * 7)), r"arms: 7 arms .* 2\^7 = 128 joint states"),
        (lambda: as_decision_process(SWIM), "arms: DecisionProcess are neither rested arms"),
        (lambda: as_decision_process(jaxbandit.environments.restless(ARMS.transition, (0, 1))), "arms: .* neither"),
    ],
)
def test_what_no_process_is_made_of(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


@pytest.mark.parametrize(
    ("arms", "policy", "message"),
    [
        (SWIM, UCB1(), "UCB1 is for arms with states of their own"),
        (ARMS, KnownProcess([0, 1]), "KnownProcess is for decision processes; .* has rested arms"),
        (SWIM, KnownProcess([0, 1]), r"actions: .* are not integers \(6,\)$"),
        (EPISODES, KnownProcess([[0] * 6] * 6), r"actions: .* are not integers \(6,\) or \(7, 6\)$"),
        (SWIM, KnownProcess([0, 1, 2, 0, 0, 0]), r"actions: .* are not all among actions 0..1"),
    ],
)
def test_what_no_policy_plays(arms, policy, message):
    with pytest.raises(ValueError, match=message):
        simulate(arms, {"p": policy}, runs=1, horizon=3)


def test_policies_ask_how_states_communicate():
    policy, more = Uniform(), np.zeros((2, 7, 7))
    more[:, :6, :6], more[:, 6, 0] = SWIM.transition, 1
    apart = Task(decision_process(more, np.eye(2, 7)), name="apart")
    communicating(policy, Task(SWIM))
    communicating(policy, Task(riverswim(slip=0.1)), "ergodic")
    communicating(policy, apart, "communicating", "weakly communicating")
    communicating(policy, Task(environments.Process(environments.MOVES, environments.PAYS)))
    with pytest.raises(ValueError, match=r"^Uniform is for ergodic or communicating .* states \[6\] cannot be"):
        communicating(policy, apart)
    with pytest.raises(ValueError, match="^Uniform is for ergodic processes; .*: some policies never come to"):
        communicating(policy, Task(SWIM), "ergodic")
    two = decision_process([np.eye(2)] * 2, np.eye(2))
    with pytest.raises(ValueError, match=r"is multichain: .* no way back, \[\[0\], \[1\]\]"):
        communicating(policy, Task(two))
    with pytest.raises(ValueError, match="^Uniform is for decision processes"):
        communicating(policy, Task(ARMS))
    assert episodes(policy, Task(EPISODES)) == 7
    with pytest.raises(ValueError, match="^Uniform needs episodes, and the river has none; make it with steps"):
        episodes(policy, Task(SWIM, name="the river"))
