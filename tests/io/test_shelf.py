"""The shelves: rules say the same as the formats they stand for, and importing a format is left to who needs it."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from fabula import io
from fabula.core.errors import InputError
from fabula.documents import files
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.documents.files import read_elements
from fabula.io import captions, identity, moments, questions, regions, stories
from fabula.io.shelf import Shelf
from tests.io.story_toys import DOCUMENTS

SHELVES = [room.SHELF for room in (stories, moments, regions, captions, identity, questions)]
RULES = [(shelf, rule) for shelf in SHELVES for rule in shelf.rules]

NEW = '''
"""Subtitles as a list: [[start, end, text], …]."""
from fabula.data.stories import Event, Segment, Story
from fabula.io.format import STORIES, Format

FORMAT = Format(
    name="srt-list",
    about="subtitles",
    holds="references",
    tasks=STORIES,
    sniff=lambda head: isinstance(head.document, list) and isinstance(head.document[0], list),
    read_stories=lambda document, source: iter([Story("v", tuple(Event(Segment(a, b), c) for a, b, c in document))]),
)
'''


@pytest.mark.parametrize(("shelf", "rule"), RULES, ids=[rule.name for _, rule in RULES])
def test_a_rule_is_a_card_of_its_format(shelf: Shelf, rule) -> None:
    format = shelf.by_rule(rule)
    assert (rule.name, rule.pattern, rule.holds) == (format.name, format.pattern, format.holds)
    if shelf in (stories.SHELF, moments.SHELF, regions.SHELF):  # the others are told by where they are given
        assert (rule.knows is not None) == format.guess


@pytest.mark.parametrize("shelf", SHELVES, ids=lambda s: s.package)
def test_every_format_has_a_rule_and_they_stand_in_order(shelf: Shelf) -> None:
    assert not list(shelf.newcomers())
    assert [rule.name for rule in shelf.rules] == [format.name for format in shelf.formats()]


@pytest.mark.parametrize(("shelf", "rule"), RULES, ids=[rule.name for _, rule in RULES])
def test_an_example_is_known_by_its_rule(shelf: Shelf, rule, tmp_path: Path) -> None:
    if rule.knows is None:
        return
    path = tmp_path / rule.pattern.partition(",")[0].replace("*", "file")
    path.write_text(f"{shelf.by_rule(rule).example}\n")
    found = shelf.sniff(open_document(path))
    assert found is not None and found.name == rule.name


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "srt_of_a_test.py").write_text(NEW)
    monkeypatch.setattr(stories, "__path__", [*stories.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, "fabula.io.stories.srt_of_a_test", raising=False)
    return "srt-list"


def test_a_file_on_a_shelf_is_a_format(newcomer: str, put) -> None:
    path = put([[0, 1, "A kite rises."]])
    assert newcomer in {f.name for f in io.formats()} & {f.name for f in io.all_formats()}
    assert io.read(path)[0].format == newcomer  # by its shape
    assert io.read(path, "SRT_list")[0].events == 1  # by its name
    with pytest.raises(InputError, match="srt-list, "):
        io.read(put("3"))


def test_a_document_in_memory_comes_in_by_the_same_door() -> None:
    for name in ("activitynet", "submission", "youcook2"):
        document = DOCUMENTS[name]
        format = io.sniff_format(io.wrap(document, "a dictionary"))
        assert format.name == name
        assert list(io.read_document(document, format, Source(Path("a dictionary"))))


def test_a_file_is_parsed_once(put, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = files.parse_json
    monkeypatch.setattr(files, "parse_json", lambda text, path: parsed.append(path) or parse(text, path))
    io.read(put(DOCUMENTS["youcook2"]))  # the last of the rules
    assert len(parsed) == 1


def loaded(code: str) -> set[str]:
    """Which of our modules a fresh interpreter has loaded after this code."""
    seen = f"{code}\nimport sys\nprint(*(m for m in sys.modules if m.startswith('fabula.')))"
    run = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True, timeout=60)
    return set(run.stdout.split())


OWN = {"fabula.io", "fabula.io.format", "fabula.io.shelf", "fabula.io.stories"}
INDEX = {"fabula.benchmarks", "fabula.benchmarks.base", "fabula.benchmarks.index"}


def formats_loaded(code: str) -> set[str]:
    return {m for m in loaded(code) if m.startswith(("fabula.io", "fabula.benchmarks."))} - OWN - INDEX


def test_reading_imports_the_winner_alone(tmp_path: Path) -> None:
    (tmp_path / "refs.json").write_text(json.dumps(DOCUMENTS["activitynet"]))
    (tmp_path / "preds.json").write_text(json.dumps(DOCUMENTS["submission"]))
    code = f"import fabula\nfor name in ('refs', 'preds'): fabula.read({str(tmp_path)!r} + f'/{{name}}.json')"
    folder = "fabula.benchmarks.activitynet"
    assert formats_loaded(code) == {folder, f"{folder}.stories", f"{folder}.submission"}


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("import fabula.io as io; io.find('YouCook2')", {f"fabula.benchmarks.youcook2{m}" for m in ("", ".stories")}),
        ("import fabula.io as io; io.find('fabula')", {"fabula.io.stories.fabula_jsonl"}),
    ],
)
def test_a_name_imports_its_own_file_alone(code: str, own: set[str]) -> None:
    assert formats_loaded(code) == own


def test_a_stream_that_breaks_off_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "boxes.json.gz"
    path.write_bytes(gzip.compress(json.dumps([{"x": i} for i in range(9)]).encode())[:-9])
    with pytest.raises(InputError, match=r"boxes\.json\.gz: broken gzip"):
        list(read_elements(path))
