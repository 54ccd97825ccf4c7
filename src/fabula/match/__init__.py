"""Matrix → pairs: ordered (SODA), soft_ordered (SoftSODA), hungarian, greedy; its meaning is not known here."""
