"""Numbers of the published programs, and the check against them."""
