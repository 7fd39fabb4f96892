"""What several experiments compare: how regret grows, who loses how much where, and regret against the best single arm.

Everybody may take from it, and it takes nothing from the other rooms.
"""
