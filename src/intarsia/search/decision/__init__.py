"""Which of the finished candidates ships, and the sentence that says why."""
