"""One small file per published evaluator: which metrics, which settings, paper, repository, commit."""
