"""Ethos-U, Arm's accelerator beside a Cortex-M: regions as .tflite files that the compiler Vela takes."""
