"""How Sphinx builds the site: ``make docs`` runs it, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

import intarsia

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "Intarsia"
author = "the authors of Intarsia"
copyright = f"{author}, Apache-2.0"
version = release = intarsia.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "messages",
    "sources",
]
exclude_patterns = ["extensions"]
source_suffix = {".md": "markdown"}
default_role = "py:obj"  # a name in a docstring leads to its page, where it has one
nitpicky = False  # types of NumPy and of the standard library have no page here
keep_warnings = True

myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"Intarsia {version}"
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#8a4b14", "color-brand-content": "#8a4b14"},
    "dark_css_variables": {"color-brand-primary": "#e3a76b", "color-brand-content": "#e3a76b"},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
