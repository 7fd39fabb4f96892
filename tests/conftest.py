"""Two CPU devices, no silent rank promotion; chance never decides a test more often than once in a million suites.

Programs that one test has compiled are there for the others, in other processes as well: the session has a compilation
cache of its own. Where few tests are asked for, by name, they run in this process: a second process takes seconds.
"""

import os
import shutil
import tempfile

import jax
import matplotlib as mpl

mpl.use("Agg")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_configure(config):
    if not hasattr(config, "workerinput") and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        config.cache_of_programs = tempfile.mkdtemp(prefix="jaxbandit-tests-")
        os.environ["JAX_COMPILATION_CACHE_DIR"] = config.cache_of_programs  # workers and child processes inherit it
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    if folder := os.environ.get("JAX_COMPILATION_CACHE_DIR"):  # JAX has read the environment already
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_unconfigure(config):
    if folder := getattr(config, "cache_of_programs", None):
        shutil.rmtree(folder, ignore_errors=True)


def pytest_xdist_auto_num_workers(config):
    return 0 if config.option.keyword or any("::" in name for name in config.args) else None
