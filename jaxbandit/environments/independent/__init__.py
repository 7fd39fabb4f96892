"""Arms with i.i.d. rewards, and the laws of the rewards."""

__all__: list[str] = []
