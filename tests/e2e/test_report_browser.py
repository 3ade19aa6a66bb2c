"""The report's page in a real browser: mouse, keyboard, both themes, small and large screens, names that would do harm.

Chromium is the machine's own (`make browser` installs it on Debian); where it is not there, these tests skip.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from intarsia.config import RunSettings
from intarsia.graph import load_model
from intarsia.partitioning import Partition, linear_order
from intarsia.report.page import Provenance, render
from intarsia.runtime import attach_report, build, plan_of, write_artifact
from intarsia.target import Target
from tests.cli_fakes import ALONE, PLAN, REPORT
from tests.e2e.conftest import Run
from tests.fakes import fake_graph
from tests.reports import EVIL, large, small

pytestmark = [pytest.mark.e2e]

PATIENCE_MS = 120_000
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 1280, pytest.param(2560, marks=pytest.mark.large))
PROVENANCE = Provenance(engines={"mnn": {"version": "3.6.1", "licence": "BSD-3-Clause"}}, plan=PLAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A page in the browser, with what it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def graph(self, what: str) -> Any:
        return self.page.evaluate(f"intarsiaGraph.{what}")

    def place(self, node: int) -> dict[str, float]:
        """Where a node is on its canvas."""
        found: dict[str, float] = self.page.evaluate(
            "node => { const g = intarsiaGraph, [x, y] = g.transform.apply([g.picture.x[node], g.picture.y[node]]);"
            " return {x, y}; }",
            node,
        )
        return found

    def until(self, condition: str) -> None:
        """Wait: Playwright's own way to wait is a script that the page's policy forbids."""
        for _ in range(6000):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(20)
        pytest.fail(f"it never came to be that {condition}")

    def details(self) -> str:
        return self.page.inner_text("#panel")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium here; on Debian as root: make browser")
    with sync_playwright() as driver:
        # Chromium's own sandbox does not start for root.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield browser
        browser.close()


Opener = Callable[..., Opened]


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Opens a page, and holds it at the end to having loaded nothing and complained of nothing."""
    shown: list[Opened] = []

    def opened(
        content: str | Path, width: int = 1280, height: int = 900, theme: Any = "light", motion: Any = "reduce"
    ) -> Opened:
        file = content if isinstance(content, Path) else tmp_path / "page.html"
        if isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion=motion
        )
        context.set_default_timeout(PATIENCE_MS)
        made = Opened(page=context.new_page())
        made.page.on("console", lambda message: made.said.append(message.text))
        made.page.on("pageerror", lambda error: made.said.append(str(error)))
        made.page.on("request", lambda request: made.asked.append(request.url))
        made.page.goto(file.as_uri())
        shown.append(made)
        return made

    yield opened
    for made in shown:
        assert made.said == []
        assert [url for url in made.asked if not url.startswith(("file:", "data:"))] == []
        made.page.context.close()


@pytest.fixture(scope="module")
def mixed() -> str:
    return render(*small(), PROVENANCE)


@pytest.fixture(scope="module")
def hundreds() -> str:
    return render(*large(300, sizes=(300,)))


@pytest.fixture(scope="module")
def thousands() -> str:
    return render(*large(5000))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_every_screen_in_both_themes(show: Opener, mixed: str, thousands: str, width: int, theme: str) -> None:
    for content in (mixed, thousands):
        page = show(content, width=width, theme=theme).page
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is (theme == "dark")
        brightness = page.evaluate(
            "Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3))"
        )
        assert (brightness < 128) is (theme == "dark")
        assert page.inner_text("h1")


FILLED = """() => {
    const {canvas} = intarsiaGraph, {width, height} = canvas;
    const seen = canvas.getContext('2d').getImageData(0, 0, width, height).data;
    let left = width, top = height, right = 0, bottom = 0;
    for (let y = 0; y < height; y += 2) for (let x = 0; x < width; x += 2) {
        if (!seen[4 * (y * width + x) + 3]) continue;
        left = Math.min(left, x); right = Math.max(right, x); top = Math.min(top, y); bottom = Math.max(bottom, y);
    }
    return (right - left) * (bottom - top) / (width * height);
}"""
"""How much of the graph's box its drawing takes."""


@pytest.mark.parametrize("width", WIDTHS)
def test_the_graph_fills_its_box(show: Opener, hundreds: str, thousands: str, width: int) -> None:
    for content in (render(*large(30)), hundreds, thousands):
        opened = show(content, width=width)
        opened.until("!intarsiaGraph.frame")
        assert opened.page.evaluate(FILLED) > 0.7


def test_three_hundred_nodes_each_have_their_operator_in_sight(show: Opener, hundreds: str) -> None:
    opened = show(hundreds)
    written = opened.page.evaluate(
        """() => {
            const g = intarsiaGraph, context = g.canvas.getContext('2d'), written = [];
            const real = context.fillText.bind(context);
            context.fillText = (text, ...at) => {
                const {a, b} = context.getTransform();
                written.push([text, parseFloat(context.font.match(/([\\d.]+)px/)[1]) * Math.hypot(a, b) / g.ratio]);
                real(text, ...at);
            };
            g.draw();
            return written;
        }"""
    )
    operators = [(text, size) for text, size in written if text.rstrip("…") and "·" not in text]
    assert len(operators) >= 300
    assert min(size for _, size in operators) >= 8
    assert {"Conv", "Relu", "Add", "Mul"} <= {text for text, _ in operators}


@pytest.mark.parametrize("width", [390, 1280])
def test_the_pointer_names_every_node(show: Opener, hundreds: str, width: int) -> None:
    opened = show(hundreds, width=width)
    told = opened.page.evaluate(
        """() => {
            const g = intarsiaGraph, tip = document.getElementById('tip');
            return g.nodes.id.map((_, node) => {
                const [x, y] = g.transform.apply([g.picture.x[node], g.picture.y[node]]);
                const box = g.canvas.getBoundingClientRect();
                const at = {clientX: box.left + x, clientY: box.top + y, bubbles: true};
                g.canvas.dispatchEvent(new MouseEvent('mousemove', at));
                return tip.hidden ? '' : tip.textContent;
            });
        }"""
    )
    assert told == [f"{op} · {id_}" for op, id_ in _named(opened)]
    box = opened.page.locator("#tip").bounding_box()
    assert box is not None
    assert 0 <= box["x"] < box["x"] + box["width"] <= width
    opened.page.mouse.move(2, 2)
    opened.page.locator("#canvas").dispatch_event("mouseleave")
    assert opened.page.locator("#tip").is_hidden()


def _named(opened: Opened) -> list[list[str]]:
    named: list[list[str]] = opened.page.evaluate(
        "intarsiaGraph.nodes.id.map((id, node) => [intarsiaGraph.nodes.ops[intarsiaGraph.nodes.op[node]], id])"
    )
    return named


def test_thousands_of_nodes_have_words_for_their_stretches(show: Opener, thousands: str) -> None:
    opened = show(thousands)
    assert opened.graph("transform.k * 28") < 8
    assert len(opened.graph("placed")) > 20
    assert opened.graph("bandsAt(intarsiaGraph.transform.k)[0].text").startswith("layer.0")


def test_a_narrow_screen_gets_a_narrow_picture(show: Opener, hundreds: str) -> None:
    opened = show(hundreds)
    assert opened.page.evaluate("intarsiaGraph.data.pictures.indexOf(intarsiaGraph.picture)") == 1
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.until("intarsiaGraph.data.pictures.indexOf(intarsiaGraph.picture) === 0")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_engine_has_one_colour_on_every_page(show: Opener, thousands: str, mixed: str) -> None:
    shown: list[dict[str, str]] = []
    report, graph = small()
    swapped = [part | {"target": target} for part, target in zip(report["partitions"], ("ncnn", "mnn"), strict=True)]
    for content in (mixed, thousands, render(report | {"partitions": swapped, "best_single": "onnxruntime"}, graph)):
        page = show(content).page
        shown.append(
            page.evaluate(
                """Object.fromEntries([...document.querySelectorAll('.legend li')].map(each => [
                    each.querySelector('b').textContent,
                    getComputedStyle(each.querySelector('.dot')).backgroundColor]))"""
            )
        )
    first, second, third = shown
    assert first["onnxruntime"] == second["onnxruntime"]
    assert first["mnn"] == third["mnn"]
    assert second["ncnn"] == third["ncnn"]
    assert len(set((first | second | third).values())) == len(first | second | third) == 4


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tables_on_a_phone_stand_in_rows_with_the_names_of_their_columns(show: Opener, mixed: str, theme: str) -> None:
    opened = show(mixed, width=390, theme=theme)
    page = opened.page
    outside = page.evaluate(
        """[...document.querySelectorAll('.stack th, .stack td')]
        .filter(each => each.getClientRects().length && each.getBoundingClientRect().right > 390)
        .map(each => each.outerHTML)"""
    )
    assert outside == []
    names = page.evaluate(
        """[...document.querySelectorAll('.parts td[data-name]')]
        .map(each => getComputedStyle(each, '::before').content)"""
    )
    assert {'"Share"', '"Transition"', '"Nodes"'} <= set(names)
    assert page.locator(".parts thead").is_hidden()
    assert not show(mixed, width=1280).page.locator(".parts thead").is_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_table_that_goes_on_shows_a_shadow(show: Opener, mixed: str, theme: str) -> None:
    page = show(mixed, width=390, theme=theme).page
    page.click("#segments summary")
    page.locator("#segments table").evaluate("each => { each.style.minWidth = '900px'; }")
    box = page.locator("#segments .scroll")

    box.evaluate("each => { each.style.paddingBottom = '40px'; }")

    def edges() -> tuple[bytes, bytes]:
        """Of its empty strip below the rows, the left and the right end."""
        left, bottom, width = page.evaluate(
            "() => { const box = document.querySelector('#segments .scroll').getBoundingClientRect();"
            " return [box.left + scrollX, box.bottom + scrollY, box.width]; }"
        )
        ends = (left, left + width - 6)
        one, other = (
            page.screenshot(full_page=True, clip={"x": x, "y": bottom - 34, "width": 6, "height": 10}) for x in ends
        )
        return one, other

    start = edges()
    box.evaluate("each => { each.scrollLeft = 300; }")
    middle = edges()
    box.evaluate("each => { each.scrollLeft = 9999; }")
    end = edges()
    assert start[0] != middle[0]  # nothing more on the left at the start
    assert start[1] == middle[1]
    assert end[1] != middle[1]
    assert end[0] == middle[0]


def test_a_click_on_a_node_tells_which_engine_and_why(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    opened.page.locator("#canvas").click(position=opened.place(3))  # type: ignore[arg-type]
    told = opened.details()
    for said in (
        "gru_1", "GRU", "onnxruntime", "2 of 2", "Partition 2 (1 node) took 4.10 ms here, 26 % of a run",
        "Runner-up: mnn, ~8.30 ms for this partition: the plan would be 3.90 ms slower.",
        "ncnn: refused: no GRU (gru_1)", "Its segment, 2, on each engine", "3.64 ms",
    ):  # fmt: skip
        assert said in told
    opened.page.keyboard.press("Escape")
    assert "2 partitions, in running order" in opened.details()


def test_search_by_keyboard(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    page = opened.page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("mnn relu")
    assert page.inner_text("#found") == "1 of 4 nodes"
    page.keyboard.press("Enter")
    assert opened.graph("node") == 1
    assert "relu_0" in opened.details()
    page.keyboard.press("Escape")
    assert (page.input_value("#search"), page.inner_text("#found")) == ("", "")
    page.keyboard.type("no such node")
    assert page.inner_text("#found") == "0 of 4 nodes"


def test_arrows_walk_the_graph(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    page = opened.page
    page.focus("#canvas")
    page.keyboard.press("Enter")
    walked = [opened.graph("node")]
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
        walked.append(opened.graph("node"))
    assert walked == [0, 1, 2, 1, 2, 3, 3, 2]
    assert "pool_0" in opened.details()


def test_the_whole_page_is_reached_by_tab_and_shows_where_it_is(show: Opener, mixed: str) -> None:
    page = show(mixed).page
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    for place in ("theme", "search", "zoom-in", "canvas", "command", "Copy", "The plan file"):
        assert place in reached


def test_everything_has_a_name(show: Opener, mixed: str) -> None:
    page = show(mixed).page
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, a, input, canvas, section, nav, aside, [role]')]
        .filter(each => !(each.getAttribute('aria-label') || each.textContent.trim() || each.labels?.length
            || document.getElementById(each.getAttribute('aria-labelledby'))?.textContent
            || each.getAttribute('role') === 'status'))
        .map(each => each.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size") == page.evaluate(
        "document.querySelectorAll('[id]').length"
    )


def test_zoom_by_wheel_keys_and_buttons(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    page = opened.page
    fitted = opened.graph("transform.k")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.wheel(0, -200)  # nobody chose the graph yet: the page scrolls
    page.wait_for_timeout(50)
    assert opened.graph("transform.k") == fitted
    page.mouse.wheel(0, -1000)
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 30, box["y"] + 30)
    page.mouse.wheel(0, -200)
    opened.until(f"intarsiaGraph.transform.k > {fitted}")
    page.keyboard.press("0")
    assert opened.graph("transform.k") == pytest.approx(fitted)
    page.keyboard.press("+")
    assert opened.graph("transform.k") == pytest.approx(1.4 * fitted)
    page.click("#zoom-out")
    assert opened.graph("transform.k") == pytest.approx(fitted)
    before = opened.graph("transform.x")
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 60)
    page.mouse.up()
    assert opened.graph("transform.x") == pytest.approx(before + 60)
    page.click("#zoom-fit")
    assert opened.graph("transform.x") == pytest.approx(before)


def test_motion_is_left_out_where_it_is_not_wanted(show: Opener, mixed: str) -> None:
    still, moving = show(mixed, motion="reduce"), show(mixed, motion="no-preference")
    for opened, there in ((still, True), (moving, False)):
        fitted = opened.graph("transform.k")
        assert opened.page.evaluate("() => { intarsiaGraph.scale(2); return intarsiaGraph.transform.k; }") == (
            pytest.approx(2 * fitted if there else fitted)
        )
        opened.until(f"intarsiaGraph.transform.k > {1.99 * fitted}")


def test_the_theme_is_switched_and_drawn(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    page = opened.page
    light = page.locator("#canvas").screenshot()
    page.click("#theme")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    opened.until("!intarsiaGraph.frame")
    assert page.locator("#canvas").screenshot() != light
    page.reload()
    assert page.get_attribute("html", "data-theme") == "dark"


def test_parts_are_found_from_their_table(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    opened.page.click("#parts button[data-part='2']")
    assert opened.graph("part") == 1
    assert opened.details().startswith("Partition 2")
    opened.page.locator("#timeline i[data-part='1']").click()
    assert opened.graph("part") == 0


def test_nodes_are_listed_for_who_sees_no_picture(show: Opener, thousands: str) -> None:
    page = show(thousands).page
    page.click("#list summary")
    assert page.locator("#nodes tbody tr").count() == 100
    assert page.inner_text("#range") == "1 to 100 of 5000"
    page.click("#later")
    assert page.inner_text("#range") == "101 to 200 of 5000"
    page.fill("#search", "instancenorm ncnn")
    assert page.locator("#nodes tbody tr").first.inner_text().split("\t")[1:3] == ["InstanceNormalization", " ncnn"]
    page.locator("#nodes tbody tr button").first.click()
    assert "InstanceNormalization" in page.inner_text("#panel")


def test_the_plan_is_copied_or_marked(show: Opener, mixed: str) -> None:
    opened = show(mixed)
    opened.page.click("button[data-copy='command']")
    opened.until("['Copied', 'Selected'].includes(document.querySelector('[data-copy=command]').textContent)")


def test_names_do_no_harm(show: Opener) -> None:
    rows = [(EVIL, "Conv", ["x"], ["a"]), (f"{EVIL}2", EVIL, ["a"], ["y"])]
    report, _ = small()
    parts = [part | {"nodes": [row[0]]} for part, row in zip(report["partitions"], rows, strict=True)]
    opened = show(
        render(report | {"partitions": parts, "reason": EVIL, "model": EVIL, "segments": []}, fake_graph(rows))
    )
    opened.page.locator("#canvas").click(position=opened.place(1))  # type: ignore[arg-type]
    opened.page.click("#list summary")
    assert EVIL in opened.details()
    assert EVIL in opened.page.inner_text("#nodes")
    assert opened.page.evaluate("document.images.length") == 0
    assert "harmed" not in opened.page.evaluate("document.title").replace("title='harmed'", "")


def test_five_thousand_nodes_are_drawn_at_every_scale(
    show: Opener, thousands: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    opened = show(thousands)
    for scale in (0.01, 0.03, 0.1, 0.3, 0.7, 1.5):
        spent = opened.page.evaluate(
            """scale => {
                const g = intarsiaGraph, spent = [];
                g.fit();
                g.selection.call(g.zoom.scaleTo, scale);
                for (let turn = 0; turn < 10; turn++) { g.pan(30, 10); g.draw(); spent.push(g.spent); }
                return Math.max(...spent);
            }""",
            scale,
        )
        record_testsuite_property(f"slowest frame in ms at {scale}", spent)
    opened.page.fill("#search", "add_4998")
    opened.page.press("#search", "Enter")
    assert "Add_4998" in opened.details()
    colours = opened.page.evaluate(
        """() => {
            const g = intarsiaGraph, seen = new Set();
            g.mark(null); g.fit(); g.draw();
            const {data} = g.canvas.getContext('2d').getImageData(0, 0, g.canvas.width, g.canvas.height);
            for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 3).join());
            return [...seen];
        }"""
    )
    palette = opened.page.evaluate(
        """[0, 1, 3].map(n => intarsiaGraph.palette[n])
        .map(c => [1, 3, 5].map(at => parseInt(c.slice(at, at + 2), 16)).join())"""
    )
    assert set(palette) <= set(colours)


def test_a_single_engine_is_one_part(show: Opener) -> None:
    _, graph = small()
    opened = show(render(ALONE, graph))
    assert opened.page.inner_text("h1") == "mnn alone"
    assert "One partition" in opened.details()


def test_an_artifact_of_real_engines_is_run_and_shown(
    show: Opener, intarsia: Callable[..., Run], tiny: Path, tmp_path: Path
) -> None:
    graph = load_model(tiny)
    order = linear_order(graph)
    halves = zip(("onnxruntime", "openvino"), (order[:6], order[6:]), strict=True)
    partitions = [Partition(target=Target(target), nodes=nodes) for target, nodes in halves]
    artifact = tmp_path / "mix.intarsia"
    write_artifact(artifact, graph, build(graph, plan_of(graph, partitions, RunSettings(threads=1))))
    parts = [
        facts | {"target": str(partition.target), "nodes": list(partition.nodes)}
        for facts, partition in zip(REPORT["partitions"], partitions, strict=True)
    ]
    attach_report(artifact, REPORT | {"partitions": parts, "segments": []})
    told = intarsia("report", artifact, "--run", "--json", "-o", tmp_path / "mix.html").json()
    assert (told["nodes"], len(told["run_ms"])) == (len(order), 2)
    opened = show(tmp_path / "mix.html")
    assert "onnxruntime" in opened.page.inner_text("h1")
    assert "measured just now" in opened.page.inner_text("#timeline")
    assert "threads: 1" in (opened.page.text_content("#plan") or "")
    for node, number in ((0, 1), (len(order) - 1, 2)):
        opened.page.locator("#canvas").click(position=opened.place(graph.position[order[node]]))  # type: ignore[arg-type]
        assert order[node] in opened.details()
        assert f"{number} of 2" in opened.details()
