"""Decision processes: what is played on which of them, and tables and plots of what is lost.

`problems` says which processes and policies there are and what plain loops have found, `structure` makes processes of
rested arms, `losses` has the tables and `curves` the pictures.
"""
