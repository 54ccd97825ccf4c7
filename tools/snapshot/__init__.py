"""A snapshot of what the program does, so that a change that should change nothing can be shown to change nothing.

    python -m tools.snapshot take                    write tests/snapshot.json
    python -m tools.snapshot compare                 run everything again and say what differs; exit 1 if anything does
    python -m tools.snapshot compare --only golden   of these groups alone
    python -m tools.snapshot show NAME               what a run gives now, part by part, in full
    python -m tools.snapshot planted                 forty changes put into a copy of the source: is each of them seen?

A run is a command line (or a call) on small inputs. Its parts are the exit code, what it prints to a pipe and to
terminals of 80 and 200 columns, the numbers in its messages, and every file it writes. The file holds a hash of each
part: small, and readable on demand by `show`. The words of messages are parts of their own: a difference there is
listed apart and fails nothing. Version, times and folders are taken out. tests/snapshot-allowed.txt names differences
that are meant, a reason a line.

runs.py      the catalogue: every verb, format, protocol, metric and kernel
surface.py   commands and options with their defaults, public names with their signatures, groups of entry points
take.py      one run → its parts
compare.py   two snapshots → what differs
planted.py   changes that must be seen
"""
