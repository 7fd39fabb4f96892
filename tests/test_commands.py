"""Commands: what `jaxbandit` lists, looks up and refuses, a stress test as a whole, and experiments' examples."""

import dataclasses
import doctest
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import pytest
from test_spec import rows_of

import jaxbandit
from jaxbandit import UCB1, stress
from jaxbandit.commands import atlas, entry, policies

ROOT = Path(__file__).parent.parent


@pytest.fixture
def call(monkeypatch, capsys):
    """Calls the command; returns how it ended, and what it printed on both streams."""
    monkeypatch.setattr("jaxbandit.command_line.options.use_all_cores", lambda: None)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*arguments):
        code = 0
        try:
            entry.main(list(arguments))
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return called


def test_help_and_version(call):
    """No line is wider than the terminal, and every command and option is explained."""
    assert call("--version") == call("tune", "--version") == (0, f"jaxbandit {jaxbandit.__version__}\n", "")
    code, listed, _ = call()
    assert code == 0 and all(f"\n{name} " in listed for name in entry.COMMANDS)
    for name in entry.COMMANDS:
        code, said, _ = call(name, "--help")
        assert code == 0 and f"usage: jaxbandit {name} " in said and max(map(len, said.splitlines())) <= 80
        assert all(field.metadata["help"] for field in dataclasses.fields(entry.module_of(name).Settings))
    files = {path.stem for path in (ROOT / "jaxbandit" / "commands").glob("*.py")}
    assert files == {*entry.COMMANDS, "__init__", "entry"}


def test_what_is_wrong_is_named_with_what_is_like_it(call, monkeypatch):
    """Ends with 2 for what was asked wrongly, with 1 for what failed, with 130 for Ctrl-C."""
    for arguments, words in (
        (["juge", "KLUCB"], "NAME: there is no 'juge' (did you mean judge?); there are judge, stress, "),
        (["--vresion"], "there is no '--vresion'"),
        (["judge", "KLUCB", "--rnus=7"], "options: there is no '--rnus' (did you mean --runs?); there are --help, "),
        (["sweep", "a.toml", "b.toml"], "'b.toml': not one more is taken"),
        (["stress"], "the following arguments are required: POLICY"),
        (["stress", "KLUBC"], "stress: jaxbandit has no 'KLUBC' (did you mean KLUCB?); it has "),
        (["stress", "KLUCB", "--horizon", "1.5"], "argument --horizon: '1.5' is not a whole number"),
        (["stress", "PSRL"], "--space: PSRL() does not play any space of problems that there is: "),
        (["tune", "--policy", "KLUBC"], "--policy: there is no 'KLUBC' (did you mean KLUCB?); there are "),
        (["tune", "--scenarios", "scenario 1, scenario1"], "--scenarios: there is no 'scenario1' (did you mean "),
        (["atlas", "scenario1"], "'scenario1' (did you mean scenario 1?); jaxbandit atlas lists all"),
        (["atlas", "nosuch"], "no problem is called 'nosuch'; jaxbandit atlas lists all"),
        (["policies", "klucb"], "NAME: there is no 'klucb' (did you mean KLUCB?)"),
    ):
        code, printed, complaint = call(*arguments)
        assert (code, printed) == (2, "") and words in complaint and "Traceback" not in complaint
    for error, code in ((OSError("disk full"), 1), (ImportError("no cmaes"), 1), (KeyboardInterrupt(), 130)):
        monkeypatch.setattr(policies, "run", lambda settings, error=error: (_ for _ in ()).throw(error))
        assert call("policies")[0] == code


def test_every_named_problem_is_told(call):
    """With code that makes the arms, the public function's call as well as the atlas's."""
    code, listed, _ = call("atlas")
    assert code == 0 and max(map(len, listed.splitlines())) <= 80
    public = 0
    for name, problem in jaxbandit.atlas.items():
        assert f"\n{name} " in listed
        lines = atlas.code_of(problem)
        assert lines[:2] == ["import jaxbandit", f"arms = jaxbandit.atlas[{name!r}].arms"]
        if len(lines) > 2 and public < 4:
            made = eval(lines[2].removeprefix("arms = "), {"jaxbandit": jaxbandit, "array": np.array})
            jax.tree.map(np.testing.assert_array_equal, made, problem.arms)
            public += 1
    assert public == 4
    code, told, _ = call("atlas", "Garivier", "and", "Moulines")
    assert code == 0 and told.startswith("Garivier and Moulines\n\nwhat for  ") and "with_horizon(n)" in told


def test_every_policy_is_told(call):
    code, listed, _ = call("policies")
    assert code == 0 and max(map(len, listed.splitlines())) <= 80
    for name, policy in policies.CLASSES.items():
        assert f"\n{name} " in listed
        told = policies.one(name)
        assert " ".join(inspect.getdoc(policy).split()) in " ".join(told.split())
        assert all(f"\n{field.name} " in told for field in dataclasses.fields(policy))
        assert max(map(len, told.partition("\n>>> ")[0].splitlines())) <= 80
    assert "\n  exponent: " in call("policies", "IMEDMC")[1]


@pytest.mark.slow
def test_the_command_in_a_process():
    """As `python -m jaxbandit`; what reads no more, as `head` does, is no error that is told."""
    command = f"{sys.executable} -m jaxbandit atlas | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("Rested\n", "")


@pytest.mark.slow
def test_a_log_is_evaluated(call, tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("round,item,click,p\n" + "".join(f"{t},{'ab'[t % 2]},{t % 3 % 2},0.5\n" for t in range(1, 601)))
    columns = ["--columns", "arm=item, reward=click, probability=p"]
    code, printed, complaint = call("evaluate", str(log), "a", "uniform", "UCB1", "--replay", *columns)
    assert (code, complaint) == (0, "") and max(map(len, printed.splitlines())) <= 80
    assert all(f"\n{label}\n  IPS  " in printed for label in ("a", "uniform", "UCB1()"))
    for wrong, words in (
        (["a"], "no columns 'arm' in ['round', 'item', 'click', 'p']"),
        (["c", *columns], "jaxbandit has no 'c'"),
        (["a", *columns, "--rewards", "0; 1"], "--rewards: '0; 1' are not two numbers"),
        (["a", *columns, "--replay"], "--replay: none of the policies learns"),
    ):
        code, _, complaint = call("evaluate", str(log), *wrong)
        assert code == 2 and words in complaint


@pytest.mark.slow
def test_a_whole_stress_test(call, tmp_path, monkeypatch):
    """Tables, and code of the worst problem that makes its arms; the same command plays nothing again."""
    monkeypatch.setattr(stress.TwoStateSpace, "panel", lambda space: {"UCB1": UCB1()})
    monkeypatch.setattr(stress.point_search, "RUNS_AGAIN", stress.point_search.RUNS)  # a program less
    arguments = ["Uniform", "--quick", "--out", str(tmp_path)]
    code, printed, _ = call("stress", *arguments)
    assert code == 0 and max(map(len, printed.replace(str(tmp_path), "").splitlines())) <= 80
    (worst,) = rows_of(tmp_path / "worst.csv")
    assert " ".join(worst["code"].split()) in " ".join(printed.split())
    assert eval(worst["code"], {"jaxbandit": jaxbandit}).means().shape == (2,)
    assert {row["policy"] for row in rows_of(tmp_path / "space.csv")} == {"Uniform()", "UCB1"}
    monkeypatch.setattr("jaxbandit.sweeps.sweep_loop.play", None)  # what is in the folder is not played again
    assert call("stress", *arguments)[:2] == (0, printed)


def test_examples_in_docstrings_of_experiments():
    """Those of every module, as pytest looks for them in `jaxbandit` alone."""
    for path in (ROOT / "experiments").rglob("*.py"):
        if not path.name.startswith(("__", "play_")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            assert doctest.testmod(import_module(name)).failed == 0, name
