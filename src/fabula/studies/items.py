"""Items: clips with one description a system; read from Fabula's lines, from VERIFIED's, or from a file a system.

    items       {"id", "video", "time": [start, end], "descriptions": {system: text}, "kind"?, "duration"?} a line
    benchmark   VERIFIED's released lines: cog_desc is the system `coarse`, fig_desc the system `fine`; in a folder of
                `fabula annotate export` the branch that made a caption (static, dynamic) is its kind
    [systems]   a file each: lines {"id", "video", "time", "caption"} met by id, or any file of stories that
                `fabula score` reads: one item a video, its story told event by event
    gold        items with "expect": {"static": "fine", "accuracy": {"fine": [4, 5]}}

Without `time` the whole clip is meant; its length is looked up in the file (extra `features`) or is "duration".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fabula.annotation.stats import branches_beside
from fabula.core.errors import InputError, MissingExtra, shown
from fabula.documents.fields import JsonDict
from fabula.documents.files import has_lines, read_objects
from fabula.studies.forms import Form
from fabula.studies.plan import Plan
from fabula.web.media import KINDS, find_fault

SLACK = 1.0  # seconds that a span may reach past the file's end: annotations are rounded
LONGEST = 20_000  # characters of a description
PLAYED = ("h264", "vp8", "vp9", "av1", "theora")  # codecs that browsers play


@dataclass(frozen=True, slots=True)
class Item:
    """A clip and each system's description of it."""

    id: str
    video: str
    start: float
    end: float  # 0: not known yet, the file's own
    descriptions: dict[str, str]
    kind: str = ""  # what results are also told by: static, dynamic
    expect: JsonDict | None = None  # of a gold item
    clip: str = ""  # its file, as it was found

    @property
    def length(self) -> float:
        return self.end - self.start

    def to_dict(self) -> JsonDict:
        return {name: getattr(self, name) for name in self.__slots__}


def read_items(plan: Plan, folder: Path) -> list[Item]:
    """The items of a plan whose files lie beside it."""
    if plan.items:
        found = list(read_lines(folder / plan.items))
    elif plan.benchmark:
        found = list(read_benchmark(folder / plan.benchmark))
    else:
        found = read_systems({name: folder / file for name, file in plan.systems.items()})
    if not found:
        raise InputError(
            "holds no item", file=folder / (plan.items or plan.benchmark or next(iter(plan.systems.values())))
        )
    return found


def read_gold(plan: Plan, folder: Path, systems: tuple[str, ...], form: Form) -> list[Item]:
    if not plan.gold:
        return []
    path = folder / plan.gold
    found = list(read_lines(path))
    for item in found:
        if not item.expect:
            raise wrong(path, item.id, 'has no "expect"', "say what a careful rater answers")
        check_expect(item, path, systems, form)
    return found


def check_expect(item: Item, path: Path, systems: tuple[str, ...], form: Form) -> None:
    """A choice expects a system or "neither"; a mark, for some systems, the lowest and highest that pass."""
    for measure, wanted in (item.expect or {}).items():
        if measure not in form.measures:
            raise wrong(path, item.id, f"expect.{measure}: the form measures {', '.join(form.measures)}")
        if measure in form.choices:
            if wanted not in (*systems, "neither"):
                raise wrong(path, item.id, f"expect.{measure} is {shown(wanted)}; say {', '.join(systems)} or neither")
            continue
        fits = isinstance(wanted, dict) and all(
            name in systems and isinstance(pair, list) and len(pair) == 2 and all(type(v) is int for v in pair)
            for name, pair in wanted.items()
        )
        if not fits:
            raise wrong(path, item.id, f"expect.{measure} is {shown(wanted)}", 'say {"SYSTEM": [lowest, highest]}')


def objects(path: Path) -> Iterator[tuple[int, JsonDict]]:
    for number, line in read_objects(path):
        if not isinstance(line, dict):
            raise InputError(f"saw {shown(line)}", file=path, field=f"line {number}", hint="a line is an object")
        yield number, line


def wrong(path: Path, id: object, problem: str, hint: str | None = None) -> InputError:
    return InputError(problem, file=path, video=id, noun="item", hint=hint)


def read_lines(path: Path) -> Iterator[Item]:
    """Fabula's own lines."""
    ids = set[str]()
    for number, line in objects(path):
        id = read_id(line.get("id", number), path, ids)
        descriptions = line.get("descriptions")
        if not isinstance(descriptions, dict) or not descriptions:
            raise wrong(path, id, f"descriptions: saw {shown(descriptions)}", 'it is {"system": "text", …}')
        start, end = read_span(line, path, id)
        expect = line.get("expect")
        if expect is not None and not isinstance(expect, dict):
            raise wrong(path, id, f"expect: saw {shown(expect)}", 'it is {"measure": …}')
        texts = {str(name): read_text(text, path, id) for name, text in descriptions.items()}
        yield Item(id, read_video(line, path, id), start, end, texts, str(line.get("kind", "")), expect)


def read_benchmark(path: Path) -> Iterator[Item]:
    """VERIFIED's lines; `branch`, of the line or of the benchmark's provenance.jsonl beside it, is the kind."""
    ids = set[str]()
    kinds = {str(id): branch for id, branch in branches_beside(path).items()}
    for number, line in objects(path):
        id = read_id(line.get("desc_id", number), path, ids)
        start, end = read_span(line, path, id)
        texts = {
            name: read_text(line.get(key), path, id, key)
            for name, key in (("coarse", "cog_desc"), ("fine", "fig_desc"))
        }
        kind = line.get("branch", line.get("kind", kinds.get(id, "")))
        yield Item(id, read_video(line, path, id), start, end, texts, str(kind))


def read_systems(files: dict[str, Path]) -> list[Item]:
    """One file a system. They must describe the same items: a question shows all of them."""
    if len(files) < 1:
        raise InputError("[systems] is empty", hint="name a file a system")
    of_system = {name: read_system(path) for name, path in files.items()}
    first, *others = of_system
    ids = of_system[first]
    for name in others:
        lacking = ids.keys() ^ of_system[name].keys()
        if lacking:
            whose = first if next(iter(lacking)) in ids else name
            raise wrong(
                files[name],
                sorted(lacking)[0],
                f"is told by {whose} alone ({len(lacking)} such items)",
                "systems must describe the same items",
            )
    items = []
    for id, item in ids.items():
        for name in others:
            other = of_system[name][id]
            if (other.video, other.start, other.end) != (item.video, item.start, item.end):
                raise wrong(
                    files[name], id, f"is another span than in {files[first].name}", "ids must mean the same clip"
                )
        texts = {name: of_system[name][id].descriptions[""] for name in of_system}
        items.append(Item(id, item.video, item.start, item.end, texts, item.kind))
    return items


def read_system(path: Path) -> dict[str, Item]:
    if has_lines(path):
        head = next(objects(path), (0, {}))[1]
        if "caption" in head or "fig_desc" in head:
            return {item.id: item for item in read_captions(path)}
    from fabula.io import read

    found = {}
    for story in read(path)[0].values():
        captioned = [e for e in story.events if (e.caption or "").strip()]
        if not captioned:
            raise wrong(path, story.id, "has no caption", "a description needs words; leave the video out")
        text = "\n".join(f"{clock(e.segment.start)} to {clock(e.segment.end)}  {e.caption}" for e in captioned)
        text = read_text(text, path, str(story.id))
        found[str(story.id)] = Item(str(story.id), str(story.id), 0.0, story.duration or 0.0, {"": text})
    return found


def read_captions(path: Path) -> Iterator[Item]:
    ids = set[str]()
    for number, line in objects(path):
        id = read_id(line.get("id", line.get("desc_id", number)), path, ids)
        start, end = read_span(line, path, id)
        text = read_text(line.get("caption", line.get("fig_desc")), path, id, "caption")
        yield Item(id, read_video(line, path, id), start, end, {"": text}, str(line.get("kind", "")))


def clock(seconds: float) -> str:
    return f"{int(seconds // 60)}:{seconds % 60:04.1f}"


def read_id(value: object, path: Path, known: set[str]) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip():
        raise wrong(path, value, "is no id", "an id is text or a whole number")
    if str(value) in known:
        raise wrong(path, value, "stands twice", "ids are unique")
    known.add(str(value))
    return str(value)


def read_video(line: JsonDict, path: Path, id: str) -> str:
    video = line.get("video")
    if not isinstance(video, str) or not video.strip() or "\0" in video:
        raise wrong(path, id, f"video: saw {shown(video)}", "it names a file of the clips' folder")
    inside = PurePosixPath(video)
    if inside.is_absolute() or ".." in inside.parts or "\\" in video:
        raise wrong(path, id, f"video {shown(video)} leads out of the clips' folder", "name a file in it")
    return video


def read_text(text: object, path: Path, id: str, name: str = "descriptions") -> str:
    if not isinstance(text, str) or not text.strip():
        raise wrong(path, id, f"{name}: saw {shown(text)}", "a description is text")
    if len(text) > LONGEST:
        raise wrong(path, id, f"a description has {len(text):,} characters", f"at most {LONGEST:,} are shown")
    return text.strip()


def read_span(line: JsonDict, path: Path, id: str) -> tuple[float, float]:
    """start and end; 0 and the duration (0: unknown) where no span is named."""
    span, length = line.get("time"), line.get("duration")
    for number in [*(span if isinstance(span, list) else []), *([] if length is None else [length])]:
        if type(number) not in (int, float) or not 0 <= number < 1e7:
            raise wrong(path, id, f"time, duration: saw {shown(number)}", "they are seconds")
    if span is None:
        return 0.0, float(length or 0)
    if not isinstance(span, list) or len(span) != 2 or not span[0] < span[1]:
        raise wrong(path, id, f"time: saw {shown(span)}", "it is [start, end] in seconds")
    return float(span[0]), float(span[1])


# ── clips ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def find_clips(items: list[Item], clips: Path) -> list[Item]:
    """The items with their files and spans; the first that has no clip a browser plays is an error."""
    lengths: dict[str, tuple[str, float]] = {}
    found = []
    for item in items:
        if item.video not in lengths:
            path = find_clip(item, clips)
            lengths[item.video] = (str(path.relative_to(clips)), look_into(path))
            if fault := find_fault(path, clips):
                raise InputError(fault, file=path, video=item.id, noun="item", hint="put the video itself there")
        name, length = lengths[item.video]
        end = item.end or length
        if not end:
            raise InputError(
                "its length is not known", file=clips / name, video=item.id, noun="item",
                hint='say "time" or "duration" in its line, or install a decoder: pip install av',
            )  # fmt: skip
        if length and item.start >= length:
            raise InputError(
                f"begins at {item.start:g} s; the clip has {length:.1f} s",
                file=clips / name,
                video=item.id,
                noun="item",
            )
        if length and end > length:
            if end > length + max(SLACK, 0.1 * length) and item.end:
                raise InputError(
                    f"ends at {end:g} s; the clip has {length:.1f} s", file=clips / name, video=item.id, noun="item"
                )
            end = length
        entry = item.to_dict() | {"end": end, "clip": name}
        found.append(Item(**entry))
    return found


def find_clip(item: Item, clips: Path) -> Path:
    """VIDEO itself, or VIDEO.mp4 and its like."""
    named = clips / item.video
    if named.suffix.lower() in KINDS and named.is_file():
        return named
    for ending in KINDS:
        if (path := named.with_name(named.name + ending)).is_file():
            return path
    if named.is_file():
        raise InputError(
            f"browsers do not play {named.suffix or 'a file without an ending'}",
            file=named,
            hint="convert it to .mp4 (H.264)",
        )
    endings = ", ".join(KINDS)
    raise InputError(f"no clip of it in {clips}", video=item.id, noun="item", field=f"video {shown(item.video)}",
                     hint=f"a file of that name is needed ({endings})")  # fmt: skip


def look_into(path: Path) -> float:
    """Seconds of a file, and whether browsers play what is in it; 0 where nothing here can look."""
    try:
        from fabula.media.decode import find_pictures, import_av, name_faults, open_container

        av = import_av()
    except MissingExtra:
        return 0.0
    with name_faults(av, path), open_container(av, path) as container:
        codec = find_pictures(av, container, path).codec_context.name
        length = (container.duration or 0) / av.time_base
    if not any(codec.startswith(known) or known in codec for known in PLAYED):
        raise InputError(
            f"its pictures are {codec}, which browsers do not play",
            file=path,
            hint="convert it: ffmpeg -i IN -c:v libx264 OUT.mp4",
        )
    return float(length)


def dump(items: list[Item]) -> str:
    return json.dumps([item.to_dict() for item in items], ensure_ascii=False, sort_keys=True)
