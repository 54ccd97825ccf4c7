"""Videosets: features of a few consecutive clips made into the tensors of MICap (Raajesh et al., CVPR 2024).

action   mean of each of S segments: ⌊n/S⌋ features a segment, the last takes the rest; n < S: zeros behind
frame    the first T features of a clip; frame t of n (after the cut) is in segment ⌊t / (n/S)⌋
face     all faces of the set in the order of its clips, the first F; a face at video frame v is in segment
         ⌊S · v / (stride · n)⌋, n before the cut, `stride` video frames a feature
box      (x1, y1, x2, y2) of the picture's width and height; beyond the edge, x (or y) is scaled back to it
cluster  whole numbers: who is the same person in the set
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fabula.core.errors import InputError
from fabula.learn import batch as base

if TYPE_CHECKING:
    from fabula.learn.models.micap import Config

Floats = NDArray[np.float32]
STRIDE = 5  # video frames from one frame feature to the next


@dataclass(frozen=True)
class ClipFeatures:
    """The features of one clip; arrays may have length 0."""

    id: str
    frame: Floats  # [n, C]
    action: Floats  # [m, C]
    face: Floats  # [k, C]
    box: Floats  # [k, 4] x1, y1, x2, y2 in pixels
    at: NDArray[np.float64]  # [k] video frame of each face
    person: NDArray[np.int64]  # [k] cluster of each face


@dataclass(frozen=True)
class Videoset:
    """Clips that are captioned together, the tokens of their captions, and the text features of the blanks."""

    name: str
    clips: tuple[ClipFeatures, ...]
    tokens: tuple[int, ...] = ()  # START … END; () without captions
    text: Floats | None = None  # [blanks, C]
    numbered: bool = False  # the data say who is who over all their clips, not in this set alone


@dataclass
class Batch(base.Batch):
    """B videosets. Masks are True where there is something."""

    clips: Tensor  # [B] how many clips each has
    text: Tensor  # [B, K, C]
    text_clip: Tensor  # [B, K] the clip of each blank
    text_mask: Tensor  # [B, K]
    action: Tensor  # [B, N, S, C]
    face: Tensor  # [B, F, C]
    face_clip: Tensor  # [B, F]
    face_segment: Tensor  # [B, F]
    face_cluster: Tensor  # [B, F]
    face_box: Tensor  # [B, F, 4]
    face_mask: Tensor  # [B, F]
    frame: Tensor  # [B, N, T, C]
    frame_segment: Tensor  # [B, N, T]
    frame_mask: Tensor  # [B, N, T]
    tokens: Tensor  # [B, L]
    token_clip: Tensor  # [B, L] [SEP]s so far, its own included
    token_mask: Tensor  # [B, L]

    def stream(self, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """One stream as tokens: raw [B, n, C], real [B, n], clip [B, n] and segment [B, n] of each."""
        if name == "text":
            return self.text, self.text_mask, self.text_clip, self.text_clip
        if name == "face":
            return self.face, self.face_mask, self.face_clip, self.face_segment
        x = self.action if name == "action" else self.frame
        B, N, n, _ = x.shape
        clip = torch.arange(N, device=x.device)[None, :, None].expand(B, N, n)
        segment = torch.arange(n, device=x.device).expand(B, N, n) if name == "action" else self.frame_segment
        real = clip < self.clips[:, None, None] if name == "action" else self.frame_mask
        return x.flatten(1, 2), real.flatten(1), clip.flatten(1), segment.flatten(1)


# --- one clip --------------------------------------------------------------------------------------------------------


def pool_segments(x: Floats, segments: int) -> Floats:
    """[m, C] → [S, C]: the mean of each segment; fewer features than segments stand as they are, zeros behind."""
    pooled = np.zeros((segments, x.shape[1]), np.float32)
    n = len(x) // segments
    if not n:
        pooled[: len(x)] = x
        return pooled
    for s in range(segments):
        pooled[s] = x[s * n : (s + 1) * n if s < segments - 1 else None].mean(0)
    return pooled


def frame_segments(n: int, segments: int) -> NDArray[np.int64]:
    """⌊t / (n/S)⌋ of the frames t of n."""
    return (np.arange(n) // (n / segments)).astype(np.int64)


def face_segments(at: NDArray[np.float64], n: int, segments: int, stride: int = STRIDE) -> NDArray[np.int64]:
    """⌊S · (v / (stride · n))⌋ of faces at video frames v; a face behind the last frame is in the last segment."""
    segment = np.floor(segments * (at / (stride * max(n, 1)))).astype(np.int64)
    return segment.clip(0, segments - 1)


def scale_boxes(box: Floats, width: float, height: float) -> Floats:
    """As fractions of the picture. Signs are dropped; where x2 (y2) is beyond the edge, both x (y) are scaled back."""
    b = np.abs(box.astype(np.float64))
    for first, edge in ((0, width), (1, height)):
        far = b[:, first + 2] > edge
        b[far, first] *= edge / b[far, first + 2]
        b[far, first + 2] = edge
        b[:, [first, first + 2]] /= edge
    return b.astype(np.float32)


def number_people(clips: Sequence[NDArray[np.int64]], within: str) -> list[NDArray[np.int64]]:
    """Clusters as 0, 1, 2, … by first appearance, over the set, or anew in every clip; "none": all 0."""
    number_of: dict[int, int] = {}
    numbers = []
    for people in clips:
        number_of = {} if within == "clip" else number_of
        number = [0 if within == "none" else number_of.setdefault(int(p), len(number_of)) for p in people]
        numbers.append(np.array(number, np.int64))
    return numbers


def pool_people(clip: ClipFeatures) -> ClipFeatures:
    """One face for each person of a clip, in the order of appearance: the mean of features, of boxes and of times."""
    people = list(dict.fromkeys(clip.person.tolist()))

    def mean(x: NDArray[Any]) -> NDArray[Any]:
        rows = [x[clip.person == p].mean(0) for p in people]
        return np.array(rows, x.dtype).reshape(len(rows), *x.shape[1:])

    return replace(clip, face=mean(clip.face), box=mean(clip.box), at=mean(clip.at), person=np.array(people, np.int64))


# --- a batch ---------------------------------------------------------------------------------------------------------


def check_videoset(one: Videoset, config: Config) -> None:
    """What the model has room for."""
    if not one.clips:
        raise InputError("a videoset without clips", video=one.name, noun="captionset", hint="leave it out")
    if len(one.clips) > config.clips:
        raise InputError(
            f"{len(one.clips)} clips; the model takes {config.clips} at a time",
            video=one.name,
            noun="captionset",
            hint="cut it into windows",
        )
    if len(one.tokens) > config.tokens:
        raise InputError(
            f"captions of {len(one.tokens)} tokens; the model takes {config.tokens}",
            video=one.name,
            noun="captionset",
            hint="cut it into smaller sets, or use --set tokens=…",
        )
    if one.text is not None and len(one.text) > config.blanks:
        raise InputError(
            f"{len(one.text)} blanks; the model takes {config.blanks}",
            video=one.name,
            noun="captionset",
            hint="cut it into smaller sets, or use --set blanks=…",
        )


def collate(sets: Sequence[Videoset], config: Config, full: bool = False, renumber: bool = True) -> Batch:
    """Videosets as one batch, padded to the longest; `full` pads to the sizes of the config, as the published program.

    Padding is masked, so both give the same result. `renumber=False` takes clusters as they are.
    """
    for one in sets:
        check_videoset(one, config)
    c, B = config, len(sets)
    K = c.blanks if full else max(1, *(0 if s.text is None else len(s.text) for s in sets))
    F = c.faces if full else max(1, min(c.faces, max(sum(len(k.face) for k in s.clips) for s in sets)))
    T = c.frames if full else max(1, min(c.frames, max(len(k.frame) for s in sets for k in s.clips)))
    L = c.tokens if full else max(2, *(len(s.tokens) for s in sets))
    N, S = c.clips, c.segments
    long, boolean = torch.long, torch.bool
    b = Batch(
        [s.name for s in sets], torch.tensor([len(s.clips) for s in sets]),
        torch.zeros(B, K, c.text_dim), torch.zeros(B, K, dtype=long), torch.zeros(B, K, dtype=boolean),
        torch.zeros(B, N, S, c.action_dim),
        torch.zeros(B, F, c.face_dim), torch.zeros(B, F, dtype=long), torch.zeros(B, F, dtype=long),
        torch.zeros(B, F, dtype=long), torch.zeros(B, F, 4), torch.zeros(B, F, dtype=boolean),
        torch.zeros(B, N, T, c.frame_dim), torch.zeros(B, N, T, dtype=long), torch.zeros(B, N, T, dtype=boolean),
        torch.zeros(B, L, dtype=long), torch.zeros(B, L, dtype=long), torch.zeros(B, L, dtype=boolean),
    )  # fmt: skip
    for i, one in enumerate(sets):
        put_frames(b, i, one, config)
        put_faces(b, i, one, config, renumber)
        put_words(b, i, one, config)
    return b


def put_frames(b: Batch, i: int, one: Videoset, config: Config) -> None:
    """Action and frames of set i."""
    for j, clip in enumerate(one.clips):
        if "action" in config.stream_names and len(clip.action):
            b.action[i, j] = torch.from_numpy(pool_segments(clip.action, config.segments))
        if "frame" in config.stream_names and len(clip.frame):
            n = min(len(clip.frame), b.frame.shape[2])
            b.frame[i, j, :n] = torch.from_numpy(clip.frame[:n])
            b.frame_segment[i, j, :n] = torch.from_numpy(frame_segments(n, config.segments))
            b.frame_mask[i, j, :n] = True


def put_faces(b: Batch, i: int, one: Videoset, config: Config, renumber: bool) -> None:
    """Faces of set i, those of the first clips first."""
    if "face" not in config.stream_names:
        return
    people = [clip.person for clip in one.clips]
    people = number_people(people, config.face_clusters) if renumber else people
    n = 0
    for j, (clip, who) in enumerate(zip(one.clips, people, strict=True)):
        k = min(len(clip.face), b.face.shape[1] - n)
        if k <= 0:
            continue
        put = slice(n, n + k)
        b.face[i, put] = torch.from_numpy(clip.face[:k])
        b.face_clip[i, put] = j
        b.face_segment[i, put] = torch.from_numpy(face_segments(clip.at[:k], len(clip.frame), config.segments))
        b.face_cluster[i, put] = torch.from_numpy(who[:k]).clamp(max=config.clusters - 1)
        b.face_box[i, put] = torch.from_numpy(scale_boxes(clip.box[:k], config.box_width, config.box_height))
        b.face_mask[i, put] = True
        n += k


def put_words(b: Batch, i: int, one: Videoset, config: Config) -> None:
    """Captions and blanks of set i. The clip of a token is the number of [SEP] so far; of a blank, its token's."""
    n = len(one.tokens)
    tokens = torch.tensor(one.tokens, dtype=torch.long)
    clip = (tokens == config.sep).cumsum(0).clamp(max=config.clips)
    b.tokens[i, :n], b.token_clip[i, :n], b.token_mask[i, :n] = tokens, clip, True
    if one.text is None or not len(one.text) or "text" not in config.stream_names:
        return
    blanks = (tokens >= config.blank) & (tokens <= config.blank + config.people)
    if int(blanks.sum()) != len(one.text):
        raise InputError(
            f"{len(one.text)} rows of text features for {int(blanks.sum())} blanks",
            video=one.name,
            noun="captionset",
            hint="a row a blank, in the order of the captions",
        )
    k = len(one.text)
    b.text[i, :k], b.text_clip[i, :k], b.text_mask[i, :k] = torch.from_numpy(one.text), clip[blanks], True
