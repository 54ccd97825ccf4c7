"""Both sides read, checked and met; metrics make rows, which are folded into a signed result."""
