"""`jaxbandit judge` of policies that stop: what is printed is what the runs did."""

import csv

import numpy as np
import pytest

import jaxbandit
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


def test_answers_are_judged(there, capsys):
    """An independent rule on chains: wrong answers, the worst problems, and the same from the folder."""
    judge.run(Settings(policies=(RULE,), **TINY))
    printed = capsys.readouterr().out
    (row,) = rows_of(there / "out" / "answers_1.csv")
    assert row["runs"] == f"{6 * 48}" and row["delta"] == "0.1" and int(row["wrong"]) > 0.1 * 6 * 48
    worst = rows_of(there / "out" / "wrong_1_1.csv")
    assert len(worst) == 2 and worst[0]["more than accepted"] == "certain"
    arms = eval(worst[0]["code"], {"jaxbandit": jaxbandit})
    policy = eval(RULE, vars(jaxbandit.policies))
    result = jaxbandit.simulate(
        arms, {"p": policy}, until="stopped", runs=200, horizon=400, progress=False, times=[400]
    )
    share = ((result.stopped["p"] > 0) & (result.answers["p"] != np.argmax(arms.means()))).mean()
    assert abs(share - int(worst[0]["wrong"]) / 40) < 5 * np.sqrt(0.25 / 40 + 0.25 / 200)
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
