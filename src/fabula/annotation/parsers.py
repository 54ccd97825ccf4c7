"""What models answered to the prompts of VERIFIED (Chen et al., NeurIPS 2024, Listings 2–9), as data with an audit.

    parse_frame      Background: …, Objects Attributes: …  Desc: …                          Listing 2
    parse_variants   {"original": …, "1": …, "2": …}, also without commas, fenced, cut       Listing 3
    parse_list       1. … 2. … 3. …, a line each or all in one                                Listings 4, 6, 7, 8, 9
    parse_replies    numbered replies, then a paragraph                                       Listing 5
    parse_marks      a number for each caption                                                the judge

Text of a model is cut and compared, never run, never filled in: what it orders us to do is words in a caption.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabula.documents.fields import JsonDict

LONGEST = 200_000  # characters of an answer that is read
QUOTES = "\"'“”„‟‘’‚‛«»`*_ \t\r\n"
SMART = str.maketrans({"“": '"', "”": '"', "„": '"', "‟": '"', "«": '"', "»": '"'})
FENCE = re.compile(r"```[ \t]{0,3}[\w-]{0,12}[ \t]{0,3}\n?(.*?)(?:```|\Z)", re.DOTALL)
NUMBER = re.compile(r"(?:^|(?<=\s))[\"“*_]{0,3}(?P<n>\d{1,3})[.)](?!\d)[*_]{0,3}\s*")
BULLET = re.compile(r"(?m)^[ \t]*[-•‣*][ \t]+")
MARGIN = re.compile(r"[ \t\"“*_>]*")
KEY = re.compile(
    r"(?:^|(?<=[\n,.;{\"“]))[^\S\n]*[\"“'*_#]{0,4}"  # \s would cross all empty lines from each of them
    r"(?P<key>background|objects?(?:['’]s?)?\s{1,3}attributes?|desc(?:ription)?)"
    r"[\"”'*_]{0,4}\s{0,3}[:：][*_]{0,3}",
    re.I,
)
ENTRY = re.compile(r"[\"']?(?P<key>\d{1,3}|original)[\"']?\s{0,9}[:：]\s{0,9}(?P<quote>[\"'])", re.I)
CLOSING = {q: re.compile(q + r"(?=\s*(?:,|\}|\Z|[\"']?(?:\d{1,3}|original)[\"']?\s{0,9}[:：]))") for q in "\"'"}
REFUSAL = re.compile(
    r"^(?:i['’]?m sorry|sorry\b|i can(?:no|['’])t\b|i am (?:unable|sorry)|as an ai\b|unfortunately\b)", re.I
)
LABEL = re.compile(r"^[*_#\s]*(?:(?:detailed|dynamic|overall|video)\s+)*description[*_]*\s*[:：][*_]*\s*", re.I)
REPLY = re.compile(r"^(?:\(a\)|a\s*[:：]|answer\s*[:：])\s*", re.I)
SENTENCE = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=\S)")
BLANK = re.compile(r"\n[ \t]*\n")
MARK = re.compile(r"(?:^|(?<=\s))(?P<n>\d{1,3})\s*[.):\-]\s*(?P<mark>\d{1,3}(?:\.\d{1,9})?)(?![\d.]*\d)", re.M)
EXPECTED = {"dynamic_questions": 5, "dynamic_fuse": 3, "rewrite": 3, "disturb_static": 3, "disturb_dynamic": 3}


@dataclass(slots=True)
class Audit:
    """How an answer was read."""

    repaired: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)  # text, reason
    prose: int = 0  # characters beside what was asked for

    def to_dict(self) -> JsonDict:
        return {"repaired": self.repaired, "refused": [list(pair) for pair in self.refused], "prose": self.prose}


@dataclass(frozen=True, slots=True)
class Items:
    """The texts of a list."""

    texts: tuple[str, ...]
    audit: Audit


@dataclass(frozen=True, slots=True)
class FrameRead:
    """What was said of a frame: D_bg, D_fg, D_i."""

    background: str
    objects: str
    description: str
    audit: Audit


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers to the questions, in their order ("" where there is none), and the paragraph D~."""

    replies: tuple[str, ...]
    description: str
    audit: Audit


def prepare(text: str, audit: Audit) -> str:
    """The answer without the model's reasoning; "" if nothing can be read."""
    if len(text) > LONGEST:
        audit.refused.append((text[:80], f"an answer of {len(text):,} characters"))
        return ""
    thought, mark, rest = text.replace("\r\n", "\n").replace("\r", "\n").rpartition("</think>")
    if mark:
        audit.repaired.append("thoughts before </think> left out")
        audit.prose += len(thought)
    if not rest.strip():
        audit.refused.append(("", "the answer is empty"))
        return ""
    if REFUSAL.match(rest.strip()):
        audit.refused.append((rest.strip()[:80], "the model refuses"))
        return ""
    return rest


def clean_words(text: str) -> str:
    """One line, without the quotes and marks around it."""
    flat = " ".join(text.split())
    bare = flat.strip(QUOTES).rstrip(",").strip(QUOTES)
    if bare.count('"') % 2 and flat.endswith('"'):  # the quote at the end closed one inside
        bare += '"'
    return bare


# ── Listing 2 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_frame(text: str, query: str) -> FrameRead:
    """Background, attributes and description; without a description the query stands for it."""
    audit = Audit()
    text = prepare(text, audit)
    marks = list(KEY.finditer(text))
    found: dict[str, str] = {}
    for mark, end in zip(marks, [*(m.start() for m in marks[1:]), len(text)], strict=False):
        name = {"b": "background", "o": "objects", "d": "description"}[mark["key"][0].lower()]
        value = clean_words(text[mark.end() : end].strip().strip("{}`"))
        if value and name not in found:
            found[name] = value
    if text and marks:
        audit.prose += len(text[: marks[0].start()].strip())
    if text and not found.keys() & {"background", "objects"}:
        audit.refused.append((text.strip()[:80], "neither Background nor Objects Attributes"))
    if "description" not in found:
        audit.repaired.append("no Desc: the query stands for it")
    return FrameRead(found.get("background", ""), found.get("objects", ""), found.get("description") or query, audit)


# ── Listing 3 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_variants(text: str) -> Items:
    """The captions under the numeric keys of the first object; "original" is no candidate."""
    audit = Audit()
    text = prepare(text, audit)
    if not text:
        return Items((), audit)
    if fenced := FENCE.search(text):
        audit.prose += len(text) - len(fenced[1])
        text = fenced[1]
    start = text.find("{")
    pairs: list[tuple[str, object]] | None = None
    if start >= 0:
        try:
            decoder = json.JSONDecoder(strict=False, object_pairs_hook=list)
            pairs, end = decoder.raw_decode(text, start)
            audit.prose += len(text[:start].strip()) + len(text[end:].strip())
        except (ValueError, RecursionError):
            pairs = None
    if pairs is not None:
        texts = list(walk_pairs(pairs))
    else:
        texts = list(scan_entries(text.translate(SMART)))
        if texts:
            audit.repaired.append("JSON that is not whole: its entries were read one by one")
    if not texts:
        audit.refused.append((text.strip()[:80], "no numbered captions in JSON"))
        again = parse_list(text)
        if len(again.texts) > 1:
            audit.repaired.append("a list where JSON was asked for")
            texts, audit.refused = list(again.texts), audit.refused[:-1]
    return Items(tuple(t for t in map(clean_words, texts) if t), audit)


def walk_pairs(pairs: object, depth: int = 0) -> Iterator[str]:
    """Texts under numeric keys, or in a list, at any depth that a model might choose."""
    if depth > 4 or not isinstance(pairs, list):
        return
    for pair in pairs:
        if isinstance(pair, str):
            yield pair
        elif isinstance(pair, tuple) and len(pair) == 2:
            key, value = pair
            if isinstance(value, str):
                if re.fullmatch(r"\D{0,12}\d{1,3}", key.strip()) or (depth and key.lower() in ("caption", "text")):
                    yield value
            elif key.lower() != "original":
                yield from walk_pairs(value, depth + 1)
        elif isinstance(pair, list):
            yield from walk_pairs(pair, depth + 1)


def scan_entries(text: str) -> Iterator[str]:
    """`"1": "…"` wherever it stands, whatever is between; the last may lack its end."""
    at = 0
    while found := ENTRY.search(text, at):
        end = CLOSING[found["quote"]].search(text, found.end())
        value = text[found.end() : end.start() if end else len(text)]
        if found["key"].lower() != "original" and (end or len(value.split()) > 3):
            try:
                yield str(json.loads(f'"{value}"', strict=False))
            except ValueError:
                yield value.replace('\\"', '"')
        at = end.end() if end else len(text)


# ── Listings 4, 6–9 ────────────────────────────────────────────────────────────────────────────────────────────────


def parse_list(text: str, expected: int = 0) -> Items:
    """The texts of a numbered list. Fewer than expected are accepted and noted in the audit."""
    audit = Audit()
    text = prepare(text, audit)
    if not text:
        return Items((), audit)
    chunks = cut_numbered(text, audit) or cut_json_list(text) or cut_unnumbered(text, audit)
    texts = []
    for chunk in chunks:
        item, *rest = BLANK.split(chunk.strip(), maxsplit=1)
        audit.prose += sum(len(r.strip()) for r in rest)
        if words := clean_words(item):
            texts.append(words)
    if expected and 0 < len(texts) < expected:
        audit.repaired.append(f"{len(texts)} of {expected}")
    if not texts:
        audit.refused.append((text.strip()[:80], "no list"))
    return Items(tuple(texts), audit)


def cut_numbered(text: str, audit: Audit) -> list[str]:
    """What follows each number."""
    marks = find_numbers(text)
    if not marks:
        return []
    audit.prose += len(text[: marks[0].start()].strip())
    return [text[a.end() : b] for a, b in zip(marks, [*(m.start() for m in marks[1:]), len(text)], strict=True)]


def find_numbers(text: str) -> list[re.Match[str]]:
    """The numbers of a list: those at the head of a line where there are several, else 1. 2. 3. one after the other."""
    every = list(NUMBER.finditer(text))
    heads, last, words = list[re.Match[str]](), 0, -1
    for mark in every:
        line = text.rfind("\n", last, mark.start()) + 1
        if line or words < 0:  # a line that was not looked at: where its words begin
            found = MARGIN.match(text, line)
            words = found.end() if found else line
        last = mark.start()
        if mark.start() <= words:
            heads.append(mark)
    if len(heads) > 1:
        return heads
    chain: list[re.Match[str]] = []
    for mark in every:
        if int(mark["n"]) == (int(chain[-1]["n"]) + 1 if chain else 1):
            chain.append(mark)
    return chain or heads


def cut_json_list(text: str) -> list[str]:
    """A list of JSON, where a model prefers that."""
    body = fenced[1] if (fenced := FENCE.search(text)) else text
    try:
        found = json.loads(body.strip())
    except (ValueError, RecursionError):
        return []
    if isinstance(found, dict):
        found = list(found.values())
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def cut_unnumbered(text: str, audit: Audit) -> list[str]:
    """Bullets, or else lines; what ends with a colon announces the list."""
    if BULLET.search(text):
        head, *items = BULLET.split(text)
        audit.prose += len(head.strip())
        audit.repaired.append("bullets where numbers were asked for")
        return items
    lines = [line for line in text.split("\n") if line.strip()]
    plain = [line for line in lines if not line.rstrip().endswith((":", "："))]
    audit.prose += sum(map(len, lines)) - sum(map(len, plain))
    if plain:
        audit.repaired.append("no numbers: a line is an entry")
    return plain


# ── Listing 5 ──────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_replies(text: str, expected: int) -> Replies:
    """Numbered replies up to the last that is expected; whatever follows is the paragraph."""
    audit = Audit()
    text = prepare(text, audit)
    marks = [m for m in find_numbers(text) if 1 <= int(m["n"]) <= expected] if text else []
    if not marks:
        if text:
            audit.repaired.append("no numbered replies: all of it is the description")
        return Replies(("",) * expected, clean_words(LABEL.sub("", text.strip())), audit)
    replies = dict.fromkeys(range(1, expected + 1), "")
    audit.prose += len(text[: marks[0].start()].strip())
    ends = [*(m.start() for m in marks[1:]), len(text)]
    rest = ""
    for mark, end in zip(marks, ends, strict=True):
        chunk = text[mark.end() : end].strip()
        if mark is marks[-1]:
            chunk, rest = split_last(chunk)
        replies[int(mark["n"])] = replies[int(mark["n"])] or REPLY.sub("", clean_words(chunk))
    lacking = sum(not reply for reply in replies.values())
    if lacking:
        audit.repaired.append(f"{lacking} of {expected} replies are missing")
    description = clean_words(LABEL.sub("", rest.strip()))
    if not description:
        audit.refused.append(("", "no paragraph after the replies"))
    return Replies(tuple(replies.values()), description, audit)


def split_last(chunk: str) -> tuple[str, str]:
    """The last reply and the paragraph: parted by an empty line, a line, or the end of a sentence."""
    for mark in (BLANK, re.compile(r"\n"), SENTENCE):
        if found := mark.search(chunk):
            return chunk[: found.start()], chunk[found.end() :]
    return chunk, ""


# ── the judge ──────────────────────────────────────────────────────────────────────────────────────────────────────


def parse_marks(text: str, expected: int) -> tuple[tuple[float | None, ...], Audit]:
    """A mark from 0 to 100 for each caption; None where there is none."""
    audit = Audit()
    marks: list[float | None] = [None] * expected
    for item in MARK.finditer(prepare(text, audit)):
        n, mark = int(item["n"]), float(item["mark"])
        if 1 <= n <= expected and mark <= 100 and marks[n - 1] is None:
            marks[n - 1] = mark
    if lacking := sum(m is None for m in marks):
        audit.repaired.append(f"{lacking} of {expected} marks are missing")
    return tuple(marks), audit
