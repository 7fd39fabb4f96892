"""What policies are made of: memories, forgetting, exploration levels, leaders, checks, known arms."""

__all__: list[str] = []
