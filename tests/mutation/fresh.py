"""pytest in fresh processes that have other packages at hand but nothing of jaxbandit, nor what JAX has traced of it.

They are forks of a process in which JAX has been imported and computed nothing, which saves seconds each time.
"""

import os
import signal
import sys
import time
from pathlib import Path

IMPORTED = "jax.extend scipy.special scipy.optimize scipy.stats optax chex mpmath matplotlib.pyplot pytest".split()


def prepare(tree: Path) -> None:
    """From now on this process works in a tree, whose modules it does not import itself."""
    os.chdir(tree)
    root = str(Path(__file__).parent.parent.parent)
    sys.path[:] = [str(tree), *(path for path in sys.path if path not in ("", root))]
    os.environ["PYTHONPATH"] = str(tree)
    for name in IMPORTED:
        __import__(name)
    assert "jaxbandit" not in sys.modules


def pytest_in_fork(arguments: list[str], output: Path, limit: float) -> int:
    """pytest's exit code; -1 where it takes longer than so many seconds."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()  # children of tests end with it
            with output.open("w") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            import pytest

            code = pytest.main(arguments)
            sys.stdout.flush()
        finally:
            os._exit(code)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1
