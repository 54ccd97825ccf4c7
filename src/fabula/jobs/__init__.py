"""Work that is resumed: a folder that holds it, and runners that do it, here, in processes, on Ray. Knows no story."""
