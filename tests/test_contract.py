"""The contract of everything in the library: every policy with arms that it is for, and arms of every kind."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from environments import MOVES, PAYS, Process, Rotting, Swapping, telling
from every_policy import ARMS, FULL, HIDDEN, POLICIES

import jaxbandit
from jaxbandit import Declares, Feedback, GradientBandit, Uniform, Window
from jaxbandit import environments as kinds
from jaxbandit.families import Exponential, Gaussian, Poisson, chain_family
from jaxbandit.policies import (
    CUSUM,
    GLR,
    IMED,
    KLUCB,
    MUCB,
    UCB1,
    KnownBreaks,
    RoundRobinKLUCB,
    WithDetector,
)
from jaxbandit.testing import check_environment, check_policy

TWO = np.array([[0.9, 0.1], [0.2, 0.8]])
THREE = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])
COST = [0.1, 0.3, 0.2]


def rows(*shape, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])


PAYING = rows(3, 3, 3), rows(3, 3, seed=2), rows(3, 3, 3, seed=1)
COLLIDING = kinds.colliding(kinds.restless(rows(3, 2, 2), (0, 1)), 2)
GAUSSIAN = kinds.gaussian([0.5, 0.2, -0.1], [1.0, 0.5, 2.0])
FOUR_STATES = kinds.markov(rows(3, 4, 4), np.linspace(0, 1, 4))
CHAINS = chain_family(THREE, (0, 0.35, 1))

MORE = {  # classes of memories, detectors, families and networks that `POLICIES` does not have: policy, arms, plays
    "window-sums": (UCB1(memory=Window(5)), GAUSSIAN, 2),
    "glr": (WithDetector(KLUCB(), GLR(horizon=100, grid=2), local=False), ARMS, 1),
    "cusum": (WithDetector(UCB1(), CUSUM(first=5, horizon=100, changes=2)), ARMS, 1),
    "mucb": (WithDetector(KLUCB(), MUCB(window=6, horizon=100, changes=2)), ARMS, 1),
    "known-breaks": (WithDetector(KLUCB(), KnownBreaks([2, 3])), ARMS, 1),
    "gaussian": (KLUCB(family=Gaussian(1.0)), GAUSSIAN, 2),
    "poisson": (RoundRobinKLUCB(family=Poisson()), kinds.poisson([0.3, 4.0, 100.0]), 2),
    "exponential": (IMED(family=Exponential()), kinds.exponential([1.0, 0.5, 3.0]), 2),
    "two-state-chains": (KLUCB(family=chain_family(TWO)), kinds.exponential_family([0.4, 0.0, -0.3], TWO), 2),
    "chains": (RoundRobinKLUCB(family=CHAINS), kinds.exponential_family([0.6, 0.0, -0.5], THREE, (0, 0.35, 1)), 2),
    "adam": (GradientBandit(optax.inject_hyperparams(optax.adam), 0.05), ARMS, 2),
    "network": (jaxbandit.Learned.of(jaxbandit.Exchangeable(5), horizon=20), FOUR_STATES, 1),
    "players": (jaxbandit.DecentralisedDSEE.of(COLLIDING), COLLIDING, 2),
}
CASES = {name: (*case, 1) for name, case in POLICIES.items()} | MORE
QUICK = """Boltzmann Discounted EpsilonGreedy ExploreThenCommit Gittins KLUCB KnownProcess LPPriority MOSS Myopic
Oracle RoundRobinKLUCB UCB1 UCB1Tuned UCBV Uniform Whittle WhittleBelief gaussian""".split()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_policies(name):
    """Outside of jit, which is what takes long, in the first round, after all arms were played, and in the last."""
    policy, arms, plays = CASES[name]
    # the last bits of later plans depend on the program, and what is rounded to 1/4096 may be the next number
    check_policy(policy, arms, plays=plays, rounds=1 if name == "LPUpdate" else len(arms.means()) + 1)


ALL_PAY = {"paid": "all", "cost": COST, "observed": True}
SEGMENTS, OTHERS = rows(2, 3, 2, 2), {"passive": rows(2, 3, 2, 2, seed=5), "restless": True, "horizon": 50}
ENVIRONMENTS = {  # each class, and plays of each arm until it has settled
    "random": (jaxbandit.random_arms(jax.random.key(3), 3, 4, initial_state="stationary"), 2**12),
    "restarting": (kinds.restarting(ARMS, 0.8), 512),
    "hidden": (HIDDEN, 1024),
    "restless": (kinds.restless(ARMS.transition, (0, 1)), 1024),
    "restless-passive": (kinds.restless(ARMS.transition, (0, 1), ARMS.transition[::-1]), 1024),
    "all-paying": (kinds.restless(*PAYING, **ALL_PAY), 512),
    "all-paying-left": (kinds.restless(*PAYING, 1, paid="present", cost=COST), 512),
    "piecewise": (kinds.piecewise([20, 41], [[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]]), 512),
    "lower-bound": (kinds.lower_bound_instance(1024, 3), 512),
    "changing-rested": (kinds.changing_markov([20], SEGMENTS, (-1, 3)), 512),
    "changing-restless": (kinds.changing_markov([20], SEGMENTS, (0, 1), "stationary", restless=True), 512),
    "changing-all": (kinds.changing_markov([20], SEGMENTS, (0, 1), **OTHERS, **ALL_PAY), 64),
    "random-walk": (kinds.random_walk([1.0, 2.0], [0.5, 0.01], 1.0, decay=[1.0, 0.99], centre=3.0, spread=0.1), 512),
    "rotting": (Rotting(np.array([0.9, 0.8, 0.5]), np.array([0.2, 0.4, 0.3]), 0.98), 1024),
    "gaussian": (GAUSSIAN, 512),
    "full-information": (FULL, 512),
    "costly": (kinds.costly(ARMS, [[0, 3], [1, 1], [0, 2]], purse=10**9, horizon=10), 1024),
    "process": (kinds.random_decision_process(jax.random.key(1), 5, 3, concentration=0.5, initial_state=2), 2**12),
    "episodes": (kinds.riverswim(steps=7, initial_state=[0.2, 0.3, 0.5, 0, 0, 0]), 2**12),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.slow
def test_environments(name):
    arms, settle = ENVIRONMENTS[name]
    check_environment(arms, plays=32, settle=settle)


def test_every_policy_is_here():
    every = {name for name in jaxbandit.policies.__all__ if "scores" in dir(getattr(jaxbandit.policies, name))}
    assert every - {"WithDetector", "DecentralisedDSEE", "Identify", "SequentialHalving"} <= POLICIES.keys()


# what the checks find


def test_broken_policies_are_found():
    class NotANumber(type(Uniform())):
        def scores(self, key, state, t):
            return jnp.full(state.arms.shape, jnp.nan), state

    class NotANumberAtLast(type(Uniform())):
        def scores(self, key, state, t):
            return jnp.where(t == 64, jnp.nan, super().scores(key, state, t)[0]), state

    for broken, message in ((NotANumber, "NaN in round 1:"), (NotANumberAtLast, "NaN in round 64:")):
        with pytest.raises(AssertionError, match=message):
            check_policy(jaxbandit.pytree(broken)())
    with pytest.raises(AssertionError, match="is not a number"):
        check_policy(UCB1("left"))


def test_a_state_may_hold_a_random_key():
    class Noisy(type(Uniform())):
        def init(self, reward):
            return super().init(reward), jax.random.key(5)

        def scores(self, key, state, t):
            return super().scores(state[1], state[0], t)[0], state

        def update(self, state, feedback):
            return state[0], jax.random.fold_in(state[1], feedback.states[0])

    check_policy(jaxbandit.pytree(Noisy)(), rounds=8)


@pytest.mark.parametrize("part", ["init", "update"])
def test_policies_that_are_not_pure_or_depend_on_jit_are_found(part):
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
        check_policy(jaxbandit.pytree(Impure)(), rounds=8)
    with pytest.raises(AssertionError, match=rf"OtherInJit\.{part}: differs with and without jit"):
        check_policy(jaxbandit.pytree(OtherInJit)(), rounds=8)


@pytest.mark.parametrize(("argument", "least"), [("arms", 2), ("states", 2), ("rounds", 1), ("plays", 1)])
def test_sizes_that_are_too_small_or_large_are_refused(argument, least):
    for size in (least - 1, 2**31):
        message = f"^{argument}: {size} is not among the integers from {least} to 2,147,483,647"
        with pytest.raises(ValueError, match=message):
            check_policy(Uniform(), **{argument: size})


FIELDS = {name: getattr(ARMS, name) for name in ARMS.__dataclass_fields__}


@jaxbandit.pytree
class Coins:
    """Coins that draw the same number in every play, or by the number of all plays, or show states from -1 on."""

    reward: np.ndarray
    what: str = jaxbandit.static("")

    def means(self):
        return np.full(2, 0.5)

    def init(self, key):
        return jnp.zeros(3, jnp.int32)

    def step(self, key, state, arms, t):
        before = state[arms]
        key = key if self.what == "repeats" else jax.random.fold_in(key, state[2])
        states = jax.random.bernoulli(key, 0.5, before.shape).astype(jnp.int32)
        state = state.at[arms].set(states).at[2].add(1)
        rewards = jnp.asarray(self.reward)[arms, states]
        return state, Feedback(arms, before, states - (self.what == "below"), rewards, t)


BROKEN = {"repeats": "repeats its draw", "counts all plays": "plays of other arms", "below": "a state out of range"}


@pytest.mark.parametrize(("what", "message"), BROKEN.items())
@pytest.mark.slow
def test_broken_arms_are_found(what, message):
    with pytest.raises(AssertionError, match=message):
        check_environment(Coins(np.array([[0.0, 1.0], [0.0, 1.0]], np.float32), what))


@jaxbandit.pytree
class Wrong(type(ARMS)):
    """Scenario-like arms of which arm 1 promises something else."""

    promised: float = 0.0

    def means(self):
        return super(type(self), self).means() + self.promised * np.array([0.0, 1.0, 0.0])


@pytest.mark.slow
def test_rewards_and_means_are_compared_with_what_is_paid():
    """Found: a payment that is not the table's, and a mean 0.02 off. Not judged: an arm that never moves."""
    less = telling(ARMS, lambda feedback: feedback._replace(rewards=feedback.rewards - 5.0 * (feedback.arms == 1)))
    with pytest.raises(AssertionError, match="step: arm 1 pays up to 5 more or less than `reward` says"):
        check_environment(less)
    for promised in (-0.02, 0.02):
        with pytest.raises(AssertionError, match=r"Wrong.means\(\): .* for arm 1, which paid .* larger `settle`"):
            check_environment(Wrong(**FIELDS, promised=promised))
    check_environment(jaxbandit.two_state([1e-7, 0.4, 0.3], [1e-7, 0.55, 0.65]))


@jaxbandit.pytree
class Late(type(ARMS)):
    """Scenario-like arms that stay in state 0 for their first 30 plays."""

    def step(self, key, state, arms, t):
        following, feedback = super(type(self), self).step(key, state, arms, t)
        late = state.plays[arms] >= 30
        states, rewards = feedback.states * late, feedback.rewards * late
        following = following._replace(states=state.states.at[arms].set(states))
        return following, feedback._replace(states=states, rewards=rewards)


@pytest.mark.slow
def test_plays_before_an_arm_has_settled_do_not_count():
    """An arm stays in its first state, which pays 5, for 20 plays; another moves by another law for 30 plays."""
    rows = [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.05, 0.95]]
    check_environment(jaxbandit.markov([rows] * 2, (0, 1, 5), initial_state=2), settle=256)
    with pytest.raises(AssertionError, match="step: arm 0 moves from state 0 to 0 with probability 1 in its plays 1"):
        check_environment(Late(**FIELDS), settle=64)


@jaxbandit.pytree
class Counting(Process):
    """A draw is found by how often action 1 was taken, not by the round."""

    def init(self, key):
        return jnp.int32(1), jnp.int32(0)

    def shown(self, state):
        return jnp.full(2, state[0])

    def step(self, key, state, arms, t):
        number = state[1] + (arms[0] == 1)
        following, feedback = super(type(self), self).step(key, state[0], arms, 1 + number)
        return (following, number), feedback._replace(t=t)


@jaxbandit.pytree
class Promising(Process):
    """The mean of action 0 is not what it pays if it alone is taken."""

    def means(self):
        return super(type(self), self).means() + np.array([0.03, 0.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"before": lambda seen: 1 - seen.before}, "the state before a round is not the one that the round before"),
        ({"t": lambda seen: seen.t + 1}, "t is not the round"),
        pytest.param(
            {"rewards": lambda seen: seen.rewards + 0.1 * (seen.arms == 1)},
            "arm 1 pays up to 0.1 more or less",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_processes_that_tell_the_player_something_else_are_found(change, message):
    told = lambda seen: seen._replace(**{field: new(seen) for field, new in change.items()})
    with pytest.raises(AssertionError, match=message):
        check_environment(telling(Process(MOVES, PAYS), told))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Counting, "in the same state who take the same arm in the same round see different things"),
        (Promising, r"Promising.means\(\): .* for arm 0"),
    ],
)
def test_broken_decision_processes_are_found(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_environment(broken(MOVES, PAYS))


def test_declarations_that_do_not_go_together():
    @jaxbandit.pytree
    class Rested(Process):
        declares = Declares(pairing="shared")

    with pytest.raises(AssertionError, match='the pairing "shared" and the problem "decision process" go together'):
        check_environment(Rested(MOVES, PAYS))


@pytest.mark.slow
def test_arms_that_change_keep_their_contract():
    check_environment(Swapping(swap=3000))

    @jaxbandit.pytree
    class Late(Swapping):
        def means_now(self, state, t):
            return super(type(self), self).means_now(state, t - 2000)

    with pytest.raises(AssertionError, match=r"Late.means_now\(state, t\): .* for arm 0 in rounds"):
        check_environment(Late(swap=3000))

    @jaxbandit.pytree
    class Undeclared(Swapping):
        declares = Declares(pairing="round", problem="restless")

    with pytest.raises(
        AssertionError, match=r'depends on the round, declare Declares\(problem="changing"\) and means_now\(state, t\)'
    ):
        check_environment(Undeclared(swap=12_000))
