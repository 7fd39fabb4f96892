"""Delayed feedback, and arms that are not always offered: the arms of a loop, laws, what is refused."""

import heapq
from dataclasses import replace
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, UCB1, Exp3, delays, environments, families, metrics, simulate, two_state
from jaxbandit.base import reward_table
from jaxbandit.fast import threefry
from jaxbandit.fast.batching import over_runs
from jaxbandit.members import declares
from jaxbandit.pytrees import in_order
from jaxbandit.simulation.asking.request import check

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
KEY = jax.random.key(11)
ALIKE = two_state([0.1, 0.15, 0.2], [0.1, 0.15, 0.2])  # which of them pays now is all that tells them apart
OBSERVED = environments.restless(ALIKE.transition, ALIKE.reward, observed=True)
GAUSSIAN = environments.gaussian([0.5, 0.2, 0.0], 1.0)
FOUR = two_state([0.5, 0.4, 0.3, 0.2], [0.4, 0.55, 0.65, 0.1])
CHANGING = environments.piecewise([20], [[0.9, 0.5, 0.4, 0.1], [0.1, 0.5, 0.4, 0.7]])
ROWS = np.random.default_rng(3).random((17, 4)) < 0.4  # the arms that are offered
ROWS[np.arange(17), np.arange(17) % 4] = ROWS[np.arange(17), (np.arange(17) + 1) % 4] = True
CHANCES = np.array([0.2, 0.9, 0.5, 0.0])
ASKED = {"key": KEY, "runs": 2, "horizon": 60, "times": range(1, 61)}

begin = jax.jit(lambda thing, *inputs: thing.init(*inputs))
asked = jax.jit(lambda policy, *inputs: policy.scores(*inputs))
update = jax.jit(lambda policy, *inputs: policy.update(*inputs))
step = jax.jit(lambda environment, *inputs: environment.step(*inputs))


def lateness(delay, key, t, arm):
    """The delay of round t: given, or drawn from its distribution function, in float64."""
    if not isinstance(delay, delays.Delays):
        return int(np.ravel(delay[t - 1])[arm if np.ndim(delay) == 2 else 0])
    of_round = np.asarray(jax.random.key_data(jax.random.fold_in(key, t)))[:, None]
    words = threefry(of_round, np.uint32([2**32 - 1]), np.uint32([0]))
    law = LAWS[delay.thresholds.shape]
    return int((np.cumsum(law[arm] if np.ndim(law) == 2 else law) <= int(words[0][0]) / 2**32).sum())


def offered_in(offered, key, t, plays):
    """Which arms are offered, by the definition in float64."""
    if np.ndim(offered) == 2:
        return offered[(t - 1) % len(offered)]
    words = np.asarray(jax.random.key_data(key))[:, None]
    bits = threefry(words, np.arange(4, dtype=np.uint32) + np.uint32(2**31), np.full(4, t, np.uint32))[0].astype(float)
    mask = bits < 2.0**32 * offered
    with np.errstate(divide="ignore"):
        mask[np.argsort(bits / offered)[:plays]] = True
    return mask


def loop(environment, policy, run, rounds, plays=1, shuffle=False, delay=0, batch=1, offered=None):
    """The arms of each round of one run, by the protocol alone: feedback waits in a heap until it is due.

    Also the regret after each round against the best of the arms that were offered, where some are not.
    """
    number = environment.means().size
    keys = jax.tree.map(lambda leaf: leaf[..., 0], jaxbandit.run_keys(KEY, [run], number if shuffle else None))
    order = np.arange(number) if keys.order is None else np.asarray(keys.order)
    seen_by = in_order(policy, keys.order) if shuffle else policy
    reward = jnp.asarray(reward_table(environment), float)
    where = begin(environment, keys.environment)
    first = [environment.shown(where)[order]] if declares(environment).pairing == "shared" else []
    known = begin(seen_by, reward[order], *first)
    waiting, played, regret, latest = [], [], [0.0], [0] * number
    for t in range(1, rounds + 1):
        scores, known = asked(seen_by, jax.random.fold_in(keys.policy, t), known, jnp.int32(t))
        mask = np.ones(number, bool) if offered is None else offered_in(offered, keys.environment, t, plays)
        ranked = [arm for arm in np.argsort(-np.asarray(scores), kind="stable") if mask[order[arm]]]
        arms = np.array(ranked[:plays], np.int32)
        means = np.asarray(CHANGING.means_now(where, t).high) if environment is CHANGING else environment.means()
        regret.append(regret[-1] + np.sort(means[mask])[-plays:].sum() - means[order[arms]].sum())
        where, feedback = step(environment, keys.environment, where, jnp.asarray(order[arms], jnp.int32), jnp.int32(t))
        if feedback.shown is not None:
            feedback = feedback._replace(shown=feedback.shown[order])
        if isinstance(policy, Exp3):
            chances = np.asarray(policy.probabilities(known), float)
            feedback = feedback._replace(chances=jnp.asarray(chances[arms] / chances[mask[order]].sum(), float))
        late = delay if isinstance(delay, int) else lateness(delay, keys.policy, t, order[arms[0]])
        due = -(-t // batch) * batch + late
        if jaxbandit.members.in_order(policy):
            due = latest[arms[0]] = max(due, latest[arms[0]])
        heapq.heappush(waiting, (due, t, feedback._replace(arms=jnp.asarray(arms))))
        played.append(set(order[arms].tolist()))
        while waiting and waiting[0][0] == t:
            known = update(seen_by, known, heapq.heappop(waiting)[2])
        assert not waiting or waiting[0][0] > t
    return played, regret[1:]


@jaxbandit.pytree
class InOrder(jaxbandit.IMEDMC):
    """A policy that needs each arm's moves in their order."""

    in_order: ClassVar[bool] = True


BY_ARM = [[0.5, 0.0, 0.5, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2], [0.0, 0.0, 0.0, 0.25, 0.75]]
LAWS = {(40,): [0.0] * 2 + [1 / 39] * 39, (3, 4): BY_ARM}
GIVEN = np.random.default_rng(1).integers(0, 12, (70, 3))
GIVEN[5:25] = 10**9  # never
WHITTLE = jaxbandit.PosteriorWhittle([0.0, 0.1, 0.2], "played")
CASES = {
    "two-plays": (ARMS, UCB1(), {"delay": 2, "batch": 3, "plays": 2, "shuffle": True}),
    "numbers": (GAUSSIAN, KLUCB(family=families.Gaussian()), {"delay": 3}),
    "all-seen": (OBSERVED, WHITTLE, {"delay": 2, "batch": 3, "shuffle": True}),
    "process": (environments.riverswim(3), jaxbandit.IMEDRL(), {"delay": 3, "shuffle": True}),
    "drawn": (ARMS, KLUCB(), {"delay": delays.uniform(2, 40), "batch": 3}),
    "drawn-by-arm": (ARMS, InOrder(), {"delay": delays.table(BY_ARM), "shuffle": True}),
    "given": (ARMS, UCB1(), {"delay": GIVEN[:, 0], "plays": 2, "shuffle": True}),
    "given-by-arm": (ARMS, InOrder(), {"delay": GIVEN, "batch": 2, "shuffle": True}),
}


def play(environment, policy, **options):
    """The result of two runs, and of each the arms of every round."""
    result = simulate(environment, {"p": policy}, **ASKED, **options)
    plays = np.diff(result.visits["p"][0, 0].sum(-1), axis=1, prepend=0)  # [run, time, arm]
    return result, [[set(np.flatnonzero(item).tolist()) for item in run] for run in plays]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.slow
def test_the_arms_are_those_of_a_loop_with_a_heap(case):
    environment, policy, options = CASES[case]
    _, answer = play(environment, policy, **options)
    for run in range(2):
        assert answer[run] == loop(environment, policy, run, 60, **options)[0]
    sooner = options | {"delay": 0, "batch": 1}
    assert any(answer[run] != loop(environment, policy, run, 60, **sooner)[0] for run in range(2))


@pytest.mark.slow
def test_drawn_delays_do_not_depend_on_how_the_work_is_cut(tmp_path):
    """Nor on the other policies; a stopped result continues with what is under way, and another law is refused."""
    asked = {"scenarios": ARMS, "key": KEY, "times": [20, 60], "delay": delays.geometric(3.0)}
    short = {"policies": {"u": [UCB1(), UCB1(0.5)]}, "runs": 5}
    whole = simulate(**asked, policies=short["policies"] | {"t": jaxbandit.Uniform()}, runs=40, horizon=60)
    simulate(**asked | short | {"times": [20]}, horizon=20).save(tmp_path / "r.npz")
    stopped = jaxbandit.Result.load(tmp_path / "r.npz")
    resumed = simulate(**asked, **short, horizon=60, chunk=7, resume=stopped)
    np.testing.assert_array_equal(resumed.visits["u"], whole.visits["u"][:, :, :5])
    with pytest.raises(ValueError, match="resume: delay changed"):
        simulate(**asked | {"delay": delays.geometric(3.5)}, **short, horizon=60, resume=stopped)
    assert "0 to 78 rounds late, drawn for each round" in repr(whole) and "due after round 60" in str(whole)
    assert whole.to_xarray().attrs["delay"] == "0 to 78 rounds late, drawn for each round"


def test_laws_of_delays_are_what_they_are_called():
    """Their probabilities, to the 2^-32 of a threshold."""
    every = np.arange(23 * 11)
    made = [
        (delays.geometric(10.0), (10 / 11) ** every / 11),
        (delays.uniform(3, 7), np.array([0, 0, 0, 1, 1, 1, 1, 1]) / 5),
        (delays.table(np.float32([0.25, 0.0, 0.75, 0.0])), np.array([0.25, 0.0, 0.75])),
    ]
    for law, expected in made:
        ends = np.append(np.where(law.thresholds == 2**32 - 1, 2**32, law.thresholds.astype(float)) / 2**32, 1.0)
        np.testing.assert_allclose(np.diff(ends, prepend=0), expected[: law.longest + 1], atol=2**-31)
    many = delays.geometric([0.0, 2.0])
    np.testing.assert_array_equal(many.thresholds[1], delays.geometric(2.0).thresholds)
    np.testing.assert_allclose(many.means(), [0, 2], atol=1e-6)


def test_recorders_see_what_the_policy_has_heard_and_texts_say_it():
    """Its own state, whose plays are those of the rounds that are due; and the policy itself, not its wrapper."""
    heard, bonus = lambda arms, state, t: state.counts.sum(), lambda arms, state, t, policy: jnp.float32(policy.bonus)
    options = {"runs": 2, "horizon": 12, "times": range(1, 13), "record": {"heard": heard, "bonus": bonus}}
    result = simulate(ARMS, {"u": UCB1()}, **options, delay=3, batch=2)
    expected = [0, 0, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8]
    np.testing.assert_array_equal(result.recorded["heard"]["u"][0, 0], [expected] * 2)
    np.testing.assert_array_equal(result.recorded["bonus"]["u"], UCB1().bonus)
    assert "of the last 4 rounds never reached" in str(result) and "still under way." in str(replace(result, rounds=7))
    assert (result.to_xarray().attrs["delay"], result.to_xarray().attrs["batch"]) == (3, 2)


def test_the_round_of_old_feedback_keeps_its_type():
    @jaxbandit.pytree
    class Last(UCB1):
        init = lambda self, reward: jnp.int32(0)
        scores = lambda self, key, state, t: (jnp.zeros(3), state)
        update = lambda self, state, feedback: feedback.t

    for double in (False, True):
        with jax.enable_x64(double):
            check(ARMS, {"l": Last()}, horizon=9, delay=2, batch=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delay": -1}, "delay: -1 is not among the integers from 0"),
        ({"batch": 0}, "batch: 0 is not among the integers from 1"),
        ({"delay": 50}, "delay: 50 rounds; .* after round 51, and"),
        ({"delay": 47, "batch": 4}, "delay: 47 rounds; .* after round 51, with batch=4"),
        ({"delay": [10, 200]}, "delay: 2 rounds, and the horizon is 50"),
        ({"delay": [0.5] * 50}, "delay: .* are not integers"),
        ({"delay": [50] * 50}, "delay: no feedback would reach the policies"),
        ({"delay": delays.geometric([1.0, 2.0])}, "delay: delays of 2 arms, and there are 3"),
        ({"delay": delays.geometric([1.0] * 3), "plays": 2}, "delay: differs between arms, and plays is 2"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        simulate(ARMS, {"u": UCB1()}, runs=2, horizon=50, **options)
    check(ARMS, {"u": UCB1()}, horizon=51, delay=50)
    check(ARMS, {"u": UCB1()}, horizon=50, batch=50)


def test_more_feedback_than_memory_has_is_refused():
    with pytest.raises(ValueError, match=r"runs: .* state between rounds.*keep feedback for fewer rounds"):
        simulate(ARMS, {"u": UCB1()}, runs=10_000, horizon=2**31 - 1, times=[1], delay=10**9)


def test_loops_over_runs_end_together_or_apart():
    """A loop whose turns are counted for all runs stays one; others go through `vmap`. Both give what `vmap` gives."""

    def together(x, turns):
        def turn(n, carry):
            kept, last = carry
            return kept.at[n % 4].add(last), jnp.float32(n) * x[0]

        return jax.lax.fori_loop(0, turns, turn, (x, jnp.float32(1)))

    def apart(x, turns):
        return jax.lax.while_loop(lambda y: y.sum() < 50, lambda y: y + x + turns, x), x

    x, plain = jnp.arange(12.0).reshape(4, 3), partial(jax.vmap, in_axes=-1, out_axes=-1)
    for function in (together, apart):
        ways = [jax.jit(lambda x, n, way=way, f=function: way(lambda x: f(x, n))(x)) for way in (over_runs, plain)]
        for one, other in zip(*(way(x, jnp.int32(6)) for way in ways), strict=True):
            np.testing.assert_array_equal(one, other)
    program = str(jax.make_jaxpr(lambda x, n: over_runs(lambda x: together(x, n))(x))(x, jnp.int32(6)))
    assert "while" in program and "transpose" not in program  # the runs stay last within the loop


# arms that are offered in some rounds only

OFFERED = {
    "given": pytest.param(FOUR, UCB1(), {"offered": ROWS, "plays": 2, "shuffle": True}, marks=pytest.mark.slow),
    "drawn": pytest.param(
        CHANGING, Exp3(gamma=0.3), {"offered": CHANCES, "delay": 2, "shuffle": True}, marks=pytest.mark.slow
    ),
    "numbers": (environments.gaussian([0.5, 0.2, 0.0, 0.4]), KLUCB(family=families.Gaussian()), {"offered": ROWS}),
}


@pytest.mark.parametrize(("environment", "policy", "options"), OFFERED.values(), ids=OFFERED)
def test_the_offered_arms_and_the_regret_are_those_of_a_loop(environment, policy, options):
    result, answer = play(environment, policy, **options)
    for run in range(2):
        played, regret = loop(environment, policy, run, 60, **options)
        assert answer[run] == played
        np.testing.assert_allclose(metrics.regret(result, "p")[0, 0, run], regret, atol=1e-5)


def test_what_a_result_says_of_offered_arms():
    """Regret against the best arms offered, and no other; all arms offered in all rounds change no play."""
    policies = {"u": UCB1()}
    result = simulate(FOUR, policies, **ASKED, offered=ROWS, plays=2, chunk=7)
    assert "arms offered as given for 17 rounds" in repr(result)
    assert metrics.regret_name(result) == "regret against the best arms offered" in str(result).lower()
    for metric in (metrics.pseudo_regret, metrics.realised_regret, metrics.best_share, metrics.linear_share):
        with pytest.raises(ValueError, match="arms that are not offered in every round; use regret$"):
            metric(result, "u")
    every = simulate(FOUR, policies, **ASKED, offered=np.ones((17, 4)), plays=2)
    plain = simulate(FOUR, policies, **ASKED, plays=2)
    np.testing.assert_array_equal(every.visits["u"], plain.visits["u"])
    np.testing.assert_allclose(metrics.regret(every, "u"), metrics.pseudo_regret(plain, "u"), atol=1e-5)


@pytest.mark.parametrize(
    ("environment", "policy", "options", "words"),
    [
        (FOUR, UCB1(), {"offered": ROWS.T}, r"offered: shape \(4, 17\) is neither \[N, K\]"),
        (FOUR, UCB1(), {"offered": ROWS & False}, "offered: 0 arms in round 1, and plays is 1; offer at least so many"),
        (FOUR, UCB1(), {"offered": 1.5}, "offered: 1.5 are not probabilities"),
        (FOUR, UCB1(), {"offered": CHANCES, "plays": 4}, "offered: 3 arms have a positive probability, and plays is 4"),
        (FOUR, jaxbandit.RoundRobinKLUCB(), {"offered": 0.5}, r"policies\['p'\]: RoundRobinKLUCB .* in turns"),
        (FOUR, jaxbandit.WithDetector(UCB1(), jaxbandit.CUSUM(5, 0.05, 1.0, 0.1)), {"offered": 0.5}, "in turns"),
        (environments.restless(FOUR.transition, FOUR.reward), UCB1(), {"offered": 0.5}, "are restless arms"),
    ],
)
def test_what_cannot_be_offered_is_refused(environment, policy, options, words):
    with pytest.raises(ValueError, match=words):
        simulate(environment, {"p": policy}, runs=2, horizon=50, **options)
