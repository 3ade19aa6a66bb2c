"""Rewrites of a program that keep what it computes: folded constants, dimensions in another order, joined loops."""
