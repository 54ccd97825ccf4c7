"""What evaluators of one descent share."""
