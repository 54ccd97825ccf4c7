"""Result in, text or JSON or HTML out; no arithmetic here."""
