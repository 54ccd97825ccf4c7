"""ActivityNet Captions."""
