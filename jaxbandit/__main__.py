"""The command `jaxbandit`, also as `python -m jaxbandit`."""

from jaxbandit.commands.entry import main

if __name__ == "__main__":
    main()
