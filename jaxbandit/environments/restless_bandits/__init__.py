"""Restless arms (RMAB): they move whether they are played or not, and one or all of them pay."""

__all__: list[str] = []
