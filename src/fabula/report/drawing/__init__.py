"""Every SVG of Fabula: elements; plots for papers; panels of an analysis; small charts inside pages."""
