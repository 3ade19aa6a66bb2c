"""What the engines take that no backend drives, by public documentation, and why they do not run: for plans only."""
