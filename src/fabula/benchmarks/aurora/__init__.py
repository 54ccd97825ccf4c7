"""AuroraCap and VDC."""
