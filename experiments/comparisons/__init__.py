"""What several experiments compare, how regret grows and who loses how much where, and the lemmas on it in numbers.

Everybody may take from it, and it takes nothing from the other rooms.
"""
