"""Fresh processes: programs and traces in files, one device a core, several processes under jax.distributed."""

import json
import multiprocessing
import os
import pickle
import socket
import subprocess
import sys
import zlib
from pathlib import Path

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from experiments.published.scenarios import environment
from jaxbandit import KLUCB, TVKLUCB, UCB1, Uniform, Window
from jaxbandit.cores import check_threads, cores
from jaxbandit.fast import kept_programs, slow_paths
from jaxbandit.simulation.asking import user_code
from jaxbandit.simulation.asking.user_code import identified_by_text
from jaxbandit.sweeps import tasks

ROOT = Path(__file__).parents[1]
FIRST, OTHER = ((0.5, 1.0), 20), ((0.25, 2.0), 30)  # scales of TV-KL-UCB and the length of a window


def play(scales, length):
    """The plays of each arm in each run and state at the end, by label, and the fingerprint."""
    arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
    policies = {"TV": [TVKLUCB(scale=s) for s in scales], "W": KLUCB(memory=Window(length)), "U": Uniform()}
    sizes = {"runs": 5, "horizon": 300, "times": [100, 300], "chunk": 100, "progress": False}
    result = jaxbandit.simulate(arms, policies, **sizes)
    plays = {label: visits[:, :, :, -1].tolist() for label, visits in result.visits.items()}
    return {"plays": plays, "fingerprint": result.fingerprint}


def play_and_count(cases):
    """What a process of its own does: plays these cases and counts what it traces, compiles and loads."""
    seen = {}

    def counted(function):
        def counting(*arguments):
            seen[function.__name__] += 1
            return function(*arguments)

        return counting

    user_code.traced_text = counted(user_code.traced_text)
    kept_programs.compiled, kept_programs.loaded = counted(kept_programs.compiled), counted(kept_programs.loaded)
    for case in cases:
        seen.update(traced_text=0, compiled=0, loaded=0)
        print(json.dumps(play(*case) | seen))


def play_anew(folder, *cases):
    """What a new process plays and sees, with this folder."""
    environment = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    environment |= {"JAXBANDIT_CACHE": str(folder), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    asked = [sys.executable, "-c", f"import test_fresh_processes as here; here.play_and_count({cases})"]
    lines = subprocess.run(asked, env=environment, check=True, cwd=ROOT, capture_output=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_the_next_process_plays_the_same_from_files(tmp_path):
    """Also with other numbers; another static field needs another program, and damaged files are as if not there."""
    here, other = play(*FIRST), play(*OTHER)
    (first,), (second, third) = play_anew(tmp_path, FIRST), play_anew(tmp_path, FIRST, OTHER)
    for name in ("plays", "fingerprint"):
        assert here[name] == first[name] == second[name] and other[name] == third[name]
    assert other["plays"] != here["plays"]
    assert (first["traced_text"] > 5, first["compiled"], first["loaded"]) == (True, 3, 0)
    assert (second["traced_text"], second["compiled"], second["loaded"]) == (0, 0, 3)
    assert 0 < third["traced_text"] < first["traced_text"]  # of the one policy whose field differs
    assert third["compiled"] == 1
    files = sorted((tmp_path / "by_name").iterdir())
    assert {path.name.partition("-")[0] for path in files} == {"trace", "name", "program"}
    contents = [path.read_bytes() for path in files]
    for number, path in enumerate(files):  # what is another's, empty or nonsense
        path.write_bytes([contents[number - 4], b"", b"nonsense", zlib.compress(pickle.dumps("another"))][number % 4])
    (after,) = play_anew(tmp_path, OTHER)
    assert after["plays"] == third["plays"] and after["fingerprint"] == third["fingerprint"]


def test_names_depend_on_all_that_programs_depend_on(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path))
    names = [kept_programs.key("a", 1), kept_programs.key("a", 2)]
    promotion = "warn" if jax.config.jax_numpy_rank_promotion == "allow" else "allow"
    for setting in (jax.enable_x64(not jax.config.jax_enable_x64), jax.numpy_rank_promotion(promotion)):
        with setting:
            names.append(kept_programs.key("a", 1))
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", "") + " --xla_cpu_enable_fast_math=false")
    names.append(kept_programs.key("a", 1))
    monkeypatch.setattr(kept_programs, "source", lambda: "another")
    names += [kept_programs.key("a", 1), kept_programs.key("a", 1, of_source=False)]
    assert len(set(names)) == len(names)


def test_the_source_is_every_file(tmp_path, monkeypatch):
    (tmp_path / "room").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "room" / "b.py").write_text("y = 2\n")
    monkeypatch.setattr(kept_programs, "PACKAGE", tmp_path)
    seen = [kept_programs.source.__wrapped__()]
    (tmp_path / "room" / "b.py").write_text("y = 3\n")
    seen.append(kept_programs.source.__wrapped__())
    (tmp_path / "room" / "b.py").rename(tmp_path / "room" / "c.py")
    seen.append(kept_programs.source.__wrapped__())
    assert len(set(seen)) == 3


def test_what_is_not_the_librarys_own_is_not_kept(tmp_path, monkeypatch):
    """A user's class, whose code may change, and fields whose text does not tell them apart."""
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path))

    @jaxbandit.pytree
    class Mine(jaxbandit.UCB1):
        pass

    arms = jaxbandit.bernoulli([0.5, 0.4])
    jaxbandit.simulate(arms, {"m": Mine()}, runs=2, horizon=7, progress=False)
    kinds = [path.name.partition("-")[0] for path in (tmp_path / "by_name").glob("*")]
    assert "program" not in kinds and "name" not in kinds
    assert identified_by_text((1, "a", None, 0.5, jax.ShapeDtypeStruct((2,), jnp.float32), np.dtype("float32")))
    for thing in (print, lambda: 0, {1}, jaxbandit.UCB1, np.zeros(2)):
        assert not identified_by_text((thing,))


def test_nothing_is_kept_for_those_who_do_not_ask(tmp_path, monkeypatch):
    monkeypatch.delenv("JAXBANDIT_CACHE", raising=False)
    assert kept_programs.folder() is None and kept_programs.read("trace", "x") is None
    kept_programs.write("trace", "x", 1)
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path / "new"))
    kept_programs.write("trace", "x", lambda: 0)  # which cannot be pickled
    assert kept_programs.read("trace", "x") is None
    kept_programs.write("trace", "x", [1])
    assert kept_programs.read("trace", "x") == [1]
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path / "new" / "by_name" / "trace-x"))  # a file, so not a folder
    monkeypatch.setattr(slow_paths, "_WARNED", set())
    with pytest.warns(jaxbandit.fast.SlowPathWarning, match="the next process: .* as nothing can be kept in .*trace-x"):
        kept_programs.write("trace", "y", 1)
    assert kept_programs.read("trace", "y") is None


@pytest.mark.parametrize("whole", [True, False])
def test_a_program_that_cannot_be_read_or_written_is_compiled(whole, tmp_path, monkeypatch):
    """An interface of JAX that is not there, for writing or for reading."""
    from jax.experimental import serialize_executable

    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path))
    monkeypatch.delattr(serialize_executable, "serialize" if whole else "deserialize_and_load")
    arms = jaxbandit.bernoulli([0.5, 0.4, 0.3] + [0.2] * (3 + whole))  # shapes that no other test has
    result = jaxbandit.simulate(arms, {"u": jaxbandit.UCB1()}, runs=2, horizon=20, progress=False)
    assert result.visits["u"][0, 0, :, -1].sum() == 40


# one device a core

USE = "jaxbandit.use_all_cores()"
TWICE = f"import jaxbandit, jax; {USE}; {USE}; print(len(jax.devices())); {USE}"


@pytest.mark.slow
def test_every_core_is_a_device_of_a_fresh_process():
    """Asked for again, also of a JAX that has started with all cores, nothing changes."""
    played = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    assert played.stdout.split() == [str(cores())]


def test_once_jax_has_started_the_error_says_what_to_do(monkeypatch):
    number = len(jax.devices("cpu"))
    words = rf"^use_all_cores: JAX has started already, with {number} CPU device.*call it before anything is computed"
    for other in (number - 1, number + 1):
        monkeypatch.setattr("jaxbandit.cores.cores", lambda other=other: other)
        with pytest.raises(RuntimeError, match=words):
            jaxbandit.use_all_cores()


@pytest.mark.parametrize(("counted", "said"), [(6, 6), (None, 1)])
def test_a_system_that_does_not_say_which_cores_are_ours(monkeypatch, counted, said):
    """macOS and Windows count all cores, or do not know."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert cores() == said


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system does not fork")
def test_a_fork_of_a_process_in_which_jax_has_started_says_so_and_does_not_wait():
    """JAX's threads are not in it. (Forks of a process in which it has not started play in `test_live`.)"""

    def say() -> None:
        for entrance in entrances:
            with pytest.raises(RuntimeError, match="forked from one in which JAX had started.*spawn"):
                entrance()
        there.send("all said so")

    entrances = (
        lambda: jaxbandit.simulate(jaxbandit.bernoulli([0.5, 0.4]), {"u": jaxbandit.UCB1()}, runs=2, horizon=9),
        lambda: tasks.play_remotely(None, np.zeros(2, np.uint32), "threefry2x32", False),
        lambda: jaxbandit.live.Player(jaxbandit.UCB1(), ["a", "b"], rewards=(0, 1)),
    )
    jax.random.key(0).block_until_ready()
    check_threads()
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=say)
    with pytest.warns((RuntimeWarning, DeprecationWarning), match="fork"):  # of JAX, and of Python 3.12 and later
        child.start()
    try:
        assert here.poll(20) and here.recv() == "all said so"
    finally:
        child.kill()
        child.join()


# several processes under jax.distributed


def play_together():
    policies = {"UCB1": [UCB1(), UCB1(0.5)]}
    scenarios = {"one": environment("scenario 1"), "two": environment("scenario 2", initial_state="stationary")}
    size = {"runs": 11, "horizon": 100, "tile": 2, "chunk": 70, "shuffle": True, "progress": False}
    return jaxbandit.simulate(scenarios, policies, **size)


def play_a_share(number, port, file):
    """What one of two processes does."""
    jax.distributed.initialize(f"127.0.0.1:{port}", 2, number)
    assert len(jax.devices()) == 2 * len(jax.local_devices())
    play_together().save(file)


@pytest.mark.slow
def test_two_processes_give_the_bits_of_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "JAX_PLATFORMS": "cpu"}
    files, asked = [str(tmp_path / f"{number}.npz") for number in range(2)], {"stderr": subprocess.PIPE, "text": True}
    codes = [f"import test_fresh_processes as here; here.play_a_share({n}, {port}, {files[n]!r})" for n in range(2)]
    processes = [subprocess.Popen([sys.executable, "-c", code], env=environment, **asked) for code in codes]
    complaints = [process.communicate(timeout=240)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], complaints
    alone = play_together()
    for file in files:
        together = jaxbandit.Result.load(file)
        assert together.complete
        chex.assert_trees_all_equal(together.visits, alone.visits)
        chex.assert_trees_all_equal(
            *({label: list(of.carry[label]) for label in alone.labels} for of in (together, alone))
        )
