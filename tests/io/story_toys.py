"""Stories for tests: a small one to read with the eye, and strategies for all that a corpus may hold."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fabula.data.stories import Corpus, Event, Segment, Story

# One valid document of each format: the same two videos, told by its own rules.
DOCUMENTS: dict[str, Any] = {
    "activitynet": {
        "v_kite": {"duration": 30.5, "timestamps": [[0, 10.5], [12, 30]], "sentences": ["A kite rises.", "It falls."]},
        "v_soup": {"duration": 12, "timestamps": [[1, 2]], "sentences": ["Soup boils."]},
    },
    "etbench-dense": [
        {
            **{"task": "dvc", "source": "kites", "idx": 0, "video": "v_kite", "duration": 30.5},
            **{"tgt": [[0, 10.5], [12, 30]], "g": ["A kite rises.", "It falls."]},
        },
        {"task": "dvc", "source": "kites", "idx": 1, "video": "v_soup", "tgt": [[1, 2]], "g": ["Soup boils."]},
    ],
    "etbench-dense-answers": [
        {
            "task": "dvc",
            "source": "kites",
            "idx": 0,
            "video": "v_kite",
            "a": "0 - 10.5 s: A kite rises.\n12 - 30 s: It falls.",
        },
        {"task": "dvc", "source": "kites", "idx": 1, "video": "v_soup", "a": "1 to 2 seconds, Soup boils."},
    ],
    "soccernet": {
        "UrlLocal": "league/season/game",
        "annotations": [{"gameTime": "1 - 10:31", "label": "corner", "anonymized": "[PLAYER] takes the corner"}],
    },
    "soccernet-predictions": {
        "UrlLocal": "league/season/game",
        "predictions": [{"gameTime": "1 - 10:31", "label": "comments", "comment": "a corner", "position": "631000"}],
    },
    "fabula": [
        {
            "id": "v_kite",
            "duration": 30.5,
            "events": [
                {"start": 0, "end": 10.5, "caption": "A kite rises.", "score": 0.9},
                {"start": 12, "end": 30, "caption": "It falls."},
            ],
        },
        {"id": "v_soup", "events": [{"start": 1, "end": 2, "caption": "Soup boils."}]},
    ],
    "pdvc": {
        "results": {
            "v_kite": [
                {
                    "timestamp": [0.0, 10.5],
                    "raw_box": [0.17, 0.34],
                    "proposal_score": 0.9,
                    "sentence": "A kite rises.",
                    "sentence_score": -3.25,
                    "query_id": 4,
                    "vid_duration": 30.5,
                    "pred_event_count": 1,
                }
            ],
            "v_soup": [],
        },
        "version": "VERSION 1.0",
        "external_data": {"used:": True, "details": None},
        "valid_video_num": 2,
    },
    "submission": {
        "version": "VERSION 1.0",
        "results": {
            "v_kite": [
                {"sentence": "A kite rises.", "timestamp": [0, 10.5]},
                {"sentence": "It falls.", "timestamp": [12, 30]},
            ],
            "v_soup": [{"sentence": "Soup boils.", "timestamp": [1, 2]}],
        },
        "external_data": {"used": False, "details": ""},
    },
    "youcook2": {
        "database": {
            "kite": {
                "duration": 30.5,
                "subset": "training",
                "recipe_type": "113",
                "annotations": [
                    {"segment": [0, 10], "id": 0, "sentence": "let the kite rise"},
                    {"segment": [12, 30], "id": 1, "sentence": "let it fall"},
                ],
                "video_url": "https://example.org/kite",
            },
            "soup": {
                "duration": 12,
                "subset": "validation",
                "recipe_type": "101",
                "annotations": [{"segment": [1, 2], "id": 0, "sentence": "boil the soup"}],
                "video_url": "https://example.org/soup",
            },
        }
    },
}
DOCUMENTS["answers"] = [
    {"id": "v_kite", "answer": "From 0 to 10.5 seconds, a kite rises.\n12s - 30s: It falls.", "duration": 30.5},
    {"video": "v_soup", "output": '[{"start": 1, "end": 2, "caption": "Soup boils."}]'},
]
DOCUMENTS["lmms-samples"] = [
    {"doc_id": 0, "target": "", "filtered_resps": "From 0 to 10.5 seconds, a kite rises.\n12s - 30s: It falls.",
     "fabula_dense": {"id": "v_kite", "duration": 30.5}},
    {"doc_id": 1, "target": "", "filtered_resps": "1 - 2 seconds: Soup boils.", "doc": {"video": "v_soup"}},
]  # fmt: skip
DOCUMENTS["vlmevalkit"] = (
    "index,video,question,prediction\n"
    '0,v_kite,What happens?,"From 0 to 10.5 seconds, a kite rises.\n12s - 30s: It falls."\n'
    "1,v_soup,What happens?,1 - 2 seconds: Soup boils.\n"
)
DOCUMENTS["plm-rdcap"] = [
    {
        "uid": 1,
        "video": "a.mp4",
        "masklet_id": 0,
        "total_frames": 64,
        "dense_captions": [{"start_frame": 0, "end_frame": 21, "caption": "One."}],
    }
]
DOCUMENTS["timechat"] = {
    "kite.mp4": [
        {"timestamp": [0.0, 10.5], "caption": "A kite rises."},
        {"timestamp": [12.0, 30.0], "caption": "It falls."},
    ],
    "soup.mp4": [{"timestamp": [1.0, 2.0], "caption": "Soup boils."}],
}
DOCUMENTS["sodam"] = [
    {"clip_path": "clips/kite.mp4", "human_json_anno": [
        {"timestamp": "00:00-00:10.5", "segment_detail_caption": "A kite rises",
         "keypoints": {"segment_detail_caption": {"gt_keypoints": ["a kite", "it rises"]}}},
        {"timestamp": [12, 30], "segment_detail_caption_en": "It falls", "keypoints": {}}]},
    {"clip_path": "clips/soup.mp4", "pred": [{"timestamp": "1-2", "caption": "Soup boils."}]},
]  # fmt: skip
DOCUMENTS["vantage"] = [
    {"id": "kite__dvc_000000", "task": "dense_video_captioning", "conversations": [{"from": "assistant", "value":
        '[{"start": "00:00", "end": "00:10.5", "caption": "A kite rises."}, '
        '{"start": "00:12", "end": "00:30", "caption": "It falls."}]'}]},
    {"id": "soup__dvc_000001", "category": "food", "conversations": [{"from": "gpt", "value":
        '[{"start": 1, "end": 2, "caption": "Soup boils."}]'}]},
]  # fmt: skip
DOCUMENTS["srt"] = "1\n00:00:00,000 --> 00:00:10,500\nA kite rises.\n\n2\n00:00:12,000 --> 00:00:30,000\nIt falls.\n"
DOCUMENTS["vtt"] = "WEBVTT\n\n00:00.000 --> 00:10.500\nA kite rises.\n\n00:12.000 --> 00:30.000\nIt falls.\n"
DOCUMENTS["pss"] = DOCUMENTS["tasty"] = DOCUMENTS["activitynet"]

seconds = st.floats(allow_nan=False, allow_infinity=False)
lengths = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
segments = st.builds(Segment, seconds, seconds)
words = st.text(max_size=20)
ids = st.text(max_size=8)


def stories(
    captions: st.SearchStrategy[str | None], scores: st.SearchStrategy[float | None], durations: bool = True
) -> st.SearchStrategy[list[Story]]:
    events = st.lists(st.builds(Event, segments, captions, scores), max_size=4)
    long = st.none() | lengths if durations else st.none()
    return st.lists(st.builds(Story, ids, events.map(tuple), long), max_size=4, unique_by=lambda s: s.id)


def corpus_of(told: list[Story], **more: Any) -> Corpus:
    return Corpus({story.id: story for story in told}, **more)


anything = stories(st.none() | words, st.none() | seconds).map(corpus_of)
