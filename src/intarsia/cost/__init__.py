"""What a partition costs: measured in worker processes through the product's own runtime, kept in a store."""
