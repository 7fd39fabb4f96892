"""Building blocks of policies: memories, forgetting, exploration levels, leaders, checks, known arms."""

__all__: list[str] = []
