"""What the papers are that metrics and protocols name as "authors, venue year": entries for a bibliography."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from fabula.core.errors import SpecError


class Paper(NamedTuple):
    key: str
    authors: str
    title: str
    venue: str
    year: int
    kind: str = "inproceedings"
    eprint: str = ""  # its number at arXiv, where it appeared nowhere else

    def bibtex(self) -> str:
        where = {"booktitle": self.venue} if self.kind == "inproceedings" else {"howpublished": self.venue}
        fields = {"title": f"{{{self.title}}}", "author": self.authors, **where, "year": str(self.year)}
        fields |= {"eprint": self.eprint, "archiveprefix": "arXiv"} if self.eprint else {}
        inside = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@{self.kind}{{{self.key},\n{inside}}}\n"


FILE = Path(__file__).with_suffix(".json")
PAPERS = {named: Paper(**fields) for named, fields in json.loads(FILE.read_text(encoding="utf-8")).items()}


def find_paper(named: str) -> Paper:
    """The paper that is named so; of other packages' metrics, one that is not here."""
    if named not in PAPERS:
        raise SpecError(f"no entry is known for {named!r}; cite it as its authors ask")
    return PAPERS[named]
