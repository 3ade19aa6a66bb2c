"""CMSIS-NN as an engine: instructions on int8 as calls of its functions, with sources that the user has."""
