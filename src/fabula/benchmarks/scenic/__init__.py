"""scenic's Vid2Seq."""
