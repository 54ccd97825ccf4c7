"""What the training loop is made of: batches, learning rates, processes and random states, logs."""
