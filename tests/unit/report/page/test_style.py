"""The colours: engines told apart by every kind of colour vision, words dark enough on what they stand on."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

from intarsia.report.page.engines import COLOURS, FIXED

STYLE = files("intarsia.report.page").joinpath("assets", "style.css").read_text(encoding="utf-8")
THEMES = dict(
    zip(("light", "dark by system", "dark by choice"), re.findall(r"{([^{}]*--e0:[^{}]*)}", STYLE), strict=True)
)
VISION = {
    "all cones": np.eye(3),
    "no red cones": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green cones": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no blue cones": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What each sees, on linear sRGB (Machado, Oliveira and Fernandes, 2009)."""
CONES = np.array([[0.41222, 0.53633, 0.05145], [0.2119, 0.6807, 0.1074], [0.0883, 0.28172, 0.62998]])
OKLAB = np.array([[0.21045, 0.79362, -0.00407], [1.978, -2.42859, 0.45059], [0.0259, 0.78277, -0.80868]])
"""Björn Ottosson's OKLab: a distance of 0.02 is just seen."""
APART = 0.065
"""Of every two colours; no report has them all."""
FURTHER = 0.085
"""Of those of the engines that one meets most."""
MOST_MET = tuple(
    FIXED.index(name)
    for name in (*("onnxruntime", "openvino", "mnn", "ncnn", "winograd", "inductor", "torch", "litert", "reference"),)
)
ENOUGH = 4.5
"""Contrast of text by WCAG 2 (AA)."""


def colours(theme: str) -> dict[str, np.ndarray]:
    """The colours of a theme, as linear sRGB."""
    found = {}
    for name, value in re.findall(r"--([\w-]+): #([0-9a-f]{6});", THEMES[theme]):
        srgb = np.array([int(value[place : place + 2], 16) / 255 for place in (0, 2, 4)])
        found[name] = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return found


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    lighter, darker = sorted((float(each @ [0.2126, 0.7152, 0.0722]) for each in (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_engines_are_told_apart(theme: str, vision: str) -> None:
    found = colours(theme)
    seen = [OKLAB @ np.cbrt(CONES @ np.clip(VISION[vision] @ found[f"e{n}"], 0, 1)) for n in range(COLOURS)]
    near = {
        (one, other): round(float(np.linalg.norm(seen[one] - seen[other])), 3)
        for one, other in combinations(range(len(seen)), 2)
    }
    assert {pair: apart for pair, apart in near.items() if apart < APART} == {}
    most_met = {pair: apart for pair, apart in near.items() if set(pair) <= set(MOST_MET)}
    assert {pair: apart for pair, apart in most_met.items() if apart < FURTHER} == {}


def test_there_is_a_colour_for_each_number() -> None:
    assert set(re.findall(r"\.(e\d+) ", STYLE)) == {f"e{number}" for number in range(COLOURS)}
    for theme in THEMES:
        assert {name for name in colours(theme) if re.fullmatch(r"e\d+", name)} == {f"e{n}" for n in range(COLOURS)}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "card"])
def test_words_are_read(theme: str, ground: str) -> None:
    found = colours(theme)
    ratios = {name: contrast(found[name], found[ground]) for name in ("ink", "soft", "accent", "focus")}
    assert {name: ratio for name, ratio in ratios.items() if ratio < ENOUGH} == {}
    assert contrast(found["soft"], found["track"]) >= ENOUGH


def test_the_dark_theme_is_one() -> None:
    assert THEMES["dark by system"].split() == THEMES["dark by choice"].split()
