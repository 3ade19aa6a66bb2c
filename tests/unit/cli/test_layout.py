"""Whatever a table holds and however narrow the screen is: nothing is lost, nothing is split, nothing sticks out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from intarsia.cli.layout import Band, folded, printable, table_bands

WORD = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=70)
SHORT = st.text("abc-=/.,", min_size=1, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]], list[str]]:
    """A header, rows whose every word stands in one place alone, and which columns are numbers."""
    columns = draw(st.integers(1, 8))
    header = [f"column{place} h" if draw(st.booleans()) else f"h{place}" for place in range(columns)]
    numbers = [header[place] for place in range(1, columns) if draw(st.booleans())]
    rows = []
    for row in range(draw(st.integers(0, 5))):
        cells = []
        for place in range(columns):
            words = [draw(SHORT)] if header[place] in numbers else draw(st.lists(WORD | SHORT, max_size=9))
            cells.append(" ".join(f"{row}.{place}.{at}:{word}" for at, word in enumerate(words)))
        rows.append(cells)
    return header, rows, numbers


def all_lines(bands: list[Band]) -> list[str]:
    return [line for band in bands for line in (*band.header, *band.rows)]


@given(tables(), st.integers(60, 200))
def test_each_cell_can_be_read_back_whole(table: tuple[list[str], list[list[str]], list[str]], width: int) -> None:
    header, rows, numbers = table
    bands = table_bands(header, rows, numbers, width)
    lines = all_lines(bands)
    assert max(map(cell_len, lines)) <= width
    shown = [word for band in bands for line in band.rows for word in line.split()]
    at = {word: place for place, word in enumerate(shown)}
    for row in rows:
        for place, cell in enumerate(row):
            words = cell.split()
            if all(cell_len(word) <= width for word in words):
                places = [at[word] for word in words]  # no word is split, or it would not be there
                assert places == sorted(places)
                # The first column stands again where there are more columns than fit.
                assert all(shown.count(word) <= (len(bands) if place == 0 else 1) for word in words)
            else:
                assert "".join(words) in "".join(shown)
    assert {word for name in header for word in name.split()} <= {word for line in lines for word in line.split()}


@given(st.lists(WORD, max_size=12), st.integers(1, 120))
def test_a_folded_text_is_the_same_text(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = folded(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_len(line) <= max(width, 2) for line in lines)  # a sign may be two cells wide
    if all(cell_len(word) <= width for word in words):
        assert " ".join(lines).split() == text.split()


def test_what_fits_is_left_as_it_is() -> None:
    [band] = table_bands(("what", "ms", ""), [("x  y", "1.5", ""), ("z", "10.5", "a remark")], ("ms",), 80)
    assert band.header == ["what    ms"]
    assert band.rows == ["x  y   1.5", "z     10.5  a remark"]


def test_a_remark_that_is_too_long_stands_below_its_row() -> None:
    reason = "refused: this engine computes no such operator on inputs of that type and shape, nor can it be told to"
    [band] = table_bands(("plan", "ms", ""), [("mnn", "1.5", "best"), ("ncnn -lightmode=on", "-", reason)], ("ms",), 60)
    assert band.rows == [
        "mnn                 1.5  best",
        "ncnn -lightmode=on    -",
        "    refused: this engine computes no such operator on inputs",
        "    of that type and shape, nor can it be told to",
    ]


def test_a_key_that_is_too_long_stands_above_its_figures() -> None:
    key = "openvino -inference-precision=bf16 -execution-mode=performance"
    names = "abcdefghi"
    figures = [f"{number}.5" for number in range(1, 10)]
    [band] = table_bands(("plan", *names), [("mnn", *figures), (key, *figures)], tuple(names), 64)
    assert band.rows[0].split() == ["mnn", *figures]
    assert band.rows[1] == key
    assert band.rows[2] == band.rows[0].replace("mnn", "   ")


def test_options_are_folded_at_their_blanks_alone() -> None:
    options = "onnxruntime -optimization-level=all -layout=blocked -enable-something-long=disabled"
    [band] = table_bands(("part", "target", "nodes"), [("1", options, "3")], ("nodes",), 60)
    assert band.rows == [
        "1     onnxruntime -optimization-level=all                  3",
        "      -layout=blocked -enable-something-long=disabled",
    ]


def test_more_columns_than_fit_go_on_in_a_band_of_their_own() -> None:
    names = [f"column-{number}" for number in range(12)]
    first, second = table_bands(("plan", *names), [("mnn", *["1.0"] * 12)], names, 80)
    assert first.header[0].split()[0] == second.header[0].split()[0] == "plan"
    assert [*first.header[0].split()[1:], *second.header[0].split()[1:]] == names


def test_a_word_wider_than_a_line_is_split_where_it_can_be_read() -> None:
    assert folded("/cache/intarsia/repro/odd.py", 16) == ["/cache/intarsia/", "repro/odd.py"]


@pytest.mark.parametrize(
    ("text", "shown"), [("a\nb", "a b"), ("\x1b[31mred", "\\x1b[31mred"), ("naïve 模型", "naïve 模型")]
)
def test_what_a_model_calls_its_nodes_moves_no_cursor(text: str, shown: str) -> None:
    assert printable(text) == shown
