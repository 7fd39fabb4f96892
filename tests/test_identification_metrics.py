"""Stopping times and wrong answers, against loops; what a result shows of them."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest

from jaxbandit import UCB1, Uniform, bounds, metrics, plotting, simulate, two_state

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
    without = replace(result, visits={"U": result.visits["U"]})
    without = replace(without, recorded={name: {"U": of["U"]} for name, of in result.recorded.items()})
    for text in (str(result), result._repr_html_()):
        assert "at least" in text and "Censored: runs without an answer after 30 rounds" in text
        assert "egret" not in text
    assert "Censored" not in str(without) and "at least" not in str(without)
    mean = metrics.identification(result, "U").mean[0, 0]
    assert f"{mean:,.1f} ±" in str(without) and f"{mean:,.1f} ±" in without._repr_html_()


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
