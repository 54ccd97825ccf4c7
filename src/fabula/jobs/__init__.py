"""Resumable work: a folder that stores it, and runners that execute it in this process, in processes or on Ray."""
