"""The opponent: spaces have their laws, a search climbs, and what is reported is what `simulate` plays."""

import signal

import jax
import numpy as np
import pytest
from scipy import stats
from scipy.stats import binom, binomtest

import jaxbandit
from jaxbandit import KLUCB, UCB1, StoppedWarning, Uniform, metrics, stress
from jaxbandit.interruption import CtrlC
from jaxbandit.policies import BernoulliGLR, Identify, RoundRobin, TopTwo
from jaxbandit.stress import IndependentSpace, PiecewiseSpace, PriorSpace, RestlessSpace, TwoStateSpace, point_search

SPACES = {
    **{"two states": TwoStateSpace(), "five arms": TwoStateSpace(arms=5, initial_state=0)},
    **{"three states": stress.ThreeStateSpace(), "changing": PiecewiseSpace(horizon=100)},
    **{"restless": RestlessSpace(), "all-pay": RestlessSpace(paid="all")},
    **{"prior": PriorSpace([[1, 2], [0.5, 0.5]]), "prior of rows": PriorSpace(np.ones((3, 2, 2)), "stationary")},
    **{name: IndependentSpace(name) for name in ("bernoulli", "gaussian", "poisson", "exponential")},
}
FAST = {"panel": {"UCB1": UCB1(0.1)}, "horizon": 100, "progress": False}
SMALL = {**FAST, "budget": 96, "number": 2, "runs": 100}  # the sizes of groups of the doctest of `worst`
STICKY = TwoStateSpace(slowest=0.02)
RULE = Identify(TopTwo(), BernoulliGLR(), 0.1)
STOPS = {"objective": "wrong answers", "budget": 64, "number": 2, "runs": 200, "horizon": 600, "progress": False}


@pytest.fixture(scope="module", autouse=True)
def one_program():
    """Both parts of a search play as many runs, which is one program less."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point_search, "RUNS_AGAIN", point_search.RUNS)
        yield


@pytest.fixture(scope="module")
def worst(one_program):
    return stress.worst(Uniform(), TwoStateSpace(slowest=0.05), **SMALL)


@pytest.fixture(scope="module")
def failures(one_program):
    return stress.worst(RULE, STICKY, **STOPS)


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
    """Kolmogorov's test at 1e-6 for each of three laws, on 1,200 arms: it notices laws that differ by .09."""
    points = np.random.default_rng(2).random((600, 14))
    space = TwoStateSpace(slowest=0.01, fastest=0.5)
    p01, p10 = np.concatenate([space.problem(point[:4]).arms.transition for point in points])[:, (0, 1), (1, 0)].T
    assert stats.kstest(np.log(p01 + p10), stats.uniform(np.log(0.01), np.log(50)).cdf).pvalue > 1e-6
    assert stats.kstest(p01 / (p01 + p10), stats.uniform(0.05, 0.9).cdf).pvalue > 1e-6
    space = stress.ThreeStateSpace(slowest=1.0, fastest=1.0)
    rows = np.concatenate([space.problem(point).arms.transition for point in points])
    for s in range(3):  # every entry of a uniform probability vector of three is Beta(1, 2)
        assert stats.kstest(rows[:, 0, s], stats.beta(1, 2).cdf).pvalue > 1e-6


def test_probabilities_have_their_priors():
    """Kolmogorov's test at 1e-6 for each of four laws, on 1,200 arms: it notices laws that differ by .08."""
    random, prior = np.random.default_rng(5), np.array([[[1.0, 2.0], [3.0, 0.5]], [[0.7, 0.7], [4.0, 1.0]]])
    space = PriorSpace(prior)
    rows = np.stack([space.problem(random.random(4)).arms.transition for _ in range(1200)])
    for arm, state in np.ndindex(2, 2):
        law = stats.beta(*prior[arm, state, ::-1])
        assert stats.kstest(rows[:, arm, state, 1], law.cdf).pvalue > 1e-6
    with pytest.raises(ValueError, match="prior: 0.0 is not positive"):
        stress.over(PriorSpace([[1, 0], [1, 1]]), {"u": Uniform()}, problems=4, runs=2, **FAST)
    with pytest.raises(ValueError, match="prior: shape"):
        stress.over(PriorSpace([[1, 1]]), {"u": Uniform()}, problems=4, runs=2, **FAST)


def test_breaks_are_uniform_and_differ():
    """In a game so short that two often meet; their sum is symmetric about that of the middle, tested at 1e-6."""
    space = PiecewiseSpace(breaks=3, horizon=8)
    points = np.random.default_rng(4).random((2000, space.dimension))
    breaks = np.array([space.problem(point).arms.breaks for point in points])
    assert (np.diff(breaks, axis=1) > 0).all() and breaks.min() == 2 and breaks.max() == 8
    sums = breaks.sum(1) - 15  # of three distinct numbers from 2 to 8: symmetric about the middle
    assert stats.ttest_1samp(sums, 0).pvalue > 1e-6
    with pytest.raises(ValueError, match="horizon"):
        stress.over(PiecewiseSpace(horizon=200), {"u": Uniform()}, problems=4, runs=2, **FAST)


@pytest.mark.slow
def test_a_survey_is_what_simulate_plays():
    """40 problems make two groups, the second filled up; each has random numbers of its own, for all policies."""
    policies, key = {"u": Uniform()}, jax.random.key(4)
    answer = stress.over(TwoStateSpace(), policies, problems=40, runs=5, key=key, **FAST)
    assert answer.regrets["u"].shape == (40, 5) and answer.panel == ("UCB1",)
    assert len({problem.code for problem in answer.problems}) == 40
    for group, first in ((1, 0), (2, 32)):
        arms = {f"{n}": answer.problems[min(first + n, 39)].arms for n in range(32)}
        size = {"runs": 5, "horizon": 100, "times": [100], "key": jax.random.fold_in(key, group)}
        all_policies = policies | FAST["panel"]
        result = jaxbandit.simulate(arms, all_policies, **size, random_numbers="independent", progress=False)
        for label in all_policies:
            regret = metrics.regret(result, label)[: 40 - first, 0, :, -1]
            np.testing.assert_array_equal(answer.regrets[label][first : first + 32], regret)
    expected = answer.regrets["u"].mean(-1) - answer.regrets["UCB1"].mean(-1)
    np.testing.assert_allclose(answer.avoidable("u"), expected)
    assert answer.mean("u").mean == pytest.approx(answer.regrets["u"].mean())
    assert answer.mean("u").low < answer.mean("u").mean < answer.mean("u").high
    first, *rows = str(answer).splitlines()
    assert "avoidable" in first and {row.split()[0] for row in rows} == {"u", "UCB1"}


def test_the_least_regret_is_that_of_the_panel_on_the_same_problem():
    regrets = {"mine": np.array([[9.0], [1.0]]), "a": np.array([[4.0], [8.0]]), "b": np.array([[5.0], [3.0]])}
    assert stress.trials.avoidable(regrets, "mine", ("a", "b")).tolist() == [5.0, -2.0]
    assert stress.trials.avoidable(regrets, "a", ("a", "b")).tolist() == [0.0, 5.0]


class Hill:
    """A space in which a problem is its point, and a search has nothing to play."""

    dimension = 4

    def problem(self, point):
        return stress.Problem(str(point), point)


def test_a_search_climbs(monkeypatch):
    """To a top that its first points are far from; what it reports differs, and the best comes first."""
    monkeypatch.setattr(point_search, "RUNS_AGAIN", 192)
    asked, top, best = [], np.array([0.3, 0.85, 0.6, 0.15]), []

    def values(problems, runs):
        heights = -np.linalg.norm([problem.arms - top for problem in problems], axis=1)
        asked.append((len(problems), runs))
        best.append(heights.max())
        return heights

    key = jax.random.key(0)
    with CtrlC(raises=False) as ctrl_c:
        chosen, again = (point_search.choose(Hill(), key, 640, 2, values, len, ctrl_c) for _ in range(2))
    assert asked == 2 * [(256, 48), *12 * [(32, 48)], (32, 192)]
    assert chosen.complete and chosen.judged == 2 and chosen.believed == again.believed
    assert chosen.believed[0] == max(best) > best[0] / 3 and chosen.believed[0] > chosen.believed[1]
    first, second = (problem.arms for problem in chosen.problems)
    assert chosen.believed == pytest.approx([-np.linalg.norm(point - top) for point in (first, second)])
    assert np.abs(first - second).max() > point_search.APART


@pytest.mark.slow
def test_the_same_search_finds_the_same_problems_and_a_folder_keeps_what_was_played(worst, tmp_path, monkeypatch):
    space = TwoStateSpace(slowest=0.05)
    kept = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    assert [(item.problem.code, *item[1:]) for item in worst] == [(item.problem.code, *item[1:]) for item in kept]
    assert len(list(tmp_path.glob("*group*"))) == SMALL["budget"] / 32 + 2  # those searched, the best 32, the worst
    other = stress.worst(Uniform(), space, **SMALL, key=jax.random.key(1))
    assert other[0].problem.code != worst[0].problem.code
    assert worst[0].avoidable.mean >= worst[1].avoidable.mean
    assert all(item.judged and not item.stopped for item in worst)
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # a folder's second search plays nothing
    read = stress.worst(Uniform(), space, folder=tmp_path, **SMALL)
    assert [item.problem.code for item in read] == [item.problem.code for item in worst]
    arms = {f"{n}": item.arms for n, item in enumerate(worst)}
    policies = {"u": Uniform(), **FAST["panel"]}
    result = jaxbandit.simulate(arms, policies, runs=100, horizon=100, times=[100], key=jax.random.key(9))
    for item, saved in zip(worst, (metrics.regret(result, "u") - metrics.regret(result, "UCB1"))[:, 0, :, -1]):
        again = metrics.summary(saved)
        # two means of independent runs: a difference of five standard errors has a probability below 1e-6
        wide = np.hypot(item.avoidable.high - item.avoidable.low, again.high - again.low) / 2
        assert abs(item.avoidable.mean - again.mean) < 5 / 1.96 * wide


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
    assert len(result) == 2 and all(item.judged and item.stopped and item.runs == 100 for item in result)
    stop_at(2, 3)
    with pytest.warns(StoppedWarning, match="is not complete; nothing is judged"):
        result = stress.worst(Uniform(), space, **SMALL)
    assert len(result) == 2 and not any(item.judged for item in result)
    assert "the search itself, which was stopped" in str(result[0])
    stop_at(2, 3)
    with pytest.warns(StoppedWarning, match="nothing is judged"):
        found = stress.worst(RULE, STICKY, **STOPS)
    assert len(found) == 2 and not any(item.judged or item.certain for item in found)
    assert "which was stopped, believed" in str(found[0])
    stop_at(1)
    with pytest.warns(StoppedWarning, match="is not complete; nothing is judged"):
        assert stress.worst(Uniform(), space, **SMALL) == []
    stop_at(1)
    with pytest.raises(KeyboardInterrupt):
        stress.over(TwoStateSpace(), {"u": Uniform()}, problems=4, runs=2, **FAST)


def test_ctrl_c_ends_a_search(stop_at, monkeypatch):
    """Of a command, which must not return what it has as if that were the whole search, and twice within a second."""
    space = TwoStateSpace(slowest=0.05)
    stop_at(2)
    with pytest.raises(KeyboardInterrupt), jaxbandit.interruption.reraise_ctrl_c():
        stress.worst(Uniform(), space, **SMALL)
    monkeypatch.setattr("jaxbandit.interruption.AT_ONCE", 60)
    monkeypatch.setattr("jaxbandit.interruption._last", -100.0)
    stop_at(2, 3)
    with pytest.raises(KeyboardInterrupt):
        stress.worst(Uniform(), space, **SMALL)


@pytest.mark.slow
def test_a_search_that_was_stopped_and_judged_continues_in_its_folder(worst, tmp_path, monkeypatch):
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
    assert [(item.problem.code, *item[1:]) for item in continued] == [(item.problem.code, *item[1:]) for item in worst]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stress.worst(UCB1(), TwoStateSpace(2, 1.0, 1.0, 0.5, 0.5)), "space: .* has one point only"),
        (lambda: stress.worst(UCB1(), RestlessSpace(slowest=0.2, fastest=0.1)), "space.fastest: 0.1 is below slowest"),
        (lambda: stress.over(TwoStateSpace(), {"u": [UCB1()]}), r"policies\['u'\]: a list of variants"),
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


@pytest.mark.slow
def test_a_rule_for_independent_rewards_is_disproved(failures):
    """Wrong in a third of runs or more; if the rule were right this would happen once in 10^20 searches.

    On random numbers of the test's own, wrong answers agree within five standard errors (p 1e-6 for each).
    """
    assert failures[0].certain and failures[0].share.mean > 1 / 3
    arms = {f"{n}": found.arms for n, found in enumerate(failures)}
    size = {"runs": 200, "horizon": 600, "key": jax.random.key(9), "progress": False}
    result = jaxbandit.simulate(arms, {"p": RULE}, until="stopped", **size)
    for n, found in enumerate(failures):
        wrong = (result.stopped["p"][n] > 0) & (result.answers["p"][n] != np.argmax(found.arms.means()))
        assert abs(found.share.mean - wrong.mean()) < 5 * np.sqrt(0.25 / 200 + 0.25 / 200)
        assert found.judged and not found.stopped and found.delta == 0.1 and found.runs == 200
        test = binomtest(found.wrong, found.runs)
        assert found.share[1:] == pytest.approx(tuple(test.proportion_ci(0.95, "exact")))
        assert found.p_value == pytest.approx(binom.sf(found.wrong - 1, found.runs, 0.1))
        assert f"wrong in {found.wrong} of 200 new runs" in str(found)
        assert jaxbandit.environments.two_state.__name__ in found.problem.code


@pytest.mark.slow
def test_the_rule_survives_where_rewards_are_independent():
    """Two claims at most, tested one after the other: false in one of 20 searches of a rule that errs exactly delta."""
    for found in stress.worst(RULE, IndependentSpace(), **STOPS | {"budget": 32}):
        assert not found.certain and found.p_value > 0.5
        assert "not shown to be more often than accepted" in str(found)


class Tied(TwoStateSpace):
    """A space of problems whose arms are all the same."""

    def problem(self, point):
        move = float(0.1 + 0.8 * point[0].round(3))
        return stress.Problem(f"two_state([{move}] * 2, [0.5] * 2)", jaxbandit.two_state([move] * 2, [0.5] * 2))


@pytest.mark.parametrize(
    ("policy", "changed", "message"),
    [
        (UCB1(), {}, r"policy: .*UCB1.* does not stop with an error rate; objective="),
        (Identify(), {"panel": {"u": UCB1()}}, "panel: leave it out"),
        (Identify(), {"plays": 2}, "plays: 2; with objective="),
        (Identify(), {"objective": "errors"}, "objective: 'errors'"),
        (Identify(), {"space": Tied()}, "space: all problems of .* have several best arms"),
        (Identify(RoundRobin(), delta=2.0), {}, "policy.delta: 2.0"),
    ],
)
def test_what_cannot_be_searched_for_wrong_answers_is_refused_by_name(policy, changed, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        stress.worst(policy, **{"space": STICKY} | STOPS | changed)
