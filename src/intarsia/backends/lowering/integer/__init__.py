"""Quantised models in integers: groups of DequantizeLinear, an operator and QuantizeLinear become one instruction."""
