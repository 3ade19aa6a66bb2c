"""Picture classifiers as transformers builds them from their configurations, weights not downloaded.

| network | input | million weights |
| --- | --- | --- |
| convnext_tiny | 3 x 224 x 224 | 29 |
| swin_tiny | 3 x 224 x 224: windows of 49 tokens | 28 |
| vit_b16 | 3 x 160 x 160: 101 tokens | 86 |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import transformers

from networks.exported import Answer, Sketch

if TYPE_CHECKING:
    from torch import nn

_CLASSES = 1000


def convnext_tiny() -> Sketch:
    """ConvNeXt (Liu et al., 2022): depthwise 7 x 7 convolutions, layer norm, Gelu."""
    config = transformers.ConvNextConfig(num_labels=_CLASSES)
    return _sketch(transformers.ConvNextForImageClassification(config), 224)


def swin_tiny() -> Sketch:
    """Swin (Liu et al., 2021): attention within windows of 7 x 7 that shift from block to block."""
    config = transformers.SwinConfig(num_labels=_CLASSES)
    return _sketch(transformers.SwinForImageClassification(config), 224)


def vit_b16() -> Sketch:
    """The vision transformer (Dosovitskiy et al., 2021), its attention written out."""
    size = 160
    config = transformers.ViTConfig(image_size=size, num_labels=_CLASSES, attn_implementation="eager")
    return _sketch(transformers.ViTForImageClassification(config), size)


def _sketch(model: nn.Module, size: int) -> Sketch:
    return Sketch(module=Answer(model, "logits"), inputs={"picture": (1, 3, size, size)}, outputs=("scores",))
