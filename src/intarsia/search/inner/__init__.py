"""How nested configurations run what they are given."""
