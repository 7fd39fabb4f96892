"""Many simulations in one folder that survives anything. Others take `sweep`, `load_sweep`, `grid` and `to_xarray`."""

from jaxbandit.sweeps.grids import to_xarray
from jaxbandit.sweeps.reading import load_sweep
from jaxbandit.sweeps.sweep_loop import grid, sweep

__all__ = ["grid", "load_sweep", "sweep", "to_xarray"]
