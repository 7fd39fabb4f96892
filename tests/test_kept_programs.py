"""Programs and traces in files: the next process computes the same, and neither traces nor compiles."""

import json
import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit
from jaxbandit import KLUCB, TVKLUCB, Uniform, Window
from jaxbandit.fast import kept_programs, slow_paths
from jaxbandit.simulation.asking.user_code import identified_by_text

ARMS = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
SIZES = {"runs": 5, "horizon": 300, "times": [100, 300], "chunk": 100}
ROOT = Path(__file__).parents[1]
PLAY = """
import json
import jaxbandit
from jaxbandit import KLUCB, TVKLUCB, Uniform, Window
from jaxbandit.fast import kept_programs
from jaxbandit.simulation.asking import user_code

seen = {"traced_text": 0, "compiled": 0, "loaded": 0}

def counted(place, name):
    function = getattr(place, name)
    def counting(*arguments):
        seen[name] += 1
        return function(*arguments)
    setattr(place, name, counting)

counted(user_code, "traced_text")
counted(kept_programs, "compiled")
counted(kept_programs, "loaded")
arms = jaxbandit.two_state([0.5, 0.4], [0.4, 0.55])
policies = {"TV": [TVKLUCB(scale=s) for s in SCALES], "W": KLUCB(memory=Window(LENGTH)), "U": Uniform()}
sizes = {"runs": 5, "horizon": 300, "times": [100, 300], "chunk": 100, "progress": False}
result = jaxbandit.simulate(arms, policies, **sizes)
plays = {label: visits[:, :, :, -1].tolist() for label, visits in result.visits.items()}
print(json.dumps({"plays": plays, "fingerprint": result.fingerprint, **seen}))
"""


def plays_of(result):
    """By label the plays of each arm in each run and state at the end."""
    return {label: visits[:, :, :, -1].tolist() for label, visits in result.visits.items()}


def play(folder, scales=(0.5, 1.0), length=20):
    """What a new process plays and sees, with this folder."""
    code = PLAY.replace("SCALES", str(scales)).replace("LENGTH", str(length))
    environment = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    environment["JAXBANDIT_CACHE"] = str(folder)
    asked = [sys.executable, "-c", code]
    return json.loads(subprocess.run(asked, env=environment, check=True, cwd=ROOT, capture_output=True).stdout)


def play_here(scales=(0.5, 1.0), length=20):
    """The same in this process, which keeps nothing."""
    policies = {"TV": [TVKLUCB(scale=s) for s in scales], "W": KLUCB(memory=Window(length)), "U": Uniform()}
    return jaxbandit.simulate(ARMS, policies, **SIZES, progress=False)


@pytest.mark.slow
def test_the_next_process_plays_the_same_from_files(tmp_path):
    """Also with other numbers; another static field needs another program, and damaged files are as if not there."""
    here, first, second = play_here(), play(tmp_path), play(tmp_path)
    assert plays_of(here) == first["plays"] == second["plays"]
    assert here.fingerprint == first["fingerprint"] == second["fingerprint"]
    assert (first["traced_text"] > 5, first["compiled"], first["loaded"]) == (True, 3, 0)
    assert (second["traced_text"], second["compiled"], second["loaded"]) == (0, 0, 3)
    files = sorted((tmp_path / "by_name").iterdir())
    assert {path.name.partition("-")[0] for path in files} == {"trace", "name", "program"}
    here, third = play_here((0.25, 2.0), 30), play(tmp_path, (0.25, 2.0), 30)
    assert 0 < third["traced_text"] < first["traced_text"]  # of the one policy whose field differs
    assert (third["compiled"], third["loaded"]) == (1, 2)
    assert third["plays"] == plays_of(here) != first["plays"] and third["fingerprint"] == here.fingerprint
    files = sorted((tmp_path / "by_name").iterdir())
    for path, other in zip(files, [path.read_bytes() for path in files[1:] + files[:1]]):  # under each other's names
        path.write_bytes(other)
    assert play(tmp_path, (0.25, 2.0), 30)["plays"] == third["plays"]
    for number, path in enumerate(sorted((tmp_path / "by_name").iterdir())):
        path.write_bytes([b"", b"nonsense", zlib.compress(pickle.dumps("another"))][number % 3])
    after = play(tmp_path, (0.25, 2.0), 30)
    assert after["plays"] == third["plays"] and after["fingerprint"] == third["fingerprint"]


def test_names_depend_on_all_that_programs_depend_on(tmp_path, monkeypatch):
    monkeypatch.setenv("JAXBANDIT_CACHE", str(tmp_path))
    names = [kept_programs.key("a", 1)]
    names.append(kept_programs.key("a", 2))
    with jax.enable_x64(not jax.config.jax_enable_x64):
        names.append(kept_programs.key("a", 1))
    with jax.numpy_rank_promotion("allow" if jax.config.jax_numpy_rank_promotion != "allow" else "warn"):
        names.append(kept_programs.key("a", 1))
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", "") + " --xla_cpu_enable_fast_math=false")
    names.append(kept_programs.key("a", 1))
    monkeypatch.setattr(kept_programs, "source", lambda: "another")
    names.append(kept_programs.key("a", 1))
    names.append(kept_programs.key("a", 1, of_source=False))
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
