"""Two CPU devices, no silent rank promotion; chance never decides a test more often than once in a million suites."""

import jax
import matplotlib as mpl

mpl.use("Agg")
jax.config.update("jax_num_cpu_devices", 2)
jax.config.update("jax_numpy_rank_promotion", "raise")
