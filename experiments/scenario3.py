"""Scenario 3 of the paper: five three-state arms, all five policies.

Prints final regret with its spread (it has heavy tails: a few runs lock on a wrong arm), paired differences, and a
verdict on each of the paper's claims; writes figures, tables (CSV) and counts (result.npz). Ctrl-C keeps what is done,
and the same command continues.
"""

from experiments.command_line.options import main
from experiments.published.comparison import Settings, compare_policies

if __name__ == "__main__":
    main(lambda settings: compare_policies("scenario 3", settings), Settings, "scenario3", __doc__)
