"""Lists the commands, each with the first line of what it says of itself: `python -m experiments`."""

from pathlib import Path

from jaxbandit.command_line.listing import about, listing
from jaxbandit.command_line.options import parser_of

if __name__ == "__main__":
    said = about(sorted(Path(__file__).parent.glob("[a-z]*.py")))
    what = "Runnable experiments: python -m experiments.NAME, of which --help says more."
    parser = parser_of("python -m experiments", what, listing(said))
    parser.parse_args()
    parser.print_help()
