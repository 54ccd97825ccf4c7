"""Which option an answer names, as E.T. Bench reads it.

etbench  rar, eca, rvq: the first (X), else the first letter where a dot, comma, blank or bracket follows it
gvq      the same without the search for (X)
"""

from __future__ import annotations

import re

from fabula.data.questions import Response
from fabula.metrics.questions.letters import ChoiceReader, Verdict, judge_place, place_of

FIRST_BRACKETED = re.compile(r"\(([A-Za-z])\)")
BEST = re.compile(r"\s*(?:best option:)?\s*[(\[]*\s*", re.IGNORECASE)
FOLLOWED = re.compile(r"([A-Za-z])(?:[.,)\s]|\Z)")


def read_etbench(response: Response) -> Verdict:
    found = FIRST_BRACKETED.search(response.answer or "")
    return judge_place(response, place_of(found[1])) if found else read_gvq(response)


def read_gvq(response: Response) -> Verdict:
    text = response.answer or ""
    begin = BEST.match(text)
    found = FOLLOWED.match(text, begin.end() if begin else 0)
    return judge_place(response, place_of(found[1]) if found else None)


CHOICE_READERS = (ChoiceReader("etbench", read_etbench), ChoiceReader("gvq", read_gvq))
