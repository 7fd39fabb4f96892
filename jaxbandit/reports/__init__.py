"""What a command shows: tables, verdicts with their intervals, pictures as files, and a page of HTML.

Others may take `page`, `pictures`, `tables` and `verdicts`.
"""

__all__: list[str] = []
