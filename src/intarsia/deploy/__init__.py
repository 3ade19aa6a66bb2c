"""One model over several machines: where it is cut, by measuring, and what runs its stages."""
