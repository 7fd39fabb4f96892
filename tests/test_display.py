"""What a result shows of itself: the metrics' numbers, escaped, and short whatever was played."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import jaxbandit
from jaxbandit import TVKLUCB, UCBSM, Uniform, metrics, simulate, two_state

ARMS = two_state([0.5, 0.4, 0.3], [0.4, 0.55, 0.65])
LABEL = "<i>TV</i> & co"


@pytest.fixture(scope="module")
def result():
    policies = {LABEL: [TVKLUCB(scale=0.5), TVKLUCB(scale=2.0)], "U": Uniform()}
    return simulate({"<script>": ARMS, "b": ARMS}, policies, runs=1200, horizon=200, times=[100, 200])


def rows(page, caption):
    """The cells of a table, row by row."""
    table = page[page.index(caption) :].split("</table>")[0]
    found = [re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]
    return [[unescape(cell) for cell in row] for row in found]


def test_one_line(result):
    played = f"<script>, b; {LABEL} (2 variants), U; 1,200 runs, 200 rounds, 1 play a round; 346 kB of counts"
    assert repr(result).startswith(f"Result({played} and ") and len(repr(result).splitlines()) == 1
    assert "1,200 runs, stopped after round 50 of 200" in repr(replace(result, rounds=50))


def test_print_shows_final_regret():
    """A line for each variant: mean and standard error by NumPy alone."""
    policies = {"TV": [TVKLUCB(scale=0.5), TVKLUCB(scale=2.0)], "Uniform": Uniform()}
    played = simulate({"first": ARMS, "b": ARMS}, policies, runs=40, horizon=100)
    line, caption, *lines = str(played).splitlines()
    assert line == repr(played) and caption == "Pseudo-regret after round 100, mean and its standard error"
    names = ["TV, scale=0.5", "TV, scale=2", "Uniform"]
    assert [text[:22].rstrip() for text in lines] == [f"{s:5}  {name}" for s in ("first", "b") for name in names]
    variants = [(c, *each) for c in (0, 1) for each in (("TV", 0), ("TV", 1), ("Uniform", 0))]
    for text, (c, label, v) in zip(lines, variants, strict=True):
        final = metrics.pseudo_regret(played, label)[c, v, :, -1]
        mean, error = (float(each) for each in text[22:].split(" ± "))
        np.testing.assert_allclose([mean, error], [final.mean(), final.std(ddof=1) / 40**0.5], rtol=0.006)
    assert "±" not in str(simulate(ARMS, {"U": Uniform()}, runs=1, horizon=20))
    none = replace(played, rounds=0, times=played.times[:0], visits={"Uniform": played.visits["Uniform"][:, :, :, :0]})
    assert str(none).endswith("\nNo round is recorded yet.")
    many = simulate(ARMS, {"many": [UCBSM(L=L) for L in np.linspace(0.0, 1.0, 101)]}, runs=2, horizon=20)
    assert len(str(many).splitlines()) == 33 and str(many).endswith("30 of 101 lines are shown.")


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


def test_facts(result):
    facts = dict(rows(result._repr_html_(), "Result"))
    assert facts["scenarios"] == "<script>, b; 3 arms of 2 states" and facts["runs"] == "1,200, numbers 0 to 1,199"
    assert facts["rounds"] == "200 rounds; 2 recorded, up to round 200" and facts["plays"] == "1 a round"
    assert facts["memory"].startswith("346 kB of counts") and f"jaxbandit {jaxbandit.__version__}" in facts["made with"]
    played = rows(result._repr_html_(), "Policies")
    assert (
        played[1][:2] == [LABEL, "TVKLUCB"] and "scale 0.5, 2; " in played[1][2] and "exponent 0.25; " in played[1][2]
    )


def test_regret_is_that_of_the_metrics(result):
    table = rows(result._repr_html_(), "Pseudo-regret after round 200")[1:]
    expected = [(c, label, v) for c in range(2) for label, n in ((LABEL, 2), ("U", 1)) for v in range(n)]
    assert [(row[0], row[1]) for row in table] == [(result.scenarios[c], label) for c, label, _ in expected]
    assert [row[2] for row in table] == ["scale=0.5", "scale=2", ""] * 2
    for row, (c, label, v) in zip(table, expected, strict=True):
        final = metrics.summary(metrics.pseudo_regret(result, label)[c, v, :, -1])
        low, high = row[4].split(" to ")
        shown = [float(cell.replace(",", "")) for cell in (row[3], low, high, row[5], row[6])]
        np.testing.assert_allclose(shown, [final.mean, final.low, final.high, final.median, final.worst], rtol=0.01)
        assert row[7] == f"{metrics.linear_share(result, label)[c, v]:.1%}"


def test_labels_are_escaped(result):
    page = result._repr_html_()
    assert "<script>" not in page and "<i>" not in page
    assert page.count("<table>") == page.count("</table>") == 3
    assert "http" not in page and "color:" not in page.replace("color: inherit", "")


def test_stopped_results(result):
    early = replace(result, horizon=1000)
    assert "stopped after round 200 of 1,000; 2 recorded, up to round 200; simulate" in early._repr_html_()
    none = replace(result, rounds=0, times=result.times[:0], visits={"U": result.visits["U"][:, :, :, :0]})
    assert "No round is recorded yet." in none._repr_html_() and "stopped after round 0 of 200" in repr(none)
    bare = replace(result, fingerprint={}, provenance={}, carry={})  # as files had it once
    assert "key unknown" in bare._repr_html_()
    assert [row[2] for row in rows(bare._repr_html_(), "Pseudo-regret")[1:4]] == ["variant 0", "variant 1", ""]


def test_much_is_cut_short():
    policies = {"U": Uniform(), "many": [UCBSM(L=L) for L in np.linspace(0.0, 1.0, 101)]}
    page = simulate({f"s{i}": ARMS for i in range(9)}, policies, runs=1, horizon=20)._repr_html_()
    assert "L 0, 0.01, 0.02, 0.03, 0.04, 0.05 and 95 more" in page and "s5 and 3 more" in page
    table = rows(page, "Pseudo-regret")
    assert len(table) == 1 + 27 and "27 of 918 rows are shown." in page
    assert table[-1][:3] == ["s8", "many", "L=0.01"]
    assert table[1][4] == ""  # one run has no interval
