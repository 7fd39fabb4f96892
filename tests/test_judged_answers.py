"""`jaxbandit judge` of policies that stop: what is printed is what the runs did."""

import csv

import pytest

from jaxbandit import stress
from jaxbandit.commands import judge
from jaxbandit.judging.judge_options import Settings

RULE = "Identify(RoundRobin(), BernoulliGLR(), 0.1)"
TINY = {"runs": 40, "horizon": 400, "problems": 6, "budget": 32, "number": 2, "out": "out"}


@pytest.fixture(autouse=True)
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_answers_are_judged(there, capsys, monkeypatch):
    """An independent rule on chains: wrong answers, the worst problems, and the same from the folder."""
    monkeypatch.setattr(stress.point_search, "RUNS_AGAIN", stress.point_search.RUNS)  # one program less
    judge.run(Settings(policies=(RULE,), **TINY))
    printed = capsys.readouterr().out
    (row,) = rows_of(there / "out" / "answers_1.csv")
    assert row["runs"] == f"{6 * 48}" and row["delta"] == "0.1" and int(row["wrong"]) > 0.1 * 6 * 48
    worst = rows_of(there / "out" / "wrong_1_1.csv")
    assert len(worst) == 2 and worst[0]["more than accepted"] == "certain"
    page = (there / "out" / "report.html").read_text()
    for words in ("It keeps the contract.", "It is wrong more often than it accepts", worst[0]["code"].split("(")[0]):
        assert words in printed and words in page
    judge.run(Settings(policies=(RULE,), **TINY))
    again = capsys.readouterr().out
    assert "continuing" in again and again.partition("Random problems")[2] == printed.partition("Random problems")[2]


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ((RULE, "UCB1()"), "UCB1.*: it does not stop with an error rate; judge it apart"),
        (("Identify(delta=3.0)",), "delta: 3.0"),
    ],
)
def test_what_cannot_be_judged_is_refused(policies, message):
    with pytest.raises(ValueError, match=message):
        judge.run(Settings(policies=policies, **TINY))
