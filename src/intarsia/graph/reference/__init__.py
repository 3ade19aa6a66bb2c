"""What a model means: the reference evaluator, and how far right computations of it may differ."""
