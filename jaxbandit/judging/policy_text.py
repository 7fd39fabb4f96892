"""A policy from text: an expression of the library's, or one that is evaluated in a Python file."""

from __future__ import annotations

import builtins
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import jaxbandit
from jaxbandit import families, members, policies
from jaxbandit.simulation.asking.user_code import in_words
from jaxbandit.texts import near_miss

PARTS = ("init", "scores", "update")
IN_A_FILE = re.compile(r"(.*?\.py)(?::(.*))?", re.DOTALL)
EXPRESSION = "<policy>"


def policies_of(texts: Iterable[str]) -> dict[str, Any]:
    """The policies by label, which is the expression; the whole text where two files have the same expression."""
    by_label: dict[str, tuple[str, Any]] = {}
    for text in texts:
        label, policy = policy_of(text)
        if label in by_label and by_label[label][0] != text:
            label = text
        if label in by_label:
            raise ValueError(f"{text}: given twice")
        by_label[label] = text, policy
    return {label: policy for label, (_, policy) in by_label.items()}


def policy_of(text: str) -> tuple[str, Any]:
    """The expression and its policy; a class is called.

    >>> policy_of("KLUCB")
    ('KLUCB()', KLUCB(exploration=None, solver='halley', family=None, horizon=None, clock='round', memory=None))
    """
    in_a_file = IN_A_FILE.fullmatch(text.strip())
    if in_a_file:
        path, expression = Path(in_a_file[1]), in_a_file[2] or ""
        names = _names_of_file(path)
        if not expression.strip():
            raise ValueError(f"{path}: which policy? Give it as {path}:NAME; {_offer(path.name, names)}")
        where = path.name
    else:
        expression, names, where = text, _names_of_library(), "jaxbandit"
    expression = expression.strip()
    value = _value(expression, names, where)
    if isinstance(value, type):
        expression += "()"
        value = _value(expression, names, where)
    missing = [part for part in PARTS if not members.has_methods(value, part)]
    if missing:
        raise ValueError(f"{text}: {type(value).__name__} is no policy: it has no {', '.join(missing)}")
    return expression, value


def _value(expression: str, names: Mapping[str, Any], where: str) -> Any:
    try:
        code: CodeType = compile(expression, EXPRESSION, "eval")
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{expression!r}: not a Python expression ({error.args[0]})") from None
    unknown = [name for name in code.co_names if name not in names and not hasattr(builtins, name)]
    try:
        return eval(code, dict(names))
    except NameError as error:
        if error.name in unknown:
            meant = near_miss(error.name, names)
            raise ValueError(f"{where} has no {error.name!r}{meant}; {_offer(where, names)}") from None
        raise ValueError(in_users_words(error, expression)) from None
    except Exception as error:
        text = in_users_words(error, expression)
        lacking = re.match(r"TypeError: (\w+)\.__init__\(\) missing", text.removeprefix(f"{expression}: "))
        raise ValueError((lacking and _made_of_arms(lacking[1], names)) or text) from None


def _made_of_arms(name: str, names: Mapping[str, Any]) -> str:
    """What is to be said of a class that makes its policies of known arms; nothing of any other."""
    made = getattr(names.get(name), "of", None)
    if made is None:
        return ""
    needed = [each.name for each in inspect.signature(made).parameters.values() if each.default is each.empty]
    return (
        f"{name}: has to be made from one known environment, as {name}.of({', '.join(needed)}), and judge plays a "
        "policy on many; judge one that learns, such as KLUCB(), PosteriorWhittle() or PSRL()"
    )


def in_users_words(error: Exception, expression: str) -> str:
    """The error in one line, which begins with the user's line, or with the expression where no file has one."""
    ours = (Path(str(jaxbandit.__file__)).parent, Path(str(importlib.__file__)).parent.parent)

    def is_a_users(file: str) -> bool:
        """Whether a file is neither Python's, nor a package's, nor ours."""
        outside = not any(map(Path(file).is_relative_to, ours))
        return outside and not file.startswith("<") and "site-packages" not in file

    text = in_words(error, is_a_users)
    kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
    return f"{expression}: {text}" if text.startswith(kind) else text


def _names_of_library() -> dict[str, Any]:
    """What an expression may speak of: the library's public names, and those of its policies and families."""
    rooms = {"jaxbandit": jaxbandit, "policies": policies}
    return {name: getattr(room, name) for room in (families, policies, jaxbandit) for name in room.__all__} | rooms


def _names_of_file(path: Path) -> dict[str, Any]:
    """What a Python file defines, which is executed as a module, with its folder as a place to import from."""
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    name, path = path.stem, path.resolve()
    already = getattr(sys.modules.get(name), "__file__", None)
    if already and Path(already).resolve() == path:
        return vars(sys.modules[name])
    while name in sys.modules or not name.isidentifier() or importlib.util.find_spec(name):
        name = re.sub(r"\W", "_", name) + "_"
    spec: Any = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        line = f"{Path(error.filename or path).name}, line {error.lineno}: {(error.text or '').strip()}"
        raise ValueError(f"{line}: SyntaxError: {error.msg}") from None
    except Exception as error:
        raise ValueError(in_users_words(error, path.name)) from None
    return vars(module)


def _offer(where: str, names: Mapping[str, Any]) -> str:
    """What is there, policies before anything else."""
    if where == "jaxbandit":
        return f"it has {', '.join(policies.ALL)}"
    own = {
        name: value
        for name, value in names.items()
        if not name.startswith("_") and getattr(value, "__module__", names["__name__"]) == names["__name__"]
    }
    names_offered = [name for name, value in own.items() if members.has_methods(value, *PARTS)]
    names_offered = names_offered or [name for name, value in own.items() if callable(value)]
    return f"it has {', '.join(names_offered)}" if names_offered else "it defines nothing that could be a policy"
