"""PLM-VideoBench's rows of localisation (Cho et al., 2025): {uid, caption, start_frame, end_frame, total_frames}.

Windows are places among the 32 frames that a model is shown (rows.py), not seconds: so are the answers.
"""

from __future__ import annotations

from collections.abc import Iterator

from fabula.benchmarks.lmms.log import sample_text
from fabula.benchmarks.plm.rows import SHOWN, read_frames, read_scale, row_id, sample_row
from fabula.data.moments import Query, Ranking, VideoNumbers
from fabula.documents.fields import Source
from fabula.io.answers.hosts import note_failed
from fabula.io.format import Format, HeadRule
from fabula.io.moments import Answers
from fabula.io.moments.fields import NO_WINDOWS, check_object, read_text, read_words

SHAPE = '{"uid", "video", "caption", "start_frame", "end_frame", "total_frames"}'
SAMPLE = '{"doc_id", "filtered_resps", "plm_rtloc_scores": {"uid", …}}'
KNOWN = frozenset({"uid", "video", "caption", "start_frame", "end_frame", "total_frames", "masklet_id"})


def read_queries(source: Source) -> Iterator[Query]:
    for at, row in source.document.entries():
        row = check_object(row, at, source, SHAPE)
        id = row_id(row, at, source)
        window = read_frames(row, read_scale(row, id, at, source), id, at, source)
        video = source.text(row["video"], f"{at} video", id) if "video" in row else str(id)
        source.unused(row, KNOWN, "rows")
        yield Query(id, video, ((window.start, window.end),), None, read_text(row, "caption", id, source))


def read_rankings(source: Source, numbers: VideoNumbers) -> Answers:
    """lmms-eval's --log_samples: the row's uid stands in what the task returned."""
    for at, entry in source.document.entries():
        id = row_id(sample_row(check_object(entry, at, source, SAMPLE), at, source), at, source)
        text = read_words(sample_text(entry, at, source), at, id, source)
        yield "", Ranking(id, NO_WINDOWS, answer=note_failed(text, id, source))


FORMATS = (
    Format(
        name="plm-rtloc",
        about=f"PLM-VideoBench's rows of localisation, in places among {SHOWN} frames: {{uid, video, caption, "
        "start_frame, end_frame, total_frames}",
        known_by=(HeadRule(all=("uid", "total_frames", "start_frame", "end_frame")),),
        main_task="grounding",
        holds="references",
        tasks=("grounding",),
        pattern="*.jsonl",
        read_queries=read_queries,
        example='{"uid": 1, "video": "kite.mp4", "masklet_id": 0, "total_frames": 64, "caption": "A kite rises.", '
        '"start_frame": 0, "end_frame": 21}',
    ),
    Format(
        name="plm-rtloc-samples",
        about="lmms-eval's --log_samples of PLM-VideoBench's rtloc: {filtered_resps, plm_rtloc_scores: {uid}}",
        known_by=(HeadRule(all=("filtered_resps",), objects=("plm_rtloc_scores",)),),
        main_task="grounding",
        holds="predictions",
        tasks=("grounding",),
        pattern="*.jsonl",
        read_rankings=read_rankings,
        example='{"doc_id": 0, "filtered_resps": "[0, 10]", "plm_rtloc_scores": {"uid": 1, "mIOU": 0.9}}',
    ),
)
