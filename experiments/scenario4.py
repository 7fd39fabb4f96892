"""Scenario 4 of the paper: five three-state arms, all five policies."""

from experiments.published.comparison import ABOUT, Settings, compare_policies
from jaxbandit.command_line.options import main

if __name__ == "__main__":
    main(lambda settings: compare_policies("scenario 4", settings), Settings, "scenario4", f"{__doc__}\n{ABOUT}")
