"""Parts of the training loop: batches, learning rates, processes and random states, logs."""
