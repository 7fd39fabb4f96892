"""What is shown lives here: tables, verdicts with their intervals, pictures as files, and a page of HTML.

Everybody may take from it, and it takes nothing from the other rooms.
"""
