"""PLM-VideoBench."""
