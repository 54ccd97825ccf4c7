"""The tests mirror the source; each folder is a package, so equal file names do not clash."""
