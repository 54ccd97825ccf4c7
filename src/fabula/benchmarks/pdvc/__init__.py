"""PDVC."""
