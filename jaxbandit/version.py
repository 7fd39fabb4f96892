"""The version, in a place that every module can read."""

__version__ = "0.1.0"
