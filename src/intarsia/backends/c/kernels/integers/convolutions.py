"""Convolutions and products of int8: which kernels there are for which shape and processor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType

from intarsia.backends.c.kernels.integers import dsp, dsp_depthwise, dsp_layers, mve, mve_depthwise, portable
from intarsia.backends.c.kernels.integers.layer import Layer
from intarsia.backends.c.kernels.integers.window import Window
from intarsia.backends.c.site import Maker, Site
from intarsia.codegen.module import Kernel


def _convolution(site: Site) -> Sequence[Kernel]:
    layer = Layer.of(site)
    window = Window.of(site, site.reads[1].shape[1:-1])
    groups = site.attrs["groups"]
    if groups == 1:
        return (*_whole(site, window, layer), portable.convolution(site, window, layer))
    if groups == window.c == window.o:
        return (*_apart(site, window, layer), portable.depthwise(site, window, layer))
    return (portable.grouped(site, window, layer),)


def _whole(site: Site, window: Window, layer: Layer) -> Sequence[Kernel]:
    if site.processor.has_mve:
        return (mve.convolution(site, window, layer),) if mve.fits(layer) else ()
    return (dsp_layers.convolution(site, window, layer),) if site.processor.has_dsp and dsp.fits(layer) else ()


def _apart(site: Site, window: Window, layer: Layer) -> Sequence[Kernel]:
    if site.processor.has_mve:
        return (mve_depthwise.depthwise(site, window, layer),) if mve_depthwise.fits(window, layer) else ()
    fits = site.processor.has_dsp and dsp_depthwise.fits(window, layer)
    return (dsp_depthwise.depthwise(site, window, layer),) if fits else ()


def _dense(site: Site) -> Sequence[Kernel]:
    layer, rows = Layer.of(site), prod(site.each.shape[:-1])
    plain = portable.dense(site, rows, layer)
    if site.processor.has_mve:
        return (mve.dense(site, rows, layer), plain) if mve.fits(layer) else (plain,)
    if site.processor.has_dsp and dsp.fits(layer):
        return (dsp_layers.dense(site, rows, layer), plain)
    return (plain,)


MAKERS: Mapping[str, Maker] = MappingProxyType({"q_conv_last": _convolution, "q_dense": _dense})
