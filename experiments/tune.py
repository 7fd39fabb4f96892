"""Numbers for a policy: chosen on some runs, judged on others, so that chance in the choice is not reported as a gain.

It is `jaxbandit tune`, which comes with the package.
"""

from jaxbandit.command_line.options import main
from jaxbandit.commands.tune import Settings, run
from jaxbandit.commands.tune import __doc__ as about

__all__ = ["Settings", "run"]

if __name__ == "__main__":
    main(run, Settings, "tune", str(about))
