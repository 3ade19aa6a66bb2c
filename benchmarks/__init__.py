"""What stands behind the figures in the README: the scripts that measure, and their results."""

import os

# ONNX Runtime from 1.29 on reports to its makers unless it is told not to before it starts. Ours is told; what it is
# compared with runs under the same terms.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
