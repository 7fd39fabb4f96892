"""Index policies and others that take an arm for what it pays on average."""

__all__: list[str] = []
