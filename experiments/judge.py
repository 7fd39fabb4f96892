"""Judge a policy: where it is good, where it fails, and by how much.

It is `jaxbandit judge`, which comes with the package.
"""

from jaxbandit.command_line.options import main
from jaxbandit.commands.judge import Settings, run
from jaxbandit.commands.judge import __doc__ as about

__all__ = ["Settings", "run"]

if __name__ == "__main__":
    main(run, Settings, "judge", str(about))
