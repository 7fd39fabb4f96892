"""What a result shows of itself: the metrics' numbers, escaped, and short whatever was played."""

import io
import re
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from jaxbandit import UCB1, UCBSM, Uniform, metrics, simulate, two_state
from jaxbandit.commands import entry, policies

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
LABEL = "<i>UCB1</i> & co"


@pytest.fixture(scope="module")
def result():
    policies = {LABEL: [UCB1(bonus=0.5), UCB1(bonus=2.0)], "U": Uniform()}
    return simulate({"<script>": ARMS, "b": ARMS}, policies, runs=40, horizon=200, times=[100, 200])


def rows(page, caption):
    """The cells of a table, row by row."""
    table = page[page.index(caption) :].split("</table>")[0]
    cells = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    return [[unescape(cell) for cell in row] for row in cells]


@pytest.mark.slow
def test_regret_is_that_of_the_metrics(result):
    """Of every scenario, policy and variant, in the table of a notebook and as text."""
    table = rows(result._repr_html_(), "Pseudo-regret after round 200")[1:]
    lines = str(result).splitlines()[2:]
    expected = [(c, label, v) for c in range(2) for label, n in ((LABEL, 2), ("U", 1)) for v in range(n)]
    assert [(row[0], row[1]) for row in table] == [(result.scenarios[c], label) for c, label, _ in expected]
    assert [row[2] for row in table] == ["bonus=0.5", "bonus=2", ""] * 2
    for row, line, (c, label, v) in zip(table, lines, expected, strict=True):
        final = metrics.pseudo_regret(result, label)[c, v, :, -1]
        summary = metrics.summary(final)
        low, high = row[4].split(" to ")
        view = [float(cell.replace(",", "")) for cell in (row[3], low, high, row[5], row[6])]
        expected = [getattr(summary, name) for name in "mean low high median worst".split()]
        np.testing.assert_allclose(view, expected, 0.01)
        mean, error = (float(number) for number in re.findall(r"([0-9.]+) ± ([0-9.]+)", line)[0])
        np.testing.assert_allclose([mean, error], [final.mean(), final.std(ddof=1) / 40**0.5], rtol=0.006)


def test_print_fits_the_terminal(monkeypatch):
    """Words are whole at any width, `repr` is a line at any; regret that is but the rounding of a sum is 0."""
    labels = ["a policy with quite a long name", "another one, which is longer"]
    played = simulate({"one of the scenarios": ARMS}, dict.fromkeys(labels, Uniform()), runs=3, horizon=20)
    words = str(played).split()
    for columns in (50, 80):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert max(map(len, str(played).splitlines())) <= columns and str(played).split() == words
        assert len(repr(played).splitlines()) == 1
    best = np.zeros_like(played.visits[labels[0]])
    best[..., played.means.argmax(), 0] = played.times
    always = replace(played, visits={"best": best}, comparator=played.means.max(-1) * (1 + 3e-16))
    assert 0 < metrics.pseudo_regret(always, "best").max() < 1e-13
    assert "0.00 ± 0.00" in str(always) and "e-" not in str(always)


def test_labels_are_escaped(result):
    page = result._repr_html_()
    assert "<script>" not in page and "<i>" not in page
    assert page.count("<table>") == page.count("</table>") == 3
    assert "http" not in page and "color:" not in page.replace("color: inherit", "")


def test_stopped_results(result):
    assert "stopped after round 200 of 1,000" in replace(result, horizon=1000)._repr_html_()
    none = replace(result, rounds=0, times=result.times[:0], visits={"U": result.visits["U"][:, :, :, :0]})
    assert "No round is recorded yet." in none._repr_html_() and "No round is recorded yet." in str(none)
    bare = replace(result, fingerprint={}, provenance={}, carry={})  # as files had it once
    assert "key unknown" in bare._repr_html_()


def test_standard_output_without_our_letters(result, monkeypatch):
    """ASCII, in print(result) and in a command: +- for ±, and escapes for letters of a label."""
    labelled = replace(result, visits={"Größe": result.visits["U"]})
    assert "Größe" in str(labelled) and " ± " in str(labelled)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii"))
    print(labelled)
    monkeypatch.setattr(policies, "one", lambda name: "the mean ± its error, Größe")
    entry.main(["policies", "UCB1"])
    assert written.getvalue().count(rb"Gr\xf6\xdfe") == 4 and written.getvalue().count(b" +- ") == 3


@pytest.mark.slow
def test_much_is_cut_short():
    policies = {"U": Uniform(), "many": [UCBSM(L=L) for L in np.linspace(0.0, 1.0, 101)]}
    result = simulate({f"s{i}": ARMS for i in range(9)}, policies, runs=1, horizon=20)
    table = rows(result._repr_html_(), "Pseudo-regret")
    assert len(table) == 1 + 27 and "27 of 918 rows are shown." in result._repr_html_()
    assert table[1][4] == ""  # one run has no interval
    assert len(str(result).splitlines()) < 40
