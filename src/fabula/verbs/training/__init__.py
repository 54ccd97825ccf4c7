"""Models: features, training, predictions, figures of a model."""
