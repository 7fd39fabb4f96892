"""One device a core, asked for in one line; each case is a process of its own, because JAX starts once."""

import os
import subprocess
import sys

import pytest

from jaxbandit.cores import cores

BEFORE = "import jaxbandit, jax; jaxbandit.use_all_cores(); jaxbandit.use_all_cores(); print(len(jax.devices()))"
AFTER = "import jaxbandit, jax; jax.devices(); jaxbandit.use_all_cores()"
AGAIN = f"import jax; jax.config.update('jax_num_cpu_devices', {cores()}); {AFTER}"


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_every_core_is_a_device_of_a_fresh_process():
    assert run(BEFORE).stdout.split() == [str(cores())]


@pytest.mark.skipif(cores() == 1, reason="with one core JAX has all of them already")
def test_once_jax_has_started_the_error_says_what_to_do():
    said = run(AFTER).stderr
    assert "RuntimeError: use_all_cores: JAX has started already, with 1 CPU device(s)" in said
    assert "call it before anything is computed" in said


def test_a_started_jax_that_has_all_cores_is_left_as_it_is():
    assert run(AGAIN).returncode == 0


@pytest.mark.parametrize(("counted", "said"), [(6, 6), (None, 1)])
def test_a_system_that_does_not_say_which_cores_are_ours(monkeypatch, counted, said):
    """macOS and Windows count all cores, or do not know."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert cores() == said
