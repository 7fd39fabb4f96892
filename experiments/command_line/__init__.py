"""How a command goes lives here: its options, its folder, and the steps that every experiment takes in the same order.

Commands take all of it, other rooms single options and the check of cases.
"""
