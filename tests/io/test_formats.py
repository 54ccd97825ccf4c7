"""The room as a whole: every format is found by name and by shape, and what is written is read back."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula import io
from fabula.core.errors import InputError, SpecError
from fabula.data.stories import Corpus, Story
from tests.io.story_toys import DOCUMENTS, anything, corpus_of, seconds, stories, words

PAGES = Path(__file__).parents[2] / "docs" / "formats"
LINES = ("fabula", "lmms-samples", "sodam", "vantage")
ENDINGS = {**dict.fromkeys(LINES, "jsonl"), "vlmevalkit": "csv", "srt": "srt", "vtt": "vtt"}  # the others: json
WRITERS = [f.name for f in io.formats() if f.write and not f.texts]  # of those: tests/io/stories/test_subtitles.py


def test_every_format_has_a_document_here() -> None:
    assert sorted(DOCUMENTS) == sorted(f.name for f in io.formats())


def test_every_format_has_a_page() -> None:
    assert {p.stem for p in PAGES.glob("*.md")} == {f.name for f in io.formats()} | {"README"}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_the_sample_of_its_page_is_read(name: str, put: Callable[..., Path]) -> None:
    sample = re.split(r"```(?:json|csv|srt|vtt)\n", (PAGES / f"{name}.md").read_text())[1].split("```")[0]
    ending = ENDINGS.get(name, "json")
    assert io.read(put(sample, f"file.{'json' if name == 'fabula' else ending}"), name)[0].events > 0


@pytest.mark.parametrize("format", io.formats(), ids=lambda f: f.name)
def test_formats_say_what_they_are(format: io.Format) -> None:
    assert format.about
    assert "\n" not in format.about


@pytest.mark.parametrize("name", [f.name for f in io.formats() if f.guess])
def test_known_by_shape(name: str, put: Callable[..., Path]) -> None:
    document, ending = DOCUMENTS[name], ENDINGS.get(name, "json")
    text = "".join(json.dumps(line) + "\n" for line in document) if ending == "jsonl" else document
    assert io.read(put(text, f"file.{ending}"))[0].format == name


def test_names_whatever_their_case() -> None:
    assert io.find("YouCook2:training") == (io.find("youcook2")[0], "training")


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("youcook", "no format is called 'youcook'; did you mean 'youcook2'?"),
        (
            "microdvd",
            "sodam, srt, submission, tasty, timechat, vantage, vlmevalkit, vtt",
        ),
        ("pss:train", "the format 'pss' takes no argument; leave ':train' out"),
        ("youcook2:", "nothing follows the colon; it may be one subset"),
    ],
)
def test_wrong_names(name: str, seen: str, put: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        io.read(put(DOCUMENTS["youcook2"]), name)
    assert seen in str(caught.value)
    with pytest.raises(SpecError):
        io.write(Corpus({}), tmp_path / "out.json", name)


@pytest.mark.parametrize(
    ("document", "seen"),
    [
        ({}, "the root is an object with no keys"),
        ({"a" * 500: 1, "b": 2}, "the root is an object with 'aaa"),
        ([1, 2], "the root is a list of 2"),
        ("3", "the root is the number 3"),
        ("null", "the root is null"),
    ],
)
def test_unknown_shapes(document: object, seen: str, refused: Callable[..., InputError]) -> None:
    error = refused(document)
    assert seen in str(error)
    assert "no known format; known: activitynet, answers, " in str(error)


def test_the_collector_is_as_it_was(put: Callable[..., Path]) -> None:
    for on in (False, True):  # ends switched on, as it was found
        (gc.enable if on else gc.disable)()
        io.read(put(DOCUMENTS["submission"]))
        with pytest.raises(InputError):
            io.read(put("{"))
        assert gc.isenabled() is on


# Round trips: what a format carries comes back equal; what it does not is said ------------------------------

CARRIED: dict[str, st.SearchStrategy[list[Story]]] = {
    "activitynet": stories(words, st.none()) | stories(st.none(), st.none()),
    "fabula": stories(st.none() | words, st.none() | seconds),
    "pdvc": stories(st.none() | words, st.none() | seconds).map(
        lambda told: [s for s in told if s.events or s.duration is None]
    ),
    "submission": stories(st.none() | words, st.none(), durations=False),
    "timechat": stories(st.none() | words, st.none(), durations=False),
    "youcook2": stories(st.none() | words, st.none()),
}
CARRIED["pss"] = CARRIED["tasty"] = CARRIED["activitynet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round")


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", WRITERS)
@given(data=st.data())
def test_what_a_format_carries_comes_back_equal(name: str, suffix: str, folder: Path, data: st.DataObject) -> None:
    corpus = corpus_of(data.draw(CARRIED[name]))
    path = folder / f"{name}.json{suffix}"
    lost = io.write(corpus, path, name)
    assert not [line for line in lost.lines() if line.startswith("lost")]
    again, _ = io.read(path, name)
    assert list(again.items()) == list(corpus.items())


@pytest.mark.parametrize("name", WRITERS)
@given(corpus=anything)
def test_whatever_does_not_come_back_was_said(name: str, folder: Path, corpus: Corpus) -> None:
    path = folder / f"{name}.json"
    notes = io.write(corpus, path, name)
    again, _ = io.read(path, name)
    assert list(again) == list(corpus)
    assert [s.spans.tolist() for s in again.values()] == [s.spans.tolist() for s in corpus.values()]
    if again.stories != corpus.stories:
        assert notes.lines()
