"""Restless arms: their law against loops and powers of matrices, what a player sees, weak regret, who refuses them."""

import dataclasses

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from jax.extend.random import threefry_2x32

import jaxbandit
from jaxbandit import Declares, Result, Uniform, bounds, chains, metrics, plotting, simulate, two_state
from jaxbandit.environments import restless
from jaxbandit.testing import check_environment

SCENARIO = two_state([0.5, 0.4, 0.3, 0.2, 0.1], [0.4, 0.55, 0.65, 0.65, 0.7], initial_state="stationary")
MOVING = restless(SCENARIO.transition, (0, 1))
PASSIVE = restless(SCENARIO.transition, (0, 1), SCENARIO.transition[::-1])


def played(environment, keys, order):
    """Feedback of many runs, leaves [runs, rounds, M], where `order` [rounds, M] is played; and all states [.., K]."""

    def one(key):
        def body(state, played):
            arms, t = played
            following, feedback = environment.step(key, state, arms, t)
            return following, (feedback, following.states)

        return jax.lax.scan(body, environment.init(key), (jnp.asarray(order, jnp.int32), 1 + jnp.arange(len(order))))[1]

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys))


def any_order(rounds, arms, plays, seed=0):
    random = np.random.default_rng(seed)
    return np.stack([random.permutation(arms)[:plays] for _ in range(rounds)])


@pytest.mark.parametrize("passive", [False, True])
def test_a_loop_finds_the_same_states_in_the_same_bits(passive):
    """From the definition, in NumPy: JAX's threefry on (arm, round), thresholds summed up in float64."""
    random = np.random.default_rng(5)
    active, left = random.dirichlet(np.ones(3), (2, 4, 3))
    pays = random.random((4, 3))
    environment = restless(active, pays, left if passive else None)
    keys = jax.random.split(jax.random.key(7), 3)
    order = any_order(50, 4, 2)
    feedback, paths = played(environment, keys, order)

    def state(key, arm, number, law):
        counter = jnp.array([arm, number], jnp.uint32)
        return int(np.searchsorted(np.cumsum(law)[:-1], int(threefry_2x32(key, counter)[0]) / 2.0**32, side="right"))

    for run, key in enumerate(jax.random.key_data(keys)):
        states = [state(key, k, 0, chains.stationary(active[k])) for k in range(4)]
        view = list(states)
        for t, arms in enumerate(order):
            laws = [(active if k in arms or not passive else left)[k, states[k]] for k in range(4)]
            states = [state(key, k, t + 1, laws[k]) for k in range(4)]
            assert feedback.before[run, t].tolist() == [view[k] for k in arms]
            assert feedback.states[run, t].tolist() == [states[k] for k in arms]
            np.testing.assert_allclose(feedback.rewards[run, t], [pays[k, states[k]] for k in arms], rtol=1e-6)
            assert paths[run, t].tolist() == states
            for k in arms:
                view[k] = states[k]


@pytest.mark.slow
def test_observed_arms_show_all_states():
    """They move as the others do; before is then where the arm stood, and a policy for unseen arms is refused."""
    keys, order = jax.random.split(jax.random.key(9), 10), any_order(40, 5, 2)
    for passive in (None, SCENARIO.transition[::-1]):
        hidden_away, seen = (restless(SCENARIO.transition, (0, 1), passive, observed=item) for item in (False, True))
        (less, paths), (more, same) = (played(item, keys, order) for item in (hidden_away, seen))
        np.testing.assert_array_equal(paths, same)
        np.testing.assert_array_equal(more.shown, paths)
        np.testing.assert_array_equal(less.states, more.states)
        assert less.shown is None and (less.before != more.before).any()
        stood = np.take_along_axis(paths[:, :-1], np.broadcast_to(order[1:], (10, 39, 2)), axis=2)
        np.testing.assert_array_equal(more.before[:, 1:], stood)
    assert (MOVING.declares.problem, seen.declares.problem) == ("restless", "observed")
    result = simulate(seen, {"u": Uniform()}, runs=2, horizon=5)
    assert result.problem == "observed" and metrics.regret_name(result) == "realised regret"
    with pytest.raises(ValueError, match="^environment: RestlessArms has observed arms"):
        bounds.lower(seen)


# contracts


@pytest.mark.slow
def test_contract():
    check_environment(restless(SCENARIO.transition[:3], (0, 1)), settle=2**10)
    check_environment(restless(SCENARIO.transition[:2], (0, 1), SCENARIO.transition[2:4]), settle=2**10)


def of_kind(environment, **more):
    """An environment of the same fields whose class declares or does something else."""
    declared = {name: more.pop(name) for name in Declares._fields if name in more}
    declares = environment.declares._replace(**declared) if hasattr(environment, "declares") else Declares(**declared)
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
    with pytest.raises(AssertionError, match="Other.declares.problem: 'Restless' is not one of rested, restarting, "):
        check_environment(of_kind(rested, problem="Restless"))

    restless_step = type(arms).step

    def step(self, key, state, arms, t):
        """What a round draws depends on when arm 2 was last played."""
        turned = t + 1000 * (state.shown[2] != state.states[2]).astype(jnp.int32)
        following, feedback = restless_step(self, key, state, arms, turned)
        return following, feedback._replace(t=t)

    with pytest.raises(AssertionError, match="depends on which of the others were played"):
        check_environment(of_kind(arms, step=step))


def test_scenarios_are_alike():
    with pytest.raises(ValueError, match=r"(?s)^scenarios: .* are not alike .*a field that is None"):
        simulate({"a": MOVING, "b": PASSIVE}, {"u": Uniform()}, runs=1, horizon=1)


@pytest.mark.slow
def test_in_double_precision_arms_move_alike():
    asked = {"runs": 5, "horizon": 50, "times": [50], "record": {"path": lambda arms, policy, t: arms.states}}
    single = simulate(MOVING, {"ucb": jaxbandit.UCB1()}, **asked)
    with jax.enable_x64(True):
        double = simulate(MOVING, {"ucb": jaxbandit.UCB1()}, **asked)
        assert simulate(PASSIVE, {"u": Uniform()}, **asked).complete
    np.testing.assert_array_equal(single.recorded["path"]["ucb"], double.recorded["path"]["ucb"])


# regret


@jaxbandit.pytree
class StayOnOne:
    """Stays on an arm while it shows 1, and goes to the other when it shows 0: two arms, the state is the arm."""

    def init(self, reward):
        return jnp.int32(0)

    def scores(self, key, state, t):
        return (jnp.arange(2) == state).astype(float), state

    def update(self, state, feedback):
        return jnp.where(feedback.states[0] == 1, state, 1 - state)


TWINS = restless([[[0.8, 0.2], [0.2, 0.8]]] * 2, (0, 1))


def test_weak_regret_is_negative_and_linear_and_pseudo_regret_lies_within_its_bound():
    """The average reward is exactly .65 a round, so that W(n) is about -.15 n; within 6 standard errors."""
    joint = np.zeros((4, 4))  # of the state of the arm that is stayed on next and of the other one
    move = np.array([[0.8, 0.2], [0.2, 0.8]])
    for here, other in np.ndindex(2, 2):
        for now, then in np.ndindex(2, 2):
            following = (now, then) if now == 1 else (then, now)
            joint[2 * here + other, 2 * following[0] + following[1]] += move[here, now] * move[other, then]
    pays = np.array([move[here, 1] for here, _ in np.ndindex(2, 2)])
    assert chains.stationary(joint) @ pays == pytest.approx(0.65)

    result = simulate(TWINS, {"stay": StayOnOne()}, runs=4000, horizon=400, times=[100, 400])
    realised, pseudo = (item(result, "stay")[0, 0] for item in (metrics.realised_regret, metrics.pseudo_regret))
    law, expected = np.full(4, 0.25), []
    for _ in range(400):
        expected.append(law @ pays)
        law = law @ joint
    weak = 400 * 0.5 - sum(expected)
    error = realised[:, -1].std(ddof=1) / np.sqrt(4000)
    assert abs(realised[:, -1].mean() - weak) < 6 * error and weak < -0.14 * 400
    assert (pseudo == 0).all()
    span = [np.ptp(chains.relative_values(rows, [0, 1])) for rows in TWINS.transition]
    # a stretch ends where 0 is shown: their number is at least the zeros shown, and at most one more
    stretches = 400 - result.visits["stay"][0, 0, :, -1, :, 1].sum(-1).mean()
    assert abs(0 - weak) <= span[0] * stretches


@pytest.mark.slow
def test_the_headline_is_realised_regret_and_everything_says_so():
    result = simulate(MOVING, {"ucb": jaxbandit.UCB1(), "u": Uniform()}, runs=8, horizon=60, times=[10, 60])
    visits = result.visits["u"][0, 0, :, -1]
    np.testing.assert_array_equal(metrics.regret(result, "u"), metrics.realised_regret(result, "u"))
    np.testing.assert_allclose(metrics.regret(result, "u")[0, 0, :, -1], 60 * 5 / 9 - visits[..., 1].sum(-1))
    difference = metrics.regret(result, "ucb") - metrics.regret(result, "u")
    np.testing.assert_allclose(metrics.paired_difference(result, "ucb", "u"), difference[..., -1])
    data = result.to_xarray()
    assert data.regret.attrs["long_name"] == "realised regret" and data.attrs["problem"] == "restless"
    ax = plotting.plot_regret(result)
    assert ax.get_ylabel() == "realised regret" and ax.get_ylim()[0] != 0
    plt.close()
    ax = plotting.plot_distribution(result)
    assert ax.get_xscale() == "linear"
    plt.close()
    rested = simulate(SCENARIO, {"u": Uniform()}, runs=2, horizon=9)
    np.testing.assert_array_equal(metrics.regret(rested, "u"), metrics.pseudo_regret(rested, "u"))


def test_a_declared_comparator_is_what_regret_is_measured_against(tmp_path):
    better = of_kind(SCENARIO, comparator=lambda self, plays: 0.9 * plays)
    asked = {"policies": {"u": Uniform()}, "runs": 4, "horizon": 30, "times": [10, 30], "plays": 2}
    plain, result = simulate(SCENARIO, **asked), simulate(better, **asked)
    assert plain.comparator is None and result.comparator.tolist() == [1.8]
    np.testing.assert_array_equal(plain.visits["u"], result.visits["u"])
    more = np.array([10, 30]) * (1.8 - np.sort(SCENARIO.means())[-2:].sum())
    for metric in (metrics.pseudo_regret, metrics.realised_regret):
        np.testing.assert_allclose(metric(result, "u") - metric(plain, "u"), np.broadcast_to(more, (1, 1, 4, 2)))
    result.save(tmp_path / "r.npz")
    assert Result.load(tmp_path / "r.npz").comparator.tolist() == [1.8]
    longer = asked | {"horizon": 40, "times": [10, 30, 40]}
    with pytest.raises(ValueError, match=r"resume: scenarios.* changed since the result was made"):
        simulate(of_kind(SCENARIO, comparator=lambda self, plays: 0.8), **longer, resume=result)
    with pytest.raises(ValueError, match=r"scenarios\['scenario'\]: comparator\(2\) is nan, not a finite number"):
        simulate(of_kind(SCENARIO, comparator=lambda self, plays: np.nan), **asked)


def test_a_comparator_may_have_a_number_for_each_round():
    rounds = np.arange(1, 31) / 30
    asked = {"policies": {"u": Uniform()}, "runs": 4, "horizon": 30, "times": [10, 30], "plays": 2}
    plain, result = (
        simulate(arms, **asked) for arms in (SCENARIO, of_kind(SCENARIO, comparator=lambda self, plays: plays * rounds))
    )
    more = 2 * np.cumsum(rounds)[[9, 29]] - np.array([10, 30]) * np.sort(SCENARIO.means())[-2:].sum()
    for metric in (metrics.pseudo_regret, metrics.realised_regret):
        np.testing.assert_allclose(metric(result, "u") - metric(plain, "u"), np.broadcast_to(more, (1, 1, 4, 2)))
    words = r"scenarios\['scenario'\]: comparator\(2\) has the shape \(29,\); it is one number, or one for each of 30"
    with pytest.raises(ValueError, match=words):
        simulate(of_kind(SCENARIO, comparator=lambda self, plays: rounds[1:]), **asked)


# who refuses them


def test_bounds_for_rested_arms_refuse_restless_ones():
    names = "lower lower_paper lai_robbins ucb_sm_upper ucb_sm_constant upper_asymptotic eigenvalue_condition"
    more = {"upper_finite": ([10],), "price_of_slow_arms": ([10], 0.1, 0.1)}
    for name, numbers in (dict.fromkeys(names.split(), ()) | more).items():
        with pytest.raises(ValueError, match="^environment: RestlessArms has restless arms; the bounds are for rested"):
            getattr(bounds, name)(MOVING, *numbers)


GOOD = [[[0.5, 0.5], [0.4, 0.6]]] * 2
BAD = [
    (lambda: restless(np.eye(2)[None].repeat(2, 0), (0, 1)), "transition: arm 0 is reducible"),
    (lambda: restless(GOOD, (1, 1)), "reward: every state"),
    (lambda: restless(GOOD, (0, 1), GOOD[:1]), r"passive: shape \(1, 2, 2\) is not that of `transition`"),
    (lambda: restless(GOOD, (0, 1), [[[1 - 1e-11, 1e-11], [0.4, 0.6]]] * 2), "passive: a positive probability"),
    (lambda: restless(GOOD, (0, 1), "chain"), "passive: "),
]


@pytest.mark.parametrize(("build", "message"), BAD)
def test_bad_input(build, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        build()
