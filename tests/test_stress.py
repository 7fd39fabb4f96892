"""The opponent: spaces have their laws, what is reported is what `simulate` plays, and a planted flaw is found."""

import contextlib
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxbandit
from jaxbandit import IMED, KLUCB, UCB1, StoppedWarning, Uniform, metrics, stress
from jaxbandit.stress import IndependentSpace, PiecewiseSpace, PriorSpace, RestlessSpace, ThreeStateSpace, TwoStateSpace

SPACES = {
    **{"two states": TwoStateSpace(), "five arms": TwoStateSpace(arms=5, initial_state=0)},
    **{"three states": ThreeStateSpace(), "changing": PiecewiseSpace(horizon=100)},
    **{"restless": RestlessSpace(), "all-pay": RestlessSpace(paid="all")},
    **{"prior": PriorSpace([[1, 2], [0.5, 0.5]]), "prior of rows": PriorSpace(np.ones((3, 2, 2)), "stationary")},
    **{name: IndependentSpace(name) for name in ("bernoulli", "gaussian", "poisson", "exponential")},
}
FAST = {"panel": {"KL-UCB": KLUCB()}, "horizon": 100, "progress": False}


@pytest.mark.parametrize("name", SPACES)
def test_the_code_of_a_problem_makes_the_very_same_arms(name):
    space = SPACES[name]
    ends = np.zeros(space.dimension), np.ones(space.dimension)
    for point in (*np.random.default_rng(1).random((3, space.dimension)), *ends):
        problem = space.problem(point)
        again = eval(problem.code, {"jaxbandit": jaxbandit})
        for made, pasted in zip(jax.tree.leaves(problem.arms), jax.tree.leaves(again), strict=True):
            np.testing.assert_array_equal(made, pasted)


def test_speeds_and_means_have_their_laws():
    """Kolmogorov's test at 1e-6 for each of three laws, on 2,000 arms: it notices laws that differ by .07."""
    points = np.random.default_rng(2).random((1000, 14))
    two = [TwoStateSpace(slowest=0.01, fastest=0.5).problem(point[:4]).arms for point in points]
    p01, p10 = (np.concatenate([np.asarray(arms.transition)[:, s, 1 - s] for arms in two]) for s in (0, 1))
    assert stats.kstest(np.log(p01 + p10), stats.uniform(np.log(0.01), np.log(50)).cdf).pvalue > 1e-6
    assert stats.kstest(p01 / (p01 + p10), stats.uniform(0.05, 0.9).cdf).pvalue > 1e-6
    three = [ThreeStateSpace(slowest=1.0, fastest=1.0).problem(point).arms for point in points]
    rows = np.concatenate([np.asarray(arms.transition) for arms in three])
    for s in range(3):  # every entry of a uniform probability vector of three is Beta(1, 2)
        assert stats.kstest(rows[:, 0, s], stats.beta(1, 2).cdf).pvalue > 1e-6


def test_probabilities_have_their_priors():
    """Kolmogorov's test at 1e-6 for each of four laws, on 2,000 arms: it notices laws that differ by .06."""
    random, prior = np.random.default_rng(5), np.array([[[1.0, 2.0], [3.0, 0.5]], [[0.7, 0.7], [4.0, 1.0]]])
    space = PriorSpace(prior)
    rows = np.stack([space.problem(random.random(4)).arms.transition for _ in range(2000)])
    for arm in (0, 1):
        for state in (0, 1):
            law = stats.beta(*prior[arm, state, ::-1])
            assert stats.kstest(rows[:, arm, state, 1], law.cdf).pvalue > 1e-6
    with pytest.raises(ValueError, match="prior: 0.0 is not positive"):
        stress.over(PriorSpace([[1, 0], [1, 1]]), {"u": Uniform()}, problems=4, runs=2, **FAST)
    with pytest.raises(ValueError, match="prior: shape"):
        stress.over(PriorSpace([[1, 1]]), {"u": Uniform()}, problems=4, runs=2, **FAST)


def test_breaks_are_uniform_and_differ():
    """In a game so short that two often meet; their sum is symmetric about that of the middle, tested at 1e-6."""
    space = PiecewiseSpace(breaks=3, horizon=8)
    points = np.random.default_rng(4).random((4000, space.dimension))
    breaks = np.array([space.problem(point).arms.breaks for point in points])
    assert (np.diff(breaks, axis=1) > 0).all() and breaks.min() == 2 and breaks.max() == 8
    sums = breaks.sum(1) - 15  # of three distinct numbers from 2 to 8: symmetric about the middle
    assert stats.ttest_1samp(sums, 0).pvalue > 1e-6
    with pytest.raises(ValueError, match="horizon"):
        stress.over(PiecewiseSpace(horizon=200), {"u": Uniform()}, problems=4, runs=2, **FAST)


@pytest.mark.slow
def test_a_survey_is_what_simulate_plays():
    """40 problems make two groups, the second filled up; each has random numbers of its own, for all policies."""
    policies, key = {"UCB1": UCB1()}, jax.random.key(4)
    answer = stress.over(TwoStateSpace(), policies, problems=40, runs=5, key=key, **FAST)
    assert answer.regrets["UCB1"].shape == (40, 5) and answer.panel == ("KL-UCB",)
    assert len({problem.code for problem in answer.problems}) == 40
    for number in (0, 31, 32, 39):
        own = jax.random.fold_in(key, 1 + number // stress.trials.TOGETHER)
        all_policies = policies | FAST["panel"]
        arms = answer.problems[number].arms
        asked = {"runs": 5, "horizon": 100, "times": [100], "key": own, "random_numbers": "independent"}
        result = jaxbandit.simulate({f"{number % 32}": arms}, all_policies, **asked, progress=False)
        for label in all_policies:
            np.testing.assert_array_equal(answer.regrets[label][number], metrics.regret(result, label)[0, 0, :, -1])
    expected = answer.regrets["UCB1"].mean(-1) - answer.regrets["KL-UCB"].mean(-1)
    np.testing.assert_allclose(answer.avoidable("UCB1"), expected)
    assert answer.mean("UCB1").mean == pytest.approx(answer.regrets["UCB1"].mean())
    assert answer.mean("UCB1").low < answer.mean("UCB1").mean < answer.mean("UCB1").high
    first, *rows = str(answer).splitlines()
    assert "avoidable" in first and {row.split()[0] for row in rows} == {"UCB1", "KL-UCB"}


def test_the_least_regret_is_that_of_the_panel_on_the_same_problem():
    regrets = {"mine": np.array([[9.0], [1.0]]), "a": np.array([[4.0], [8.0]]), "b": np.array([[5.0], [3.0]])}
    assert stress.trials.avoidable(regrets, "mine", ("a", "b")).tolist() == [5.0, -2.0]
    assert stress.trials.avoidable(regrets, "a", ("a", "b")).tolist() == [0.0, 5.0]


SMALL = {**FAST, "budget": 96, "number": 2, "runs": 64}


@pytest.mark.slow
def test_the_same_search_finds_the_same_problems_and_a_folder_keeps_what_was_played(tmp_path, monkeypatch):
    space = TwoStateSpace(slowest=0.05)
    once = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    again = stress.worst(Uniform(), space, **SMALL)
    assert [(item.problem.code, *item[1:]) for item in once] == [(item.problem.code, *item[1:]) for item in again]
    assert len(list(tmp_path.glob("*group*"))) == SMALL["budget"] / 32 + 2  # those searched, the best 32, the worst
    other = stress.worst(Uniform(), space, **SMALL, key=jax.random.key(1))
    assert other[0].problem.code != once[0].problem.code
    assert once[0].avoidable.mean >= once[1].avoidable.mean
    assert all(item.judged and not item.stopped for item in once)
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # a folder's second search plays nothing
    read = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    assert [item.problem.code for item in read] == [item.problem.code for item in once]
    result = jaxbandit.simulate(once[0].arms, {"u": Uniform(), **FAST["panel"]}, runs=4000, horizon=100, times=[100])
    saved = metrics.summary((metrics.regret(result, "u") - metrics.regret(result, "KL-UCB"))[0, 0, :, -1])
    # two means of independent runs: a difference of five standard errors has a probability below 1e-6
    wide = (once[0].avoidable.high - once[0].avoidable.low + saved.high - saved.low) / 2
    assert abs(once[0].avoidable.mean - saved.mean) < 5 / 1.96 * wide


@pytest.fixture
def stop_at(monkeypatch):
    """Ctrl-C at these calls of `simulate`, counted from 1, however soon they follow each other."""
    monkeypatch.setattr("jaxbandit.interruption.AT_ONCE", 0)

    def stop_at(*calls):
        made = iter(range(1, 1000))

        def simulate(**asked):
            if next(made) in calls:
                signal.raise_signal(signal.SIGINT)
            return jaxbandit.simulate(**asked)

        monkeypatch.setattr(stress.trials, "simulate", simulate)

    return stop_at


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_found(stop_at):
    space = TwoStateSpace(slowest=0.05)
    stop_at(2)
    with pytest.warns(StoppedWarning, match="the search is not complete$"):
        result = stress.worst(Uniform(), space, **SMALL)
    assert len(result) == 2 and all(item.judged and item.stopped and item.runs == 64 for item in result)
    stop_at(2, 3)
    with pytest.warns(StoppedWarning, match="is not complete; nothing is judged"):
        result = stress.worst(Uniform(), space, **SMALL)
    assert len(result) == 2 and not any(item.judged for item in result)
    assert "the search itself, which was stopped" in str(result[0])
    stop_at(1)
    with pytest.warns(StoppedWarning, match="is not complete; nothing is judged"):
        assert stress.worst(Uniform(), space, **SMALL) == []
    stop_at(1)
    with pytest.raises(KeyboardInterrupt):
        stress.over(TwoStateSpace(), {"u": Uniform()}, problems=4, runs=2, **FAST)


@pytest.mark.parametrize("how", ["a command", "twice within a second"])
def test_ctrl_c_ends_a_search(stop_at, monkeypatch, how):
    """A command must not return what it has as if that were the whole search."""
    if how == "a command":
        stop_at(2)
        program = jaxbandit.interruption.reraise_ctrl_c()
    else:
        monkeypatch.setattr("jaxbandit.interruption.AT_ONCE", 60)
        monkeypatch.setattr("jaxbandit.interruption._last", -100.0)
        stop_at(2, 3)
        program = contextlib.nullcontext()
    with pytest.raises(KeyboardInterrupt), program:
        stress.worst(Uniform(), TwoStateSpace(slowest=0.05), **SMALL)


@pytest.mark.slow
def test_a_search_that_was_stopped_and_judged_continues_in_its_folder(tmp_path, monkeypatch):
    def sweep(*asked, **options):
        if next(made) == 2:
            signal.raise_signal(signal.SIGINT)
        return jaxbandit.sweep(*asked, **options)

    space, made = TwoStateSpace(slowest=0.05), iter(range(1000))
    monkeypatch.setattr(stress.trials, "sweep", sweep)
    with pytest.warns(StoppedWarning):
        stopped = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    assert len(stopped) == 2 and all(item.judged and item.stopped for item in stopped)
    continued = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    whole = stress.worst(Uniform(), space, **SMALL)
    assert [(item.problem.code, *item[1:]) for item in continued] == [(item.problem.code, *item[1:]) for item in whole]


@jaxbandit.pytree
class GivesUp:
    """IMED, but an arm whose first three plays pay nothing is never played again, unless all arms are given up."""

    def init(self, reward):
        inner = IMED().init(reward)
        return inner, jnp.zeros(reward.shape[0], bool)

    def scores(self, key, state, t):
        inner, given_up = state
        scores = IMED().scores(key, inner, t)[0]
        return jnp.where(given_up, -jnp.inf, scores), state

    def update(self, state, feedback):
        inner, given_up = state
        inner = IMED().update(inner, feedback)
        mean, plays = inner.seen.mean_and_plays()
        return inner, given_up | ((plays == 3) & (mean == 0))


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_flaw_is_found(seed):
    """The worst problem found costs a tenth of the rounds more than IMED itself, which has no flaw."""
    result = stress.worst(GivesUp(), panel={"IMED": IMED()}, key=jax.random.key(seed), progress=False)
    assert result[0].avoidable.low > 1000, result[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stress.worst(UCB1(), TwoStateSpace(2, 1.0, 1.0, 0.5, 0.5)), "space: .* has one point only"),
        (lambda: stress.worst(UCB1(), RestlessSpace(slowest=0.2, fastest=0.1)), "space.fastest: 0.1 is below slowest"),
        (lambda: stress.over(TwoStateSpace(), {"u": [UCB1()]}), r"policies\['u'\]: a list of variants"),
        (lambda: stress.over(3, {"u": UCB1()}), "space: a space, such as .* is needed, and int has no dimension"),
        (lambda: stress.worst(jaxbandit.IMEDMC(), IndependentSpace("gaussian")), "policy: "),
        (lambda: stress.worst(UCB1(), panel={"the policy": KLUCB()}), r"panel\['the policy'\]: the tested policy has"),
        (lambda: stress.over(TwoStateSpace(), {"KL-UCB": UCB1()}), r"policies\['KL-UCB'\]: the panel has another"),
        (lambda: stress.over(TwoStateSpace(), {"u": UCB1()}, problems=1), "problems: 1 is not among"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cmaes", None)
    with pytest.raises(ImportError, match=r"^cmaes is not installed; pip install"):
        stress.failure_search.worst(UCB1(), budget=32)


def test_the_bayes_regret_of_a_policy():
    """Of always the first of two arms, n E(max - first) = n / 6 with uniform priors; fails falsely once in 10^6."""
    space = PriorSpace(((1, 1), (1, 1)))
    arms = {str(n): space.problem(point).arms for n, point in enumerate(np.random.default_rng(6).random((400, 2)))}
    case = {"policies": {"first": jaxbandit.Oracle([1.0, 0.0])}, "runs": 4, "horizon": 30, "times": [15, 30]}
    result = jaxbandit.simulate(arms, **case, random_numbers="independent", progress=False)
    drawn = metrics.bayes_regret(result, "first")
    assert drawn.mean.shape == (1, 2)
    error = (drawn.high - drawn.low) / 2 / 1.96
    assert (abs(drawn.mean - np.array([[15, 30]]) / 6) < 4.9 * error).all() and (error < 0.5).all()
    with pytest.raises(ValueError, match="result: all scenarios have common random numbers"):
        metrics.bayes_regret(jaxbandit.simulate(arms, **case, progress=False), "first")
    with pytest.raises(ValueError, match="result: it has one scenario"):
        metrics.bayes_regret(jaxbandit.simulate(arms["0"], **case, progress=False), "first")
