"""What there is, as tables: metrics, protocols, formats, tasks, scorers, extractors, frame recipes, readers, models …

What other packages offer stands behind ours, with the package's name; of what cannot be used, a warning says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fabula import metrics, text
from fabula.benchmarks import room as protocol_room
from fabula.core.notes import ignore
from fabula.core.registry import Room, Thing, key
from fabula.evaluate.tasks import TASKS
from fabula.io import all_formats, moments, regions, stories
from fabula.io.answers.readers import READERS
from fabula.io.format import Format

if TYPE_CHECKING:
    from fabula.report.layout import TextTable

Table = tuple[Sequence[str], list[list[str]]]
Warn = Callable[[str], None]


def first_line(thing: object) -> str:
    module = sys.modules.get(getattr(thing, "__module__", ""))
    lines = ((module and module.__doc__) or getattr(thing, "__doc__", None) or "").strip().splitlines()
    return lines[0] if lines else ""


def everything(room: Room, warn: Warn) -> Iterator[tuple[Thing, str]]:
    """The things of a room, and behind ours those of other packages with what is said of where they are from."""
    yield from ((thing, "") for thing in room.all())
    yield from ((thing, f" [{plugin.package}]") for plugin, thing in room.others(warn))


def metric_table(warn: Warn = ignore) -> Table:
    rows = [
        [
            str(cls()),
            ", ".join(cls.tasks),
            cls.paper,
            (cls.summary or first_line(cls)) + whose,
            cls.perfect_score or "1",
        ]
        for cls, whose in everything(metrics.room, warn)
    ]
    return ("metric", "tasks", "paper", "what it is", "a copy of the references scores 1, or when not"), rows


def protocol_table(warn: Warn = ignore) -> Table:
    rows = [
        [p.name, p.task, ", ".join(m.title for m in p.metrics), p.paper + whose, p.repository, p.commit]
        for p, whose in everything(protocol_room, warn)
    ]
    return ("protocol", "task", "metrics", "paper", "source", "commit"), rows


def format_table(warn: Warn = ignore) -> Table:
    rows = []
    for r, whose in [*((r, "") for r in all_formats()), *outside_formats(warn)]:
        lines = [", ".join(r.tasks), r.holds, r.pattern, "yes" if r.write else "no", r.about + whose]
        rows.append([r.name, *lines, visible(r.example)])
    return ("format", "tasks", "holds", "file", "written", "what it is", "example"), rows


def outside_formats(warn: Warn) -> list[tuple[Format, str]]:
    """Of other packages, each once; a name of ours stays ours."""
    own, found = {key(r.name) for r in all_formats()}, dict[str, tuple[Format, str]]()
    for k, shelf in enumerate((stories.SHELF, moments.SHELF, regions.SHELF)):
        for plugin, format in shelf.outside(warn if k == 0 else ignore):  # each shelf looks at all of them
            if key(format.name) not in own:
                found[key(format.name)] = format, f" [{plugin.package}]"
            elif k == 0:
                warn(f"{plugin.package}: its format {format.name!r} is skipped: Fabula has one of that name")
    return list(found.values())


def visible(text: str) -> str:
    """Tabs and line ends as \\t and \\n: a line of output is a line."""
    return text.replace("\t", "\\t").replace("\n", "\\n")


def scorer_table(warn: Warn = ignore) -> Table:
    rows = [[s.name, s.version, first_line(type(s)) + whose] for s, whose in everything(text.room, warn)]
    return ("scorer", "version", "what it is"), rows


def task_table(warn: Warn = ignore) -> Table:
    return ("task", "what it is"), [[t.name, t.about] for t in TASKS]


def extractor_table(warn: Warn = ignore) -> Table:
    from fabula.media.extractors import room

    rows = [
        [e.name, "a file of yours" if e.needs_weights else "brought along", e.licence, first_line(e) + whose]
        for e, whose in everything(room, warn)
    ]
    return ("extractor", "weights", "licence of the weights", "what it is"), rows


def embedder_table(warn: Warn = ignore) -> Table:
    from fabula.library.embedders import room

    rows = [
        [e.name, "a file of yours" if e.needs_weights else "brought along", e.licence, e.about + whose, e.weak or "–"]
        for e, whose in everything(room, warn)
    ]
    return ("embedder", "weights", "licence of the weights", "what it is", "weak in"), rows


def face_table(warn: Warn = ignore) -> Table:
    from fabula.media.people.detectors import room as detectors
    from fabula.media.people.embedders import room as embedders

    rows = [
        [one.name, room.noun, one.licence, first_line(one)] for room in (detectors, embedders) for one in room.all()
    ]
    return ("name", "kind", "licence of the weights", "what it is"), rows


def frame_table(warn: Warn = ignore) -> Table:
    from fabula.media.sampling import all_recipes, all_resizers

    kinds = [("frames", one) for one in all_recipes()] + [("sizes", one) for one in all_resizers()]
    rows = [
        [one.name, kind, one.about, one.trap or "–", ", ".join(one.defaults()) or "–", one.origin, one.version or "–"]
        for kind, one in kinds
    ]
    return ("recipe", "gives", "what it takes", "trap", "settings", "source", "version"), rows


def layout_table(warn: Warn = ignore) -> Table:
    from fabula.llm.layouts import LAYOUTS

    rows = [[one.name, one.about, ", ".join(one.defaults())] for one in LAYOUTS]
    return ("layout", "how frames and their times are sent", "settings"), rows


def judge_table(warn: Warn = ignore) -> Table:
    from fabula.text.judges import room

    rows = [[j.name, j.about + whose, j.source, j.scale] for j, whose in everything(room, warn)]
    return ("judge", "what it is asked", "prompt", "scale"), rows


def reader_table(warn: Warn = ignore) -> Table:
    rows = [[r.name, r.about + whose, r.repository or "ours", r.commit] for r, whose in everything(READERS, warn)]
    return ("reader", "what it reads as a window", "repository", "commit"), rows


def training_table(warn: Warn = ignore) -> Table:
    from fabula.learn.tasks import room

    rows = [[t.name, ", ".join(t.models), t.about + whose] for t, whose in everything(room, warn)]
    return ("training task", "models", "what it is"), rows


def model_table(warn: Warn = ignore) -> Table:
    """Models need torch to be imported, and a list does not: ours are read off their files, others' off their names."""
    from fabula.learn.models import room

    rows = [[name, first_line_of(spec)] for name, spec in ((m, f"{room.package}.{m}") for m in room.modules())]
    own = {key(name) for name, _ in rows}
    for plugin in room.plugins(warn):
        if key(plugin.name) in own:
            warn(f"{plugin.package}: its model {plugin.name!r} is skipped: Fabula has one of that name")
        else:
            rows.append([plugin.name, f"{plugin.point.value} [{plugin.package}]"])
    return ("model", "what it is"), rows


def setting_table(warn: Warn = ignore) -> Table:
    """What `fabula train --set` takes, and what "the paper's" means; of our models."""
    from fabula.learn.settings import list_settings

    rows = [
        [s.model, s.name, s.kind, s.default, "yes" if s.predicts else "no", s.about or "–"] for s in list_settings()
    ]
    return ("model", "setting", "type", "default: the paper's", "predict --set", "what it is"), rows


def first_line_of(module: str) -> str:
    """The first line of a module's docstring, without importing it."""
    import ast
    import importlib.util

    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text(encoding="utf-8") if spec and spec.origin else ""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


TABLES: dict[str, Callable[[Warn], Table]] = {
    "metrics": metric_table,
    "protocols": protocol_table,
    "formats": format_table,
    "scorers": scorer_table,
    "judges": judge_table,
    "tasks": task_table,
    "extractors": extractor_table,
    "embedders": embedder_table,
    "faces": face_table,
    "frames": frame_table,
    "layouts": layout_table,
    "readers": reader_table,
    "training": training_table,
    "models": model_table,
    "settings": setting_table,
}


def overview(warn: Warn = ignore) -> Table:
    """What can be listed, how many there are, and what they are called."""
    rows = []
    for what, make in TABLES.items():
        names = list(dict.fromkeys(row[0].partition("@")[0] for row in make(warn)[1]))
        families = dict.fromkeys(name.partition("/")[0] for name in names)  # vllm/opencv is one of vllm's
        rows.append([what, str(len(names)), ", ".join(families)])
    return ("fabula list …", "how many", "names"), rows


def rich_table(table: Table) -> TextTable:
    """For a terminal."""
    from rich.text import Text

    from fabula.report.layout import TextTable

    head, rows = table
    return TextTable(head, [[Text(row[0], style="bold"), *row[1:]] for row in rows])
