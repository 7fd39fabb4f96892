"""Runnable experiments: `python -m experiments.NAME --help`."""
