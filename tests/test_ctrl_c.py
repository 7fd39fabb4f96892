"""Ctrl-C: one signal ends what it meets, wherever it comes; it is never lost, and nothing that was written is."""

import contextlib
import gc
import os
import random
import shutil
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from functools import partial
from unittest import mock

import jax
import pytest
from children import ARMS
from test_sweeps import contents, equal

import jaxbandit
from jaxbandit import Result, StoppedWarning, Uniform, interruption, simulate, sweep
from jaxbandit.command_line import options
from jaxbandit.interruption import CtrlC, interrupted, reraise_ctrl_c
from jaxbandit.results import file
from jaxbandit.simulation import loop, progress, tiles
from jaxbandit.sweeps import files, storage

CASE = {"scenarios": ARMS, "policies": {"u": Uniform()}, "horizon": 300, "times": [7, 150, 300], "chunk": 50, "runs": 8}
CASES = {name: {**CASE, "key": jax.random.key(n)} for n, name in enumerate("ab")}
OFTEN = {"block": 4, "every": 1e-9, "progress": False}  # two blocks of a case, and six files of a block


@pytest.fixture(autouse=True)
def far_apart(monkeypatch):
    """Signals come more than a second apart."""
    monkeypatch.setattr(interruption, "AT_ONCE", 0)


@contextlib.contextmanager
def signal_at(owner, name, *calls):
    """Ctrl-C at these calls of a function, counted from 1, before it does its work; they must come."""
    function, made = getattr(owner, name), []

    def interrupting(*asked, **others):
        made.append(name)
        if len(made) in calls:
            signal.raise_signal(signal.SIGINT)
        return function(*asked, **others)

    with mock.patch.object(owner, name, interrupting):
        yield
    assert len(made) >= max(calls)


@pytest.fixture(scope="module")
def undisturbed():
    return {name: simulate(**case, progress=False) for name, case in CASES.items()}


PLACES = {
    "looking at the folder": (storage, "read_manifest", 1),
    "writing the manifest": (file, "CtrlC", 2),
    "looking for files": (files, "pieces_of", 1),
    "between cases": (jaxbandit.sweeps.sweep_loop, "play", 3),
    "tracing": (tiles.Tile, "compile", 2),
    "waiting for a program": (progress, "wait", 7),
    "a chunk": (tiles.Tile, "play", 3),
    "the very last chunk": (tiles.Tile, "play", 24),
    "the end of the last chunk": (loop, "gather", 24),
    "writing the last file": (file, "_write_arrays", 24),
    "assembling": (files, "finished", 1),
    "reading the last file": (Result, "load", 24),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_sweep_is_ended_wherever_the_signal_comes(place, tmp_path, undisturbed):
    with signal_at(*PLACES[place]), pytest.raises(KeyboardInterrupt, match="the same call continues"):
        sweep(CASES, tmp_path, **OFTEN)
    written = {path: path.read_bytes() for path in tmp_path.rglob("*.npz")}
    assert not (tmp_path / storage.HOLDER).exists() and not list(tmp_path.rglob("*.tmp"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and not interrupted()
    results = sweep(CASES, tmp_path, **OFTEN)
    assert all(equal(results[case], whole) for case, whole in undisturbed.items())
    assert all(path.read_bytes() == data for path, data in written.items())


def test_a_signal_in_a_sweep_loses_no_round_that_is_played(tmp_path):
    """The file that is written at once has all of them."""
    with signal_at(tiles.Tile, "play", 4), pytest.raises(KeyboardInterrupt):
        sweep(CASES, tmp_path, progress=False)
    (piece,) = tmp_path.rglob("*.npz")
    assert Result.load(piece).rounds == 200


def test_a_stopped_simulation_says_so_and_continues(tmp_path, undisturbed):
    """One that is stopped in its last chunk is complete, and one that has nothing yet raises."""
    case, whole = {**CASES["a"], "progress": False}, undisturbed["a"]
    with signal_at(tiles.Tile, "play", 2), pytest.warns(StoppedWarning, match="after round 100 of 300, and") as said:
        stopped = simulate(**case)
    assert said[0].filename == __file__
    assert not stopped.complete and stopped.rounds == 100 and stopped.times.tolist() == [7]
    stopped.save(tmp_path / "stopped.npz")
    continued = simulate(**case, resume=Result.load(tmp_path / "stopped.npz"))
    assert continued.complete and equal(continued, whole)
    for place in (tiles.Tile, "play", 6), (loop, "gather", 1), (loop, "join_times", 1):
        with signal_at(*place), pytest.warns(StoppedWarning, match="the result is complete$"):
            assert equal(simulate(**case), whole)
    for place in (loop, "check", 1), (tiles.Tile, "compile", 1):
        with signal_at(*place), pytest.raises(KeyboardInterrupt):
            simulate(**case)
    assert equal(simulate(**case), whole)


def test_nobody_waits_for_what_is_being_compiled():
    """The compiler, in a thread of its own, ends when this test does."""
    over = threading.Event()

    def compile_for_ever(tile, label):
        return lambda: (signal.raise_signal(signal.SIGINT), over.wait(600))

    with mock.patch.object(tiles.Tile, "compile", compile_for_ever), pytest.raises(KeyboardInterrupt):
        simulate(**CASE, progress=False)
    over.set()


def played(*, until=4):
    """The rounds of the simulations that a loop of a user's program plays."""
    results = []
    with contextlib.suppress(KeyboardInterrupt):
        for _ in range(until):
            results.append(simulate(**CASE, progress=False))
    return [result.rounds for result in results]


def test_a_loop_of_simulations(monkeypatch):
    with signal_at(tiles.Tile, "play", 2, 9), pytest.warns(StoppedWarning) as said:
        played()
    assert len(said) == 2
    monkeypatch.setattr(interruption, "AT_ONCE", 60)
    monkeypatch.setattr(interruption, "_last", -1000.0)
    with signal_at(tiles.Tile, "play", 2, 4), pytest.warns(StoppedWarning) as said:
        assert played() == [100]  # the second signal came in the second call, and soon after the first
    assert len(said) == 1
    with warnings.catch_warnings(), signal_at(tiles.Tile, "play", 2):
        monkeypatch.setattr(interruption, "_last", -1000.0)
        warnings.simplefilter("error", StoppedWarning)  # for those who want a loop to end
        with pytest.raises(StoppedWarning, match="after round 100 of 300"):
            played()


one_signal = partial(signal.raise_signal, signal.SIGINT)


def collect():
    """A signal in a callback of the garbage collector, when it begins and when it ends."""

    def signalled(phase, info):
        one_signal()

    gc.callbacks.append(signalled)
    gc.collect(0)
    gc.callbacks.remove(signalled)


def in_block(block, *functions):
    """What a block raises in which these functions are called one after the other, and how many of them return."""
    returned = []
    try:
        with block:
            for function in functions:
                function()
                returned.append(function)
    except KeyboardInterrupt as error:
        return error, len(returned)
    raise AssertionError("the signal is lost")


def failure():
    raise ValueError("in the block")


def test_a_callback_of_the_garbage_collector_does_not_swallow_a_signal():
    with mock.patch.object(sys, "unraisablehook") as swallowed:
        collect()
        assert swallowed.call_count == 2  # Python prints what is raised in one, and goes on
        assert in_block(CtrlC(), collect)[1] == 1
        assert in_block(reraise_ctrl_c(), collect)[1] == 1
        assert in_block(reraise_ctrl_c(), collect, lambda: simulate(**CASE, progress=False))[1] == 1


def test_a_block_and_what_it_raises():
    error, returned = in_block(CtrlC(), one_signal, failure)
    assert isinstance(error.__context__, ValueError) and returned == 1
    assert in_block(CtrlC(), lambda: in_block(CtrlC(), one_signal, list), list)[1] == 2
    error, returned = in_block(block := CtrlC(raises=False), one_signal, one_signal, list)
    assert returned == 1 and block.came and not interrupted()
    with CtrlC(raises=False) as block:
        one_signal()
    assert block.came
    with CtrlC(raises=False) as block:
        one_signal()
        assert block.take()
    assert not block.came
    with CtrlC() as block:
        assert not block.take()
    assert in_block(CtrlC(raises=False), one_signal, failure)[1] == 1


def test_a_second_signal_goes_to_whoever_has_the_signals():
    had = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: had.append(number))
    try:
        assert in_block(CtrlC(), one_signal, one_signal, one_signal)[1] == 3
        assert had == [signal.SIGINT] * 2
        with pytest.warns(StoppedWarning), signal_at(tiles.Tile, "play", 2):
            simulate(**CASE, progress=False)
        assert had == [signal.SIGINT] * 2
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for a script's background jobs
        with signal_at(tiles.Tile, "play", 2):
            assert simulate(**CASE, progress=False).complete
    finally:
        signal.signal(signal.SIGINT, previous)


def test_workers_of_an_executor_are_stopped_too(tmp_path):
    """Threads, each with 20,000 chunks to play."""
    case = {"scenarios": ARMS, "policies": {"u": Uniform()}, "runs": 4, "horizon": 200_000, "times": [10], "chunk": 10}
    with (
        ThreadPoolExecutor(2) as pool,
        signal_at(tiles.Tile, "play", 30),
        pytest.raises(KeyboardInterrupt, match="the same call continues"),
    ):
        sweep({"c": case}, tmp_path, executor=pool, block=1, progress=False)
    reached = [Result.load(piece).rounds for piece in tmp_path.rglob("*.npz")]
    assert 1 <= len(reached) <= 2 and max(reached) < 200_000
    with ThreadPoolExecutor(1) as pool:
        assert sweep({"short": CASE}, tmp_path, executor=pool, progress=False)["short"].complete
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_command_ends_with_130(monkeypatch, capsys):
    def swallowing(settings):
        with contextlib.suppress(KeyboardInterrupt):
            one_signal()

    def failing(settings):
        try:
            one_signal()
        except KeyboardInterrupt:
            raise ValueError("what another library makes of it") from None

    def simulating(settings):
        with signal_at(tiles.Tile, "play", 6):
            simulate(**CASE, progress=False)

    monkeypatch.setattr(sys, "argv", ["command"])
    for function in (swallowing, failing, simulating):
        with pytest.raises(SystemExit) as stopped:
            options.main(function, make_dataclass("NoOptions", [], frozen=True), "command", "Does this.")
        assert stopped.value.code == 130 and "the same command continues" in capsys.readouterr().out


@pytest.mark.slow
def test_signals_at_random(tmp_path, undisturbed):
    """In sweeps and in loops of simulations, of which half compile their programs anew: none of six is lost, and what
    was written goes on to the undisturbed counts."""
    chance, place = random.Random(0), tmp_path / "s"

    def played(kind, anew, folder):
        """The time at which it ends."""
        if anew:
            jax.clear_caches()
        if kind == "sweep":
            sweep(CASES, folder, **OFTEN)
        for case in CASES.values() if kind == "loop" else ():
            simulate(**case, progress=False)
        return time.monotonic()

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    for kind, anew in (("sweep", True), ("sweep", False), ("loop", True), ("loop", False)):
        usual = -time.monotonic() + played(kind, anew, tmp_path / f"{kind} {anew}")
        for _ in range(2 if kind == "sweep" else 1):
            before, sent, timer = contents(place), [], threading.Timer(chance.uniform(0, usual), send)
            finished = None
            with warnings.catch_warnings(record=True) as said, contextlib.suppress(KeyboardInterrupt):
                warnings.simplefilter("always")
                timer.start()
                finished = played(kind, anew, place)
                timer.cancel()
                timer.join()
            lost = finished and sent and sent[0] < finished
            assert not lost or StoppedWarning in [item.category for item in said]
            after = contents(place)
            assert all(after[path] == data for path, data in before.items() if path.suffix == ".npz")
            assert all(Result.load(path) for path in after.keys() - before.keys() if path.suffix == ".npz")
            if finished and kind == "sweep":
                shutil.rmtree(place, ignore_errors=True)
    assert all(equal(result, undisturbed[name]) for name, result in sweep(CASES, place, **OFTEN).items())
