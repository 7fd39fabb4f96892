"""Sweeps: the counts of simulate whatever happens in between; every refusal; kill -9, full disks, damaged files."""

import dataclasses
import errno
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest
from children import ARMS, cases, digest

import jaxbandit
from jaxbandit import KLUCB, UCBSM, Result, Uniform, grid, simulate, sweep, two_state
from jaxbandit.sweeps import storage, sweep_loop, tasks

CASE = {"scenarios": ARMS, "policies": {"ucb": UCBSM(), "u": Uniform()}, "horizon": 300, "times": [7, 150, 300]}
MANY_FILES = {"every": 1e-9, "block": 4}  # a new one after every chunk of rounds


def contents(folder):
    """Every file and its bytes, but the lock."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock"}


def equal(left, right):
    return all(np.array_equal(left.visits[label], right.visits[label]) for label in right.visits)


def test_files_of_runs_are_kept_where_more_or_fewer_are_asked_for(tmp_path):
    sweep({"c": {**CASE, "runs": 3}}, tmp_path)
    old = contents(tmp_path)
    later = sweep({"c": {**CASE, "runs": 10}, "d": {**CASE, "runs": 2}}, tmp_path, block=4)
    assert all(path.read_bytes() == data for path, data in old.items() if path.suffix == ".npz")
    fewer = sweep({"c": {**CASE, "runs": 5}}, tmp_path)["c"]
    assert np.array_equal(fewer.visits["ucb"], later["c"].visits["ucb"][:, :, :5])
    loaded = jaxbandit.load_sweep(tmp_path)["c"]  # all runs that were played
    assert (fewer.runs, loaded.runs) == (fewer.asked["runs"], loaded.asked["runs"]) == (5, 10)
    assert equal(loaded, later["c"])
    with pytest.raises(ValueError, match="resume: .* sweep"):
        simulate(**CASE, runs=10, resume=later["c"])


def test_what_is_refused_changes_no_file(tmp_path):
    """Cases that changed since the folder was written, and wrong arguments, which make no new folder either."""
    case, slower = {**CASE, "runs": 2}, two_state([0.5, 0.4, 0.2], [0.4, 0.55, 0.65])
    sweep({"c": case}, tmp_path)
    before = contents(tmp_path)
    for change, options, message in [
        ({"policies": {"ucb": UCBSM(2.0), "u": Uniform()}}, {}, r"cases\['c'\]: policies\['ucb'\]\.L.*changed"),
        ({"scenarios": slower}, {}, r"cases\['c'\]: scenarios\['scenario'\]\.means\(\), .*changed"),
        ({"horizon": 301}, {}, r"cases\['c'\]: horizon.*changed"),
        ({"key": jax.random.key(1)}, {}, r"cases\['c'\]: key.*changed"),
        ({"runs": 0}, {}, r"cases\['c'\]: runs: 0"),
        ({"rums": 3}, {}, r"cases\['c'\]: .*rums"),
        ({"runs": range(3)}, {}, "give their number"),
        ({"resume": None}, {}, "resume is the sweep's own"),
        ({}, {"block": 0}, "block"),
        ({}, {"every": 0}, "every"),
    ]:
        with pytest.raises(ValueError, match=message):
            sweep({"new": case, "c": case | change}, tmp_path, **options)
        assert contents(tmp_path) == before
    with pytest.raises(ValueError, match="rums"):
        sweep({"c": {**case, "rums": 3}}, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_grid_is_called_by_short_numbers():
    """Those of NumPy's ranges without their rounding, all others in full, whatever other values there are."""

    def names(*values):
        return [name.removeprefix("a=") for name in grid(lambda a: {}, a=values)]

    made = grid(lambda a, b: {"runs": a * b}, a=[1, 2], b=[3, 4, 5])
    assert list(made)[:2] == ["a=1, b=3", "a=1, b=4"]
    assert [case["runs"] for case in made.values()] == [3, 4, 5, 6, 8, 10]
    assert names(*np.arange(0.2, 1.01, 0.2)) == ["0.2", "0.4", "0.6", "0.8", "1.0"]
    assert names(*np.linspace(0, 1, 4))[1:3] == ["0.3333333333333333", "0.6666666666666666"]
    assert names(1e-05, 1234567.5, 1.0, 100, "x") == ["1e-05", "1234567.5", "1.0", "100", "x"]
    assert names(0.1234567891234, 0.1234567891235) == ["0.1234567891234", "0.1234567891235"]
    for alike in ((0.8, 0.7999999999999999), (1, "1")):
        with pytest.raises(ValueError, match="two combinations are called 'a="):
            names(*alike)
    with pytest.raises(ValueError, match="scenario: every result has an axis"):  # before anything is played
        grid(lambda **options: {}, scenario=[1, 2])


@pytest.mark.slow
def test_damaged_and_foreign_files_are_named(tmp_path):
    """Truncated at, and bits flipped at, 10 places: refused by name, or without effect on any count."""
    case = {"c": {**CASE, "runs": 4, "chunk": 100}}
    whole = sweep(case, tmp_path, **MANY_FILES)["c"]
    piece = sorted(tmp_path.rglob("*.npz"))[1]
    data = piece.read_bytes()
    rng = random.Random(0)
    named = []
    for place in rng.sample(range(len(data)), 10):
        piece.write_bytes(data[:place])
        with pytest.raises(ValueError, match=piece.name):
            sweep(case, tmp_path)
        piece.write_bytes(data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :])
        try:
            result = sweep(case, tmp_path)["c"]
        except ValueError as error:
            named.append(f"{piece.name}: not a file that" in str(error) and "delete it" in str(error))
        else:
            assert equal(result, whole)
    assert all(named) and len(named) > 3
    piece.write_bytes(data)
    for name in ("notes.txt", "runs-0000000000-0000000010-rounds-0000000000-0000000000.npz"):  # from round 0 to 0
        (other := piece.with_name(name)).touch()
        with pytest.raises(ValueError, match=f"{name}: not a file of this sweep"):
            sweep(case, tmp_path)
        other.unlink()
    piece.write_bytes(sorted(tmp_path.rglob("*.npz"))[0].read_bytes())
    with pytest.raises(ValueError, match=rf"{piece.name}: a piece of something else"):
        sweep(case, tmp_path)
    for piece in sorted(tmp_path.rglob("*.npz")):  # a hole, or the end: played again from there
        piece.write_bytes(data[:99])
        with pytest.raises(ValueError, match="delete it or move it away, and the same call of sweep plays its rounds"):
            sweep(case, tmp_path)
        piece.unlink()
        assert equal(sweep(case, tmp_path, **MANY_FILES)["c"], whole)


@pytest.mark.parametrize("lock", [0o444, 0o666], ids=["nothing", "lock"])
def test_a_finished_sweep_is_read_in_a_folder_that_cannot_be_written(lock):
    """Where nothing can be written, or the lock alone; root, who may write everywhere, becomes another user."""
    cases = {name: {**CASE, "runs": 6, "key": jax.random.key(n)} for n, name in enumerate("ab")}
    with tempfile.TemporaryDirectory() as place:
        folder, user = Path(place) / "s", os.geteuid()
        sweep(cases, folder, **MANY_FILES)
        places = [Path(place), *folder.rglob("*"), folder]
        for item in places:
            item.chmod(0o555 if item.is_dir() else 0o444)
        (folder / storage.LOCK).chmod(lock)
        os.seteuid(65534 if user == 0 else user)
        try:
            results = sweep(cases, folder)
            assert all(equal(results[name], simulate(**case)) for name, case in cases.items())
            assert list(jaxbandit.load_sweep(folder)) == ["a", "b"]
            for where, more, message in [
                (folder, {"a": {**cases["a"], "runs": 7}}, r"cannot be written, and cases\['a'\] is not finished"),
                (folder, {"c": cases["a"]}, r"cannot be written, and has no cases\['c'\]"),
                (folder / "new", {}, "new"),
            ]:
                with pytest.raises(PermissionError, match=message):
                    sweep(cases | more, where)
        finally:
            os.seteuid(user)
            for item in places:
                item.chmod(0o755)


def test_counts_are_those_of_simulate_and_read_without_their_cases(tmp_path):
    """All that a result holds is what `sweep` returned, to the bit."""
    other = {"policies": {"u": Uniform()}, "record": {"t": lambda arms, state, t: t}, "shuffle": True, "delay": 1}
    cases = {"a/b ü": {**CASE, "runs": 10, "chunk": 50}, "b": {**CASE, **other, "runs": 3}}
    swept, whole = sweep(cases, tmp_path / "s", **MANY_FILES), simulate(**CASE, runs=10)
    result, before = swept["a/b ü"], contents(tmp_path)
    assert result.complete and equal(result, whole) and result.fingerprint == whole.fingerprint
    np.testing.assert_array_equal(result.times, whole.times)
    assert len([path for path in before if path.match("0000-*/*.npz")]) == 3 * 6
    assert equal(sweep(cases, tmp_path / "s")["a/b ü"], whole)
    loaded = jaxbandit.load_sweep(tmp_path / "s")
    assert contents(tmp_path) == before and list(loaded) == list(cases)
    result.save(path := tmp_path / "whole.npz")
    assert equal(Result.load(path), whole) and Result.load(path).carry == {}
    for name, whole in swept.items():
        for field in dataclasses.fields(Result):
            left, right = getattr(loaded[name], field.name), getattr(whole, field.name)
            if field.name in ("fingerprint", "provenance"):
                left, right = json.loads(json.dumps(left)), json.loads(json.dumps(right))
            np.testing.assert_equal(left, right)


def test_what_is_not_finished_is_left_out_with_a_warning(tmp_path):
    case = {**CASE, "runs": 10, "chunk": 50}
    whole = sweep({"a": case, "b": case}, tmp_path, **MANY_FILES)["a"]
    for place, runs in ("0000-a", "4-0000000008"), ("0001-b", "0-0000000004"):
        (tmp_path / place / f"runs-000000000{runs}-rounds-0000000250-0000000300.npz").unlink()
    with pytest.warns(UserWarning, match="left out") as said:
        (result,) = jaxbandit.load_sweep(tmp_path).items()
    assert result[0] == "a" and np.array_equal(result[1].visits["u"], whole.visits["u"][:, :, :4])
    assert [re.sub("^.*: of ", "", str(item.message)).partition(".")[0] for item in said] == [
        "cases['a'] 4 runs are finished; 6 others have begun and are left out",
        "cases['b'] 0 runs are finished; the case is left out",
    ]
    assert {item.filename for item in said} == {__file__}


def test_foreign_folders_and_manifests(tmp_path):
    with pytest.raises(ValueError, match=r"^folder: .* has no manifest.json"):
        jaxbandit.load_sweep(tmp_path)
    case, folder = {"c": {**CASE, "runs": 2}}, tmp_path / "s"
    with pytest.raises(FileNotFoundError, match="no such folder"):
        jaxbandit.load_sweep(folder)
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match=r"thesis.tex.*choose an empty"):
        sweep(case, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".lock") == ["thesis.tex"]
    sweep(case, folder)
    manifest = folder / storage.MANIFEST
    text = manifest.read_text()
    for damaged in (text[:50], "[]", "{}", json.dumps({"version": 1, "cases": {"c": 3}})):
        manifest.write_text(damaged)
        with pytest.raises(ValueError, match="manifest.json: damaged; delete it, and the same call of sweep"):
            sweep(case, folder)
    manifest.write_text(text.replace('"version": 1,\n "cases"', '"version": 2,\n "cases"'))
    with pytest.raises(ValueError, match="written as version 2, this reads version 1"):
        sweep(case, folder)
    manifest.write_text(text)
    (piece,) = folder.rglob("*.npz")
    np.savez(piece, header=np.array([{"version": 1}], object))  # a pickle, which is not loaded
    with pytest.raises(ValueError, match=piece.name):
        sweep(case, folder)


def test_a_lost_manifest_is_made_again_from_the_pieces(tmp_path, monkeypatch):
    """In whatever order the cases are asked for: none is played again, and what has changed is not taken for it."""
    cases = {name: {**CASE, "runs": 2, "key": jax.random.key(n)} for n, name in enumerate(("a/b", "a_b", "c"))}
    sweep(cases, tmp_path)
    before = contents(tmp_path)
    manifest = tmp_path / storage.MANIFEST
    listed = json.loads(manifest.read_text())["cases"]
    manifest.unlink()
    assert equal(sweep({"a_b": cases["a_b"]}, tmp_path)["a_b"], simulate(**cases["a_b"]))
    sweep(dict(reversed(cases.items())), tmp_path)
    assert json.loads(manifest.read_text())["cases"] == listed
    del before[manifest]
    assert before.items() <= contents(tmp_path).items()
    manifest.unlink()
    changed = {"policy": {"ucb": "0", "u": "0"}, "the environment": {"": "0"}}
    monkeypatch.setattr(storage, "programs", lambda request: changed)
    with pytest.raises(ValueError, match="the code of policy 'ucb'"):
        sweep(cases, tmp_path)
    monkeypatch.undo()
    sweep({"c": cases["c"] | {"key": jax.random.key(9)}}, tmp_path)
    assert json.loads(manifest.read_text())["cases"]["c"]["folder"] == "0003-c"


def test_what_a_killed_process_left_is_removed(tmp_path):
    """Unfinished files of a dead process, beside the manifest and in a case's folder; another's files are kept."""
    sweep(case := {"c": {**CASE, "runs": 2}}, tmp_path)
    whole = contents(tmp_path)
    (folder,) = (entry for entry in tmp_path.iterdir() if entry.is_dir())
    for unfinished in (tmp_path / ".manifest.json.123.tmp", folder / ".runs-0.npz.123.tmp"):
        unfinished.write_text("half")
    (notes := tmp_path / "notes.tmp").write_text("kept")
    sweep(case, tmp_path)
    assert contents(tmp_path) == whole | {notes: b"kept"}


@pytest.mark.parametrize("place", ["full", "gone"])
def test_a_full_disk_and_a_vanished_folder(tmp_path, monkeypatch, place):
    case = {"c": {**CASE, "runs": 8, "chunk": 100}}
    write, calls = jaxbandit.results.file._write_arrays, []

    def fails_later(file, arrays):
        calls.append(1)
        write(file, arrays)
        if len(calls) == 4 and place == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if len(calls) == 3 and place == "gone":
            shutil.rmtree(tmp_path / "s")

    monkeypatch.setattr(jaxbandit.results.file, "_write_arrays", fails_later)
    with pytest.raises(OSError, match="the same call continues") as caught:
        sweep(case, tmp_path / "s", **MANY_FILES)
    assert "runs-" in str(caught.value)
    monkeypatch.undo()
    if place == "full":
        assert caught.value.errno == errno.ENOSPC
        kept = list(tmp_path.rglob("*.npz"))
        assert len(kept) == 3 and all(Result.load(path).rounds for path in kept)
    assert equal(sweep(case, tmp_path / "s")["c"], simulate(**CASE, runs=8))


def test_the_error_of_a_worker_stops_the_others(tmp_path, monkeypatch):
    stopped_early, other_plays = [], threading.Event()

    def play(task, case, bar, stopped):
        if task.first == 0:
            other_plays.wait(60)
            raise OSError(errno.ENOSPC, "full")
        other_plays.set()
        for _ in range(6000):
            if stopped():
                stopped_early.append(True)
                raise KeyboardInterrupt
            time.sleep(0.01)

    monkeypatch.setattr(tasks, "play", play)
    case = {"c": {**CASE, "runs": 4}}
    with ThreadPoolExecutor(2) as pool, pytest.raises(OSError, match="full"):
        sweep(case, tmp_path, executor=pool, block=2)
    assert stopped_early == [True]
    monkeypatch.undo()
    assert equal(sweep(case, tmp_path)["c"], simulate(**case["c"]))


@cache
def undisturbed():
    return digest({name: simulate(**case) for name, case in cases().items()})


def start_child(folder, *how, **options):
    command = [sys.executable, str(Path(__file__).with_name("children.py")), str(folder), *how]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.Popen(command, env=here, stdout=subprocess.PIPE, text=True, **options)


def test_a_second_sweep_is_refused_while_the_first_is_at_work(tmp_path, monkeypatch, capsys):
    """The process that is at work is named, if it can be read, and so is one that died; then the folder is free."""
    case, holder, play = {"c": {**CASE, "runs": 2}}, tmp_path / storage.HOLDER, sweep_loop.play
    this = f"process {os.getpid()} on "

    def play_beside_another(*asked):
        for text, who in ((holder.read_text(), f"{this}.*"), ("", "another process"), (None, "another process")):
            holder.unlink()
            if text is not None:
                holder.write_text(text)
            with pytest.raises(BlockingIOError, match=f"{who} is at work on this folder"):
                sweep(case, tmp_path)
        return play(*asked)

    monkeypatch.setattr(sweep_loop, "play", play_beside_another)
    sweep(case, tmp_path)
    monkeypatch.undo()
    assert capsys.readouterr().err == "" and not holder.exists()
    holder.write_text(this)  # as kill -9 leaves it
    sweep(case, tmp_path)
    assert f"{this} was killed" in capsys.readouterr().err and not holder.exists()


@pytest.mark.slow
def test_killed_again_and_again(tmp_path):
    """kill -9 at a random moment, and while it writes: in the end the undisturbed counts, in whole files."""
    rng, killed, folder = random.Random(0), 0, tmp_path / "s"
    for number in range(2):
        with start_child(folder) as child:
            while not (folder / storage.HOLDER).exists() and child.poll() is None:
                time.sleep(0.005)
            while number and child.poll() is None and not list(folder.glob("*/.*.tmp")):
                pass
            time.sleep(rng.uniform(0, 0.003 if number else 2))
            child.kill()
        killed += child.returncode == -signal.SIGKILL
        (folder / storage.HOLDER).unlink(missing_ok=True)
    assert digest(sweep(cases(), folder)) == undisturbed()
    assert killed >= 1  # a fast machine may have written everything before the others
    assert all(Result.load(path) for path in folder.rglob("*.npz"))
    assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]


@pytest.mark.slow
def test_processes_of_a_pool(tmp_path):
    """If a worker is killed, the pool breaks; the next call brings everything, with the caller's key and precision."""
    spawn, case = multiprocessing.get_context("spawn"), {**CASE, "policies": {"kl": KLUCB()}, "key": jax.random.key(3)}
    with jax.enable_x64(True):
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
            with pytest.raises(RuntimeError, match="a worker died"):
                sweep({"c": {**case, "runs": 3}}, tmp_path, executor=pool, block=2)
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            result = sweep({"c": {**case, "runs": 3}}, tmp_path, executor=pool, block=2)["c"]
        assert equal(result, simulate(**case, runs=3))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.slow
def test_a_worker_ends_with_the_process_that_started_it(number, tmp_path):
    """Ctrl-C at a terminal reaches the worker, too; kill -9 does not. It is given a minute to end."""
    folder, began = tmp_path / "s", time.monotonic()
    with start_child(folder, "pool", start_new_session=True, stderr=subprocess.PIPE) as child:
        while not list(folder.glob("*/runs-*.npz")):
            assert child.poll() is None and time.monotonic() < began + 120
            time.sleep(0.05)
        if number == signal.SIGINT:
            os.killpg(child.pid, number)
            _, errors = child.communicate(timeout=120)
            assert child.returncode in (130, -number) and "the same call continues" in errors
        else:
            child.kill()
    worker, ended = Path("/proc", Path(f"{folder}.worker").read_text()), time.monotonic()
    while worker.exists():
        assert time.monotonic() < ended + 60
        time.sleep(0.1)


@pytest.mark.slow
def test_dask_workers_one_of_them_killed(tmp_path):
    """A cluster of two processes, one killed when the first file is there: everything arrives in the same call."""
    with start_child(tmp_path, "dask") as child:
        out, _ = child.communicate(timeout=240)
    assert out.strip() == undisturbed()
