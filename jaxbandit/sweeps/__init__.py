"""Many simulations in one folder that survives anything. Others take `sweep` and `grid`."""

from jaxbandit.sweeps.loop import grid, sweep

__all__ = ["grid", "sweep"]
