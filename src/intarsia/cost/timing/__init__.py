"""From samples of a clock to a figure that can be trusted: calibration, statistics, paired benchmarks."""
