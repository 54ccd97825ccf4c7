"""Stories through the kernel: it says what its twin says, and what it reads is what the standard library reads."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fabula import _kernels, io
from fabula._kernels import using
from fabula.core.errors import FabulaError
from fabula.data.stories import Columns, Corpus, Event, Segment, Story, join_spans
from fabula.documents import files
from fabula.documents.columns import DEEPEST, MOST_FIELDS, MOST_NAMES, Read, guess_kinds, read_plain, scan_stories
from fabula.documents.fields import LONGEST_CAPTION, Source
from fabula.io import pieces
from tests.twins.columns import scan_stories_python

native = pytest.mark.skipif(_kernels.NATIVE is None, reason="no compiled kernels here")
TRUTH = (
    '{"a": {"duration": 3, "timestamps": [[0, 1.5], [-1e2, 3]], "sentences": ["ä\\u00e9 \\ud83d\\ude00", "b"], "x": 1}}'
)
RESULTS = (
    '{"v": "1", "results": {"a": [{"sentence": "s", "timestamp": [0, 1]}, {"timestamp": [2, 3], "z": []}]}, "w": {}}'
)
PDVC = (
    '{"results": {"a": [{"timestamp": [0, 1], "proposal_score": 0.5, "vid_duration": 9, "raw_box": [1, {"y": null}]}]}}'
)
LINES = (
    '{"id": "a", "events": [{"start": 0, "end": 1, "caption": "c", "score": -0}, {"start": 1, "end": 2}], "u": true}\n'
)
TEXTS = {"truth": TRUTH, "results": RESULTS, "pdvc": PDVC, "lines": LINES + "\n \t\r\n" + LINES.replace('"a"', '"b"')}
TOKENS = (
    *("{", "}", "[", "]", ",", ":", '"', "\\", "\n", " ", "\r", "\t", "\0", "\x0b", "ä", "\u2028", "\xa0", "\ufeff"),
    *("0", "-", "-0", "-0.0", "01", "1.", ".5", "1e5", "1E+400", "-1e400", "1e-400", "NaN", "-Infinity", "9" * 400),
    *("9007199254740993", "0.1234567890123456789", "4.9e-324", "1e999999999999", "true", "false", "null", "nul"),
    *('"x"', '""', '"\\ud800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"\\u12g4"', '"\\x"', '"\\/\\b\\f\\n"', '"\t"'),
    *(
        '"timestamps"',
        '"sentences"',
        '"duration": 0',
        '"duration": 2',
        '"results"',
        '"timestamp"',
        '"sentence"',
        '"id"',
    ),
    *(
        '"events"',
        '"start"',
        '"\\u0065nd"',
        '"caption"',
        '"score"',
        '"proposal_score"',
        '"vid_duration": 9',
        "{}",
        "[]",
    ),
    *('"k": 1, ', '"k": {"k": [1, "\\n"]}, ', '{"k": 1, "k": 2}', "[[0, 1]]", "[0, 1, 2]", "[0]", "/* */", "\ud7ff"),
)


def told(read: Read | None) -> Any:
    """A read as something to compare, the sign of zeros and NaN included."""
    return None if read is None else [repr(c.tolist()) if isinstance(c, np.ndarray) else c for c in read]


def agree(text: bytes, kind: str, at: int = 0) -> Read | None:
    found = scan_stories(text, at, kind)
    assert told(found) == told(scan_stories_python(text, at, kind))
    return found


@native
@pytest.mark.parametrize("kind", TEXTS)
def test_the_kernel_reads_what_its_twin_reads(kind: str) -> None:
    assert agree(TEXTS[kind].encode(), kind) is not None
    for other in TEXTS:
        assert (agree(TEXTS[other].encode(), kind) is not None) == (
            kind == other or {kind, other} == {"results", "pdvc"}
        )


@native
def test_it_reads_what_is_there() -> None:
    read = agree(b"?" + TEXTS["lines"].encode(), "lines", 1)
    assert read is not None
    assert read.ids == ["a", "b"] and read.starts.tolist() == [0, 2, 4] and read.lines.tolist() == [0, 3]
    assert read.spans.tolist() == [[0, 1], [1, 2]] * 2 and read.captions == ["c", None] * 2
    assert repr(read.scores.tolist()) == "[0.0, nan, 0.0, nan]" and read.of_videos == [("u", 2)]
    read = agree(TRUTH.encode(), "truth")
    assert read is not None and read.captions == ["äé 😀", "b"] and read.durations.tolist() == [3.0]
    read = agree(RESULTS.encode(), "results")
    assert read is not None and read.header == {"v": "1", "w": {}} and read.first_fields == ["sentence", "timestamp"]
    read = agree(PDVC.encode(), "pdvc")
    assert read is not None and read.scores.tolist() == [0.5] and read.of_events == [("raw_box", 1)]


@native
@pytest.mark.parametrize("kind", TEXTS)
def test_they_agree_on_bent_texts(kind: str) -> None:
    draw, plain = random.Random(kind), 0
    for _ in range(2500):
        text = TEXTS[kind]
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice(TOKENS) + text[at + draw.choice((0, 0, 1, 1, 2, 5)) :]
        data = text.encode(errors="surrogatepass")
        if draw.random() < 0.1:
            at = draw.randrange(len(data))
            data = data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        plain += agree(data, kind) is not None
    assert plain > 100


@native
@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_is_cut_off_is_not_plain(kind: str) -> None:
    data = TEXTS[kind].rstrip("\n").encode()
    for end in range(len(data)):
        assert agree(data[:end], kind) is None or kind == "lines"


def nest(depth: int) -> str:
    return "[" * depth + "]" * depth


@native
@pytest.mark.parametrize(
    ("field", "plain"),
    [
        (nest(DEEPEST), True),
        (nest(DEEPEST + 1), False),
        (json.dumps({str(k): k for k in range(MOST_FIELDS)}), True),
        (json.dumps({str(k): k for k in range(MOST_FIELDS + 1)}), False),
    ],
)
def test_what_nobody_keeps_has_bounds(field: str, plain: bool) -> None:
    for text, kind in (
        ('{"a": {"timestamps": [], "x": %s}}', "truth"),
        ('{"results": {}, "x": %s}', "results"),
        ('{"results": {"a": [{"timestamp": [0, 1], "x": %s}]}}', "results"),
        ('{"id": "a", "events": [], "x": %s}', "lines"),
    ):
        assert (agree((text % field).encode(), kind) is not None) == plain


@native
@pytest.mark.parametrize(("names", "videos", "plain"), [(MOST_NAMES, 4, True), (MOST_NAMES + 1, 4 + 1, False)])
def test_names_of_fields_have_a_bound(names: int, videos: int, plain: bool) -> None:
    size = -(-names // videos)
    some = [[f"n{k}" for k in range(names)][i * size : (i + 1) * size] for i in range(videos)]
    text = "\n".join(json.dumps({"id": str(i), "events": [], **dict.fromkeys(part)}) for i, part in enumerate(some))
    assert size <= MOST_FIELDS
    assert (agree(text.encode(), "lines") is not None) == plain


@native
def test_captions_have_a_bound_in_bytes() -> None:
    for caption, plain in (("a" * LONGEST_CAPTION, True), ("a" * LONGEST_CAPTION + "a", False), ("ä" * 50_001, False)):
        text = json.dumps({"results": {"a": [{"timestamp": [0, 1], "sentence": caption}]}}, ensure_ascii=False)
        assert (agree(text.encode(), "results") is not None) == plain


@native
def test_equal_captions_are_one_object() -> None:
    captions = [f"a caption number {k % 5000}" for k in range(20_000)]
    text = json.dumps({"a": {"timestamps": [[0, 1]] * len(captions), "sentences": captions}})
    read = scan_stories(text.encode(), 0, "truth")
    assert read is not None and read.captions == captions
    assert len({id(c) for c in read.captions}) == 5000


@native
def test_arguments_that_do_not_fit_are_refused() -> None:
    for scan in (scan_stories, scan_stories_python):
        with pytest.raises(ValueError, match="no kind of stories is called verse"):
            scan(b"{}", 0, "verse")
        for at in (-1, 3):
            with pytest.raises(ValueError, match="none of the text"):
                scan(b"{}", at, "truth")


# ── through the door ────────────────────────────────────────────────────────────────────────────────────────────────


def both(path: Path, format: str | None = None) -> list[Any]:
    """What is read, said and refused, by the kernel and by the standard library."""
    out = []
    for choice in ("native", "python") if _kernels.NATIVE else ("python",):
        with using(choice):
            try:
                corpus, notes = io.read(path, format)
                out.append((repr(corpus), notes.lines()))
            except FabulaError as error:
                out.append((type(error), str(error)))
    return out


ODD = [  # what looks like one format and is another, or is read as none
    '{"results": {"timestamps": [{"timestamp": [0, 1]}]}}',
    '{"results": {"timestamps": [[0, 1]], "sentences": ["x"]}}',
    '{"id": "x", "answer": "from 0 to 3 seconds a kite rises", "results": {"a": [{"timestamp": [0, 1]}]}}',
    '{"other": {"timestamps": 3}, "results": {"a": [{"timestamp": [0, 1]}]}}',
    '{"results": {"a": [], "b": [{"timestamp": [0, 1], "proposal_score": 1}]}}',
    '{"results": {"a": [{"timestamp": [0, 1]}, {"timestamp": [0, 1], "proposal_score": 1}]}}',
    '{"results": {"a": [{"x": {"proposal_score": 1}, "timestamp": [0, 1]}]}}',
    '{"results": {"a": [{"timestamp": [0, 1]}], "a": []}}',
    '{"results": {"a": [{"timestamp": [0, 1]}], "\\u0061": []}}',
    '{"results": {}}',
    "{}",
    '{"a": {"timestamps": []}, "b": {"sentences": []}}',
    '{"a": {"timestamps": [[5, 1]]}, "a": 3}',
    '\ufeff{"a": {"timestamps": [[5, 1]], "sentences": ["x\\u0000"]}}\n\n',
    '{"a": {"timestamps": [[5, 1]], "sentences": ["x\\ud800"]}}',
    '{"\\ud800": {"timestamps": [[5, 1]]}}',
    '{"a": {"timestamps": [[1e308, 1.7e308]], "y": 1, "z": 2}, "b": {"timestamps": [], "z": 1e999}}',
]


@pytest.mark.parametrize("text", ODD + [text for kind, text in TEXTS.items() if kind != "lines"])
@pytest.mark.parametrize("format", [None, "activitynet", "submission", "pdvc", "tasty"])
def test_a_document_is_read_alike(text: str, format: str | None, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    found = both(tmp_path / "x.json", format)
    assert found[0] == found[-1]


def lines_of(number: int, odd: dict[int, str]) -> str:
    return "".join(
        odd.get(k, f'{{"id": "v{k}", "events": [{{"start": {k}, "end": {k + 1}}}]}}\n') for k in range(number)
    )


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {0: "\ufeff" + LINES},
        {0: "\n\n", 7: "  \r\n"},
        {
            3: '{"id": "x", "events": [], "f": 1}\n',
            5: '{"id": "y", "events": [{"start": 1, "end": 2, "g": 1, "f": 0}]}\n',
        },
        {3: '{"id": "y", "events": [{"start": 1, "end": 2, "g": 1}]}\n', 5: '{"id": "x", "events": [], "f": 1}\n'},
        {140: '{"id": "x", "events": [{"start": 1, "end": 2, "caption": "\\ud800"}]}\xa0\n'},
        {160: '{"id": "v5", "events": []}\n'},
        {160: '{"id": "v5", "events": []}\n', 170: "no JSON\n"},
        {160: "no JSON\n", 170: '{"id": "v5", "events": []}\n'},
        {299: '{"id": "last", "events": []}'},
        {299: '{"id": "cut off", "eve'},
        {180: '{"id": "long", "events": [], "x": "' + "y" * 10_000 + '"}\n'},
    ],
)
def test_lines_are_read_alike(odd: dict[int, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    path = tmp_path / "x.jsonl"
    path.write_text(lines_of(300, odd))
    found = both(path)
    assert found[0] == found[-1]


@pytest.mark.parametrize("odd", [{}, {150: '{"id": "x", "events": [{"start": 1, "end": 2, "caption": "\\ud800"}]}\n'}])
def test_pieces_are_read_alike(odd: dict[int, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK", 1000)
    monkeypatch.setattr(pieces, "READ", 500)
    path = tmp_path / "x.jsonl"
    path.write_text(lines_of(300, odd))
    cut, _ = pieces.cut_file(path, 3000)
    assert len(cut) > 2
    found = []
    for choice in ("native", "python") if _kernels.NATIVE else ("python",):
        with using(choice):
            source = Source(path)
            found.append(([pair for piece in cut for pair in io.read_piece(piece, source)], source.notes.lines()))
    assert found[0] == found[-1]
    assert [n for n, _ in found[0][0]] == list(range(1, 301))


@native
def test_a_guess_is_of_the_first_event() -> None:
    assert guess_kinds(TRUTH.encode()) == ("truth",)
    assert guess_kinds(RESULTS.encode()) == ("results", "truth")
    assert guess_kinds(PDVC.encode()) == ("pdvc", "truth")
    plain = read_plain(b'{"results": {"timestamps": [], "sentences": []}}', ("results", "truth"))
    assert plain is None  # a video may be called so: who reads it decides


# ── stories of columns ──────────────────────────────────────────────────────────────────────────────────────────────

EVENTS = (
    Event(Segment(3.0, 4.0), "c"),
    Event(Segment(1.0, 2.0), None, 0.5),
    Event(Segment(1.0, 2.0), "a", 1.0),
    Event(Segment(0.0, 9.0), "b"),
)


def in_columns(first: int, last: int, scores: bool = True) -> Story:
    spans = np.array([(e.segment.start, e.segment.end) for e in EVENTS])
    said = np.array([np.nan if e.score is None else e.score for e in EVENTS]) if scores else None
    return Story.of_columns("v", Columns(spans, [e.caption for e in EVENTS], said), first, last, 9.0)


@pytest.mark.parametrize(("first", "last"), [(0, 4), (1, 3), (2, 2), (3, 4)])
def test_a_story_of_columns_is_the_story_of_its_events(first: int, last: int) -> None:
    one, other = in_columns(first, last), Story("v", EVENTS[first:last], 9.0)
    assert len(one) == len(other) == last - first
    assert one.order == other.order and one.start_order == other.start_order
    assert list(one.words) == list(other.words)
    assert one.spans.tolist() == other.spans.tolist()
    assert one.in_order() == other.in_order() and one.by_start() == other.by_start()
    assert "events" not in vars(in_columns(first, last).in_order())
    assert one == other and hash(one) == hash(other) and repr(one) == repr(other)
    assert pickle.loads(pickle.dumps(one)) == other
    assert b"columns" not in pickle.dumps(one)


def test_a_caption_that_is_missing_is_named_alike() -> None:
    for story in (in_columns(0, 3), Story("v", EVENTS[:3])):
        with pytest.raises(FabulaError, match="1 of 3 events have no caption"):
            _ = story.captions
    assert in_columns(2, 4).captions == ["a", "b"]


def test_spans_of_many_stories_stand_end_to_end() -> None:
    columns = Columns(np.arange(12.0).reshape(6, 2), [None] * 6)
    other = Columns(np.arange(100.0, 104.0).reshape(2, 2), [None] * 2)
    cut = [(columns, 0, 2), (columns, 2, 2), (columns, 2, 3), (columns, 4, 6), (other, 0, 2), (columns, 3, 4)]
    stories = [Story.of_columns("v", *part) for part in cut]
    stories.insert(2, Story("w", EVENTS))
    for some in ([], stories, stories[::-1], stories[:2], stories[2:3]):
        wanted = [span for story in some for span in story.spans.tolist()]
        assert join_spans(some).tolist() == wanted
    assert Corpus({str(k): story for k, story in enumerate(stories)}).spans.shape == (12, 2)
