"""Systems that see no video: what a metric gives to somebody who guesses."""
