"""What an engine must do to take part, and what the engines share."""
