"""What makes the site's pages: from the docstrings, the notebooks, results and `docs/policies.toml`."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent  # of the repository
