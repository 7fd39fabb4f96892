"""The site, built by `python -m sphinx -W docs site` without a network; `making/` writes what is generated."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "site"  # what a second build need not do again
sys.path.insert(0, str(ROOT))
# kernels inherit these: where experiments and tests are found, and compiled programs
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
os.environ.setdefault("JAXBANDIT_CACHE", str(BUILD / "programs"))

from docs.making import generate  # noqa: E402
from jaxbandit.version import __version__ as release  # noqa: E402

project, author, version = "jaxbandit", "jaxbandit", release
html_title = f"jaxbandit {release}"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.making.mathml", "docs.making.docstrings"]
exclude_patterns = ["making", "generated/parts", "computed/letters.md"]
nitpicky = True
smartquotes = False
python_maximum_signature_line_length = 80
autodoc_typehints = "none"  # long types hide the arguments
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
napoleon_use_param = False
napoleon_custom_sections = ["Returns", "Yields", ("Fields", "params_style")]
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = html_show_copyright = False
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_dmath_double_inline = True  # a formula of its own line within a paragraph
myst_heading_anchors = 3
# notebooks bring the outputs that the tests check; pages are executed, and again where they or the code have changed
nb_execution_mode = "cache"
nb_execution_cache_path = str(BUILD / f"pages-{generate.code()}")
nb_execution_excludepatterns = ["generated/notebooks/*"]
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_render_markdown_format = "myst"  # with tables
# a progress bar is not part of a page: neither its widget, for which scripts would be loaded, nor its text
nb_ipywidgets_js = {}
nb_output_stderr = "remove"
suppress_warnings = ["mystnb.unknown_mime_type"]


def setup(app):
    app.connect("builder-inited", lambda app: generate.write(Path(app.srcdir) / "generated", BUILD))
