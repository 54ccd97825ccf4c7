"""Tables of published papers as files, and a run that fills them in.

    tables/NAME.toml    one table: its rows as command lines, its columns as keys of results, the printed numbers
    sources.toml        what must be on disk (annotations, features), and how a simulated copy of it is made

A row is a list of command lines of `fabula` (train, predict, score …); what a user runs by hand and what the run of a
table calls is the same text. papers/run.py calls them on jobs/, papers/outcome.py folds what they wrote.
"""
