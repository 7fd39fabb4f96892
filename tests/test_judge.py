"""The command that judges policies: policies from text, its tables against direct calls, whole judgements."""

import dataclasses
import sys
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from test_commands import rows_of

import jaxbandit
from jaxbandit import IMEDMC, KLUCB, PSRL, UCB1, LPPriority, Uniform, atlas, bounds, families, metrics, stress
from jaxbandit.command_line.options import from_command_line
from jaxbandit.commands import judge
from jaxbandit.judging import atlas_card, failures, judged_answers, judged_spaces, overview, playing, progress_line
from jaxbandit.judging.judge_options import Settings
from jaxbandit.judging.judged_spaces import Chapter, chapters, middle, space_from_text, space_of
from jaxbandit.judging.policy_text import policies_of, policy_of
from jaxbandit.judging.standings import standing

MINE = """
import jax.numpy as jnp
import jaxbandit
from jaxbandit.policies.parts.memory import no_visits


@jaxbandit.pytree
class Mine:
    scale: float = 1.0

    def init(self, reward):
        return no_visits(reward)

    def scores(self, key, state, t):
        mean, plays = state.mean_and_plays()
        return jnp.where(plays == 0, jnp.inf, mean + self.scale / jnp.sqrt(jnp.maximum(plays, 1))), state

    def update(self, state, feedback):
        return state.counted(feedback)


@jaxbandit.pytree
class Fails(Mine):
    def scores(self, key, state, t):
        return state.nothing


@jaxbandit.pytree
class Nan(Mine):
    def scores(self, key, state, t):
        return super().scores(key, state, t)[0] + jnp.where(t == 9, jnp.nan, 0.0), state


def fails():
    return missing


@jaxbandit.pytree
class Knows:
    number: int

    @classmethod
    def of(cls, arms, discount=0.9):
        return cls(3)


def made():
    return Knows()
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A user's file in the folder that the command is called in."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("mine")]:
        del sys.modules[name]


def test_a_policy_is_an_expression_or_that_of_a_file(mine):
    assert policy_of("IMEDMC(exponent=0.5)") == ("IMEDMC(exponent=0.5)", IMEDMC(exponent=0.5))
    assert policy_of("KLUCB") == ("KLUCB()", KLUCB())
    assert policy_of("KLUCB(family=Gaussian(2.0))")[1].family == families.Gaussian(2.0)
    label, policy = policy_of("mine.py:Mine(scale=2.0)")
    assert label == "Mine(scale=2.0)" and policy.scale == 2.0 and type(policy).__name__ == "Mine"
    assert policy_of(f"{mine}/mine.py:Mine")[0] == "Mine()"
    (mine / "other").mkdir()
    (mine / "other" / "mine.py").write_text(MINE.replace("1.0", "3.0"))
    both = policies_of(["mine.py:Mine()", "other/mine.py:Mine()"])
    assert {label: policy.scale for label, policy in both.items()} == {"Mine()": 1.0, "other/mine.py:Mine()": 3.0}
    with pytest.raises(ValueError, match="KLUCB: given twice"):
        policies_of(["KLUCB", "KLUCB"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mine.py:Mime()", r"^mine.py has no 'Mime' \(did you mean Mine\?\); it has Mine, Fails, Nan"),
        ("mine.py:Mine(scal=2)", r"^Mine\(scal=2\): TypeError: .*unexpected keyword argument 'scal'$"),
        ("mine.py:fails()", "^mine.py, line 35: return missing: NameError: name 'missing' is not defined$"),
        ("raises.py:Mine", "^raises.py, line 2: x = 1 / 0: ZeroDivisionError: division by zero$"),
        ("KLUBC", r"^jaxbandit has no 'KLUBC' \(did you mean KLUCB\?\); it has "),
        ("Whittle", r"^Whittle: has to be made .* Whittle.of\(arms\), .* judge one that learns, such as "),
        ("mine.py:made()", "^mine.py, line [0-9]+: return Knows.*: TypeError: .*'number'$"),
    ],
)
def test_what_is_no_policy_is_refused_by_name(mine, text, said):
    (mine / "raises.py").write_text("\nx = 1 / 0\n")
    with pytest.raises(ValueError, match=said):
        policy_of(text)


def test_a_method_that_fails_names_the_users_line_before_anything_is_played(mine):
    asked = Settings(policies=("mine.py:Fails()",))
    with pytest.raises(ValueError, match=r"policies\['Fails\(\)'\].scores: mine.py, line 25: return state.nothing"):
        judge.run(asked)
    assert not (mine / "results").exists()


def test_a_verdict_on_the_contract_is_said_in_words(mine, monkeypatch, capsys):
    """In lines that are no wider than the terminal."""
    kept, said = playing.contract_verdict("Nan()", policy_of("mine.py:Nan")[1], middle(stress.TwoStateSpace()))
    assert not kept and said.startswith("breaks the contract: Nan.scores: NaN in round 9")
    monkeypatch.setenv("COLUMNS", "80")
    progress_line.say(playing.KEPT)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80 and " ".join(lines) == playing.KEPT


def test_a_policy_is_judged_in_the_first_space_that_it_plays():
    class Only(Uniform):
        arms = "RestlessArms"

        def validate(self, task):
            if task.environment.__class__.__name__ != self.arms:
                raise ValueError(f"environment: {self.arms} only")

    class Nowhere(Only):
        arms = ""

    assert space_of("a", KLUCB()) == stress.TwoStateSpace()
    assert space_of("a", KLUCB(family=families.Gaussian(1.0))) == stress.IndependentSpace("gaussian")
    assert space_of("a", KLUCB(family=families.Poisson())) == stress.IndependentSpace("poisson")
    assert space_of("a", Only()) == stress.RestlessSpace()
    assert space_of("a", jaxbandit.PosteriorWhittle()) == stress.RestlessSpace(paid="all")
    assert judged_spaces.in_words(stress.RestlessSpace(paid="all")).endswith("that all pay, played or not (restless)")
    assert space_of("a", Nowhere()) is None
    full = chapters({"a": KLUCB(), "b": Nowhere(), "c": UCB1()}, None, 100, full=True)
    played = [f"{part.space.arms} {type(part.space).__name__} {part.horizon}" for part in full]
    spaces_played = "2 TwoStateSpace 100, 5 TwoStateSpace 100, 2 ThreeStateSpace 100, 2 TwoStateSpace 1000"
    assert ", ".join(played) == f"{spaces_played}, 5 TwoStateSpace 1000"
    assert all(list(part.policies) == ["a", "c"] for part in full)
    assert judged_spaces.in_words(stress.IndependentSpace("poisson")) == "two arms with independent Poisson rewards"


def test_spaces_and_numbers_that_are_none_are_refused():
    assert space_from_text("TwoStateSpace(arms=3)") == stress.TwoStateSpace(arms=3)
    assert space_from_text("RestlessSpace") == stress.RestlessSpace() and space_from_text("") is None
    for text in ("TwoStateSpace(arms=1)", "Space", "3"):
        with pytest.raises(ValueError, match="--space .*; give one of IndependentSpace, "):
            space_from_text(text)
    for name, value in {"runs": 1, "horizon": 0, "budget": 31, "number": 0, "problems": 1, "seed": -1}.items():
        with pytest.raises(ValueError, match=f"--{name}: "):
            Settings(policies=("UCB1",), **{name: value}).whole()


def test_the_command_line_takes_several_policies():
    asked = from_command_line(Settings, "judge", "", ["KLUCB", "UCB1(0.2)", "--runs", "7"])
    assert asked == Settings(policies=("KLUCB", "UCB1(0.2)"), runs=7)
    assert asked.default_folder(["KLUCB()", "UCB1(0.2)"]) == "results/judge/KLUCB-UCB1_0.2-runs=7"
    assert asked.command() == "jaxbandit judge KLUCB 'UCB1(0.2)' --runs 7"
    with pytest.raises(SystemExit):
        from_command_line(Settings, "judge", "", [])


@pytest.mark.slow
def test_the_card_is_what_simulate_and_the_metrics_say(small_panel):
    """Problem by problem, each played alone."""
    names, judged = ("best20", "i.i.d. scenario 1"), {"mine": UCB1(bonus=0.2)}
    problems, key = {name: atlas[name].arms for name in names}, jax.random.key(3)
    planned, _ = atlas_card.cases(problems, judged, 60, 40, key)
    results = {name: jaxbandit.simulate(**case, progress=False) for name, case in planned.items()}
    lines = atlas_card.card("mine", problems, results, atlas_card.lower_curves(problems, 60))
    assert [(line.problem, line.kind) for line in lines] == list(zip(names, ("Markov arms", "independent arms")))
    for line in lines:
        arms, row, stands = problems[line.problem], line.regret, line.standing
        everybody = judged | PANEL
        result = jaxbandit.simulate(arms, everybody, key=key, runs=40, horizon=60, times=[30, 60], progress=False)
        gaps = arms.means().max() - arms.means()
        finals = {label: (counts[0, 0, :, -1].sum(-1) * gaps).sum(-1) for label, counts in result.visits.items()}
        means = {label: values.mean() for label, values in finals.items()}
        least = min(PANEL, key=means.get)
        assert row["mean"] == pytest.approx(means["mine"])
        assert row["median"] == pytest.approx(np.median(finals["mine"]))
        assert row["worst 5%"] == pytest.approx(np.sort(finals["mine"])[-2:].mean())
        half = 2.0227 * finals["mine"].std(ddof=1) / np.sqrt(40)  # Student's quantile with 39 degrees of freedom
        assert row["95% high"] - row["mean"] == pytest.approx(half, rel=1e-4)
        late = np.diff(result.visits["mine"][0, 0].sum(-1), axis=1)[:, 0]
        assert line.linear == pytest.approx((late[:, gaps > 1e-9].sum(1) >= 3).mean())
        # Student's quantile, 39 degrees of freedom, of 1 - 0.05 / 8: two sides of four comparisons, two on each problem
        apart = {label: finals["mine"] - finals[label] for label in PANEL}
        error = {label: 2.61886 * values.std(ddof=1) / np.sqrt(40) for label, values in apart.items()}
        assert stands.ahead == [label for label in PANEL if apart[label].mean() > error[label]]
        assert stands.behind == [label for label in PANEL if apart[label].mean() < -error[label]]
        assert stands.more.high == pytest.approx(apart[least].mean() + error[least], rel=1e-4)
        assert stands.best == least and stands.least == pytest.approx(means[least])
        for end in (stands.times.low, stands.times.high):  # where the test of that ratio just does not tell
            values = finals["mine"] - end * finals[least]
            assert abs(values.mean()) == pytest.approx(2.61886 * values.std(ddof=1) / np.sqrt(40), rel=1e-4)
        assert stands.times.mean == pytest.approx(means["mine"] / means[least])
        assert line.bound == pytest.approx(means["mine"] / (jaxbandit.bounds.lower(arms).total * np.log(60)))


def test_problems_are_played_as_the_atlas_says_beside_those_made_for_them():
    """With the plays of a budget and the family of the rewards; who cannot play a problem is told why."""
    budgets = {"maternal health": 2, "swinging": 5, "collapsing": 1}
    named = {name: atlas[name].arms for name in (*budgets, "Gaussian", "ergodic RiverSwim")}
    judged = {"LP": LPPriority.of(named["maternal health"], 2), "PSRL": PSRL(), "UCB1": UCB1()}
    planned, left_out = atlas_card.cases(named, judged, 50, 40, jax.random.key(0))
    cases = {(name.split(",")[0], item): case for name, case in planned.items() for item in case["scenarios"]}
    assert {item: cases["UCB1", item]["plays"] for item in budgets} == budgets
    assert cases["panel", "swinging"]["plays"] == 5 and cases["LP", "maternal health"]["plays"] == 2
    assert "for 2 plays a round, and 5" in left_out["LP"]["swinging"]
    plays = {"LP": "maternal health", "PSRL": "ergodic RiverSwim"}
    assert {label: set(named) - set(left_out[label]) for label in plays} == {label: {plays[label]} for label in plays}
    assert set(left_out["UCB1"]) == {"ergodic RiverSwim"}
    process, gaussian = (cases["panel", name] for name in ("ergodic RiverSwim", "Gaussian"))
    assert set(process["policies"]) == {"UCRL2B", "IMEDRL"} and process["runs"] == 20
    told = {label: policy.family for label, policy in gaussian["policies"].items()}
    assert told == dict.fromkeys(("KLUCB", "IMED", "Thompson"), families.Gaussian(0.25))
    expected = bounds.lai_robbins(named["Gaussian"]).total * np.log(50)
    curves = atlas_card.lower_curves({"Gaussian": named["Gaussian"]}, 50)
    assert curves == {"Gaussian": pytest.approx(expected)}
    nobody, _ = atlas_card.cases({"Gaussian": named["Gaussian"]}, {"PSRL": PSRL()}, 50, 4, jax.random.key(0))
    assert nobody == {}  # where no judged policy plays, the panel does not, either
    part = Chapter(stress.RestlessSpace(paid="all"), 10, {"mine": jaxbandit.PosteriorWhittle()})
    assert list(playing._panel(part)) == ["mine", "UCWhittle, scale 0.1", "random"]
    assert atlas_card.runs_of(atlas["four rooms"].arms, 200) == 20


@pytest.mark.parametrize(("runs", "told"), [(4, False), (40, True)])
def test_a_rank_says_no_more_than_the_runs(runs, told):
    """In 400 games two policies of one law are told apart in 8 % at most (fails 1 in 10^7); with four runs, never."""
    random, apart, result = np.random.default_rng(0), 0, 0
    for _ in range(400):
        common = random.standard_normal(runs)
        regrets = {name: more + common + random.standard_normal(runs) for name, more in zip("abc", (9, 9, 10.7))}
        stands = standing("a", regrets)
        apart += "b" not in stands.open
        result += "c" in stands.behind
    assert apart <= 0.08 * 400
    assert result > 0.85 * 400 if told else result < 0.35 * 400
    assert told or apart == result == 0
    for few, rank in ((1, "undecided"), (5, "undecided"), (6, "2 of 2")):  # runs that all differ by the same
        assert standing("a", {"a": np.ones(few), "b": np.zeros(few)}).rank == rank
    spread = np.arange(40.0)
    regrets = {"a": spread, "b": spread[::-1], "c": spread - 9, "d": spread + 9}
    assert standing("a", regrets).rank == "among the best 3 of 4, not the best"
    assert standing("d", regrets).rank == "not among the best 2"
    assert standing("c", {name: regrets[name] for name in "acd"}).rank == "1 of 3"


def test_a_worst_problem_is_told_only_where_more_is_certainly_lost():
    """The largest that is certain; where there is none, the largest difference and whose it is."""
    chapter, runs = Chapter(stress.TwoStateSpace(), 10, {}), np.arange(40) % 2

    class Lost(failures.Failures):
        def regrets(self, number):
            best, more, spread = self.problems[number].best
            return {"mine": 100 + more + spread * runs, best: 100.0 + 0 * runs}

    def said_of(*lost):
        problems = [stress.Problem(f"code {n}", None) for n in (1, 2, 3)]
        found = [stress.Found(each, {}, None, best, 1.0, 2, True) for each, best in zip(problems, lost)]
        return failures.in_words(Lost("mine", chapter, found, SimpleNamespace(labels=("mine", "other"))))

    certain = said_of(("UCB1", -900, 2000), ("KL-UCB", 20, 1), ("KL-UCB", 10, 1))
    assert "20.5 (20.3 to 20.7) more than KL-UCB: code 2" in certain and "UCB1" not in certain
    assert said_of(("UCB1", -900, 2000)).endswith(" to UCB1.") and "100.0 (-2" in said_of(("UCB1", -900, 2000))


def test_a_quick_look_is_of_problems_that_share_their_programs():
    named = atlas_card.named_problems(100)
    arms = atlas_card.quick_problems(named, {"a": UCB1(), "b": UCB1(0.1)}, 100)
    assert {"scenario 1", "scenario 2", "best1000", "hard Bernoulli"} <= set(arms)
    assert len({str(jax.tree.map(np.shape, each)) for each in arms.values()}) == 1
    both = atlas_card.quick_problems(named, {"a": UCB1(), "b": PSRL()}, 100)
    assert set(arms) < set(both) and {"RiverSwim 6", "fast RiverSwim"} <= set(both)
    asked = Settings(policies=("UCB1",), quick=True)
    assert asked.command() == "jaxbandit judge UCB1 --quick" and "quick" in asked.default_folder(["UCB1()"])


PANEL = {"random": Uniform(), "UCB1": UCB1()}


@pytest.fixture
def small_panel(monkeypatch):
    """Policies that compile soon, and searches with one program less."""
    monkeypatch.setattr(stress.point_search, "RUNS_AGAIN", stress.point_search.RUNS)
    monkeypatch.setattr(stress.TwoStateSpace, "panel", lambda space: PANEL)


@pytest.mark.slow
def test_a_whole_judgement_of_two_policies(mine, small_panel, monkeypatch, capsys):
    monkeypatch.setattr(stress.TwoStateSpace, "panel", lambda space: {"UCB1": UCB1()})
    named = {name: atlas[name].arms for name in ("best20", "scenario 1")}
    monkeypatch.setattr(atlas_card, "named_problems", lambda horizon: named)
    monkeypatch.setattr(playing, "TIMED_SECONDS", 0.05)
    monkeypatch.setattr("jaxbandit.timing.stopwatch.usual_chunk", lambda *of: 100)  # rounds that are timed at least
    sizes = {"runs": 6, "horizon": 40, "problems": 32, "budget": 32, "number": 2, "out": "out"}
    asked = Settings(policies=("mine.py:Mine(scale=2.0)", "UCB1"), **sizes)
    pictures = judge.report.pictures  # files take seconds, and the page has the same
    monkeypatch.setattr(judge.report, "pictures", lambda judgement: ())
    answer = judge.run(asked)
    printed, page = capsys.readouterr().out, (mine / "out" / "report.html").read_text()
    for words in ("keeps the contract", "All against all", "times UCB1", "named problem 2 of 2: scenario 1\n"):
        assert words in printed
    for words in ("<summary>The worst problems found</summary>", "<h2>UCB1()</h2>", "<h3>All against"):
        assert words in page
    few = "6 runs of 40 rounds tell nobody apart: nothing is claimed."
    assert printed.count(few) == page.count(few) == 2 and page.index("data:image/png") < page.index(few)
    numbers = [row for row in rows_of(mine / "out" / "overview.csv") if row["runs"] == "6"]
    told = {(row["policy"], row["certainly less"] + row["certainly more"]) for row in numbers}
    assert told == {("Mine(scale=2.0)", ""), ("UCB1()", "")}
    assert 'src="http' not in page and "<script" not in page
    table = {row["policy"]: row for row in rows_of(mine / "out" / "all_1.csv")}
    assert list(table)[:2] == ["Mine(scale=2.0)", "UCB1()"] and len(table) == 2  # UCB1 is judged, under its label
    assert len(answer.worst) == 2
    searches = [f"worst_{search}_{place}" for search in (1, 2) for place in (1, 2)]
    assert [name for name, _ in pictures(answer)] == ["overview", *searches]
    picture = overview.picture(dots := overview.dots_of(answer), list(answer.policies))
    assert len(picture.axes[0].texts) == len({(dot.kind, dot.problem) for dot in dots if dot.standing.times}) > 0
    for item in answer.worst:
        result, code = item.result, item.problems[0].problem.code
        codes = {f"problem {n}": found.problem.code for n, found in enumerate(item.problems, 1)}
        arms = {name: eval(each, {"jaxbandit": jaxbandit}) for name, each in codes.items()}
        key = asked.key(playing.PICTURES)
        again = jaxbandit.simulate(arms, answer.policies, key=key, runs=6, horizon=40, progress=False)
        for label in answer.policies:
            np.testing.assert_array_equal(again.visits[label], result.visits[label])
            of_runs = metrics.regret(result, label)[:, 0, :, -1].mean(0)  # problems share their random numbers
            half = 2.57058 * of_runs.std(ddof=1) / np.sqrt(6)  # Student's quantile with 5 degrees of freedom
            assert table[label][f"worst of {item.label}"] == f"{of_runs.mean():,.1f} ± {half:,.1f}"
        assert code in page.replace("&#x27;", "'") and code in (mine / "out" / "worst_1.csv").read_text() + printed
    panel, key = {"UCB1()": UCB1()}, asked.key(playing.SPACE)
    sizes = {"problems": 32, "runs": playing.RUNS, "horizon": 40, "progress": False}
    survey = stress.over(stress.TwoStateSpace(), answer.policies, panel=panel, key=key, **sizes)
    for label in answer.policies:
        np.testing.assert_array_equal(answer.surveys[0][1].regrets[label], survey.regrets[label])

    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # what is in the folder is not played again
    monkeypatch.setattr(playing, "contract_verdict", lambda *of: (True, playing.KEPT))
    monkeypatch.setattr(playing, "speed_rows", lambda arms, policies: [])
    again = judge.run(asked)
    assert again.cards == answer.cards
    with pytest.raises(ValueError, match="--out out: holds runs = 6, this is 7"):
        judge.run(dataclasses.replace(asked, runs=7))


RULE = "Identify(TopTwo(), BernoulliGLR(), 0.1)"  # searches for wrong answers have the sizes of those in test_stress
STOPS = {"runs": 200, "horizon": 600, "problems": 32, "budget": 32, "number": 2, "out": "out"}


@pytest.mark.slow
def test_answers_are_judged(mine, small_panel, monkeypatch, capsys):
    """An independent rule on chains: wrong answers, the worst problems, and the same from the folder."""
    judge.run(asked := Settings(policies=(RULE,), **STOPS))
    printed = capsys.readouterr().out
    (row,) = rows_of(mine / "out" / "answers_1.csv")
    assert row["runs"] == f"{32 * 48}" and row["delta"] == "0.1" and int(row["wrong"]) > 0.1 * 32 * 48
    worst = rows_of(mine / "out" / "wrong_1_1.csv")
    assert len(worst) == 2 and worst[0]["more than accepted"] == "certain"
    page = (mine / "out" / "report.html").read_text()
    for words in ("It keeps the contract.", "It is wrong more often than it accepts", worst[0]["code"].split("(")[0]):
        assert words in printed and words in page
    monkeypatch.setattr(judged_answers, "contract_verdict", lambda *of: (True, playing.KEPT))
    judge.run(asked)
    again = capsys.readouterr().out
    assert "continuing" in again and again.partition("Random problems")[2] == printed.partition("Random problems")[2]


def test_rules_that_cannot_be_judged_are_refused():
    with pytest.raises(ValueError, match="UCB1.*: it does not stop with an error rate; judge it apart"):
        judge.run(Settings(policies=(RULE, "UCB1()"), **STOPS))
    with pytest.raises(ValueError, match="delta: 3.0"):
        judge.run(Settings(policies=("Identify(delta=3.0)",), **STOPS))
