"""GRiT."""
