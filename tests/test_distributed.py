"""Several processes under jax.distributed give the bits of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
from distributed_child import play

from jaxbandit import Result

TESTS = Path(__file__).parent


def test_two_processes_give_the_bits_of_one(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parent), "JAX_PLATFORMS": "cpu"}
    files = [tmp_path / f"{number}.npz" for number in range(2)]
    child, asked = [sys.executable, str(TESTS / "distributed_child.py")], {"stderr": subprocess.PIPE, "text": True}
    commands = [[*child, str(number), "2", str(port), str(file)] for number, file in enumerate(files)]
    processes = [subprocess.Popen(command, env=environment, **asked) for command in commands]
    complaints = [process.communicate(timeout=240)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], complaints
    alone = play()
    for file in files:
        together = Result.load(file)
        assert together.complete
        for label in alone.labels:
            np.testing.assert_array_equal(together.visits[label], alone.visits[label])
            for one, other in zip(alone.carry[label], together.carry[label], strict=True):
                np.testing.assert_array_equal(one, other)
