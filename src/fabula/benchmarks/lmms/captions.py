"""lmms-eval's --log_samples of captioned segments (youcook2; 0.7.3): a line a segment, both sides in one.

{"doc_id", "filtered_resps", a metric: {"answer": the truth, "pred": what was said, "video", "timestamp"}, …}

Also {"answer", "pred", "video"} by itself. Segments of one video belong together. A log scores against itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fabula.data.stories import Item
from fabula.documents.fields import Source
from fabula.io.format import Format, HeadRule

PARTS = ("answer", "pred", "video")
SHAPE = '{"doc_id", a metric: {"answer": text, "pred": text, "video", "timestamp"}}'


def find_caption(entry: object) -> Mapping[str, object] | None:
    """What the task made of the sample, which is the same under every metric."""
    if not isinstance(entry, Mapping):
        return None
    return next(
        (part for part in (entry, *entry.values()) if isinstance(part, Mapping) and part.keys() >= set(PARTS)), None
    )


def read_items(entries: Iterable[tuple[str, Any]], source: Source) -> Iterator[Item]:
    known_ids: set[str | int] = set()
    for number, (at, entry) in enumerate(entries, 1):
        found = find_caption(source.mapping(entry, at, hint=f"a sample is {SHAPE}"))
        if found is None:
            raise source.wrong("the line does not hold what its task compared", None, at, f"a sample is {SHAPE}")
        id = source.identity(entry["doc_id"], f"{at} doc_id") if "doc_id" in entry else number
        if id in known_ids:
            raise source.wrong(f"the id {id!r} stands twice", None, at, "a log that was appended to holds two runs")
        known_ids.add(id)
        truth, answer = (source.caption(found[key], f"{at} {key}", id) for key in ("answer", "pred"))
        yield Item(id, answer, (truth,), source.text(found["video"], f"{at} video", id))


FORMAT = Format(
    name="lmms-captions",
    about="lmms-eval's --log_samples of captioned segments (youcook2): {doc_id, metric: {answer, pred, video}}",
    known_by=(HeadRule(all=PARTS, inside=True),),
    holds="either",
    tasks=("captions",),
    pattern="*.jsonl",
    read_items=read_items,
    example='{"doc_id": 0, "filtered_resps": "a kite rises", "METEOR": {"answer": "a kite is rising", '
    '"pred": "a kite rises", "video": "kite", "timestamp": [0, 10]}}',
)
