"""Completion of this command by the shell: prints a script for bash or zsh, which starts no Python when a key is hit.

For bash put this into ~/.bashrc:

source <(jaxbandit completion bash)

and for zsh this into ~/.zshrc, below compinit:

source <(jaxbandit completion zsh)

Each new shell then takes two seconds longer, unless the script is written to a file that is read in its place. It
completes commands, options, and the names of policies, of problems and of what else is known; files, where nothing
is. Print it again after an update.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jaxbandit
from jaxbandit.command_line.options import argument, flag, unknown
from jaxbandit.commands import entry

SHELLS = ("bash", "zsh")
FUNCTION = """\
_jaxbandit() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} earlier= offered= each
  COMPREPLY=() word=${{word//\\\\/}}
  if [ "$COMP_CWORD" -eq 1 ]; then offered={commands}; else
    case "${{COMP_WORDS[1]}} $before" in
{values}
      *) case "${{COMP_WORDS[1]}} $word" in
{options}
{names}
      esac ;;
    esac
  fi
  while IFS= read -r each; do
    case $each in "$earlier$word"*) COMPREPLY+=("${{each#"$earlier"}}") ;; esac
  done <<< "$offered"
}}
complete -o default -F _jaxbandit jaxbandit"""
# of a name with blanks, which needs no quotes, the words before the last one are there already
EARLIER = 'for ((each = 2; each < COMP_CWORD; each++)); do earlier+="${COMP_WORDS[each]} "; done; '


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is printed."""

    shell: str = argument("bash or zsh", SHELLS)


def _quoted(names: Any) -> str:
    """Lines, as one word of the shell."""
    return "$'" + "\\n".join(str(name).replace("\\", "\\\\").replace("'", "\\'") for name in names) + "'"


def _fields(name: str) -> Iterator[tuple[str, bool, Any]]:
    """The options of a command: each one's flag or nothing, whether its name has words, and what is offered."""
    for field in dataclasses.fields(entry.module_of(name).Settings):
        own = "" if "nargs" in field.metadata else flag(field.name)
        yield own, field.metadata.get("nargs") == "*", field.metadata.get("offered", ())


def script(shell: str) -> str:
    """The script."""
    values, options, names = [], [], []
    for name in entry.COMMANDS:
        fields = list(_fields(name))
        values += [f'      "{name} {one}") offered={_quoted(known)} ;;' for one, _, known in fields if one and known]
        flags = ["--help", "--version", *(one for one, _, _ in fields if one)]
        options.append(f'        "{name} -"*) offered={_quoted(flags)} ;;')
        names += [
            f'        "{name} "*) {EARLIER * named}offered={_quoted(known)} ;;'
            for one, named, known in fields
            if known and not one
        ]
    commands = _quoted([*entry.COMMANDS, "--help", "--version"])
    parts = {"values": "\n".join(values), "options": "\n".join(options), "names": "\n".join(names)}
    first = f"# completion of jaxbandit {jaxbandit.__version__} for {shell}, printed by: jaxbandit completion {shell}"
    loaded = ["autoload -U +X bashcompinit && bashcompinit"] * (shell == "zsh")
    return "\n".join([first, *loaded, FUNCTION.format(commands=commands, **parts)])


def run(settings: Settings) -> None:
    """Print it."""
    if settings.shell not in SHELLS:
        raise ValueError(unknown("SHELL", settings.shell, SHELLS))
    print(script(settings.shell))
