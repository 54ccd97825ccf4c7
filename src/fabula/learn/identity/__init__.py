"""Sets of clips with people in them, as MICap reads, tokenises and cuts them; and where it looks."""
