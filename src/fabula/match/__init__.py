"""Matrix → pairs: ordered (SODA), soft_ordered (SoftSODA), hungarian, greedy; what the matrix means is not known here."""
