"""What makes the site's pages: from the docstrings, the README, the notebooks, results and `docs/policies.toml`."""
