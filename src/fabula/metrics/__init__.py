"""One task metric per file, file name = metric name: unit(ref, pred, ctx) → row, combine(rows) → values."""
