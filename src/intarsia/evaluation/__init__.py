"""What a finished artifact is worth: verified against the reference, benchmarked, timed again."""
