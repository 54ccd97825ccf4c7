"""Mangled inputs for every reader and every verb: nothing but a FabulaError comes out, soon, in one line.

    python -m tools.fuzz --budget 600 --seed 7         ten minutes on all processors
    python -m tools.fuzz --readers 1000000 --scorings 100000 --seed 7
    python -m tools.fuzz --only stories,moments        of these targets alone
    python -m tools.fuzz --replay FILE                 one find again, with its traceback

draw.py     small valid corpora of every task, in every format
odd.py      values that files should not have
mutate.py   a valid document → a bent one: values, shapes, text, bytes
readers.py  what is read: every shelf, plain, packed, in folders, as Parquet
builders.py questions, judges, people, studies, stores of clips, annotation, submissions: what other verbs read
stores.py   features, checkpoints, damaged work folders
verbs.py    what is done with it: score under random metrics and options, and the other verbs
commands.py the command line: files, their names, the values of options, to a pipe and to a terminal
watch.py    what may come out, and whether both kernels agree
shrink.py   a find → a smaller one with the same fault
campaign.py processes, budgets, counts; what one input is is decided by (seed, group, number) alone

Finds that were mended stay in tests/fuzz/corpus, each a small file, and are tried again by `make test`.
"""
