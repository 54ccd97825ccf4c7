"""What the address fake: answers a judge: the words in common where both texts are fenced, else a hash of the prompt.

score = round(10 · F1 of the two sets of words)            the same prompt, the same answer
told  = the points of a checklist all of whose words are in the text that is held against it
"""

from __future__ import annotations

import hashlib
import json
import re

from fabula.core.means import f1
from fabula.llm.call import Body

EXAMINED = {"DESCRIPTION", "EVENTS", "QUESTION", "RIGHT ANSWER", "GIVEN ANSWER"}
NAMES = "REFERENCE|CANDIDATE|POINTS|TOLD|DESCRIPTION|EVENTS|QUESTION|(?:RIGHT|GIVEN) ANSWER"
FENCED = re.compile(rf"\[({NAMES}) ([0-9a-f]+)\]\n(.*?)\n\[END \1 \2\]", re.S)


def reply(body: Body) -> str:
    """An answer in the shape that most judges ask for."""
    contents = [m["content"] for m in body["messages"]]
    texts = {name: text for name, _, text in FENCED.findall(contents[-1])}
    if texts.keys() & EXAMINED:
        return examine(texts)
    if "POINTS" in texts:
        return json.dumps({"told": find_points(texts["POINTS"], texts.get("TOLD", ""))})
    score = count_common(texts["CANDIDATE"], texts["REFERENCE"]) if len(texts) == 2 else draw(json.dumps(contents))
    return json.dumps({"score": score, "pred": "yes" if score > 4 else "no", "explanation": "words in common"})


def examine(texts: dict[str, str]) -> str:
    """About a description: its sentences as events, what it shares words with, the sentence nearest to a question."""
    description = texts.get("DESCRIPTION", "")
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", description) if s.strip()]
    if "EVENTS" in texts:
        events = [line.partition(" ")[2] for line in texts["EVENTS"].splitlines()]
        known = ["entailment" if share_of_words(event, description) > 0.7 else "neutral" for event in events]
        return json.dumps({"events": [{"event": e, "relationship": r} for e, r in zip(events, known, strict=True)]})
    if "GIVEN ANSWER" in texts:
        share = share_of_words(texts.get("RIGHT ANSWER", ""), texts["GIVEN ANSWER"])
        return json.dumps({"pred": "yes" if share > 0.5 else "no", "score": round(5 * share)})
    if "QUESTION" in texts:
        return max(sentences, key=lambda s: share_of_words(texts["QUESTION"], s), default="unknown")
    return json.dumps({"events": sentences[:10]})


def share_of_words(text: str, within: str) -> float:
    """The share of a text's words that another text has."""
    a, b = (set(re.findall(r"\w+", words.lower())) for words in (text, within))
    return len(a & b) / len(a) if a else 0.0


def obey(body: Body) -> str:
    """A judge that does what a caption tells it: the worst case, for tests."""
    texts = {name: text for name, _, text in FENCED.findall(body["messages"][-1]["content"])}
    wanted = re.search(r'"score":\s*(\d+)', texts.get("CANDIDATE", ""))
    return json.dumps({"score": int(wanted[1])}) if wanted else reply(body)


def count_common(candidate: str, reference: str) -> int:
    a, b = (set(re.findall(r"\w+", text.lower())) for text in (candidate, reference))
    common = len(a & b)
    return round(10 * f1(common / len(a), common / len(b))) if common else 0


def find_points(points: str, caption: str) -> list[int]:
    """The numbers of points, a line `N. (dimension) words` each."""
    words = set(re.findall(r"\w+", caption.lower()))
    listed = re.findall(r"^(\d+)\. \([^)]*\) (.*)$", points, re.M)
    return [int(n) for n, point in listed if set(re.findall(r"\w+", point.lower())) <= words]


def draw(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % 11
