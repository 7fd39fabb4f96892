"""Decision processes, of which the arms are the actions."""

__all__: list[str] = []
