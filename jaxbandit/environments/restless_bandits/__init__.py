"""Restless arms (RMAB), which move whether they are played or not; only played arms pay, or all arms pay."""

__all__: list[str] = []
