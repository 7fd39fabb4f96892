"""Results: saved whole or refused, shown, as Datasets; metrics against plain loops; pictures' data."""

import dataclasses
import errno
import io
import itertools
import json
import os
import pickle
import re
import sys
import traceback
import warnings
from html import unescape
from unittest.mock import Mock

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from scipy import stats

import jaxbandit
from jaxbandit import KLUCB, Result, Uniform, metrics, plotting, simulate, sweep, two_state
from jaxbandit.commands import entry, policies

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65], reward=(-1.0, 2.0))
OTHER = two_state([0.2, 0.4, 0.3], [0.4, 0.55, 0.65], reward=(-1.0, 2.0))
KL = ["kl, exploration=0", "kl, exploration=3"]  # its two variants
LABEL = "<i>UCB1</i> & co"


@pytest.fixture(scope="module")
def result():
    played = {"kl": [KLUCB(exploration=0.0), KLUCB(exploration=3.0)], "u": Uniform()}
    return simulate({"a": ARMS, "b": OTHER}, played, runs=range(3, 33), horizon=200, times=[10, 90, 110, 200])


def renamed(result, labels, **changed):
    """The result with other labels of its policies."""
    names = dict(zip(labels, result.labels))
    told = result.provenance | {"policies": {new: result.provenance["policies"][old] for new, old in names.items()}}
    visits = {new: result.visits[old] for new, old in names.items()}
    return dataclasses.replace(result, visits=visits, provenance=told, **changed)


def made_up(regret, labels=("a",)):
    """A result of given final regret [variant, run], from arms of mean 1 and 0."""
    plays = np.asarray(regret)
    visits = np.stack([1000 - plays, plays], axis=-1)[None, :, :, None, :, None].astype(np.int32)
    return Result(
        ("s",), np.array([1000]), dict.fromkeys(labels, visits), np.array([[1.0, 0.0]]), np.ones((1, 2, 1)),
        horizon=1000, rounds=1000, plays=1, fingerprint={}, carry={},
    )  # fmt: skip


def small():
    """A result of few bytes, with arrays of every kind that a file may have."""
    (recorded,) = made_up(np.ones((1, 1)), ("a",)).visits.values()
    kept = {"recorded": {"seen": {"a": recorded.astype(float)}}, "carry": {"a": [np.arange(3)]}}
    return dataclasses.replace(made_up(np.arange(2.0)[None]), **kept, comparator=np.ones(1), cost=np.ones((1, 2)))


def test_arrays_of_a_result_cannot_be_written_to(tmp_path):
    """Also those of a file; arrays that it was made of stay as they are."""
    (result := dataclasses.replace(small(), means=(means := np.zeros((1, 2))))).save(tmp_path / "r.npz")
    for each in (result, Result.load(tmp_path / "r.npz")):
        held = [each.times, each.means, each.reward, each.comparator, each.cost]
        for array in (*held, each.visits["a"], each.recorded["seen"]["a"]):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    means[0] = 1


def test_damaged_files_are_refused_or_the_damage_says_nothing(tmp_path):
    """Every seventh byte of a file changed in one of three ways, and many lengths: refused, or read as it was."""
    path = tmp_path / "r.npz"
    (result := small()).save(path)
    whole = path.read_bytes()
    np.testing.assert_equal(vars(Result.load(path)), vars(result))
    refused = set()
    for place, flip in zip(range(0, len(whole), 7), itertools.cycle((1, 32, 255)), strict=False):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
        try:
            with warnings.catch_warnings(action="ignore"):  # NumPy's, of arrays that seem to be from Python 2
                answer = Result.load(path)
        except ValueError as error:
            refused.add(str(error))
        else:
            np.testing.assert_equal(vars(answer), vars(result))
    assert refused == {f"{path}: not a file that Result.save has written, or truncated or damaged"}
    for length in range(0, len(whole), 17):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"r.npz: .*truncated or damaged"):
            Result.load(path)


def test_what_is_no_file_of_a_result_is_refused(tmp_path):
    """NumPy would take a text for a pickle, and advise to load it."""
    path = tmp_path / "t.csv"
    for text in (b"", b"t,a\n1,0\n", b"PK\3\4", pickle.dumps({"a": 1})):
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"t.csv: not a file that Result.save has written") as error:
            Result.load(path)
        assert "pickle" not in "".join(traceback.format_exception(error.value))
    path = tmp_path / "t.npz"
    for header, message in ((json.dumps({"version": 99}), "version 99"), ({"version": 1}, "t.npz")):
        np.savez(path, header=np.array(header))
        with pytest.raises(ValueError, match=message):
            Result.load(path)
    with pytest.raises(ValueError, match=r"a folder; jaxbandit.load_sweep reads that of a sweep"):
        Result.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        Result.load(tmp_path / "none.npz")


def test_memory_that_is_short_is_no_damage(tmp_path, monkeypatch):
    small().save(path := tmp_path / "r.npz")
    monkeypatch.setattr(np.lib.format, "read_array", Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        Result.load(path)


def test_a_full_disk_names_the_file_and_leaves_the_one_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "r.npz"
    (result := small()).save(path)
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", Mock(side_effect=full))
    with pytest.raises(OSError, match=r"No space left on device: .*r\.npz") as error:
        dataclasses.replace(result, plays=2).save(path)
    assert error.value.errno == errno.ENOSPC
    assert [item.name for item in tmp_path.iterdir()] == ["r.npz"] and Result.load(path).plays == result.plays


@pytest.mark.slow
def test_a_stopped_result_says_so_everywhere(result, tmp_path):
    stopped = dataclasses.replace(result, rounds=210, horizon=3_000_000)
    mark = "stopped after round 210 of 3,000,000"
    stopped.save(tmp_path / "stopped.npz")
    for text in (repr(Result.load(tmp_path / "stopped.npz")), str(stopped), stopped._repr_html_()):
        assert mark in text
    for draw, asked in (
        (plotting.plot_regret, {}),
        (plotting.plot_pulls, {"label": "u"}),
        (plotting.plot_best_arm_share, {}),
        (plotting.plot_distribution, {}),
        (plotting.plot_batches, {"label": "u", "batch": 5}),
        (plotting.plot_parameter, {"values": [1.0, 2.0], "labels": ["kl"]}),
    ):
        ax = draw(stopped, ax=plt.figure().add_subplot(), **asked)
        assert ax.get_title().endswith(f"\n{mark}")
    assert not any("stopped" in text for text in (repr(result), str(result), result._repr_html_()))


def test_metrics_against_loops(result):
    for label, variants in (("kl", 2), ("u", 1)):
        regret, realised = metrics.pseudo_regret(result, label), metrics.realised_regret(result, label)
        share, linear = metrics.best_share(result, label), metrics.linear_share(result, label)
        recent = metrics.best_share(result, label, recent=True)
        assert regret.dtype == np.float64 and regret.shape == (2, variants, 30, 4)
        for c, v in np.ndindex(2, variants):
            stuck, means, best = 0, (ARMS, OTHER)[c].means(), (0, 1)[c]
            for r in range(30):
                before, since = np.zeros((3, 2)), 0
                for i, t in enumerate((10, 90, 110, 200)):
                    counts = result.visits[label][c, v, r, i]
                    assert abs(regret[c, v, r, i] - counts.sum(1) @ (means.max() - means)) < 1e-10
                    assert abs(realised[c, v, r, i] - (t * means.max() - (counts @ (-1, 2)).sum())) < 1e-10
                    assert share[c, v, r, i] == counts[best].sum() / t
                    assert recent[c, v, r, i] == (counts - before)[best].sum() / (t - since)
                    before, since = counts, t
                half = result.visits[label][c, v, r, 3] - result.visits[label][c, v, r, 1]
                stuck += half.sum() - half[best].sum() >= 0.1 * 110
            assert linear[c, v] == stuck / 30
    difference = metrics.pseudo_regret(result, "kl")[..., -1] - metrics.pseudo_regret(result, "u")[..., -1]
    np.testing.assert_array_equal(metrics.paired_difference(result, "kl", "u"), difference)
    two, means = simulate(ARMS, {"u": Uniform()}, runs=5, horizon=100, plays=2, times=[100]), ARMS.means()
    earned = (two.visits["u"].sum(-1)[0, 0, :, 0] * means).sum(-1)
    expected = 100 * np.sort(means)[-2:].sum() - earned
    np.testing.assert_allclose(metrics.pseudo_regret(two, "u")[0, 0, :, 0], expected, atol=1e-9)


@pytest.mark.slow
def test_regret_against_the_best_constant_action(result):
    """On both kinds of processes, with f(a) by powers of the matrix and by the sum over an episode."""
    for steps in (None, 4):
        river = jaxbandit.environments.riverswim(3, steps=steps)
        played = simulate(river, {"u": Uniform()}, runs=4, horizon=40, times=[8, 40])
        best = -np.inf
        for rows, paid in zip(river.transition, river.reward):
            law, total = river.initial, 0.0
            for _ in range(steps or 4096):
                total, law = total + law @ paid, law @ rows
            best = max(best, law @ paid if steps is None else total / steps)
        expected = np.array([8, 40]) * best - (played.visits["u"][0, 0] * np.asarray(river.reward)).sum((-2, -1))
        np.testing.assert_allclose(metrics.constant_regret(played, "u")[0, 0], expected, atol=1e-9)
    with pytest.raises(ValueError, match="^result: constant_regret is for decision processes, and .* of rested arms"):
        metrics.constant_regret(result, "u")


def test_variants_are_paired_in_order_or_with_a_single_one():
    three = made_up([[30, 34], [10, 12], [20, 28]], ("a",))
    both = dataclasses.replace(three, visits=three.visits | made_up([[4, 5]], ("b",)).visits)
    expected = [[[26, 29], [6, 7], [16, 23]]]
    assert metrics.paired_difference(both, "a", "b").tolist() == expected
    assert (-metrics.paired_difference(both, "b", "a")).tolist() == expected
    paired = metrics.paired_difference(both, "a", "b")
    low, high = stats.t.interval(0.95, 1, 27.5, stats.sem([26, 29]))
    first, *others = str(paired).splitlines()
    assert first == f"[0, 0]: mean 27.5 (95 % interval {low:.4g} to {high:.4g}) of 2 runs" and len(others) == 2
    assert (repr(paired[0, 0]), repr(paired[..., 1:])) == (first[8:], repr(np.array(paired[..., 1:])))
    assert type(paired + 1) is type(paired.mean(-1)) is np.ndarray and type(paired.mean()) is np.float64
    two = dataclasses.replace(three, visits=three.visits | {"b": three.visits["a"][:, :2]})
    with pytest.raises(ValueError, match="other: 3 and 2 variants cannot be paired"):
        metrics.paired_difference(two, "a", "b")


def test_summary():
    values = np.random.default_rng(0).exponential(size=(3, 400))
    s = metrics.summary(values)
    interval = stats.t.interval(0.95, 399, values.mean(1), stats.sem(values, axis=1))
    np.testing.assert_allclose([s.low, s.high], interval)
    np.testing.assert_allclose([s.median, s.quantile_99], np.quantile(values, (0.5, 0.99), axis=1))
    np.testing.assert_allclose(s.worst, np.sort(values)[:, -20:].mean(1))
    assert np.isnan(metrics.summary(np.ones(1)).low)


def test_the_interval_of_a_median():
    """Order statistics 14 and 27 of 40 cover with 1 - 2 P(Binomial(40, 1/2) <= 13), the next pair too seldom."""
    exact, narrower = (1 - 2 * stats.binom.cdf(below, 40, 0.5) for below in (13, 14))
    assert narrower < 0.95 <= exact
    low, high = metrics.median_interval(np.random.default_rng(1).permutation([np.arange(40.0), np.ones(40)], axis=1))
    assert (low.tolist(), high.tolist()) == ([13, 1], [26, 1])
    assert np.isinf(metrics.median_interval(np.arange(5.0))[0])


def test_pictures(result):
    _, axes = plt.subplots(1, 3)
    before = dict(plt.rcParams)
    ax = plotting.plot_regret(result, ["kl"], quantiles=(0.9,), ax=axes[0])
    assert ax is axes[0] and ax.get_xscale() == "log" and ax.get_xlabel() and ax.get_ylabel()
    regret = metrics.pseudo_regret(result, "kl")[0, 0]
    np.testing.assert_array_equal(ax.lines[0].get_xydata().T, [result.times, regret.mean(0)])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), np.quantile(regret, 0.9, axis=0))
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), metrics.pseudo_regret(result, "kl")[0, 1].mean(0))
    ax = plotting.plot_pulls(result, "kl", ax=axes[1])
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), result.visits["kl"][0, 0].sum(-1).mean(0)[:, 2])
    for cumulative in (False, True):
        ax = plotting.plot_best_arm_share(result, ["u"], cumulative=cumulative, ax=plt.figure().add_subplot())
        share = metrics.best_share(result, "u", recent=not cumulative)[0, 0]
        np.testing.assert_array_equal(ax.lines[0].get_xydata().T, [result.times, share.mean(0)])
        assert ax.get_ylim()[0] == 0 and ax.get_ylabel().startswith("plays of the best arm")
    ax = plotting.plot_distribution(result, ax=axes[2])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.sort(regret[:, -1]))
    shares = dict(zip(*(line[::-1] for line in ax.lines[0].get_data())))  # the first share of a regret is the last here
    assert shares == pytest.approx({x: (regret[:, -1] >= x).mean() for x in regret[:, -1]})
    assert ax.get_yscale() == "log" and [text.get_text() for text in ax.get_legend().get_texts()] == [*KL, "u"]
    assert dict(plt.rcParams) == before


def test_a_long_legend_hides_no_curve():
    """Nine curves, alone and in panels without a layout: below the axes, and within the figure."""
    nine = made_up([[1, 20, 300]], [f"policy {n}" for n in range(9)])
    for columns in (1, 2):
        figure, axes = plt.subplots(1, columns, squeeze=False)
        for ax in axes.flat:
            plotting.plot_distribution(nine, ax=ax)
        figure.canvas.draw()
        for ax in axes.flat:
            box, label = ax.get_legend().get_window_extent(), ax.xaxis.label.get_window_extent()
            assert figure.bbox.y0 <= box.y0 and box.y1 < label.y0
            assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1


def test_names_are_drawn_letter_by_letter(result, monkeypatch):
    """In legends, titles, on axes and in cells, of whatever plot; Matplotlib draws no mathematics."""
    name = r"_$\foo$, $5 to $10 \$x$ ^_{"
    visits = {name: result.visits["kl"], "b": result.visits["u"]}
    played = dataclasses.replace(result, visits=visits, scenarios=(f"arms {name}", "b"), provenance={})
    monkeypatch.setattr(MathTextParser, "parse", None)
    figure, axes = plt.subplots(1, 6)
    plotting.plot_regret(played, ax=axes[0])
    plotting.plot_distribution(played, ax=axes[1])
    plotting.plot_pulls(played, name, ax=axes[2])
    plotting.plot_batches(played, name, 2, ax=axes[3])
    plotting.plot_parameter(played, [1, 2], name, parameter=name, lines=[name, "a"], ax=axes[4])
    plotting.plot_heatmap([[1, 2]], [name], [name, name], label=name, ax=axes[5])
    assert [len(ax.get_legend().get_texts()) for ax in axes[:5]] == [3, 3, 3, 2, 2]
    figure.savefig(io.BytesIO())
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    texts = [text.replace("\n", " ").replace(r"\$", "$") for text in texts]
    assert sum(f"arms {name}" in text for text in texts) == 5
    assert sum(name in text for text in texts) == 5 + 2 * 2 + 2 + 4  # titles, legends, what the last two have


@pytest.mark.parametrize("inches", [1.3, 2.2, 3, 8])
def test_titles_fit_their_panels(inches, result):
    """They are in smaller letters before they break, at the end of a clause where there is one."""
    figure = plt.figure(figsize=(inches, 2))
    ax = plotting.plot_regret(result, quantiles=(0.9,), ax=figure.add_axes((0, 0, 1, 0.5)))
    assert ax.title.get_window_extent(figure.canvas.get_renderer()).width <= 1.02 * figure.bbox.width
    lines = ax.get_title().split("\n")
    assert " ".join(lines) == "a: mean of 30 runs, 95 % interval; dashed: 90 % quantile"
    assert (len(lines) == 1) == (inches == 8) and (inches < 2 or all(line[-1] in ",;e" for line in lines))


def test_each_picture_has_axes_of_its_own(result):
    """Without `ax`, one after the other; the user's new figure is used; errors leave none."""
    for draw in (lambda: plotting.plot_regret(result), lambda: plotting.plot_heatmap(np.eye(2), [0, 1], [2, 3])):
        first, second = draw(), draw()
        assert first is not second and first.figure is not second.figure
        mine = plt.figure(figsize=(7, 2))
        assert draw().figure is mine
    plt.close("all")
    with pytest.raises(ValueError, match="bounds"):
        plotting.plot_regret(result, bounds=[3])
    assert not plt.get_fignums()


def test_scenarios_labels_and_variants_that_are_asked_for(result):
    """A name draws what a position does; a policy of one variant is drawn whatever the variant."""
    for draw in (plotting.plot_regret, plotting.plot_distribution, plotting.plot_pulls, plotting.plot_batches):
        asked = {"batch": 10} if draw is plotting.plot_batches else {}
        by_name, by_place = draw(result, "kl", scenario="b", **asked), draw(result, "kl", scenario=1, **asked)
        assert by_name.get_title() == by_place.get_title() and by_name.get_title().startswith("b: ")
        np.testing.assert_array_equal(by_name.lines[0].get_xydata(), by_place.lines[0].get_xydata())
        draw(result, "u", variant=1, **asked)
        with pytest.raises(ValueError, match="variant: 2; 'kl' has variants 0 to 1"):
            draw(result, "kl", variant=2, **asked)
        if draw in (plotting.plot_pulls, plotting.plot_batches):  # of one variant of two, which the title names
            assert f"{KL[1]}, " in draw(result, "kl", variant=1, **asked).get_title()
    with pytest.raises(ValueError, match="scenario: 'third' is not in the result; it has a, b"):
        plotting.plot_regret(result, scenario="third")
    texts = plotting.plot_distribution(result, variant=1).get_legend().get_texts()
    assert [text.get_text() for text in texts] == [KL[1], "u"]


def test_regret_against_a_number():
    regret = np.array([[30, 34], [10, 12], [20, 28], [1, 3]])
    result = made_up(regret, ("a", "b"))
    _, (left, right) = plt.subplots(1, 2)
    how = {"parameter": "scale", "quantiles": (0.9,), "axis": "log", "logarithmic": True}
    ax = plotting.plot_parameter(result, [4, 1, 2, 0.5], **how, ax=left)
    assert ax is left and ax.get_xscale() == "log" and ax.get_yscale() == "log" and ax.get_xlabel() == "scale"
    np.testing.assert_array_equal(ax.lines[0].get_xydata().T, [[0.5, 1, 2, 4], [2, 11, 24, 32]])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [2.8, 11.8, 27.2, 33.6])
    s, band = metrics.summary(regret[[3, 1, 2, 0]]), ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {round(height, 6) for height in band} == {round(end, 6) for end in (*s.low, *s.high)}
    ax = plotting.plot_parameter(result, [1, 2, 1, 2], ["a"], lines=["x", "x", "y", "y"], ax=right)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x", "y"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [24, 2])
    for options, words in (
        ({"values": [1, 2]}, "values: 2 of them; 'a' has 4 variants"),
        ({"values": [0, 1, 2, 3], "axis": "log"}, "values: .*positive on a logarithmic axis"),
    ):
        with pytest.raises(ValueError, match=words):
            plotting.plot_parameter(result, **options, ax=left)


def test_batches_of_runs():
    regret = np.array([[20, 22, 3, 5, 30, 10, 11, 13, 900]])  # the last run is not of a whole batch
    result = made_up(regret)
    ax = plotting.plot_batches(result, "a", batch=2)
    line, whole = ax.lines
    np.testing.assert_array_equal(line.get_xdata()[np.argsort(line.get_ydata())], [1, 2, 3, 4])
    np.testing.assert_array_equal(line.get_ydata(), [21, 4, 20, 12])
    assert whole.get_ydata()[0] == regret.mean()
    s = metrics.summary(np.reshape(regret[0, :8], (4, 2)))
    missed = (s.high < regret.mean()) | (s.low > regret.mean())
    assert missed.tolist() == [True, True, False, True]
    for segments, which in zip(ax.collections, (~missed, missed), strict=True):
        ends = [sorted(segment[:, 1]) for segment in segments.get_segments()]
        np.testing.assert_allclose(ends, np.stack([s.low, s.high], axis=1)[which])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1: holds the mean of all", "3: misses it"]
    for batch in (1, 10):
        with pytest.raises(ValueError, match="batch: .*2 to 9"):
            plotting.plot_batches(result, "a", batch, ax=ax)


def test_equal_means_are_all_best(result):
    """1/6 twice, from other probabilities, differs in the last bit; both arms are best."""
    means = np.append(two_state([0.05, 0.15], [0.25, 0.75]).means(), 0.1)
    assert means[0] != means[1]
    for arm in (0, 1):
        counts = np.zeros_like(result.visits["u"])
        counts[..., arm, 0] = result.times
        always = dataclasses.replace(result, visits={"u": counts}, means=np.stack([means] * 2))
        assert (metrics.best_share(always, "u")[..., -1] == 1).all() and (metrics.linear_share(always, "u") == 0).all()


def test_labels_and_empty_results_are_refused(result):
    with pytest.raises(ValueError, match="label: 'zz'"):
        metrics.pseudo_regret(result, "zz")
    empty = dataclasses.replace(result, times=result.times[:0], visits={"u": result.visits["u"][:, :, :, :0]})
    with pytest.raises(ValueError, match="result: stopped before its first recorded round"):
        metrics.linear_share(empty, "u")
    for save in (result.save, result.to_netcdf):
        with pytest.raises(FileNotFoundError, match="no such folder"):
            save("/no/such/folder/r.npz")
    with pytest.raises(ValueError, match="result: it has one scenario"):
        metrics.bayes_regret(made_up([[1, 2]]), "a")
    with pytest.raises(ValueError, match="result: all scenarios have common random numbers"):
        metrics.bayes_regret(result, "u")


def test_variants_are_curves_of_their_own(result):
    """Each with its own numbers, the values that differ in the legend, and another shade of its policy's colour."""
    two, one = result.visits.values()
    visits = {"E": np.concatenate([two, one], axis=1), "U": one}
    values = {"gamma": [0.5, 1.0, 0.7], "alpha": [0.2, 0.2, 0.3], "horizon": [9, 9, 9]}
    told = {"E": {"class": "Exp3S", "hyperparameters": values}, "U": {"class": "Uniform", "hyperparameters": {}}}
    result = dataclasses.replace(result, visits=visits, provenance={"policies": told})
    names = ["E, gamma=0.5, alpha=0.2", "E, gamma=1, alpha=0.2", "E, gamma=0.7, alpha=0.3", "U"]
    alike = dataclasses.replace(result, visits={"E": result.visits["E"]}, provenance={})  # files without values
    _, (left, right) = plt.subplots(1, 2)
    plotting.plot_regret(result, ax=left)
    plotting.plot_distribution(result, ax=right)
    regret = [metrics.regret(result, "E")[0, v] for v in range(3)] + [metrics.regret(result, "U")[0, 0]]
    for ax in (left, right):
        assert [text.get_text() for text in ax.get_legend().get_texts()] == names
        colours = np.array([to_rgb(line.get_color()) for line in ax.lines])
        assert len(np.unique(colours, axis=0)) == 4 and (np.diff(lightness(colours[:3])) > 15).all()
        assert len({line.get_marker() for line in ax.lines[:3]}) == 1 != ax.lines[3].get_marker()
        assert len({line.get_linestyle() for line in ax.lines[:3]}) == 3
    for line, step, item in zip(left.lines, right.lines, regret, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), item.mean(0))
        np.testing.assert_array_equal(step.get_xdata(), np.maximum(np.sort(item[:, -1]), 0.1))
    left.clear()
    plotting.plot_regret(alike, ax=left)
    assert [text.get_text() for text in left.get_legend().get_texts()] == [f"E, variant {v}" for v in range(3)]


def lightness(colours):
    """CIE L* of sRGB colours [.., 3], from 0 to 100: what is left of them in grey."""
    linear = np.where((x := np.asarray(colours)) <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    return np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)


def test_curves_can_be_told_apart_in_grey():
    """Twelve policies: drawn alone and in grey, as in a legend, any two are different pictures."""
    _, ax = plt.subplots()
    plotting.plot_distribution(made_up([[1, 2, 3]], [f"policy {n}" for n in range(12)]), ax=ax)
    keys = []
    for line in ax.lines:
        figure = plt.figure(figsize=(0.5, 0.15), dpi=200)
        style = {field: getattr(line, f"get_{field}")() for field in ("color", "linestyle", "marker", "markersize")}
        figure.add_artist(Line2D([0.05, 0.5, 0.95], [0.5] * 3, markevery=[1], **style))
        figure.canvas.draw()
        keys.append(lightness(np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255))
    plt.close("all")
    for one, other in itertools.combinations(keys, 2):
        assert (np.abs(one - other) > 15).sum() > 50  # dots, of 500 that a key has


def rows(page, caption):
    """The cells of a table, row by row."""
    table = page[page.index(caption) :].split("</table>")[0]
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    return [[unescape(cell) for cell in row] for row in cells]


def test_regret_is_that_of_the_metrics(result):
    """Of every scenario, policy and variant, in the table of a notebook, where names are escaped, and as text."""
    result = renamed(result, (LABEL, "U"), scenarios=("<script>", "b"))
    page = result._repr_html_()
    assert "<script>" not in page and "<i>" not in page
    assert page.count("<table>") == page.count("</table>") == 3
    assert "http" not in page and "color:" not in page.replace("color: inherit", "")
    table = rows(page, "Pseudo-regret after round 200")[1:]
    lines = str(result).splitlines()[2:]
    expected = [(c, label, v) for c in range(2) for label, n in ((LABEL, 2), ("U", 1)) for v in range(n)]
    assert [(row[0], row[1]) for row in table] == [(result.scenarios[c], label) for c, label, _ in expected]
    assert [row[2] for row in table] == ["exploration=0", "exploration=3", ""] * 2
    for row, line, (c, label, v) in zip(table, lines, expected, strict=True):
        final = metrics.pseudo_regret(result, label)[c, v, :, -1]
        summary = metrics.summary(final)
        low, high = row[4].split(" to ")
        view = [float(cell.replace(",", "")) for cell in (row[3], low, high, row[5], row[6])]
        expected = [getattr(summary, name) for name in "mean low high median worst".split()]
        np.testing.assert_allclose(view, expected, 0.01)
        mean, error = (float(number) for number in re.findall(r"([0-9.]+) ± ([0-9.]+)", line)[0])
        np.testing.assert_allclose([mean, error], [final.mean(), final.std(ddof=1) / 30**0.5], rtol=0.006)


def test_print_fits_the_terminal(result, monkeypatch):
    """Words are whole at any width, `repr` is a line at any; regret that is but the rounding of a sum is 0."""
    labels = ["a policy with quite a long name", "another one, which is longer"]
    played = renamed(result, labels, scenarios=("one of the scenarios", "the other one"))
    words = str(played).split()
    for columns in (50, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert max(map(len, str(played).splitlines())) <= columns and str(played).split() == words
        assert len(repr(played).splitlines()) == 1
    best = np.zeros_like(played.visits[labels[0]])
    for scenario, arm in enumerate(played.means.argmax(-1)):
        best[scenario, ..., arm, 0] = played.times
    always = dataclasses.replace(played, visits={"best": best}, comparator=played.means.max(-1) * (1 + 3e-16))
    assert 0 < metrics.pseudo_regret(always, "best").max() < 1e-13
    assert "0.00 ± 0.00" in str(always) and "e-" not in str(always)


def test_results_without_rounds_or_origin(result):
    none = dataclasses.replace(result, rounds=0, times=result.times[:0], visits={"u": result.visits["u"][:, :, :, :0]})
    assert "No round is recorded yet." in none._repr_html_() and "No round is recorded yet." in str(none)
    bare = dataclasses.replace(result, fingerprint={}, provenance={}, carry={})  # as files had it once
    assert "key unknown" in bare._repr_html_()


def test_standard_output_without_our_letters(result, monkeypatch):
    """ASCII, in print(result) and in a command: +- for ±, and escapes for letters of a label."""
    labelled = dataclasses.replace(result, visits={"Größe": result.visits["u"]})
    assert "Größe" in str(labelled) and " ± " in str(labelled)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    print(labelled)
    monkeypatch.setattr(policies, "one", lambda name: "the mean ± its error, Größe")
    entry.main(["policies", "UCB1"])
    assert written.getvalue().count(rb"Gr\xf6\xdfe") == 4 and written.getvalue().count(b" +- ") == 3


def test_much_is_cut_short():
    one = made_up([[1]] * 102)
    arms = {"means": np.tile(one.means, (9, 1)), "reward": np.tile(one.reward, (9, 1, 1))}
    visits = {"a": np.tile(one.visits["a"], (9, 1, 1, 1, 1, 1))}
    result = dataclasses.replace(one, scenarios=tuple("abcdefghi"), visits=visits, **arms)
    table = rows(result._repr_html_(), "Pseudo-regret")
    assert len(table) == 1 + 27 and "27 of 918 rows are shown." in result._repr_html_()
    assert table[1][4] == ""  # one run has no interval
    assert len(str(result).splitlines()) < 40


def test_names_values_and_attributes(result):
    """Hyper-parameters are coordinates, but not the oracle's number with the name of another one."""
    oracle = {"class": "Oracle", "hyperparameters": {"means": [[0.0, 1.0, 0.3]]}}
    told = result.provenance | {"policies": result.provenance["policies"] | {"u": oracle}}
    dataset = dataclasses.replace(result, provenance=told).to_xarray()
    np.testing.assert_array_equal(dataset.exploration, [0.0, 3.0, np.nan])
    assert dataset.clock.values.tolist() == ["round", "round", ""]
    assert json.loads(dataset.attrs["policies"])["u"] == oracle
    assert dataset.means.dims == ("scenario", "arm") and result.hyperparameters("kl")["exploration"] == [0.0, 3.0]
    assert dataset.visits.dims == ("scenario", "policy", "run", "time", "arm", "state")
    assert dataset.regret.dims == dataset.visits.dims[:4]
    assert dataset.visits.dtype == np.int32 and dataset.regret.dtype == np.float64
    expected = {"scenario": ["a", "b"], "policy": ["kl", "kl", "u"], "variant": [0, 1, 0], "run": [*range(3, 33)]}
    for name, values in (expected | {"time": [10, 90, 110, 200], "arm": [0, 1, 2], "state": [0, 1]}).items():
        assert dataset[name].values.tolist() == values
    for label in result.labels:
        rows = dataset.isel(policy=dataset.policy.isin([label]))
        np.testing.assert_array_equal(rows.visits, result.visits[label])
        np.testing.assert_array_equal(rows.regret, metrics.pseudo_regret(result, label))
    np.testing.assert_array_equal(dataset.means, result.means)
    np.testing.assert_array_equal(dataset.reward, result.reward)
    alone = dataclasses.replace(result, visits={"u": result.visits["u"]}).to_xarray()
    assert not np.shares_memory(alone.visits.values, result.visits["u"])
    assert [dataset.attrs[name] for name in ("horizon", "rounds", "plays")] == [200, 200, 1]
    assert dataset.attrs["jaxbandit_version"] == jaxbandit.__version__ and "jax_version" in dataset.attrs
    assert dataset.attrs["key"].tolist() == result.asked["key"]
    assert json.loads(dataset.attrs["fingerprint"]) == result.fingerprint
    stopped = dataclasses.replace(result, horizon=300).to_xarray()
    assert stopped.attrs["stopped"] == "stopped after round 200 of 300" and "stopped" not in dataset.attrs


@pytest.mark.slow
def test_netcdf_files_give_back_everything(result, tmp_path):
    empty = dataclasses.replace(result, times=result.times[:0], visits={"u": result.visits["u"][:, :, :, :0]})
    for inputs in (result, empty, dataclasses.replace(result, fingerprint={}, provenance={})):
        inputs.to_netcdf(tmp_path / "result.nc")
        wanted = inputs.to_xarray()
        answer = xarray.load_dataset(tmp_path / "result.nc")
        xarray.testing.assert_identical(answer, wanted)
        assert {n: v.dtype for n, v in answer.variables.items()} == {n: v.dtype for n, v in wanted.variables.items()}
        assert {n: type(v) for n, v in answer.attrs.items()} == {n: type(v) for n, v in wanted.attrs.items()}
        assert set(answer.indexes) == set(wanted.indexes)
    assert [path.name for path in tmp_path.iterdir()] == ["result.nc"]


@pytest.mark.slow
def test_a_grid_is_one_dataset(tmp_path):
    """Every number is the one of its case, whatever else the folder's results hold; policies have their numbers."""

    def case(scale, arms):
        kl = [KLUCB(exploration=scale * e) for e in (0.1, 0.3)]
        asked = {"policies": {"KL": kl, "U": Uniform()}, "runs": 3, "horizon": 20, "times": [10, 20]}
        return {"scenarios": two_state([0.5, arms], [0.4, 0.55]), **asked}

    axes = {"scale": [0.5, 2.0, 1.0], "arms": [0.1, 0.4]}
    results = sweep(jaxbandit.grid(case, **axes) | {"other": case(1.0, 0.2)}, tmp_path, progress=False)
    data = jaxbandit.to_xarray(dict(reversed(results.items())), **axes)
    assert data.visits.dims == ("scale", "arms", "scenario", "policy", "run", "time", "arm", "state")
    assert data.visits.dtype == np.int32 and data.scale.values.tolist() == [0.5, 2.0, 1.0]
    assert data.policy.values.tolist() == ["KL", "KL", "U"] and data.clock.values.tolist() == ["round", "round", ""]
    np.testing.assert_array_equal(data.exploration.sel(scale=2.0), [0.2, 0.6, np.nan])
    for scale in axes["scale"]:
        for p in axes["arms"]:
            alone, here = results[f"scale={scale}, arms={p}"], data.sel(scale=scale, arms=p)
            np.testing.assert_array_equal(here.means, alone.means)
            for label in alone.labels:
                rows = here.isel(policy=here.policy.isin([label]))
                np.testing.assert_array_equal(rows.visits, alone.visits[label])
                np.testing.assert_array_equal(rows.regret, metrics.regret(alone, label))
    assert data.attrs["horizon"] == 20 and "fingerprint" not in data.attrs  # which differ


@pytest.mark.slow
def test_a_grid_of_things_is_named_by_their_texts():
    """Policies as values; one axis; a number that changes with the axis stays beside it."""
    axes = {"policy_": [KLUCB(), KLUCB(exploration=3.0)]}
    size = {"scenarios": ARMS, "runs": 2, "horizon": 9}
    cases = jaxbandit.grid(lambda policy_: size | {"policies": {"P": policy_}}, **axes)
    data = jaxbandit.to_xarray({name: simulate(**case) for name, case in cases.items()}, **axes)
    assert data.policy_.values.tolist() == [repr(policy) for policy in axes["policy_"]] and data.sizes["policy_"] == 2
    horizons = {f"horizon={h}": simulate(ARMS, {"P": KLUCB()}, runs=2, horizon=h) for h in (10, 20)}
    for inputs, wrong, words in (
        ({}, {"horizon": [10]}, "results: there is no case 'horizon=10'; it has "),
        (horizons, {"horizon": [10, 20]}, "results: the cases along horizon differ in more than it: .*time"),
        (horizons, {"run": [1]}, "run: every result has an axis"),
    ):
        with pytest.raises(ValueError, match=words):
            jaxbandit.to_xarray(inputs, **wrong)
    axes = {"scale": np.arange(0.6, 0.9, 0.1), "played": [1, 2]}  # 0.7999999999999999; the name of a recorder
    played = simulate(ARMS, {"U": Uniform()}, runs=2, horizon=9, record={"played": lambda arms, policy, t: t})
    data = jaxbandit.to_xarray(dict.fromkeys(jaxbandit.grid(lambda **_: {}, **axes), played), **axes)
    assert data.scale.values.tolist() == axes["scale"].tolist() and "recorded_played" in data.data_vars
    assert jaxbandit.to_xarray({"": horizons["horizon=10"]}).identical(horizons["horizon=10"].to_xarray())


@pytest.mark.parametrize("package", ["xarray", "h5netcdf"])
def test_a_package_that_is_missing_is_named(result, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=package + r' is not installed; pip install -e "\.\[xarray\]"'):
        result.to_netcdf(tmp_path / "result.nc")
    assert not list(tmp_path.iterdir())
