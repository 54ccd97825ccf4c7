"""DiDeMo (Hendricks et al., ICCV 2017): [{"annotation_id", "video", "times": [[first, last], …], "description"}].

Times are pieces of 5 seconds, the last one included, one pair per annotator: [1, 2] is 5 to 15 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.data.moments import Query, clip_seconds
from fabula.documents.fields import Source
from fabula.io.format import MOMENTS, Format, HeadRule
from fabula.io.moments.fields import check_object, read_id, read_text, read_windows

PIECE = 5.0  # seconds
MOST = 2**53  # pieces: from there on doubles skip numbers
QUERY = '{"annotation_id", "video", "times": [[first, last], …], "description"}'
KNOWN = frozenset({"annotation_id", "video", "times", "description", "num_segments", "dl_link"})


def read_queries(source: Source) -> Iterator[Query]:
    listed = source.listing(source.document.tree(), "the root", hint=f"DiDeMo is a list of {QUERY}")
    for i, entry in enumerate(listed):
        entry = check_object(entry, f"entry {i}", source, QUERY)
        id = read_id(entry, "annotation_id", f"entry {i}", source)
        video = source.text(source.entry(entry, "video", id), "video", id)
        times = read_windows(source.entry(entry, "times", id), "times", id, source)
        for k, (first, last) in enumerate(times):
            if first != int(first) or last != int(last) or not 0 <= first <= last < MOST:
                problem = f"expected the numbers of pieces, saw [{first:g}, {last:g}]"
                raise source.wrong(problem, id, f"times[{k}]", "times are [first, last] pieces of 5 seconds, from 0")
        source.unused(entry, KNOWN, "queries")
        spans = clip_seconds([t[0] for t in times], [t[1] for t in times], PIECE, end="inside").tolist()
        yield Query(id, video, tuple((s, e) for s, e in spans), None, read_text(entry, "description", id, source))


FORMAT = Format(
    name="didemo",
    about="DiDeMo: [{annotation_id, video, times: [[first, last] per annotator]}], in pieces of 5 seconds",
    known_by=(HeadRule(begins=r"\s*\[\s*\{", all=("times", "annotation_id")),),
    main_task="moments",
    holds="references",
    tasks=MOMENTS,
    read_queries=read_queries,
    example='[{"annotation_id": 1, "video": "kite.mp4", "times": [[0, 1], [0, 2]], "description": "a kite rises"}]',
)
