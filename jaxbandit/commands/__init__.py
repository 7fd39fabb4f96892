"""What `jaxbandit NAME` does, a file for each name: its options, its steps, and as its docstring what `--help` says.

Others may take `entry.main`, which finds the one that is asked for.
"""

__all__: list[str] = []
