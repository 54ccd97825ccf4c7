"""Codes of languages: ISO 639-1 (`en`), from ISO 639-2 in its two forms (`ger`, `deu`) and from English names."""

from __future__ import annotations

import re

# two letters, then what stands for them in files, tracks and replies
TABLE = """
ar ara arabic
cs cze ces czech
da dan danish
de ger deu german
el gre ell greek
en eng english
es spa spanish
fi fin finnish
fr fre fra french
he heb hebrew
hi hin hindi
hu hun hungarian
id ind indonesian
it ita italian
ja jpn japanese
ko kor korean
nl dut nld dutch
no nor norwegian
pl pol polish
pt por portuguese
ro rum ron romanian
ru rus russian
sv swe swedish
th tha thai
tr tur turkish
uk ukr ukrainian
vi vie vietnamese
zh chi zho chinese
"""
SHORT = {name: names.split()[0] for names in TABLE.strip().splitlines() for name in names.split()}
TAG = re.compile(r"([a-z]+)(?:[-_][a-z0-9]{2,8})*")


def short_code(name: str) -> str | None:
    """`eng`, `en-GB` and `English` are `en`; another code of two letters stays; None for anything else."""
    match = TAG.fullmatch(name.strip().lower())
    if match is None:
        return None
    return SHORT.get(match[1], match[1] if len(match[1]) == 2 else None)
