"""Policies against two independent oracles: exact enumeration, and float64 loops written from the paper."""

import ast
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference
from against import check_law, check_same_arms
from every_policy import ARMS, POLICIES
from scipy import stats

import jaxbandit
from jaxbandit import ALL, KLUCBMC, TVKLUCB, Oracle, Task, Uniform, two_state
from jaxbandit.testing import check_policy

# those that depend on more than counts and the round; the oracle of DMED is in test_independent.py, those of RCA and
# DSEE are in test_restless_policies.py
OTHERS = ("DMED", "DSEE", "GradientBandit", "PosteriorGittins", "RCA", "Thompson", "ThompsonMC", "Uniform")
DETERMINISTIC = [name for name in ALL if name not in OTHERS]


def rewards(name, arms=3):
    """IMED of rewards 0 and 1 ties where log T of one arm is T d of another (3 log 2 = log 8), which rounding decides;
    with these only arms with equal counts tie, and the lower arm is played. IMED-MC sees shares of states, which are
    ratios of counts; with these the share that one arm needs for the mean of another is none. An index of estimates is
    the mean of a row, or of two equal ones, and ties with another arm's with the same rewards."""
    if name in ("IMEDMC", "PlugInGittins"):
        return [(0.0, 1.0), (0.1, 0.83), (0.05, 0.91)][:arms]
    return (0.1, 0.83) if name == "IMED" else (0.0, 1.0)


VARIANTS = [
    ("TVKLUCB", {"samples": "state"}),
    ("TVKLUCB", {"clock": "arm"}),
    ("TVKLUCB", {"samples": "state", "clock": "arm", "exploration": 3.0}),
    ("TVKLUCB", {"unvisited": 0.0, "exponent": 0.3, "scale": 0.5}),
    ("TVKLUCB", {"distance": "squared_hellinger", "scale": 0.3}),
    ("TVKLUCB", {"distance": "jensen_shannon", "clock": "arm", "scale": 0.2}),
    ("TVKLUCB", {"distance": "kl", "samples": "state"}),
    ("KLUCBMC", {"samples": "state", "exploration": 0.0}),
    ("KLUCBMC", {"samples": "state", "exploration": 3.0}),  # log f(2) is 0, over 0 departures
    ("KLUCBMC", {"unvisited": 0.25}),
    ("KLUCB", {"exploration": 3.0}),
    ("RoundRobinKLUCB", {"exploration": 3.0}),
    ("RoundRobinKLUCB", {"exploration": 3.0, "delta": 0.25}),
    ("UCBSM", {"L": 2.0}),
    ("UCB1", {"bonus": 0.5}),
    ("IMEDMC", {"exponent": 0.5}),
    ("IMEDMC", {"exponent": 0.2}),
    ("IMEDMC", {"gap": 0.1}),
    ("IMEDMC", {"gap": 1.0}),
    ("JointKLUCB", {"exploration": 0.0}),
    ("JointKLUCB", {"exploration": 3.0, "clock": "arm"}),
    ("JointKLUCB", {"clock": "arm"}),
    ("PlugInGittins", {"discount": 0.5, "prior": 3.0}),
    ("PlugInGittins", {"discount": 0.9, "prior": 0.2}),
    ("KLUCB", {"exploration": 2.0}),  # Agrawal's level
    ("KLUCB", {"exploration": 0.0, "clock": "arm"}),  # KL-UCB+
    ("KLUCB", {"exploration": 3.0, "clock": "arm"}),
    ("KLUCB", {"clock": "arm"}),
    ("KLUCB", {"horizon": 300.0}),  # KL-UCB++
    ("MOSS", {"horizon": 300.0}),
    ("EmpiricalKLUCB", {"exploration": None}),
    ("EmpiricalKLUCB", {"exploration": 3.0}),
]
SHORT = [(name, {"horizon": 10.0}) for name in ("KLUCB", "MOSS")]  # an arm has had its share after five plays


@pytest.mark.parametrize(("name", "fields"), [(name, {}) for name in DETERMINISTIC] + VARIANTS + SHORT)
def test_exact_law_of_ten_rounds(name, fields):
    """All 1,024 trajectories against 20,000 runs, chi-square at 1e-9 (34 cases: false fails below 4e-8)."""
    environment = two_state([0.5, 0.3], [0.4, 0.6], rewards(name, 2))
    law = reference.exact_law(name, environment.transition.tolist(), environment.reward.tolist(), 0, 10, **fields)
    result = jaxbandit.simulate(environment, {name: ALL[name](**fields)}, runs=20_000, horizon=10, times=[10])
    check_law(result.visits[name][0, 0, :, 0], law)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_same_arm_as_the_reference_in_every_round(name):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], rewards(name))
    check_same_arms(reference.play, name, {}, arms, runs=20, rounds=2000)


@pytest.mark.parametrize(("name", "fields"), VARIANTS)
def test_fields_against_the_reference(name, fields):
    arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], rewards(name))
    check_same_arms(reference.play, name, fields, arms, runs=3, rounds=300)


BOTH = [("KLUCBMC", {}), ("TVKLUCB", {}), ("JointKLUCB", {}), ("IMEDMC", {}), ("IMEDMC", {"exponent": 0.5})]


@pytest.mark.parametrize("kind", ["reversed", "rare"])
@pytest.mark.parametrize(("name", "fields"), BOTH)
def test_other_arms_against_the_reference(name, fields, kind):
    """Rewards the other way round, and arms that hardly move, which all begin in the state that pays less."""
    if kind == "reversed":
        arms = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], np.flip(rewards(name), -1))
    else:
        arms = two_state([0.5, 0.0004, 0.0003], [0.4, 0.00055, 0.00065], rewards(name))
    check_same_arms(reference.play, name, fields, arms, runs=5, rounds=1000)


def test_solvers_play_the_same():
    """The bisection and the default choose alike until two scores come within rounding: at least 99 % of plays."""
    for name in ("KLUCB", "TVKLUCB"):
        pair = {solver: ALL[name](solver=solver) for solver in ("halley", "bisection")}
        result = jaxbandit.simulate(ARMS, pair, runs=50, horizon=500, times=[500])
        same = (result.visits["halley"] == result.visits["bisection"]).all(axis=(-1, -2)).mean()
        assert same > 0.9


def test_uniform_plays_every_arm_alike():
    """Exact binomial tests at 1e-9 over 100,000 plays, alone and with two plays a round."""
    for plays in (1, 2):
        result = jaxbandit.simulate(ARMS, {"u": Uniform()}, runs=500, horizon=200, times=[200], plays=plays)
        for count in result.visits["u"][0, 0, :, 0].sum((0, -1)):
            assert stats.binomtest(int(count), 100_000, plays / 3).pvalue > 1e-9


def test_thompson_keeps_few_failures_among_many_plays():
    """At 2^24 plays and more, plays less rewards would lose the failures and the prior, or turn negative: NaN."""
    policy = ALL["Thompson"]()
    reward = jnp.array([[0.0, 1.0, 1.0]] * 4)
    counts = jnp.array([[3, 2**24 + 1, 7], [0, 2**29, 2**28 + 1], [0, 2**25 + 3, 2**26 + 5], [1, 0, 2**30]], jnp.int32)
    state = policy.init(reward)._replace(counts=counts)
    keys = jax.random.split(jax.random.key(0), 2000)
    draws = jax.jit(jax.vmap(lambda key: policy.scores(key, state, 2**30)[0]))(keys)
    assert jnp.isfinite(draws).all()


def test_affine_rewards_change_no_choice_of_sample_mean_policies():
    for name in ("KLUCB", "UCBSM", "RoundRobinKLUCB", "IMED"):
        plain, mapped = (
            jaxbandit.simulate(two_state([0.5, 0.4], [0.4, 0.55], r), {"p": ALL[name]()}, runs=20, horizon=300)
            for r in ((0.0, 1.0), (-4.0, 12.0))
        )
        np.testing.assert_array_equal(plain.visits["p"], mapped.visits["p"])


@pytest.mark.parametrize("name", POLICIES)
def test_contract(name):
    """With the arms that it is for; those of `ALL` with more states and two plays a round, too."""
    policy, arms = POLICIES[name]
    check_policy(policy, arms)
    if name in ALL:
        check_policy(policy, arms=3, states=4, plays=2)


def test_more_plays_than_one_replace_the_least_leader():
    """RoundRobinKLUCB with two plays, by hand: leaders 0 and 1, candidate 2 (t mod 3 = 2) with a large index."""
    policy = ALL["RoundRobinKLUCB"]()
    state = policy.init(jnp.array([[0.0, 1.0]] * 3))
    state = state._replace(counts=jnp.array([[1, 9], [4, 6], [1, 0]], jnp.int32))
    scores = policy.scores(None, state, jnp.int32(8))[0]
    assert sorted(jaxbandit.top_arms(scores, 2).tolist()) == [0, 2]
    assert sorted(jaxbandit.top_arms(policy.scores(None, state, jnp.int32(9))[0], 2).tolist()) == [0, 1]


BAD = [
    (TVKLUCB(samples="play"), "samples"),
    (TVKLUCB(clock="wall"), "clock"),
    (TVKLUCB(distance="hellinger"), "distance"),
    (TVKLUCB(scale=-1.0), "scale"),
    (TVKLUCB(exponent=-0.25), "exponent"),
    (KLUCBMC(unvisited=1.5), "unvisited"),
    (ALL["RoundRobinKLUCB"](delta=0.5), "delta"),
    (ALL["UCBSM"](L=-1.0), "L"),
    (ALL["RCA"](L=-1.0), "L"),
    (ALL["DSEE"](D=0.0), "D"),
    (ALL["UCB1"](bonus=-1.0), "bonus"),
    (ALL["Thompson"](a=0.0), "a"),
    (ALL["Thompson"](b=1e-38), "b"),
    (ALL["ThompsonMC"](leaving=0.0), "leaving"),
    (Oracle([0.1, 0.2]), "means"),
    (ALL["KLUCB"](solver="newton"), "solver"),
    (ALL["KLUCB"](clock="wall"), "clock"),
    (ALL["KLUCB"](horizon=0.0), "horizon"),
    (ALL["KLUCB"](horizon=100.0, exploration=0.0), "horizon"),
    (ALL["KLUCB"](horizon=100.0, clock="arm"), "horizon"),
    (ALL["MOSS"](horizon=-1.0), "horizon"),
    (ALL["DMED"](plus=1), "plus"),
    (ALL["EmpiricalKLUCB"](exploration="log"), "exploration"),
    (ALL["EmpiricalKLUCB"](top="yes"), "top"),
    (ALL["IMEDMC"](exponent=0.0), "exponent"),
    (ALL["IMEDMC"](gap=1.5), "gap"),
    (ALL["IMEDMC"](exponent=0.5, gap=0.1), "gap"),
    (ALL["JointKLUCB"](clock="wall"), "clock"),
    (ALL["PlugInGittins"](discount=1.0), "discount"),
    (ALL["PlugInGittins"](prior=0.0), "prior"),
    (ALL["PlugInGittins"](initial_state=2), "initial_state"),
    (ALL["PosteriorGittins"](discount=-0.1), "discount"),
    (jaxbandit.PosteriorWhittle(paid="played", prior=0.0), "prior"),
    (jaxbandit.PosteriorWhittle(paid="played", discount=1.0), "discount"),
    (jaxbandit.UCWhittle(paid="played", discount=0.9999), "discount"),
    (jaxbandit.UCWhittle(paid="played", eta=0.0), "eta"),
    (jaxbandit.UCWhittle(paid="played", scale=-1.0), "scale"),
    (jaxbandit.UCRL2(delta=0.0), "delta"),
    (jaxbandit.KLUCRL(delta=1.0), "delta"),
    (jaxbandit.UCRL2B(rewards="seen"), "rewards"),
    (jaxbandit.PSRL(prior=0.0), "prior"),
    (jaxbandit.PSRL(tsde=1), "tsde"),
    (jaxbandit.PSRL(rewards=True), "rewards"),
    (jaxbandit.IMEDRL(normalised="no"), "normalised"),
    (jaxbandit.UCBVI(steps=4, horizon=0), "horizon"),
    (jaxbandit.UCBVI(steps=4, horizon=9, bonus="B"), "bonus"),
    (jaxbandit.UCBVI(steps=4, horizon=9, scale=-1.0), "scale"),
    (jaxbandit.UCBVI(steps=4, horizon=9, delta=2.0), "delta"),
]


@pytest.mark.parametrize(("policy", "message"), BAD)
def test_bad_fields(policy, message):
    with pytest.raises(ValueError, match=rf"^policies\['p'\].{message}: "):
        jaxbandit.simulate(POLICIES[type(policy).__name__][1], {"p": policy}, runs=1, horizon=9)


ENDS = [
    TVKLUCB(exponent=0.0, scale=0.0, unvisited=0.0),
    KLUCBMC(unvisited=1.0),
    ALL["RoundRobinKLUCB"](delta=0.0),
    ALL["RoundRobinKLUCB"](delta=1 / 3),
    ALL["UCBSM"](L=0.0),
    ALL["RCA"](L=0.0),
    ALL["UCB1"](bonus=0.0),
    ALL["DSEE"](D=1e-3),
    ALL["MOSS"](horizon=1e-3),
    ALL["Thompson"](a=1e-3, b=1e-3),
    ALL["ThompsonMC"](leaving=1e-30, staying=1e-30),
    ALL["IMEDMC"](exponent=1e-3),
    ALL["IMEDMC"](gap=1.0),
    ALL["PlugInGittins"](discount=0.0, prior=1e-3, initial_state=1),
    ALL["PosteriorGittins"](discount=1 - 1e-6, initial_state=0),
]


@pytest.mark.parametrize("policy", ENDS)
def test_ends_of_ranges_are_allowed(policy):
    policy.validate(Task(ARMS))


@jaxbandit.pytree
class Broken(Uniform):
    """Each way to break the contract."""

    way: float = 0.0


def test_contract_refuses_broken_policies():
    class NotANumber(type(Uniform())):
        def scores(self, key, state, t):
            return jnp.full(state.arms.shape, jnp.nan), state

    class NotANumberAtLast(type(Uniform())):
        def scores(self, key, state, t):
            return jnp.where(t == 64, jnp.nan, super().scores(key, state, t)[0]), state

    class TooFew(type(Uniform())):
        def scores(self, key, state, t):
            return jnp.zeros(2), state

    class Growing(type(Uniform())):
        def update(self, state, feedback):
            return state._replace(arms=jnp.append(state.arms, 0))

    class Shrinking(type(Uniform())):
        def update(self, state, feedback):
            return state._replace(arms=state.arms[1:])

    for broken, message in (
        (NotANumber, "NaN in round 1:"),
        (NotANumberAtLast, "NaN in round 64:"),
        (TooFew, "shape"),
        (Growing, "shapes and types"),
        (Shrinking, "shapes and types"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_policy(jaxbandit.pytree(broken)())
    with pytest.raises(AssertionError, match="is not a number"):
        check_policy(Broken(way="left"))


def test_a_state_may_hold_a_random_key():
    class Noisy(type(Uniform())):
        def init(self, reward):
            return super().init(reward), jax.random.key(5)

        def scores(self, key, state, t):
            return super().scores(state[1], state[0], t)[0], state

        def update(self, state, feedback):
            return state[0], jax.random.fold_in(state[1], feedback.states[0])

    check_policy(jaxbandit.pytree(Noisy)())


@pytest.mark.parametrize("part", ["init", "update"])
def test_contract_refuses_policies_that_are_not_pure_or_depend_on_jit(part):
    calls = []

    class Impure(type(Uniform())):
        def update(self, state, feedback):
            calls.append(0)
            return state._replace(arms=state.arms + len(calls))

    class OtherInJit(type(Uniform())):
        def init(self, reward):
            state = super().init(reward)
            return state._replace(arms=state.arms + (part == "init" and isinstance(reward, jax.core.Tracer)))

        def update(self, state, feedback):
            return state._replace(arms=state.arms + isinstance(feedback.rewards, jax.core.Tracer))

    with pytest.raises(AssertionError, match=r"Impure\.update: differs when called again in round 1; it must be pure"):
        check_policy(jaxbandit.pytree(Impure)())
    with pytest.raises(AssertionError, match=rf"OtherInJit\.{part}: differs with and without jit"):
        check_policy(jaxbandit.pytree(OtherInJit)())


@pytest.mark.parametrize(("argument", "least"), [("arms", 2), ("states", 2), ("rounds", 1), ("plays", 1)])
def test_contract_refuses_sizes_that_are_too_small_or_large(argument, least):
    for size in (least - 1, 2**31):
        message = f"^{argument}: {size} is not among the integers from {least} to 2,147,483,647"
        with pytest.raises(ValueError, match=message):
            check_policy(Uniform(), **{argument: size})


def test_the_oracle_plays_the_best_arms_in_every_order():
    for plays in (1, 2):
        asked = {"runs": 50, "horizon": 20, "times": [20], "shuffle": True, "plays": plays}
        result = jaxbandit.simulate(ARMS, {"o": Oracle(ARMS.means())}, **asked)
        assert np.abs(jaxbandit.metrics.pseudo_regret(result, "o")).max() < 1e-12


def test_no_check_is_a_bare_assert():
    """In no module that users run: what `python -O` takes away is for tests alone."""
    package = Path(jaxbandit.__file__).parent
    for path in package.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(path.read_text()))), path
