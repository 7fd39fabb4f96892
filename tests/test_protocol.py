"""What an environment may declare, what a policy may refuse, and what both are handed in a round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from environments import MOVES, PAYS, Learner, Process, Swapping, telling

import jaxbandit
from jaxbandit import UCB1, Declares, Feedback, Task, Uniform, metrics, simulate
from jaxbandit.policies.parts import memory
from jaxbandit.pytrees import in_order
from jaxbandit.testing import check_environment, check_policy

PROCESS = Process(MOVES, PAYS)
ARMS = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])


@jaxbandit.pytree
class Window:
    """A policy that keeps the rewards of the last three rounds, each at a place that the round tells."""

    init = lambda self, reward: (jnp.full(3, -1.0), jnp.int32(0))
    scores = lambda self, key, state, t: (jnp.arange(2.0), state)
    update = lambda self, state, feedback: (state[0].at[feedback.t % 3].set(feedback.rewards[0]), feedback.t)


def test_a_policy_is_told_the_round():
    """Rounds 28 to 30 stand at the places 1, 2 and 0, in every run, chunk and order of the arms."""
    path = {"window": lambda arms, state, t: state[0], "t": lambda arms, state, t: state[1]}
    kept = simulate(ARMS, {"w": Window()}, runs=5, horizon=30, times=range(1, 31), record=path, chunk=7)
    paid = np.diff(kept.visits["w"][0, 0, :, :, 1, 1], axis=1, prepend=0)  # arm 1 is played, and state 1 pays 1
    np.testing.assert_array_equal(kept.recorded["window"]["w"][0, 0, :, -1], paid[:, [29, 27, 28]])
    np.testing.assert_array_equal(kept.recorded["t"]["w"], np.broadcast_to(np.arange(1, 31), (1, 1, 5, 30)))


def test_a_decision_process_is_played_by_the_states_it_shows():
    """The learner plays action 1 in state 0 and action 0 in state 1; regret is against the best policy."""
    result = simulate(PROCESS, {"l": Learner()}, runs=3, horizon=50, times=range(1, 51))
    assert (result.visits["l"][0, 0, :, -1, 0, 0] == 0).all() and (result.visits["l"][0, 0, :, -1, 1, 1] == 0).all()
    collected = (result.visits["l"] * PAYS).sum((-2, -1))
    np.testing.assert_allclose(metrics.regret(result, "l"), result.times * PROCESS.comparator(1) - collected)
    assert metrics.regret_name(result) == "realised regret" and "decision process" in result._repr_html_()
    for metric in (metrics.pseudo_regret, metrics.best_share):
        with pytest.raises(ValueError, match=f"^result: {metric.__name__} is for arms .* of a decision process"):
            metric(result, "l")


def test_policies_for_arms_of_their_own_refuse_a_decision_process():
    with pytest.raises(ValueError, match="^plays: 2; arms that share one state are actions"):
        simulate(PROCESS, {"l": Learner()}, runs=1, horizon=5, plays=2)
    with pytest.raises(ValueError, match="^Window: Window is for arms with states"):
        check_policy(Window(), PROCESS)


@pytest.mark.slow
def test_what_an_environment_has_recorded():
    """The worse arm's plays, against visits at every round; by name in the result, the xarray form and a sweep."""
    arms = {"a": Swapping(swap=75), "b": Swapping(swap=25)}
    asked = {"runs": 6, "horizon": 100, "times": range(1, 101), "policies": {"u": [UCB1(1.0), UCB1(2.0)]}}
    result = simulate(arms, **asked, shuffle=True, record={"twice": lambda arms, state, t: 2 * arms})
    lost = result.recorded["lost"]["u"]
    plays = np.diff(result.visits["u"].sum(-1), axis=3, prepend=0)
    for c, swap in enumerate((75, 25)):
        worse = np.where(np.arange(1, 101)[:, None] <= swap, [0, 1], [1, 0])
        np.testing.assert_array_equal(lost[c], (plays[c] * worse).cumsum(2))
    regret = metrics.regret(result, "u")  # each play of the worse arm loses 0.9 - 0.2
    np.testing.assert_allclose(regret, 0.7 * lost.sum(-1), rtol=1e-6)
    assert lost.dtype == np.int32 and (result.recorded["twice"]["u"] == 2 * lost).all()
    data = result.to_xarray()
    assert data["lost"].dims[-1] == "arm" and data["twice"].dims[-1] == "twice_0"
    assert metrics.regret_name(result) == "dynamic regret"
    with pytest.raises(ValueError, match="^record: the name 'lost'"):
        simulate(arms, **asked, record={"lost": lambda arms, state, t: state})


@pytest.mark.parametrize("wrong", [lambda state: {"lost": (state, state)}, lambda state: {"visits": state}])
def test_records_that_are_none(wrong):
    class Other(Swapping):
        def records(self, state):
            return wrong(state)

    with pytest.raises(ValueError, match=r"^scenarios\['scenario'\]\.records: '\w+' is"):
        simulate(jaxbandit.pytree(Other)(), {"u": UCB1()}, runs=1, horizon=5)


def test_a_policy_refuses_a_task():
    """Its own reason, with the label and the field; by `simulate` and by `check_policy`."""

    @jaxbandit.pytree
    class Short(Uniform):
        most: int = 100

        def validate(self, task: Task):
            if task.horizon > self.most:
                raise ValueError(f"most: {self.most} rounds; {task.name} has {task.horizon}")
            if task.plays > 1 or task.reward_range != (0.0, 1.0):
                raise ValueError("one play a round, and rewards from 0 to 1")

    assert simulate(ARMS, {"s": Short()}, runs=1, horizon=100).complete
    with pytest.raises(ValueError, match=r"^policies\['s'\].most: 100 rounds; scenarios\['a'\] has 101$"):
        simulate({"a": ARMS}, {"s": Short()}, runs=1, horizon=101)
    with pytest.raises(ValueError, match=r"^policies\['s'\]: one play a round, and rewards from 0 to 1$"):
        simulate(ARMS, {"s": [Short(), Short(7)]}, runs=1, horizon=5, plays=2)
    with pytest.raises(ValueError, match="^Short: one play a round"):
        check_policy(Short(2**31), ARMS, plays=2)


@pytest.mark.parametrize("kept", [memory.Visits, memory.Sums, memory.Transitions])
def test_a_memory_has_two_methods(kept):
    """Means and plays after four rounds, by hand."""
    table = jnp.zeros((2, 0)) if kept is memory.Sums else jnp.array([[0.0, 1.0]] * 2)
    state = memory.no_transitions(table) if kept is memory.Transitions else memory.no_visits(table)
    assert isinstance(state, kept)
    for t, (arm, before, after) in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 1), (0, 0, 1)], 1):
        left = {} if kept is memory.Sums else {"before": before}
        state = state.counted(Feedback.of(arm, float(after), t=t, table=table, **left))
    mean, plays = state.mean_and_plays()
    np.testing.assert_allclose(mean, [2 / 3, 1], rtol=1e-6)
    assert plays.tolist() == [3, 1]


def test_a_fraction_of_a_play_has_the_mean_of_what_it_paid():
    """0.3 discounted plays that all paid 1 have the mean 1: no division by the larger of plays and 1."""
    state = memory.Sums(jnp.array([0.3, 0.0]), memory.TwoFloats(jnp.array([0.3, 0.0]), jnp.zeros(2)))
    np.testing.assert_allclose(state.mean_and_plays()[0], [1.0, 0.0])
    scores = UCB1(2.0).scores(None, state, jnp.int32(6))[0]
    np.testing.assert_allclose(scores[0], 1 + np.sqrt(2 * np.log(5) / 0.3), rtol=1e-6)


@jaxbandit.pytree
class Episodes:
    """Plays one arm for three rounds, then draws the next; `scores` has a key for the draw."""

    init = lambda self, reward: (jnp.int32(0), jnp.int32(0))
    update = lambda self, state, feedback: (state[0], state[1] - 1)

    def scores(self, key, state, t):
        arm, left = state
        arm = jnp.where(left <= 0, jax.random.bernoulli(key).astype(jnp.int32), arm)
        return (jnp.arange(2) == arm).astype(float), (arm, jnp.where(left <= 0, 3, left))


@pytest.mark.parametrize(("late", "first", "length"), [({}, 4, 3), ({"delay": 4}, 8, 3), ({"batch": 5}, 6, 5)])
def test_a_policy_keeps_what_it_worked_out_for_a_round(late, first, length):
    """Every run draws an arm again once it has heard of three plays, and at no other time."""
    visits = simulate(ARMS, {"e": Episodes()}, runs=64, horizon=30, times=range(1, 31), shuffle=True, **late)
    played = np.diff(visits.visits["e"][0, 0].sum(-1), axis=1, prepend=0).argmax(-1)  # [run, round]
    changes = played[:, 1:] != played[:, :-1]  # [run, n], in round n + 2
    draws = [n + 2 >= first and (n + 2 - first) % length == 0 for n in range(29)]
    assert not changes[:, np.logical_not(draws)].any()
    assert 0.35 < changes[:, draws].mean() < 0.65  # of at least 320 fair draws: outside once in 1e7


def test_a_policy_of_an_earlier_form_is_told_what_to_write():
    for name, words in (("scores_and_state", "let scores return the pair"), ("reordered", "mark fields .*per_arm")):
        policy = jaxbandit.pytree(type("Old", (Window,), {name: lambda *_: None}))()
        with pytest.raises(ValueError, match=f"Old has {name}; {words}"):
            simulate(ARMS, {"p": policy}, runs=2, horizon=4)
        with pytest.raises(AssertionError, match=f"Old has {name}; {words}"):
            check_policy(policy)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"problem": "changing"}, r"problem; write declares = jaxbandit.Declares\(problem=..\)"),
        ({"pays": "before"}, r"pays; write declares = "),
        ({"means_at": lambda *_: None}, r"means_at; write means_now\(state, t\)"),
        ({"declares": Declares(problem="chnging")}, "declares.problem: 'chnging' is not one of rested"),
        ({"declares": {"problem": "changing"}}, "declares: .* is not a Declares"),
    ],
)
def test_declarations_of_an_earlier_form_and_wrong_ones_are_refused(more, message):
    fields = {field: getattr(ARMS, field) for field in ARMS.__dataclass_fields__}
    arms = jaxbandit.pytree(type("Old", (type(ARMS),), more))(**fields)
    with pytest.raises(ValueError, match=rf"scenarios\['scenario'\].*{message}"):
        simulate(arms, {"u": Uniform()}, runs=2, horizon=4)
    with pytest.raises(AssertionError, match=message):
        check_environment(arms, runs=2, settle=4)


@pytest.mark.parametrize("field", ["arms", "before", "states", "rewards"])
def test_feedback_of_another_shape_is_refused(field):
    arms = telling(ARMS, lambda feedback: feedback._replace(**{field: jnp.broadcast_to(getattr(feedback, field), 2)}))
    with pytest.raises(ValueError, match=rf"scenarios\['scenario'\].step: {field} is not \[M\]"):
        simulate(arms, {"u": Uniform()}, runs=2, horizon=4)


def test_fields_of_arms_are_put_in_order_wherever_they_stand():
    @jaxbandit.pytree
    class Holder:
        parts: tuple
        best: np.ndarray = jaxbandit.per_arm(numbers=True)
        scale: float = 2.0

    held = Holder((jaxbandit.Oracle(np.array([0.1, 0.2, 0.3])), None), np.array([2, 0]))
    ordered = in_order(held, np.array([2, 0, 1]))
    np.testing.assert_allclose(ordered.parts[0].means, [0.3, 0.1, 0.2])
    np.testing.assert_array_equal(ordered.best, [0, 1])
    assert in_order(UCB1(), np.array([1, 0])) == UCB1()
