"""Formulas as MathML, made when the site is built: a browser draws them without a script and without a network."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

# a name with or without a power; not one that stands inside of it
NAMES = re.compile(r"<msup><mi>(?:log|exp)</mi><mn>\d</mn></msup>|(?<!<msup>)(?<!<msub>)<mi>(?:log|exp)</mi>")
SPACE = '<mspace width="0.17em"/>'


def mathml(tex: str, display: str = "inline") -> str:
    """A formula in TeX as MathML.

    Raises:
      SphinxError: it has a command that would be shown as such.

    >>> mathml(r"\\log t").partition("<mrow>")[2]
    '<mi>log</mi><mspace width="0.17em"/><mi>t</mi></mrow></math>'
    """
    markup = convert(tex.replace(r"\lbrace", r"\{").replace(r"\rbrace", r"\}"), display=display)
    markup = re.sub(r">\\([{}])<", r">\1<", markup)  # large braces
    # browsers know no alphabet but the upright one, so that letters of others are characters of their own
    markup = re.sub(r'<mi mathvariant="(double-struck|script)">([A-Z])</mi>', _letter, markup)
    markup = re.sub(r'<(mi|mn) mathvariant="bold">(\w)</\1>', r'<\1 style="font-weight: bold">\2</\1>', markup)
    markup = NAMES.sub(_apart, markup)
    if unknown := re.findall(r"\\[A-Za-z]+", re.sub(r"<[^>]*>", "", markup)):
        raise SphinxError(f"formula {tex!r}: {unknown[0]} is not known to latex2mathml")
    return markup


def _apart(match: re.Match[str]) -> str:
    """A function's name, apart from letters and numbers before and behind it."""
    before, behind = match.string[: match.start()], match.string[match.end() :]
    left = SPACE if re.search(r"(</(mi|mn|msub|msup|mfrac)>|&#x00029;</mo>)$", before) else ""
    return left + match[0] + (SPACE if re.match(r"<(mi|mn|msub|msup|mfrac|mrow|mover)\b", behind) else "")


def _letter(match: re.Match[str]) -> str:
    kind, letter = match.groups()
    name = f"{kind.upper()} CAPITAL {letter}"
    try:
        return f"<mi>{unicodedata.lookup(f'MATHEMATICAL {name}')}</mi>"
    except KeyError:  # letters that were there before the others
        return f"<mi>{unicodedata.lookup(name)}</mi>"


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def cut(tex: str) -> list[str]:
    r"""A formula cut at its wide spaces, where a narrow page may break the line; not within braces.

    >>> print(*cut(r"\hat\mu_k,\qquad\{1, 2\}\text{ of arm }\,k\quad"), sep="\n")
    \hat\mu_k,
    \{1, 2\}\text{ of arm }\,k
    """
    pieces, depth = [""], 0
    for part in re.split(r"(\\[{}]|[{}]|\\q?quad(?![A-Za-z]))", tex):
        if part.endswith("quad") and not depth and r"\begin" not in tex:
            pieces.append("")
        else:
            depth += {"{": 1, "}": -1}.get(part, 0)
            pieces[-1] += part
    return [piece.strip() for piece in pieces if piece.strip()]


def _block(translator: Any, node: nodes.math_block) -> None:
    drawn = "\n".join(f"<span>{mathml(piece, 'block')}</span>" for piece in cut(node.astext()))
    translator.body.append(f'<div class="formula">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
