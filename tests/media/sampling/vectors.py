"""Cases of frame recipes (../shared/spec/vectors-frames-*.json), run through ours."""

from __future__ import annotations

from typing import Any

from fabula.media.sampling import all_recipes, all_resizers
from fabula.media.sampling.base import RecipeError, VideoFacts
from fabula.media.sampling.qwen_vl_utils import FrameList
from fabula.media.sampling.vllm import JpegVideo

RECIPES = {thing.name: thing for thing in (*all_recipes(), *all_resizers())}
FACTS = ("header_frames", "container", "height", "width")  # of the video, though they stand among the settings


def run(name: str, case: dict[str, Any]) -> dict[str, Any]:
    """What our recipe answers, by the names of the case."""
    try:
        if name == "vllm/video-jpeg":
            return run_jpeg(dict(case["params"]))
        if "total_frames" in case:
            return run_frames(name, case)
        return run_size(name, dict(case["params"]))
    except RecipeError as error:
        return {"error": error.original}


def run_frames(name: str, case: dict[str, Any]) -> dict[str, Any]:
    params = dict(case["params"])
    facts = {k: params.pop(k) for k in FACTS if k in params}
    if "container_duration" in params:
        facts["duration"] = params.pop("container_duration")
    if name == "sglang/qwen_vl":
        facts = {"height": 360, "width": 640, **facts}
    if params.get("initial_shift") is False:
        params["initial_shift"] = 0.0
    if "bound" in params:
        params["bound"] = tuple(params["bound"])
    video = VideoFacts(case["total_frames"], case["video_fps"], **facts)
    found = RECIPES[name](**params).select(video)
    out: dict[str, Any] = {"indices": list(found.indices), **found.facts}
    out |= {"time_labels": list(found.labels), "timestamps": list(found.label_times)}
    out |= {"pair_timestamps": list(found.label_times), "pair_labels": list(found.labels)}
    if found.outside(video.frames):
        out["outside"] = True
    return out


def run_size(name: str, params: dict[str, Any]) -> dict[str, Any]:
    height, width = params.pop("height"), params.pop("width")
    frames = next((params.pop(k) for k in ("nframes_sampled", "num_frames", "frames") if k in params), 1)
    recipe = RECIPES[name](**params)
    size = recipe.size(height, width, frames)
    out = {"height": size.height, "width": size.width, "canvas": [size.width, size.height], "tiles": size.tiles}
    if isinstance(recipe, FrameList):
        first = recipe.first_size(height, width)
        fps, indices, total = recipe.metadata(frames)
        out |= {"first_height": first.height, "first_width": first.width, "frames_out": recipe.count(frames)}
        out |= {"sample_fps": recipe.sample_fps, "metadata_fps": fps}
        out |= {"metadata_indices": indices, "metadata_total": total}
    return out


def run_jpeg(params: dict[str, Any]) -> dict[str, Any]:
    facts, times = JpegVideo(**{k: v for k, v in params.items() if k != "frames_sent"}).describe(params["frames_sent"])
    return facts | ({"qwen3_pair_labels": [f"{t:.1f}" for t in times]} if times else {})


def differences(name: str, case: dict[str, Any]) -> list[str]:
    """Where ours departs from a case; every field of the case is looked at."""
    ours, theirs = run(name, case["in"]), case["out"]
    wrong = [k for k, value in theirs.items() if ours.get(k) != value]
    return wrong + [k for k in ("error", "outside") if k in ours and k not in theirs]
