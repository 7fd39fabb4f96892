"""How long a call takes, and on which machine: rounds a second, seconds to compile, peak memory.

Others may take `machine` and `stopwatch`.
"""

__all__: list[str] = []
