"""Independent rewards with a law of real numbers, and the laws themselves."""

__all__: list[str] = []
