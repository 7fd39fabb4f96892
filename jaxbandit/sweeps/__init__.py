"""Many simulations in one folder that survives anything. Others take `sweep`, `grid` and `to_xarray`."""

from jaxbandit.sweeps.loop import grid, sweep
from jaxbandit.sweeps.named_axes import to_xarray

__all__ = ["grid", "sweep", "to_xarray"]
