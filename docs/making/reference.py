"""The reference: every public name with its signature and its docstring, a page for each room of the package.

Policies have pages of their own, which `docs.making.policies` writes.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Collection, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import jaxbandit
from tests.test_architecture import DOORS, PUBLIC

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~^&])")
SECTION = re.compile(r"(Args|Fields|Raises|Returns|Yields):\n")
PROSE = ("Returns", "Yields")  # sections that are sentences; the others are lists of names


def places() -> dict[str, str]:
    """The shortest full name of every public thing, and the room that shows it: "" for the package's own door."""
    found: dict[str, str] = {}
    for room, names in {**DOORS, "": " ".join(PUBLIC)}.items():
        module = _module(room)
        for name in names.split():
            thing = getattr(module, name)
            if not inspect.ismodule(thing):
                at_the_door = getattr(jaxbandit, name, None) is thing
                found.setdefault(f"{(jaxbandit if at_the_door else module).__name__}.{name}", room)
    return found


def _module(room: str) -> types.ModuleType:
    return import_module(f"jaxbandit.{room}".rstrip("."))


def write(folder: Path, apart: Collection[str] = ()) -> dict[Path, str]:
    """A page for each room without the classes in `apart`, which have pages of their own, and one that lists all."""
    where = places()
    pages, contents, titles = {}, [], []
    for room in ["", *DOORS]:
        module = _module(room)
        title = module.__name__
        names = sorted((name for name, place in where.items() if place == room), key=str.lower)
        here = [name for name in names if name.split(".")[-1] not in apart]
        shown = [entry(name, _thing(name), where) for name in here]
        if moved := [name for name in names if name not in here]:
            shown.insert(0, f"**Policies**, with a page each: {_links(moved)}")
        about = prose(inspect.getdoc(module) or "", where)
        pages[folder / "reference" / f"{title}.md"] = "\n\n".join([f"# {title}", about, *shown]) + "\n"
        contents.append(f"**[{title}]({title}.md)**: {about.splitlines()[0]}\n\n{_links(names)}")
        titles.append(title)
    pages[folder / "reference" / "index.md"] = "\n\n".join(
        [
            "# Reference",
            "Every public name, with what its docstring says: `help(name)` shows the same.",
            *contents,
            "```{toctree}\n:hidden:\n\n" + "\n".join(titles) + "\n```\n",
        ]
    )
    return pages


def _links(names: Collection[str]) -> str:
    return ", ".join(f"{{py:obj}}`{name.split('.')[-1]} <{name}>`" for name in names)


def _thing(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def entry(name: str, thing: Any, where: dict[str, str]) -> str:
    """A name as Sphinx's own kind of entry, so that search and links find it."""
    if inspect.isclass(thing):
        methods = [
            f":::{{py:method}} {name}.{each}{_signature(method)}\n\n{prose(inspect.getdoc(method) or '', where)}\n:::"
            for each, method in vars(thing).items()
            if not each.startswith("_") and _documented(method)
            for method in [getattr(thing, each)]
            if callable(method)
        ]
        body = "\n\n".join([prose(_own_docstring(thing), where), *_fields(thing, where), *methods])
        return f"::::{{py:class}} {name}{_signature(thing)}\n\n{body}\n::::"
    if callable(thing) and not isinstance(thing, types.GenericAlias) and hasattr(thing, "__name__"):
        return f":::{{py:function}} {name}{_signature(thing)}\n\n{prose(inspect.getdoc(thing) or '', where)}\n:::"
    return f":::{{py:data}} {name}\n\n{_value(thing)}\n:::"


def _documented(method: Any) -> bool:
    return bool(inspect.getdoc(getattr(method, "__func__", method))) and (
        inspect.isfunction(method) or isinstance(method, classmethod | staticmethod)
    )


def _own_docstring(thing: type) -> str:
    """The docstring but for the one that Python makes of a dataclass without one."""
    text = inspect.cleandoc(thing.__doc__ or "")
    return "" if text.startswith(f"{thing.__name__}(") else text


def _fields(thing: type, where: dict[str, str]) -> list[str]:
    """The comments behind the fields of a tuple or a dataclass, where that is how they are explained."""
    try:
        source = inspect.getsource(thing)
    except (OSError, TypeError):
        return []
    found = re.findall(r"^    (\w+): ([^=#\n]+?)(?: = [^#\n]+)?  # (.+)$", source, re.MULTILINE)
    return ["\n".join(f"- **{escape(name)}**: {prose(comment, where)}" for name, _, comment in found)] if found else []


def _signature(thing: Any) -> str:
    """Names and defaults; types where they are short words, as long ones hide the arguments."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()"
    shown = []
    star = False
    for each in signature.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        star |= each.kind is each.VAR_POSITIONAL
        text = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        shown.append(text if each.default is each.empty else f"{text}={_default(each.default)}")
    return f"({', '.join(shown)})"


def _default(value: Any) -> str:
    text = repr(value)
    return text if re.fullmatch(r"[\w.+\-'\", ()\[\]]+", text) else "..."


def _value(thing: Any) -> str:
    text = ", ".join(thing) if isinstance(thing, Mapping | tuple) else getattr(thing, "name", None) or str(thing)
    return escape(text)


def escape(text: str) -> str:
    """Plain text as Markdown that shows it.

    >>> escape("log_2 [K, S] < *x*")
    'log\\\\_2 \\\\[K, S\\\\] \\\\< \\\\*x\\\\*'
    """
    return re.sub(r"^([-+]|\d+(?=[.)]))", r"\\\1", SPECIAL.sub(r"\\\1", text))


def words(text: str, where: dict[str, str]) -> str:
    """A paragraph as one line; names between backquotes become code, and links where they are public."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    shown = [escape(part) for part in parts]
    for n in range(1, len(parts), 2):
        name = next((full for full in where if full.endswith(f".{parts[n]}")), None)
        shown[n] = f"{{py:obj}}`{parts[n]} <{name}>`" if name else f"`{parts[n]}`"
    return "".join(shown)


def prose(docstring: str, where: dict[str, str]) -> str:
    """A docstring as Markdown: paragraphs, formulas and tables as they stand, arguments as a list, examples in colour.

    >>> print(prose("One.\\n\\n    x^2 + y\\n\\nArgs:\\n  x: a number,\\n    or two.\\n", {}))
    One.
    <BLANKLINE>
    ```text
    x^2 + y
    ```
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - **x**: a number, or two.
    >>> print(prose("Returns:\\n  x [K]: all\\n  of them.", {}))
    **Returns**
    <BLANKLINE>
    x \\[K\\]: all of them.
    """
    blocks = re.split(r"\n\s*\n", docstring.strip("\n"))
    shown = []
    for block in blocks:
        if block.lstrip().startswith(">>>"):
            shown.append(f"```pycon\n{inspect.cleandoc(block)}\n```")
        elif (match := SECTION.match(block)) and match[1] in PROSE:
            shown.append(f"**{match[1]}**\n\n{words(block[match.end() :], where)}")
        elif match:
            items = re.split(r"\n  (?=\S)", "\n" + block[match.end() :])[1:]
            shown.append(f"**{match[1]}**\n\n" + "\n".join(_item(item, where) for item in items))
        elif re.search(r"^ ", block, re.MULTILINE):
            shown += _with_formulas(block, where)
        elif block.strip():
            shown.append(words(block, where))
    return "\n\n".join(shown)


def _item(item: str, where: dict[str, str]) -> str:
    name, _, rest = item.partition(":")
    return f"- **{escape(name)}**: {words(rest, where)}"


def _with_formulas(block: str, where: dict[str, str]) -> list[str]:
    """Lines that stand further in are shown as they are, those before and behind them as prose."""
    found: list[str] = []
    lines: list[str] = []
    inside = block.startswith(" ")
    for line in [*block.split("\n"), None]:
        if line is None or line.startswith(" ") != inside:
            if lines:
                text = "\n".join(lines)
                found.append(f"```text\n{inspect.cleandoc(text)}\n```" if inside else words(text, where))
            lines, inside = [], not inside
        lines.append(line or "")
    return found
