"""Answers of the built-in fake server (`--url fake:`) for dry runs: one event a window, which nobody has seen."""

from __future__ import annotations

import json
import re

from fabula.llm.call import Body
from fabula.llm.fake import read_prompt

STRETCH = re.compile(r"from (\d+(?:\.\d+)?) s to (\d+(?:\.\d+)?) s\.")


def reply(body: Body) -> str:
    found = STRETCH.search(read_prompt(body))
    if found is None:
        return json.dumps({"title": "A film that nobody has seen"})
    event = {"start": float(found[1]), "end": float(found[2]), "caption": "Something happens."}
    return json.dumps({"events": [event]})
