"""The picture in docs/report.md: an artifact's report as the machine's Chromium shows it.

intarsia compile model.onnx && python -m benchmarks.report_picture model.intarsia docs/pictures/report.png
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT = 1280, 900


def take(artifact: Path, picture: Path) -> None:
    """Write its page down to the end of the graph as a PNG."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder, "report.html")
        subprocess.run([sys.executable, "-m", "intarsia", "report", str(artifact), "-o", str(page)], check=True)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"] if os.getuid() == 0 else []
        )
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce")
        shown.goto(page.as_uri())
        picture.parent.mkdir(parents=True, exist_ok=True)
        end = shown.evaluate("document.querySelector('.stage').getBoundingClientRect().bottom + scrollY")
        shown.screenshot(path=picture, full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": end + 14})
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]), Path(sys.argv[2]))
