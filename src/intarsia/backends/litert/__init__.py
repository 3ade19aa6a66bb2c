"""The engine LiteRT, formerly TensorFlow Lite."""
