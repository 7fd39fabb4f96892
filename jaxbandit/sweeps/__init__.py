"""Many simulations in one folder that survives interruptions: `sweep`, `load_sweep`, `grid` and `to_xarray`."""

from jaxbandit.sweeps.grids import grid, to_xarray
from jaxbandit.sweeps.reading import load_sweep
from jaxbandit.sweeps.sweep_loop import sweep

__all__ = ["grid", "load_sweep", "sweep", "to_xarray"]
