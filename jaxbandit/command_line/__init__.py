"""How a command goes: its options, its folder, and the steps that every experiment takes in the same order.

Others may take `experiment`, `listing` and `options`.
"""

__all__: list[str] = []
