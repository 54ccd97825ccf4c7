"""YouCook2."""
