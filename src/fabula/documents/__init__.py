"""What files and folders hold: safe opening, JSON, lines, tables. No package of formats is imported here."""
