"""Two CPU devices, no silent rank promotion; chance never decides a test more often than once in a million suites.

Programs that one test has compiled are there for the others, in other processes as well: the session has a compilation
cache of its own. Where few tests are asked for, by name, they run in this process: a second process takes seconds.
"""

import gc
import json
import math
import os
import re
import shutil
import signal
import sys
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import jax
import matplotlib as mpl
import pytest

gc.disable()  # until all is collected: what is imported lives on
mpl.use("Agg")
os.environ.pop("COLUMNS", None)  # the width of a terminal, which pytest-xdist gives its workers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background jobs ignore Ctrl-C
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_numpy_rank_promotion", "raise")
# The quick tests spend most of their time in XLA, and are too short to need its optimisations. The slow tests run the
# machine code that users get.
QUICK_FLAGS = (
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
LEAST = 0.0  # seconds of compiling from which a program is worth a file
TYPED = re.compile(r"[A-Za-z0-9._-]+")  # an id that a shell takes without quotes
LONGEST = 40  # letters of an id that is made of a value
MEASURED = Path(__file__).parents[1] / "build" / "accuracy"  # what the site shows


def pytest_configure(config):
    known = jax.__version_info__ < (0, 12)  # a flag that XLA does not know ends the process
    if config.option.markexpr == "not slow" and known:  # before JAX has a backend; child processes inherit them
        os.environ.setdefault("XLA_FLAGS", QUICK_FLAGS)
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


def pytest_make_parametrize_id(val, argname):
    """An id for a value, of at most 40 characters; the argument's name where the value gives none, as a lambda."""
    text = "empty" if isinstance(val, str | list | tuple | dict) and not val else words(val)
    if len(text) > LONGEST:
        text = text[: LONGEST + 1].rpartition("-")[0] or text[:LONGEST]
    return text or argname


def words(value):
    """What can be typed of a value, of its parts, or of the fields of a dataclass that are not as by default."""
    if isinstance(value, str):
        text = re.sub(r"[^A-Za-z0-9._]+", "-", value.replace(".*", " "))
        return re.sub(r"\.?-[.-]*", "-", text).strip("-.")
    if isinstance(value, float):
        return (str(value) if len(str(value)) <= 8 else f"{value:.6g}").replace("+", "")
    if value is None or isinstance(value, int):
        return str(value)
    if hasattr(value, "__name__"):
        return "" if value.__name__ == "<lambda>" else value.__name__
    if hasattr(value, "tolist"):  # arrays
        return words(value.tolist())
    if isinstance(value, dict):
        return joined(part for pair in value.items() for part in pair)
    if isinstance(value, list | tuple):
        return joined(value)
    message = [type(value).__name__]
    for field in fields(value) if is_dataclass(value) else ():
        inputs = getattr(value, field.name)
        if isinstance(inputs, bool | int | float | str) and inputs != field.default:
            message += [field.name, inputs]
    return joined(message)


def joined(parts):
    return "-".join(word for word in map(words, parts) if word)


def pytest_collection_modifyitems(config, items):
    """An id that cannot be typed is an error."""
    error = RuntimeError if hasattr(config, "workerinput") else pytest.UsageError  # xdist hides a worker's UsageError
    for item in items:
        case = item.name.removesuffix("]").partition("[")[2]
        if case and not TYPED.fullmatch(case):
            raise error(f"{item.nodeid}: an id has letters, digits, dots, hyphens and underscores only")


def pytest_collection_finish():
    """Python looks for cycles among all that lives, and what was imported lives on: a twentieth of the time."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def pytest_runtest_teardown():
    """A figure that a test leaves open is where the next test would draw; a signal is not the first of two for it."""
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
    if interruption := sys.modules.get("jaxbandit.interruption"):
        interruption._last = -math.inf


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
