"""What the address fake: answers a judge: the words in common where both texts are fenced, else a hash of the prompt.

score = round(10 · F1 of the two sets of words)            the same prompt, the same answer
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from fabula.core.means import f1

FENCED = re.compile(r"\[(REFERENCE|CANDIDATE) ([0-9a-f]+)\]\n(.*?)\n\[END \1 \2\]", re.S)


def reply(body: dict[str, Any]) -> str:
    """An answer in the shape that most judges ask for."""
    said = [m["content"] for m in body["messages"]]
    texts = {name: text for name, _, text in FENCED.findall(said[-1])}
    score = count_common(texts["CANDIDATE"], texts["REFERENCE"]) if len(texts) == 2 else draw(json.dumps(said))
    return json.dumps({"score": score, "pred": "yes" if score > 4 else "no", "explanation": "words in common"})


def count_common(candidate: str, reference: str) -> int:
    a, b = (set(re.findall(r"\w+", text.lower())) for text in (candidate, reference))
    common = len(a & b)
    return round(10 * f1(common / len(a), common / len(b))) if common else 0


def draw(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % 11
