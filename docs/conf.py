"""The site: `make docs` builds it, with every warning an error."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # pages run the examples

import projbandits

project = "projbandits"
author = project_copyright = "The projbandits authors"
version = release = projbandits.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_static", "_templates", "images"]
nitpicky = True
suppress_warnings: list[str] = []

# Pages are CommonMark; links to headings are those of GitHub.
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

# Types are in the docstrings, in words.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = f"projbandits {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
}

FORMULA = re.compile(r"(`[^`]*`)|([|])")
"""A bar of a norm in a docstring, unless it is in code."""
PAGE = re.compile(r"docs/([\w-]+)\.md")


def plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let bars be bars (reStructuredText takes |x| for a substitution), and pages be links.

    A formula is a block after ::, in which nothing is escaped, and which is no Python.
    """
    made: list[str] = []
    formula = False
    for line in lines:
        formula = formula and (not line or line.startswith(" "))
        if not formula and not line.lstrip().startswith((">>>", "...")):
            line = FORMULA.sub(lambda found: found[1] or "\\|", line)
            line = PAGE.sub(r":doc:`/\1`", line)
        if line.endswith("::") and not line.startswith(".."):
            made += [line[:-1], "", ".. code-block:: none"]
            formula = True
        else:
            made.append(line)
    lines[:] = made


def foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to its estimators: it is documented there."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn") else None


def setup(app: Any) -> None:
    """Connect both to the build."""
    app.connect("autodoc-skip-member", foreign)
    app.connect("autodoc-process-docstring", plain)
