"""What verbs share, besides their options: the screen, gates, the flags of training tasks."""
