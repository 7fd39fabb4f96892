"""One device a core, asked for in one line."""

import os
import subprocess
import sys

import jax
import pytest

import jaxbandit
from jaxbandit.cores import cores

USE = "jaxbandit.use_all_cores()"
TWICE = f"import jaxbandit, jax; {USE}; {USE}; print(len(jax.devices())); {USE}"


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
