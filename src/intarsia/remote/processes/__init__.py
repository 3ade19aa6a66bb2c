"""The processes of a worker: one for each compile, and one for each loaded model."""
