"""What a result says of its making, and the memory that it needs.

`fingerprint` is what the counts depend on and what a reader wants to know, `free_memory` what it would take.

Sweeps take `fingerprint` and `free_memory.check_memory`.
"""

__all__: list[str] = []
