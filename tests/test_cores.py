"""One device a core, asked for in one line."""

import multiprocessing
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit.cores import check_threads, cores
from jaxbandit.sweeps import tasks

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
