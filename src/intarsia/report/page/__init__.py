"""A report as one self-contained HTML page: `page.render` puts it together, the other files make its parts."""

from intarsia.report.page.facts import Provenance
from intarsia.report.page.page import render

__all__ = ["Provenance", "render"]
