"""How many rounds it takes to know the best arm: other programs, brute force, what is refused; results that answer."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from reference_likelihood import least_of_pair
from scipy.optimize import brentq, minimize_scalar
from scipy.special import kl_div
from scipy.stats import binomtest

from jaxbandit import (
    UCB1,
    Uniform,
    atlas,
    bernoulli,
    bounds,
    chains,
    environments,
    families,
    markov,
    metrics,
    plotting,
    simulate,
    two_state,
)
from jaxbandit.bounds.nearest import nearest_two_state, two_state_rate

GENERATOR = [[0.9, 0.1], [0.2, 0.8]]
# T* and w* by nested root finding, in another program
CHAINS = {
    "scenario 1": (161.78015571, (0.41617226, 0.3897604, 0.08164259, 0.06041339, 0.05201135)),
    ((0.5, 0.4), (0.4, 0.55)): (130.37263477, (0.51183821,)),
    ((0.2, 0.1), (0.2, 0.3)): (125.68494241, (0.46299536,)),
    ((0.05, 0.02), (0.05, 0.03)): (5616.92491567, (0.4056719,)),
}
INDEPENDENT = {
    "Garivier and Kaufmann 1": (989.79214026, (0.41652391, 0.39026387, 0.1362232, 0.05698902)),
    "Garivier and Kaufmann 2": (326.64211241, (0.33588511, 0.25149939, 0.17663229, 0.13241667, 0.10356654)),
    "i.i.d. scenario 1": (127.95341268, (0.43474336, 0.42626489, 0.07894219, 0.03999784, 0.02005172)),
}


def tilted(means):
    """Arms of the family of `GENERATOR` with these means."""
    mean_of = lambda theta: environments.exponential_family([theta, 0], GENERATOR).means()[0]
    thetas = [brentq(lambda theta, mean=mean: mean_of(theta) - mean, -5, 5, xtol=1e-14) for mean in means]
    return environments.exponential_family(thetas, GENERATOR)


def hardest(arms, weights, best, other, independent=False):
    """min over Q, Q' with mean(Q) <= mean(Q') of w I(P || Q) + w' I(P' || Q'), over all entries of both chains.

    Of independent arms over the entries of both laws.
    """
    pair = [best, other]
    rows = arms.transition[pair, : 1 if independent else None]
    law = np.array([[1] if independent else chains.stationary(row) for row in rows])
    return least_of_pair(np.asarray(weights)[pair, None, None] * law[..., None] * rows, arms.reward[pair])


def test_numbers_of_another_program():
    for problem, (time, weights) in {**CHAINS, **INDEPENDENT}.items():
        arms = atlas[problem].arms if isinstance(problem, str) else two_state(*problem)
        found = bounds.identification(arms)
        assert found.time == pytest.approx(time, rel=1e-9) and found.tight and found.best == 0
        np.testing.assert_allclose(found.weights[: len(weights)], weights, atol=2e-7)
        assert found.weights.sum() == pytest.approx(1, rel=1e-12)
        for pair in found.pairs:  # each other arm is as hard to tell from the best one
            assert pair.information == pytest.approx(1 / time, rel=1e-9)
            assert found.weights[0] * pair.of_best + found.weights[pair.arm] * pair.of_arm == pytest.approx(1 / time)
            assert arms.means()[pair.arm] < pair.mean < arms.means()[0]


def test_rates_of_two_states():
    """Numbers of another program, and the certified search, from both sides; by the flip, too."""
    assert two_state_rate(0.4, 0.55, 5 / 9) == pytest.approx(0.0308345172, abs=5e-11)
    assert two_state_rate(0.5, 0.4, 0.45) == pytest.approx(0.0176266469, abs=5e-11)
    random = np.random.default_rng(0)
    for _ in range(10):
        p, q = random.random(2) ** 3
        share = random.random()
        rows, reward = np.array([[1 - p, p], [q, 1 - q]]), np.array([0.0, 1.0])
        up = share >= p / (p + q)
        most, least = nearest_two_state(rows, *((reward, share) if up else (1 - reward, 1 - share)))
        assert least * (1 - 1e-12) <= two_state_rate(p, q, share) <= most * (1 + 1e-12)
    np.testing.assert_array_equal(two_state_rate(0.4, 0.5, np.array([-0.1, 0.0, 1.0, np.nan])), np.inf)
    assert two_state_rate(1.0, 1.0, 0.6) > 0 and two_state_rate(1.0, 1.0, 0.5) == 0


def test_every_pair_over_all_chains():
    """The hardest chains of each pair, over all entries; no other weights make the hardest pair easier."""
    random = np.random.default_rng(1)
    for rewards in ([1, 0], [[0, 1], [0.2, 1.5], [1, -0.5]]):
        p01, p10 = random.uniform(0.1, 0.9, (2, 3))
        arms = markov(two_state(p01, p10).transition, rewards)
        found = bounds.identification(arms)
        assert found.tight == (np.ndim(rewards) == 1)
        for pair in found.pairs:
            least = hardest(arms, found.weights, found.best, pair.arm)
            assert least == pytest.approx(pair.information, rel=1e-6) and least >= (1 - 1e-6) / found.time
        for way in np.eye(3) - 1 / 3:
            weights = np.maximum(found.weights + 0.03 * way, 0)
            least = min(hardest(arms, weights / weights.sum(), found.best, pair.arm) for pair in found.pairs)
            assert least < (1 - 1e-6) / found.time


def test_laws_on_three_rewards():
    """The hardest laws of each pair, over all entries; arms whose rewards differ."""
    rows = [[[0.2, 0.3, 0.5]] * 3, [[0.5, 0.2, 0.3]] * 3, [[0.1, 0.8, 0.1]] * 3]
    arms = markov(rows, [[0, 0.5, 1], [0, 0.5, 1], [0.2, 0.4, 0.9]])
    found = bounds.identification(arms)
    for pair in found.pairs:
        least = hardest(arms, found.weights, found.best, pair.arm, independent=True)
        assert least == pytest.approx(1 / found.time, rel=1e-6)


def test_normal_rewards():
    """T* = 2 (sigma + sigma')^2 / gap^2 with weights in proportion to the deviations."""
    found = bounds.identification(environments.gaussian([0.5, 0.2], [0.5, 2.0]))
    assert found.time == pytest.approx(2 * 2.5**2 / 0.3**2, rel=1e-12)
    np.testing.assert_allclose(found.weights, [0.2, 0.8], atol=1e-7)
    assert found.holds_for == "all arms of the family Gaussian"


@pytest.mark.slow
def test_the_larger_class_is_never_easier():
    """Numbers of another program for one family of chains, and random arms of it; i.i.d. arms and all chains."""
    family = families.chain_family(GENERATOR)
    expected = {(0.6, 0.4): (296.99772806, 301.16419249), (0.6, 0.5, 0.3): (1213.28864871, 1221.52963212)}
    for means, times in expected.items():
        arms = tilted(means)
        found = [bounds.identification(arms, among).time for among in (family, "chains")]
        np.testing.assert_allclose(found, times, rtol=1e-9)
    random = np.random.default_rng(2)
    for _ in range(2):
        arms = environments.exponential_family(random.uniform(-1, 1, 3), GENERATOR)
        assert bounds.identification(arms, family).time <= bounds.identification(arms).time * (1 + 1e-9)
        arms = bernoulli(random.random(4))
        independent = bounds.identification(arms)
        assert independent.holds_for == "all independent arms with these rewards"
        assert independent.time <= bounds.identification(arms, "chains").time * (1 + 1e-9)


@pytest.mark.slow
def test_three_states():
    """Scenario 3, whose numbers another program has to four digits, and the hardest chains over all entries."""
    arms = atlas["scenario 3"].arms
    found = bounds.identification(arms)
    assert not found.tight and 0 < found.constant < 0.3
    assert found.time == pytest.approx(91.43, abs=5e-3)
    np.testing.assert_allclose(found.weights, [0.107, 0.198, 0.213, 0.180, 0.302], atol=6e-4)
    for pair in found.pairs[:2]:
        assert hardest(arms, found.weights, found.best, pair.arm) == pytest.approx(1 / found.time, rel=1e-6)


def test_rounds_of_a_delta():
    found = bounds.identification(two_state([0.5, 0.4], [0.4, 0.55]))
    np.testing.assert_allclose(found.at_least([0.1, 0.01]) / found.time, [1.7577796619, 4.5032174531], rtol=1e-10)
    np.testing.assert_allclose(found.at_least([0.1, 0.01]), [229.2, 587.1], atol=0.05)
    assert found.at_least(0.5) == 0 and found.about(1e-9) == pytest.approx(found.time * np.log(1e9))
    for wrong in (0, 0.6, -1, np.nan, "x"):
        for method in (found.at_least, found.about):
            with pytest.raises(ValueError, match=r"^delta: "):
                method(wrong)


def told_by_state(p01, p10, mean):
    """What a departure from each of two states tells of the nearest chain with a mean, by search along the line."""
    law = np.array([p10, p01]) / (p01 + p10)

    def told(x):
        p, q = np.array([p01, p10]), np.array([x, x * (1 - mean) / mean])
        return kl_div(p, q) + kl_div(1 - p, 1 - q)

    ends = (0, min(1, mean / (1 - mean)))
    return told(minimize_scalar(lambda x: law @ told(x), method="bounded", bounds=ends, options={"xatol": 1e-9}).x)


def test_where_chains_start():
    """From state 0 what a chain tells beyond its rate is at most (f_0 - f_1) / (p01 + p10), if that is positive."""
    p01, p10 = np.array([[0.5, 0.4, 0.1], [0.2, 0.65, 0.2]])
    for arms in (two_state(p01, p10), two_state(p10, p01, reward=(1, 0), initial_state=1)):
        found = bounds.identification(arms)
        total = 0.0
        for pair in found.pairs:
            for k in (0, pair.arm):
                first, second = told_by_state(p01[k], p10[k], pair.mean)
                total += max(first - second, 0) / (p01[k] + p10[k]) / (found.time * pair.of_arm)
        assert found.constant == pytest.approx(total, rel=1e-5) and 0 < total < 0.1
    settled = bounds.identification(two_state(p01, p10, initial_state="stationary"))
    assert settled.time == pytest.approx(found.time, rel=1e-12) and settled.constant != found.constant
    assert bounds.identification(bernoulli([0.5, 0.4])).constant == 0


def test_arms_that_rewards_alone_tell_apart():
    """Rewards that an arm can never have decide: no round is needed, or none of one arm."""
    fair = [[0.5, 0.5]] * 2
    found = bounds.identification(markov([fair, fair], [[0.6, 1], [0, 0.5]]))
    assert found.time == 0 and found.weights.tolist() == [0.5, 0.5] and np.isnan(found.pairs[0].mean)
    found = bounds.identification(markov([fair] * 3, [[0.6, 1], [0, 0.5], [0.5, 0.9]]), "chains")
    assert found.weights[1] == 0 and found.pairs[0].information == np.inf
    two = bounds.identification(markov([fair] * 2, [[0.6, 1], [0.5, 0.9]]), "chains")
    assert two.time == pytest.approx(found.time, rel=1e-9)
    # an arm that always pays 0.6: only plays of the other one tell anything
    found = bounds.identification(markov([fair] * 2, [[0.6, 0.6], [0, 1]]))
    assert found.time == pytest.approx(1 / kl_div([0.5, 0.5], [0.4, 0.6]).sum(), rel=1e-9)
    np.testing.assert_allclose(found.weights, [0, 1], atol=1e-12)


def test_what_is_refused():
    arms = two_state([0.5, 0.4], [0.4, 0.55])
    refused = {
        "environment: arms 0, 2 all have the best mean, 0.5; no number of rounds": lambda: bernoulli([0.5, 0.1, 0.5]),
        "environment: arm 1 is not irreducible": lambda: markov([[[0.5, 0.5]] * 2, [[1, 0], [1, 0]]], [0, 1]),
        "environment: RestlessArms has restless arms": lambda: atlas["restless scenario 1"].arms,
        "environment: the laws of its arms are of no one-parameter family": lambda: environments.beta([2, 1], [1, 1]),
    }
    for message, make in refused.items():
        among = "chains" if "irreducible" in message else None
        with pytest.raises(ValueError, match=f"^{message}"):
            bounds.identification(make(), among)
    for among, message in {
        "independent": "among: the arms are not independent",
        "rested": "among: 'rested' is not one of chains, independent, nor a family",
        families.Bernoulli(): "environment: arm 1 or 0 is not of the family",
    }.items():
        with pytest.raises(ValueError, match=f"^{message}"):
            bounds.identification(arms, among)


# --- stopping times and wrong answers ---

ARMS = two_state([0.4, 0.5], [0.55, 0.4])
LABELS = ("T", "U")


@pytest.fixture(scope="module")
def result():
    """A result of two scenarios and two variants whose numbers are all chosen here; no policy stops in it."""
    policies = {label: [UCB1(0.5), UCB1(2.0)] for label in LABELS}
    scenarios = {"a": ARMS, "b": two_state([0.5, 0.5], [0.4, 0.4])}
    played = simulate(scenarios, policies, runs=12, horizon=30, times=[20, 30])
    draw = np.random.default_rng(0)
    ends = {label: draw.integers(1, 26, (2, 2, 12, 2)) for label in LABELS}
    ends["T"][draw.random((2, 2, 12)) < 0.3] = 0
    answers = {label: np.where(ends[label] > 0, draw.integers(0, 2, ends[label].shape), -1) for label in LABELS}
    visits = {}
    for label in LABELS:
        plays = np.where(ends[label] > 0, ends[label], 30)
        first = draw.integers(0, plays + 1)
        visits[label] = np.stack([np.stack([first, plays - first], -1), np.zeros((*plays.shape, 2), int)], -1)
    return replace(played, visits=visits, recorded={"stopped": ends, "answers": answers})


def test_the_summary_is_that_of_a_loop(result):
    means = [(0.4 / 0.95, 0.5 / 0.9), (0.5 / 0.9, 0.5 / 0.9)]
    for label in LABELS:
        found = metrics.identification(result, label)
        for c, v in np.ndindex(2, 2):
            rounds, censored, wrong, lost, shares = [], 0, 0, [], np.zeros(2)
            for r in range(12):
                end, answer = (result.recorded[name][label][c, v, r, -1] for name in ("stopped", "answers"))
                censored += end == 0
                wrong += end > 0 and answer == 0 and c == 0  # in the other scenario both arms are best
                rounds.append(end if end > 0 else 30)
                lost += [max(means[c]) - means[c][answer]] if end > 0 else []
                shares += result.visits[label][c, v, r, -1].sum(-1) / rounds[-1] / 12
            interval = binomtest(int(wrong), 12).proportion_ci(0.95, "exact")
            ordered = sorted(end for end in result.stopped[label][c, v] if end > 0) + [np.inf] * censored
            expected = [np.mean(rounds), np.std(rounds, ddof=1) / 12**0.5, ordered[5], ordered[10]]
            expected += [12, 12 - censored, censored, wrong, wrong / 12, *interval]
            expected += [np.mean(lost), np.std(lost, ddof=1) / len(lost) ** 0.5]
            np.testing.assert_allclose([field[c, v] for field in found[:-1]], expected, rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(found.plays[c, v], shares, rtol=1e-12)
    assert metrics.identification(result, "T").censored.all() and not metrics.identification(result, "U").censored.any()


def test_it_is_shown_with_what_is_censored(result):
    """In text and in a notebook: stopping times in place of regret, and what censored means where a run is."""
    mean = metrics.identification(result, "U").mean[0, 0]
    for text in (str(result), result._repr_html_()):
        assert "at least" in text and "Censored: runs without an answer after 30 rounds" in text
        assert f"{mean:,.1f} ±" in text and "egret" not in text
    ends = {name: {"U": of["U"]} for name, of in result.recorded.items()}
    without = str(replace(result, visits={"U": result.visits["U"]}, recorded=ends))
    assert "Censored" not in without and "at least" not in without


def test_the_curves_are_shares_of_runs_that_go_on(result):
    ax = plotting.plot_stopping(result, "T", variant=1, arms=ARMS, delta=0.2, ax=plt.figure().add_subplot())
    curve, least = ax.get_lines()
    assert least.get_xdata()[0] == bounds.identification(ARMS).at_least(0.2)
    ends = result.stopped["T"][0, 1]
    for t in (1, 7, 19.5, 29):
        height = curve.get_ydata()[np.searchsorted(curve.get_xdata(), t, side="right") - 1]
        assert abs(height - ((ends == 0) | (ends > t)).mean()) < 1e-12 or t == 1
    plt.close("all")


def test_runs_that_never_stop_are_refused():
    played = simulate(ARMS, {"U": Uniform()}, runs=2, horizon=3)
    for call in (metrics.identification, plotting.plot_stopping):
        with pytest.raises(ValueError, match=r'result: its runs go on .* simulate\(.., until="stopped"\)'):
            call(played, "U")
