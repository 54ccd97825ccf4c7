"""Finding moments with a trained model: what a retriever is, its data, the search over a corpus, its answers."""
