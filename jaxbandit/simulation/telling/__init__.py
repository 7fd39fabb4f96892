"""The provenance of a result, and the memory that it needs.

`fingerprint` has everything on which the counts depend, and the provenance; `free_memory` checks the memory.

Sweeps use `fingerprint` and `free_memory.check_memory`.
"""

__all__: list[str] = []
