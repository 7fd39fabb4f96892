"""Two CPU devices, no silent rank promotion; chance never decides a test more often than once in a million suites.

Programs that one test has compiled are there for the others, in other processes as well: the session has a compilation
cache of its own. Where few tests are asked for, by name, they run in this process: a second process takes seconds.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import jax
import matplotlib as mpl
import pytest

mpl.use("Agg")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_numpy_rank_promotion", "raise")
LEAST = 0.0  # seconds of compiling from which a program is worth a file
MEASURED = Path(__file__).parents[1] / "build" / "accuracy"  # what the site shows
# Tests that take more than about 2.5 seconds, as --durations=0 says; and those of them that `.ci/run` leaves out, which
# take long: further cases of what others hold, and whole experiments and machinery that seldom change.
SLOW, RELEASE = (Path(__file__).parent / name for name in ("slow.txt", "release.txt"))


def pytest_configure(config):
    if not hasattr(config, "workerinput") and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        config.cache_of_programs = tempfile.mkdtemp(prefix="jaxbandit-tests-")
        os.environ["JAX_COMPILATION_CACHE_DIR"] = config.cache_of_programs  # workers and child processes inherit it
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = str(LEAST)
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    if folder := os.environ.get("JAX_COMPILATION_CACHE_DIR"):  # JAX has read the environment already
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_unconfigure(config):
    if folder := getattr(config, "cache_of_programs", None):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_xdist_auto_num_workers(config):
    return 0 if config.option.keyword or any("::" in name for name in config.args) else None


def pytest_collection_modifyitems(config, items):
    """Mark what the two files name, a test or one case of it; a name that no test has any more is an error."""
    files = {item.nodeid.split("::")[0] for item in items}
    for file, marks in ((SLOW, ["slow"]), (RELEASE, ["slow", "release"])):
        names, found = file.read_text().splitlines(), set()
        for item in items:
            if here := {item.nodeid, item.nodeid.split("[")[0]} & set(names):
                found |= here
                for mark in marks:
                    item.add_marker(mark)
        gone = [name for name in names if name.split("::")[0] in files and name not in found]
        if gone and not config.option.keyword and not any("::" in name for name in config.args):
            raise pytest.UsageError(f"tests/{file.name} names {gone[0]}, which is no test")


@pytest.fixture
def accuracy(request):
    """Refuse an error larger than what is allowed, and write both down for the site's table of accuracy."""
    rows = []

    def check(what, against, error, allowed):
        rows.append({"what": what, "against": against, "largest error": float(error), "allowed": allowed})
        assert error <= allowed, f"{what}: off by {error} from {against}"

    yield check
    MEASURED.mkdir(parents=True, exist_ok=True)
    (MEASURED / f"{request.node.name.replace('/', '-')}.json").write_text(json.dumps(rows))
