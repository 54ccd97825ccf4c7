"""SodaM (TimeChat-Captioner)."""
