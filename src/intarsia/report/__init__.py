"""What the stages recorded, put together for people and programs."""
