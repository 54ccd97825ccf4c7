"""JSON through the kernel: what is plain is read many at a time, the rest one by one, as the standard library does.

plain.py   records of a text as columns, and the Python that says what the kernel does
runs.py    files as runs of plain records, and what stands between them
tables.py  tables of numbers lifted out of a text
"""

from fabula.documents.records.plain import Shape
from fabula.documents.records.runs import (
    BEGINS,
    Odd,
    Records,
    parse_odd_line,
    read_line_chunks,
    read_line_records,
    read_members,
)
from fabula.documents.records.tables import (
    Table,
    Tables,
    find_mark,
    lift_tables,
    lookahead,
    read_line_pieces,
)

__all__ = [
    "BEGINS",
    "Odd",
    "Records",
    "Shape",
    "Table",
    "Tables",
    "find_mark",
    "lift_tables",
    "lookahead",
    "parse_odd_line",
    "read_line_chunks",
    "read_line_pieces",
    "read_line_records",
    "read_members",
]
