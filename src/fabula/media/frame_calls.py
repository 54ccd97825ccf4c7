"""Calls about frames of a film: pictures with their times in a layout, and where they are from on record.

    frames = take_frames_for("film.mp4", "fabula/rate(fps=1)")
    call = build_call("qwen3-vl", frames, "When does the door open?", layout("pairs"))

The call's key depends on the pictures' bytes and the times beside them; the record of how they were taken goes along
as its provenance, and its signature belongs into the signature of whatever number comes of the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from fabula.core.errors import InputError
from fabula.documents.files import check_path
from fabula.llm.call import PICTURE, Call, Image, VideoPart
from fabula.llm.layouts import Layout, TimedImage
from fabula.media.base import hash_file, stamp
from fabula.media.frame_sets import FilmFrames
from fabula.media.token_costs import TokenCost, find_cost

Times = Literal["film", "recipe"]
KINDS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm"}


def time_images(
    frames: FilmFrames, cost: TokenCost | None = None, times: Times = "film", digits: int | None = None
) -> list[TimedImage]:
    """The frames as pictures of a call. `times`: those of the film, or those that the recipe's harness says."""
    kind = "image/png" if frames.record["pictures"]["kind"] == "png" else "image/jpeg"
    found = []
    for sample, label in zip(frames.samples, frames.labels(digits), strict=True):
        tokens = PICTURE if cost is None else cost.of_pictures(sample.height, sample.width)
        image = Image(sample.digest, sample.data, kind, tokens)
        shown = sample.harness_label or label if times == "recipe" else label
        found.append(TimedImage(image, sample.time, trim_unit(shown)))
    return found


def trim_unit(label: str) -> str:
    """`1.50s` is 1.50: the layout writes the unit."""
    return label.removesuffix("s") if label[:1].isdigit() else label


def build_call(
    model: str,
    frames: FilmFrames,
    prompt: str,
    layout: Layout,
    parameters: Mapping[str, object] | None = None,
    schema: Mapping[str, object] | None = None,
    times: Times = "film",
    film: VideoPart | None = None,
) -> Call:
    """One question about these frames; about the film itself where the layout sends it."""
    arranged = layout.arrange(time_images(frames, find_cost(model), times), prompt, film)
    provenance = {**frames.record, "layout": layout.full(), "times": times, "signature": frames.signature}
    return Call(
        model,
        parts=arranged.parts,
        parameters={**(parameters or {}), **arranged.parameters},
        schema=schema,
        provenance=provenance,
    )


def refer_film(
    path: str | Path, address: str = "", frames: Sequence[int] = (), cost: TokenCost | None = None
) -> VideoPart:
    """A film as a part of a call: its bytes, or the address by which the server reads the same file.

    `frames`: height, width and number of the frames that the server will take, for the estimate of tokens."""
    path = check_path(path)
    if not path.is_file():
        raise InputError("no such file", file=path, hint="name a video")
    kind = KINDS.get(path.suffix.lower(), "video/mp4")
    tokens = PICTURE if cost is None or len(frames) != 3 else cost.of_video(*frames)
    digest = hash_file(path, *stamp(path))
    return VideoPart(digest, address, None if address else path.read_bytes(), kind=kind, tokens=tokens)
