"""Scenario 2 of the paper: five two-state arms, all five policies."""

from experiments.published.comparison import ABOUT, Settings, compare_policies
from jaxbandit.command_line.options import main

if __name__ == "__main__":
    main(lambda settings: compare_policies("scenario 2", settings), Settings, "scenario2", f"{__doc__}\n{ABOUT}")
