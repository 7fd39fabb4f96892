"""Mutants are played in copies of the tree, each in processes of its own: nothing that JAX has traced is left."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict
from fnmatch import fnmatch
from importlib.util import cache_from_source
from multiprocessing import get_context
from pathlib import Path

from tests.mutation.fresh import prepare, pytest_in_fork
from tests.mutation.mutants import ROOT, Mutant, settings

HERE = Path(__file__).parent
STATE = ROOT / "build" / "mutation"  # results, seconds of tests, compiled programs


def holders(module: str) -> dict[str, list[str]]:
    """The test files that hold a module, each with words one of which its tests' names must have; none: all of them."""
    rows = tomllib.loads((HERE / "holders.toml").read_text())["held"]
    name = module.removeprefix("jaxbandit/").removesuffix(".py")
    row = next((tests for pattern, tests in rows.items() if fnmatch(name, pattern)), "")
    return {
        f"tests/{file}.py": words.split("|") if words else []
        for file, _, words in (t.partition(":") for t in row.split())
    }


def copy_tree(to: Path) -> Path:
    """A copy of what git knows or might know, compiled."""
    names = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in names.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    subprocess.run([sys.executable, "-m", "compileall", "-q", "jaxbandit", "experiments"], cwd=to, check=True)
    return to


def arguments(files: list[str], slow: bool, *more: str) -> list[str]:
    """What pytest is asked: the quick tests of these files, or the slow ones."""
    plugins = ["-p", "no:cacheprovider", "-p", "tests.mutation.order"]
    return ["-x", "-n0", *plugins, "-m", "slow" if slow else "not slow", *more, *files]


def check_unchanged(files: list[str]) -> dict[str, float]:
    """The quick tests pass while nothing is wrong, or no mutant could be judged. Compiles programs, gives seconds."""
    with tempfile.TemporaryDirectory(prefix="jaxbandit-unchanged-") as folder:
        tree = copy_tree(Path(folder, "tree"))
        (STATE / "programs").mkdir(parents=True, exist_ok=True)
        asked, answer = Path(folder, "asked"), Path(folder, "answer")
        asked.write_text(json.dumps({"module": "", "first": [], "seconds": {}, "words": {}, "answer": str(answer)}))
        given = {"PYTHONPATH": str(tree), "JAX_COMPILATION_CACHE_DIR": str(STATE / "programs")}
        code = [sys.executable, "-m", "pytest", *arguments(files, False, "-n", "2", "-q", "--maxfail=100")]
        if subprocess.run(code, cwd=tree, env=os.environ | given | {"MUTATION_ASKED": str(asked)}).returncode:
            raise ValueError("tests: they must pass before anything is changed")
        return json.loads(answer.read_text())["seconds"]


def begin_worker(folders: str) -> None:
    """A copy of the tree for this process, in which it works from now on."""
    global folder
    folder = Path(tempfile.mkdtemp(dir=folders))
    prepare(copy_tree(folder / "tree"))


def play(mutant: Mutant, slow: bool, first: list[str], seconds: dict[str, float]) -> tuple[dict, dict[str, float]]:
    """Run the quick or the slow tests that hold a mutant until one fails; who noticed it, and seconds of the others."""
    from cosmic_ray.mutating import use_mutation
    from cosmic_ray.plugins import get_operator

    began = time.time()
    tests = holders(mutant.module)
    asked, answer, output = (folder / name for name in ("asked", "answer", "output"))
    answer.unlink(missing_ok=True)
    question = {"module": mutant.module, "first": first, "seconds": seconds, "words": tests, "answer": str(answer)}
    asked.write_text(json.dumps(question))
    programs = STATE / "programs"  # JAX finds one by what it computes: no mutant finds another one's
    os.environ |= {"JAX_COMPILATION_CACHE_DIR": str(programs), "MUTATION_ASKED": str(asked)}
    with use_mutation(Path(mutant.module), get_operator(mutant.operator)(), mutant.occurrence):
        code = pytest_in_fork(arguments([mutant.module, *tests], slow), output, settings()["timeout"])
    Path(cache_from_source(mutant.module)).unlink(missing_ok=True)
    told = json.loads(answer.read_text()) if answer.exists() else {"by": "", "late": code == -1, "seconds": {}}
    if code and not told["by"]:  # Python itself was stopped, or conftest.py was
        told["by"] = " ".join(output.read_text().split()[-30:])
    if told["late"]:  # a program that was not written to its end would be an error for all who come after
        for file in programs.iterdir():
            if file.stat().st_mtime > began:
                file.unlink()
    line = asdict(mutant) | {"outcome": "noticed" if code else "survived" if slow else "quiet"}
    return line | {"by": told["by"], "late": told["late"], "took": round(time.time() - began, 1)}, told["seconds"]


def read(file: Path) -> dict:
    """The latest result of every mutant."""
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {(line["module"], line["source"], line["operator"], line["occurrence"]): line for line in lines}


def play_all(mutants: list[Mutant], slow: bool, processes: int, trust: bool, results: Path) -> Iterator[dict]:
    """Play mutants side by side, and write what became of each one; `trust`: tests that have not been run pass."""
    kept = STATE / "seconds.json"
    seconds = json.loads(kept.read_text()) if kept.exists() else {}
    files = sorted({file for mutant in mutants for file in holders(mutant.module)})
    missing = [file for file in files if not any(name.startswith(f"{file}::") for name in seconds)]
    if missing and not trust:
        seconds |= check_unchanged(missing)
        kept.write_text(json.dumps(seconds))
    finders = Counter((line["module"], line["by"]) for line in read(results).values())
    waiting, playing = list(mutants)[::-1], set()
    with (
        tempfile.TemporaryDirectory(prefix="jaxbandit-mutants-") as folders,
        ProcessPoolExecutor(processes, get_context("spawn"), begin_worker, (folders,)) as pool,
    ):
        while waiting or playing:
            while waiting and len(playing) < processes:
                mutant = waiting.pop()
                near = sorted(finders, key=lambda found: (found[0] != mutant.module, -finders[found]))
                first = [name for module, name in near if Path(module).parent == Path(mutant.module).parent]
                playing.add(pool.submit(play, mutant, slow, first, seconds))
            done, playing = wait(playing, return_when=FIRST_COMPLETED)
            for future in done:
                line, new = future.result()
                seconds |= new
                kept.write_text(json.dumps(seconds))
                finders[line["module"], line["by"]] += 1
                with results.open("a") as file:
                    file.write(json.dumps(line) + "\n")
                yield line
