"""Feature stores: files and folders of frames' vectors, by video."""
