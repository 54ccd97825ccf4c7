"""Small valid corpora of every task, drawn at random, in every format: what the mutations begin with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tools.fuzz.mutate import Doc

TEXT = (
    "a man is playing the guitar on stage and he sings two dogs run in green park then woman chops red onions adds oil "
    "to hot pan stirs it slowly people clap cheer crowd P1 P2 someone 's house , . they throw ball into net again old "
    "boat river don't stop kite rises falls soup boils well-known 3 10.5 it's running quickly behind small wooden table"
)
WORDS = TEXT.split()
NAMES = ("kite", "soup", "garden", "boat", "v_kite2", "stage", "a b", "x.mp4")


@dataclass(slots=True)
class Event:
    start: float
    end: float
    caption: str
    score: float


@dataclass(slots=True)
class Video:
    id: str
    duration: float
    events: list[Event] = field(default_factory=list)


def sentence(rng: Random, least: int = 1) -> str:
    return " ".join(rng.choices(WORDS, k=rng.choice((least, 3, 4, 6, 8, 12)))) + rng.choice((".", "", " ."))


def draw_events(rng: Random, duration: float, most: int = 5) -> list[Event]:
    out = []
    for _ in range(rng.randint(0 if rng.random() < 0.1 else 1, most)):
        a = round(rng.uniform(0, duration * 0.9), rng.choice((0, 1, 2)))
        b = round(min(duration, a + rng.uniform(0.5, duration / 2)), rng.choice((1, 2)))
        out.append(Event(a, b if b > a else a + 1, sentence(rng), round(rng.random(), 3)))
    return out


def draw_videos(rng: Random) -> list[Video]:
    ids = rng.sample(NAMES, rng.randint(1, 4))
    lengths = [round(rng.uniform(5, 180), rng.choice((0, 1, 2))) for _ in ids]
    return [
        Video(id, d, sorted(draw_events(rng, d), key=lambda e: e.start)) for id, d in zip(ids, lengths, strict=True)
    ]


def predict(rng: Random, truth: list[Video]) -> list[Video]:
    """Another teller of the same videos: some events moved, lost, put in, told in other words."""
    out = []
    for video in truth:
        if rng.random() < 0.08:
            continue
        events = []
        for e in video.events:
            if rng.random() < 0.75:
                a, b = (x + rng.choice((0, 0, rng.uniform(-3, 3))) for x in (e.start, e.end))
                a, b = sorted((round(max(0, a), 2), round(max(0, b), 2)))
                words = e.caption if rng.random() < 0.4 else sentence(rng)
                events.append(Event(a, b if b > a else a + 1, words, round(rng.random(), 2)))
        out.append(Video(video.id, video.duration, events + draw_events(rng, video.duration, 2)))
    if rng.random() < 0.1:
        out.append(Video("extra", 10, draw_events(rng, 10)))
    return out or truth


# ── stories ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_activitynet(told: list[Video], name: str) -> Doc:
    tree = {
        v.id: {
            "duration": v.duration,
            "timestamps": [[e.start, e.end] for e in v.events],
            "sentences": [e.caption for e in v.events],
        }
        for v in told
    }
    return Doc(f"{name}.json", "json", tree)


def as_submission(told: list[Video], name: str) -> Doc:
    results = {v.id: [{"sentence": e.caption, "timestamp": [e.start, e.end]} for e in v.events] for v in told}
    return Doc(f"{name}.json", "json", {"version": "VERSION 1.0", "results": results, "external_data": {"used": False}})


def as_pdvc(told: list[Video], name: str) -> Doc:
    results = {
        v.id: [
            {
                "timestamp": [e.start, e.end],
                "sentence": e.caption,
                "proposal_score": e.score,
                "sentence_score": -1.5,
                "vid_duration": v.duration,
            }
            for e in v.events
        ]
        for v in told
    }
    return Doc(f"{name}.json", "json", {"results": results, "valid_video_num": len(told)})


def as_timechat(told: list[Video], name: str) -> Doc:
    tree = {v.id: [{"timestamp": [e.start, e.end], "caption": e.caption} for e in v.events] for v in told}
    return Doc(f"{name}.json", "json", tree)


def as_timechat_truth(told: list[Video], name: str) -> Doc:
    entries = [
        {
            "image_id": v.id,
            "duration": v.duration,
            "segments": [[e.start, e.end] for e in v.events],
            "pure_cap": ". ".join(e.caption.replace(".", "").strip() for e in v.events),
            "caption": " ".join(f"{e.start} - {e.end} seconds, {e.caption}" for e in v.events),
        }
        for v in told
    ]
    return Doc(f"{name}.json", "json", {"annotations": entries})


def as_youcook2(told: list[Video], name: str) -> Doc:
    tree = {
        v.id: {
            "duration": v.duration,
            "subset": "training",
            "annotations": [
                {"segment": [e.start, e.end], "id": i, "sentence": e.caption} for i, e in enumerate(v.events)
            ],
        }
        for v in told
    }
    return Doc(f"{name}.json", "json", {"database": tree})


def as_fabula(told: list[Video], name: str) -> Doc:
    lines = [
        {
            "id": v.id,
            "duration": v.duration,
            "events": [{"start": e.start, "end": e.end, "caption": e.caption, "score": e.score} for e in v.events],
        }
        for v in told
    ]
    return Doc(f"{name}.jsonl", "lines", lines)


ANSWERS = (
    lambda e: f"From {e.start} to {e.end} seconds, {e.caption}",
    lambda e: f"{e.start}s - {e.end}s: {e.caption}",
    lambda e: (
        f"**{int(e.start) // 60:02}:{int(e.start) % 60:02} - {int(e.end) // 60:02}:{int(e.end) % 60:02}** {e.caption}"
    ),
    lambda e: f"| {e.start} | {e.end} | {e.caption} |",
    lambda e: f"<time_token_{int(e.start)}><time_token_{int(e.end)}> {e.caption}",
    lambda e: f"[{e.start}, {e.end}] {e.caption}",
    lambda e: f"Frame {int(e.start)} to frame {int(e.end)}: {e.caption}",
    lambda e: f"At {e.start:.0f}% until {e.end:.0f}%: {e.caption}",
)


def answer(rng: Random, video: Video) -> str:
    """A video as a language model tells it: a line an event, or JSON with more or less around it."""
    if rng.random() < 0.4:
        entries = [{"start": e.start, "end": e.end, "caption": e.caption} for e in video.events]
        text = json.dumps(entries) if rng.random() < 0.7 else repr(entries)
        return rng.choice(
            (text, f"```json\n{text}\n```", f"Here it is:\n{text}\nThat is all.", text[:-1], f"</think>{text}")
        )
    style = rng.choice(ANSWERS)
    return "\n".join(f"{i + 1}. {style(e)}" if rng.random() < 0.3 else style(e) for i, e in enumerate(video.events))


def as_answers(told: list[Video], name: str, rng: Random | None = None) -> Doc:
    rng = rng or Random(len(told))
    some = [{"id": v.id, "answer": answer(rng, v), "duration": v.duration} for v in told]
    if rng.random() < 0.3:
        return Doc(f"{name}.json", "json", {v["id"]: v["answer"] for v in some} if rng.random() < 0.5 else some)
    return Doc(f"{name}.jsonl", "lines", some)


def as_plm_rdcap(told: list[Video], name: str) -> Doc:
    rows = [
        {
            "uid": v.id,
            "video": v.id,
            "masklet_id": 0,
            "total_frames": int(6 * v.duration) + 1,
            "dense_captions": [
                {"start_frame": int(6 * e.start), "end_frame": int(6 * e.end), "caption": e.caption} for e in v.events
            ],
        }
        for v in told
    ]
    return Doc(f"{name}.jsonl", "lines", rows)


STORIES = {
    "activitynet": as_activitynet,
    "plm-rdcap": as_plm_rdcap,
    "pss": as_activitynet,
    "tasty": as_activitynet,
    "submission": as_submission,
    "pdvc": as_pdvc,
    "timechat": as_timechat,
    "timechat-truth": as_timechat_truth,
    "youcook2": as_youcook2,
    "fabula": as_fabula,
    "answers": as_answers,
}


def stories(rng: Random) -> tuple[Doc, list[Doc]]:
    """Predictions, and one or two reference sets."""
    truth = draw_videos(rng)
    told = predict(rng, truth)
    refs = [truth] if rng.random() < 0.6 else [truth, predict(rng, truth)]
    as_refs = rng.choice((as_activitynet, as_activitynet, as_fabula, as_youcook2, as_timechat_truth))
    kind = rng.choice(("submission", "submission", "pdvc", "timechat", "fabula", "answers", "activitynet"))
    made = as_answers(told, "pred", rng) if kind == "answers" else STORIES[kind](told, "pred")
    return made, [as_refs(r, f"ref{i}") for i, r in enumerate(refs)]


# ── moments ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Query:
    id: int
    video: str
    duration: float
    windows: list[list[float]]
    text: str
    clips: list[int]
    marks: list[list[int]]


def draw_queries(rng: Random) -> list[Query]:
    out = []
    for i in range(rng.randint(1, 4)):
        duration = float(rng.choice((20, 30, 60, 150)))
        windows = [[w.start, w.end] for w in draw_events(rng, duration, 3)] or [[0, 5]]
        clips = sorted(rng.sample(range(int(duration) // 2), rng.randint(1, 5)))
        marks = [[rng.randint(0, 4) for _ in range(3)] for _ in clips]
        out.append(Query(100 + i, rng.choice(NAMES), duration, windows, sentence(rng), clips, marks))
    return out


def near(rng: Random, q: Query) -> list[list[float]]:
    rows = [[a + rng.choice((0, 1, -1)), b + rng.choice((0, 1, 2)), round(rng.random(), 2)] for a, b in q.windows]
    return [*rows, *([e.start, e.end, e.score] for e in draw_events(rng, q.duration, 4))]


def qvhighlights(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = [
        {
            "qid": q.id,
            "query": q.text,
            "vid": q.video,
            "duration": q.duration,
            "relevant_windows": q.windows,
            "relevant_clip_ids": q.clips,
            "saliency_scores": q.marks,
        }
        for q in some
    ]
    preds = [
        {
            "qid": q.id,
            "query": q.text,
            "vid": q.video,
            "pred_relevant_windows": near(rng, q),
            "pred_saliency_scores": [round(rng.random(), 2) for _ in range(int(q.duration) // 2)],
        }
        for q in some
    ]
    return Doc("pred.jsonl", "lines", preds), Doc("ref0.jsonl", "lines", refs)


def moment_lines(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = [
        {
            "id": q.id,
            "video": q.video,
            "windows": q.windows,
            "duration": q.duration,
            "text": q.text,
            "type": rng.choice(("v", "t", "vt")),
            "clips": q.clips,
            "marks": q.marks,
        }
        for q in some
    ]
    preds: list[dict[str, Any]] = []
    for q in some:
        rows = near(rng, q)
        entry: dict[str, Any] = {"id": q.id, "windows": rows}
        if rng.random() < 0.5:
            entry["videos"] = [rng.choice((q.video, "other")) for _ in rows]
        if rng.random() < 0.7:
            entry["saliency"] = [round(rng.random(), 2) for _ in range(int(q.duration) // 2)]
        preds.append(entry)
    return Doc("pred.jsonl", "lines", preds), Doc("ref0.jsonl", "lines", refs)


def tvr(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = [
        {
            "desc_id": q.id,
            "vid_name": q.video,
            "ts": q.windows[0] if rng.random() < 0.8 else [*q.windows, *q.windows][:4],
            "duration": q.duration,
            "desc": q.text,
            "type": rng.choice(("v", "t", "vt")),
        }
        for q in some
    ]
    numbers = {v: i for i, v in enumerate(sorted({q.video for q in some} | {"other"}))}
    lists = rng.sample(("VCMR", "SVMR", "VR"), rng.randint(1, 3))
    rows = {
        n: [
            {
                "desc_id": q.id,
                "desc": q.text,
                "predictions": [[rng.choice(list(numbers.values())), *r] for r in near(rng, q)],
            }
            for q in some
        ]
        for n in lists
    }
    if rng.random() < 0.5:
        lines: list[Any] = [{"video2idx": numbers}]
        lines += [{**entry, "task": n} for n, entries in rows.items() for entry in entries]
        return Doc("pred.jsonl", "lines", lines), Doc("ref0.jsonl", "lines", refs)
    return Doc("pred.json", "json", {"video2idx": numbers, **rows}), Doc("ref0.jsonl", "lines", refs)


def timechat_tvg(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = [{"id": q.id, "image_id": q.video, "caption": q.text, "timestamp": q.windows[0]} for q in some]
    preds = {str(q.id): {"timestamp": [near(rng, q)[0][:2]], "info": q.text} for q in some}
    return Doc("pred.json", "json", preds), Doc("ref0.json", "json", {"annotations": refs})


def verified_fig(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = [
        {"desc_id": q.id, "video": q.video, "duration": q.duration, "time": q.windows[0], "fig_desc": q.text}
        for q in some
    ]
    return tvr(rng, some)[0], Doc("ref0.jsonl", "lines", refs)


def didemo(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    times = [[a, a + rng.randint(0, 2)] for a in range(4)]
    refs = [{"annotation_id": q.id, "video": q.video, "times": times, "description": q.text} for q in some]
    return moment_lines(rng, some)[0], Doc("ref0.json", "json", refs)


def charades(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    lines = [f"{q.video.replace(' ', '')} {q.windows[0][0]} {q.windows[0][1]}##{q.text}" for q in some]
    preds = moment_lines(rng, some)[0]
    for i, entry in enumerate(preds.tree):
        entry["id"] = i
    return preds, Doc("ref0.txt", "text", lines)


def rvmr(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    refs = {
        str(q.id): [{"video_name": q.video, "timestamp": w, "relevance": rng.randint(0, 4)} for w in q.windows]
        for q in some
    }
    preds = {
        str(q.id): [{"video_name": rng.choice((q.video, "other")), "timestamp": row[:2]} for row in near(rng, q)]
        for q in some
    }
    return Doc("pred.json", "json", preds), Doc("ref0.json", "json", refs)


def words(rng: Random, q: Query) -> str:
    """A window as a video LLM would tell it, or nearly."""
    a, b = near(rng, q)[0][:2]
    shapes = (
        "{} - {}",
        "from {} to {} seconds",
        "It starts at {} and ends at {}.",
        "<think>{} to 3</think>{} s",
        "[{}, {}]",
    )
    return rng.choice((*shapes, "between {}s and {}s", "<answer>0:{:02.0f} - 1:{:02.0f}</answer>", "no idea")).format(
        a, b
    )


def answer_lines(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    preds = [{"id": q.id, "answer": words(rng, q)} for q in some]
    return Doc("pred.jsonl", "lines", preds), moment_lines(rng, some)[1]


def keyed_answers(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    keys = [f"{q.video}>>>{q.text}>>>{rng.choice((q.windows[0], q.windows))}" for q in some]
    told = [rng.choice((words(rng, q), {"answers": words(rng, q)}, {"timestamps": [q.windows[0]]})) for q in some]
    tree = dict(zip(keys, told, strict=True))
    return Doc("pred.json", "json", tree), Doc("ref0.json", "json", dict(tree))


def ego4d_nlq(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    asked = [{"clip_start_sec": q.windows[0][0], "clip_end_sec": q.windows[0][1], "query": q.text} for q in some]
    clip = {"clip_uid": "c", "annotations": [{"annotation_uid": "a", "language_queries": asked}]}
    results = [
        {"clip_uid": "c", "annotation_uid": "a", "query_idx": i, "predicted_times": [r[:2] for r in near(rng, q)]}
        for i, q in enumerate(some)
    ]
    preds = {"version": "1.0", "challenge": "ego4d_nlq_challenge", "results": results}
    return Doc("pred.json", "json", preds), Doc("ref0.json", "json", {"videos": [{"clips": [clip]}]})


def omtg(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    rows = [
        {
            "index": q.id,
            "video": q.video,
            "question": q.text,
            "answer": " and ".join(f"{a} - {b}" for a, b in q.windows),
            "prediction": words(rng, q),
        }
        for q in some
    ]
    return Doc("pred.json", "json", rows), Doc("ref0.json", "json", [dict(row) for row in rows])


def etbench(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    task = rng.choice(("tvg", "tal", "tem", "evs", "vhd"))
    rows = [
        {
            "task": task,
            "source": rng.choice("ab"),
            "idx": q.id,
            "video": q.video,
            "duration": q.duration,
            "tgt": q.windows[0] if task == "tvg" else q.windows,
            "q": q.text,
            "a": words(rng, q),
        }
        for q in some
    ]
    return Doc("pred.json", "json", rows), Doc("ref0.json", "json", [dict(row) for row in rows])


def timelens(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    """Ids are places; the answers are lines of their own."""
    each = {f"{i}": {"duration": q.duration, "spans": [q.windows[0]], "queries": [q.text]} for i, q in enumerate(some)}
    preds = [{"id": i, "answer": words(rng, q)} for i, q in enumerate(some)]
    return Doc("pred.jsonl", "lines", preds), Doc("ref0.json", "json", each)


def lmms_grounding(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    rows = [
        {"doc_id": q.id, "filtered_resps": said, "m": {f"{q.video}>>>{q.text}>>>{q.windows[0]}": said}}
        for q in some
        for said in [words(rng, q)]
    ]
    return Doc("pred.jsonl", "lines", rows), Doc("ref0.jsonl", "lines", [dict(row) for row in rows])


def vlmevalkit_grounding(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    quoted = [words(rng, q).replace('"', "'").replace("\n", " ") for q in some]
    lines = [f'{q.id},{i},"{q.windows[0]}","{said}"' for i, (q, said) in enumerate(zip(some, quoted, strict=True))]
    table = ["index,video,answer,prediction", *lines]
    return Doc("pred.csv", "text", table), Doc("ref0.csv", "text", list(table))


def plm_rtloc(rng: Random, some: list[Query]) -> tuple[Doc, Doc]:
    """Rows in frames; answers as lines of lmms-eval's log."""
    rows = [
        {
            "uid": q.id,
            "video": q.video,
            "masklet_id": 0,
            "total_frames": int(6 * q.duration) + 1,
            "caption": q.text,
            "start_frame": int(6 * q.windows[0][0]),
            "end_frame": int(6 * q.windows[0][1]) + 1,
        }
        for q in some
    ]
    said = [
        {"doc_id": i, "filtered_resps": words(rng, q), "plm_rtloc_scores": {"uid": q.id}} for i, q in enumerate(some)
    ]
    return Doc("pred.jsonl", "lines", said), Doc("ref0.jsonl", "lines", rows)


SPOKEN = (
    lmms_grounding,
    vlmevalkit_grounding,
    answer_lines,
    keyed_answers,
    ego4d_nlq,
    omtg,
    plm_rtloc,
    etbench,
    timelens,
)
MOMENTS = (qvhighlights, moment_lines, tvr, timechat_tvg, verified_fig, didemo, charades, rvmr, *SPOKEN)


def moments(rng: Random, task: str = "") -> tuple[Doc, list[Doc]]:
    ways = {
        "highlights": (qvhighlights, qvhighlights, moment_lines),
        "moments": (tvr, tvr, verified_fig, moment_lines, rvmr),
        "grounding": (timechat_tvg, timechat_tvg, charades, didemo, moment_lines, *SPOKEN),
    }.get(task, MOMENTS)
    pred, ref = rng.choice(ways)(rng, draw_queries(rng))
    return pred, [ref]


# ── regions, captions, identity ─────────────────────────────────────────────────────────────────────────────────────


def regions(rng: Random) -> tuple[Doc, list[Doc]]:
    images = rng.sample((1, 2, 3, 17, 205), rng.randint(1, 4))

    def boxes(most: int) -> list[list[Any]]:
        return [
            [[rng.randint(0, 90), rng.randint(0, 90), rng.randint(1, 60), rng.randint(1, 60)], sentence(rng)]
            for _ in range(rng.randint(1, most))
        ]

    truth = {i: boxes(4) for i in images}
    told = {
        i: [
            [[x + rng.choice((0, 0, 3)) for x in box], words if rng.random() < 0.4 else sentence(rng)]
            for box, words in some
        ]
        + boxes(2)
        for i, some in truth.items()
    }
    score = lambda: round(rng.random(), 5)  # noqa: E731
    how = rng.randrange(3)
    if how == 0:
        refs = Doc(
            "ref0.json",
            "json",
            {
                "annotations": [{"image_id": i, "bbox": b, "caption": c} for i, some in truth.items() for b, c in some],
                "images": [{"id": i, "width": 200, "height": 150} for i in images],
            },
        )
    elif how == 1:
        refs = Doc(
            "ref0.json",
            "json",
            [
                {
                    "id": i,
                    "regions": [
                        {"region_id": k, "x": b[0], "y": b[1], "width": b[2], "height": b[3], "phrase": c}
                        for k, (b, c) in enumerate(some)
                    ],
                }
                for i, some in truth.items()
            ],
        )
    else:
        refs = Doc(
            "ref0.jsonl",
            "lines",
            [
                {"image_id": i, "boxes": [b for b, _ in some], "captions": [c for _, c in some]}
                for i, some in truth.items()
            ],
        )
    how = rng.randrange(4)
    if how == 0:
        pred = Doc(
            "pred.json",
            "json",
            [{"image_id": i, "bbox": b, "caption": c, "score": score()} for i, some in told.items() for b, c in some],
        )
    elif how == 3:
        pred = Doc(
            "pred.json",
            "json",
            [
                {"image_id": i, "category_id": 0, "bbox": b, "score": score(), "object_descriptions": c, "logit": 0.5}
                for i, some in told.items()
                for b, c in some
            ],
        )
    elif how == 1:
        pred = Doc(
            "pred.json",
            "json",
            {
                "results": [
                    {
                        "img_name": f"{i}.jpg",
                        "boxes": [b for b, _ in some],
                        "scores": [score() for _ in some],
                        "captions": [c for _, c in some],
                    }
                    for i, some in told.items()
                ],
                "opt": {},
            },
        )
    else:
        pred = Doc(
            "pred.jsonl",
            "lines",
            [
                {
                    "image_id": i,
                    "boxes": [b for b, _ in some],
                    "captions": [c for _, c in some],
                    "scores": [score() for _ in some],
                }
                for i, some in told.items()
            ],
        )
    return pred, [refs]


def captions(rng: Random) -> tuple[Doc, list[Doc]]:
    ids = rng.sample((1, 2, 3, 44, 500), rng.randint(1, 4))
    truth = {i: [sentence(rng) for _ in range(rng.randint(1, 3))] for i in ids}
    told = {i: rng.choice(some) if rng.random() < 0.3 else sentence(rng) for i, some in truth.items()}
    how = rng.randrange(4)
    if how == 0:
        lines = [{"id": i, "cand": told[i], "refs": truth[i]} for i in ids]
        return Doc("pred.jsonl", "lines", lines), []
    if how == 1:
        return Doc("pred.json", "json", [{"image_id": i, "test": told[i], "refs": truth[i]} for i in ids]), []
    pred = Doc("pred.json", "json", [{"image_id": i, "caption": c} for i, c in told.items()])
    every = [{"image_id": i, "id": n, "caption": c} for n, (i, some) in enumerate(truth.items()) for c in some]
    return pred, [Doc("ref0.json", "json", {"annotations": every, "images": [{"id": i} for i in ids]})]


def identity(rng: Random) -> tuple[Doc, list[Doc], Doc | None]:
    people = ("P1", "P2", "P3")
    sets = {
        f"set {i}": [rng.choices(people, k=rng.randint(0, 3)) for _ in range(rng.randint(1, 3))]
        for i in range(rng.randint(1, 3))
    }
    if rng.random() < 0.45:
        clips = {f"{s}_{k}": ids for s, some in sets.items() for k, ids in enumerate(some)}
        line = lambda ids: ",".join(f"[{i}]" for i in ids) or "_"  # noqa: E731
        truth = [f"{clip}\t{line(ids)}" for clip, ids in clips.items()]
        told = [f"{clip}\t{line([rng.choice(people) for _ in ids])}" for clip, ids in clips.items()]
        grouping = ["\t".join(f"{s}_{k}" for k in range(len(some))) for s, some in sets.items()]
        return Doc("pred.csv", "text", told), [Doc("ref0.csv", "text", truth)], Doc("sets.csv", "text", grouping)

    def entries() -> list[dict[str, Any]]:
        out = []
        for s, some in sets.items():
            entry: dict[str, Any] = {"id": s, "captions": [f"{rng.choice(people)} {sentence(rng)}" for _ in some]}
            if rng.random() < 0.7:
                entry["blanks"] = [[rng.choice(people) for _ in ids] for ids in some]
            out.append(entry)
        return out

    if rng.random() < 0.3:
        return Doc("pred.json", "json", entries()), [Doc("ref0.json", "json", entries())], None
    return Doc("pred.jsonl", "lines", entries()), [Doc("ref0.jsonl", "lines", entries())], None


def questions(rng: Random) -> tuple[Doc, list[Doc]]:
    """Answers with their options, in one file or in two."""
    entries, answers = list[Any](), list[Any]()
    for id in range(rng.randint(1, 5)):
        options = [sentence(rng) for _ in range(rng.randint(2, 5))]
        at = rng.randrange(len(options))
        said = rng.choice((f"({chr(65 + at)})", chr(65 + at), options[at], sentence(rng), "", "A dog"))
        gold = rng.choice((chr(65 + at), f"({chr(97 + at)})", at, options[at]))
        more = {"kind": rng.choice("xy"), "group": rng.choice("uvw")} if rng.random() < 0.5 else {}
        entries.append({"id": id, "options": options, "gold": gold, **more})
        answers.append({"id": id, "answer": said})
    if rng.random() < 0.5:
        both = [{**entry, **answer} for entry, answer in zip(entries, answers, strict=True)]
        return Doc("pred.jsonl", "lines", both), []
    return Doc("pred.jsonl", "lines", answers), [Doc("ref0.jsonl", "lines", entries)]


def of_task(rng: Random, task: str) -> tuple[Doc, list[Doc], Doc | None]:
    """Predictions, references, and the sets of clips where the task has them."""
    if task == "identity":
        return identity(rng)
    known = {"captions": captions, "regions": regions, "questions": questions, "dense": stories, "procedure": stories}
    make = known.get(task)
    pred, refs = make(rng) if make else moments(rng, task)
    return pred, refs, None
