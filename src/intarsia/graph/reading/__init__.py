"""A model as it comes: its file formats, its external data, and what it says of itself."""
