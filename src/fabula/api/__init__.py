"""The verbs as library calls: one file each, with the options of the command line."""
