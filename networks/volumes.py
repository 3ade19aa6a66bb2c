"""3D U-Net (Çiçek et al., 2016), for one channel of 32 x 32 x 32 and 6 million weights."""

from __future__ import annotations

from networks.exported import Sketch
from networks.layers import UNet


def unet3d() -> Sketch:
    """Four levels, the first of 32 channels, as theirs after its first convolution."""
    module = UNet((32, 64, 128, 256), sources=1, classes=3, rank=3)
    return Sketch(module=module, inputs={"volume": (1, 1, 32, 32, 32)}, outputs=("scores",))
