"""What a finished artifact is worth: verified against the reference, raced, timed again."""
