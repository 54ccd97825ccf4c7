"""Two lists → a [G, P] matrix: temporal IoU and caption scores; no pair is chosen here."""
