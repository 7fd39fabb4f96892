"""A sweep that a TOML file describes: scenarios, policies with grids of their fields, and how much to play.

It is `jaxbandit sweep`, which comes with the package.
"""

from jaxbandit.command_line.options import main
from jaxbandit.commands.sweep import Settings, run
from jaxbandit.commands.sweep import __doc__ as about

__all__ = ["Settings", "run"]

if __name__ == "__main__":
    main(run, Settings, "sweep", str(about))
