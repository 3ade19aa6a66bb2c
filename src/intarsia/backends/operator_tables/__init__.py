"""Which operators the engines take that no backend drives, from public documentation: for plans, never for running."""
