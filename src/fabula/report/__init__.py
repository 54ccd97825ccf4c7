"""Result in, text or JSON or HTML out; no arithmetic here: pairs and graphs come from the metrics that made them."""
