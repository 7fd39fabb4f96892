"""Scenario 3 of the paper: five three-state arms, all five policies."""

from experiments.published.comparison import ABOUT, Settings, compare_policies
from jaxbandit.command_line.options import main

if __name__ == "__main__":
    main(lambda settings: compare_policies("scenario 3", settings), Settings, "scenario3", f"{__doc__}\n{ABOUT}")
