"""What a person put right: applied, kept, applied again after another look, and told where it no longer can be."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fabula.core.errors import InputError, SpecError
from fabula.media.people import Cast, face_model, find_people
from fabula.media.people.corrections import file_beside, merge, name, read_steps, split, undo
from fabula.media.people.find import Plan
from tests.media.people.conftest import MARKS, film

EVIL = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


@pytest.fixture
def run(command_line):
    return lambda *arguments: command_line("people", *arguments)


@pytest.fixture
def store(cast, tmp_path):
    """Who is there: a: 0 and 1 | 0 and 2 | 1;  b: 2 and 0. Tracks 0 to 6 in this order, from left to right."""
    path = tmp_path / "people.npz"
    cast.save(path)
    return path


def where(cast: Cast) -> list[int]:
    """The person of each track."""
    tracks = np.unique(cast.faces.track)
    return [int(cast.person[cast.faces.track == t][0]) for t in tracks]


def test_merge_split_and_name(store):
    assert where(Cast.load(store)) == [0, 1, 2, 0, 1, 2, 0]
    assert where(split(store, 0, [6])) == [0, 1, 2, 0, 1, 2, 3]
    made = name(store, 3, "Böse 王 O'Neill")
    assert made.name(3) == "Böse 王 O'Neill" and made.name(0) == "person 0"
    assert where(merge(store, [1, 3])) == [0, 1, 2, 0, 1, 2, 1]
    again = Cast.load(store)
    assert where(again) == [0, 1, 2, 0, 1, 2, 1] and again.names == {1: "Böse 王 O'Neill"} and again.remarks == ()
    assert where(Cast.load(store, corrected=False)) == [0, 1, 2, 0, 1, 2, 0]
    assert undo(store)["do"] == "merge"
    assert where(Cast.load(store)) == [0, 1, 2, 0, 1, 2, 3]


def test_all_who_correct_at_once_are_heard(store):
    """Each reads what is there, adds a step and writes: one after the other, so that no step is lost."""
    name(store, 0, "first")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: name(store, k % 3, f"name {k}"), range(12)))
    steps = read_steps(file_beside(store))
    assert sorted(step["name"] for step in steps) == sorted(["first", *(f"name {k}" for k in range(12))])


def test_two_who_are_seen_together_are_not_one(store, run):
    before = file_beside(store).exists()
    with pytest.raises(
        InputError, match=r"person 0 and person 1 are seen together in 10 pictures, first at 0\.1 s of 'a'"
    ):
        merge(store, [0, 1])
    assert file_beside(store).exists() == before is False
    done = run("merge", store, 0, 1)
    assert done.returncode == 2 and "cannot be one person" in done.stderr and len(done.stderr.splitlines()) == 1
    assert Cast.load(store).impossible() == 0


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda s: merge(s, [0, 99]), "there is no person 99; there are 3: 0, 1, 2"),
        (lambda s: merge(s, [0]), "two people or more"),
        (lambda s: merge(s, [0, 0]), "two people or more"),
        (lambda s: split(s, 0, [1]), "person 0 has no track 1; there are: 0, 3, 6"),
        (lambda s: split(s, 0, [0, 3, 6]), "these are all tracks of person 0"),
        (lambda s: split(s, 7, [0]), "there is no person 7"),
        (lambda s: split(s, 0, []), "takes the tracks"),
        (lambda s: name(s, 5, "Anna"), "there is no person 5"),
        (lambda s: name(s, 0, "  "), "an empty name"),
        (lambda s: name(s, 0, "a\nb"), "cannot be seen"),
        (lambda s: name(s, 0, "a\u202eb"), "cannot be seen"),
        (lambda s: name(s, 0, "x" * 101), "101 characters"),
        (undo, "no correction to undo"),
    ],
)
def test_words_for_what_cannot_be(store, do, said):
    with pytest.raises((InputError, SpecError), match=said):
        do(store)
    assert not file_beside(store).exists()


def test_one_name_is_one_person(store):
    name(store, 0, "Anna")
    with pytest.raises(InputError, match="person 0 is called 'Anna' already; merge them"):
        name(store, 1, "Anna")
    assert name(store, 0, "Berta").names == {0: "Berta"}


def test_they_survive_another_look_and_another_grouping(cast_films, store):
    """The videos at other times, other numbers of tracks, people in another order: the same faces, the same words."""
    split(store, 0, [6])
    name(store, 3, "Twin")
    name(store, 1, "Anna")
    for how, fps in (("linked", 4.0), ("linked(eps=0.5)", 5.0), ("dbscan(eps=0.2)", 7.0)):
        plan = Plan(out=store, overwrite=True)
        made = find_people([cast_films / "b.mkv", cast_films / "a.mkv"], face_model(**MARKS, fps=fps), how, plan)
        assert made.remarks == () and where(made) == [0, 1, 2, 0, 1, 2, 3]
        assert made.names == {3: "Twin", 1: "Anna"}
        assert where(Cast.load(store)) == where(made)


def test_what_no_longer_applies_is_told_and_kept(cast_films, store, tmp_path, run):
    name(store, 1, "Anna")
    split(store, 0, [6])  # in b
    merge(store, [1, 3])
    plan = Plan(out=store, overwrite=True)
    said: list[str] = []
    film(tmp_path / "b.mkv", [(20, {4: (100, 60)})])  # another film of this name
    made = find_people([tmp_path / "b.mkv"], face_model(**MARKS), "linked", plan, warn=said.append)
    assert len(made.remarks) == 3 and made.names == {}
    assert made.remarks[0].startswith("correction 1 (name 'Anna') no longer applies: none of its 2 faces is found")
    assert "correction 2 (split) no longer applies: none of its 1 tracks is found" in made.remarks[1]
    assert len(json.loads(file_beside(store).read_text())["steps"]) == 3  # nothing was dropped
    told = run("info", store)
    assert told.returncode == 0 and told.stderr.count("no longer applies") == 3


def test_a_merge_that_became_impossible_is_told(store):
    """Person 1 of one grouping and the one split off were merged; in another both are in one picture."""
    steps = json.loads(json.dumps([{"do": "merge", "people": [
        [{"video": "a", "time": 0.1, "box": [5, 10, 33, 38]}], [{"video": "a", "time": 0.1, "box": [90, 40, 118, 68]}],
    ]}]))  # fmt: skip
    file_beside(store).write_text(json.dumps({"corrections": 1, "steps": steps}))
    made = Cast.load(store)
    assert made.impossible() == 0 and "they cannot be one person" in made.remarks[0]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"corrections": 2, "steps": []}', '{"corrections": 1, "steps": [{"do": "kill"}]}',
     '{"corrections": 1, "steps": [{"do": "merge", "people": [[], []]}]}', "{",
     '{"corrections": 1, "steps": [{"do": "name", "name": 3, "person": [{"video": "a", "time":1,"box": [0,0,1,1]}]}]}',
     '{"corrections": 1, "steps": [{"do": "split", "tracks": [{"video": "a", "time": NaN, "box": [0, 0, 1, 1]}]}]}'],
)  # fmt: skip
def test_files_of_corrections_that_are_none(store, text):
    file_beside(store).write_text(text)
    with pytest.raises(InputError, match=r"people\.corrections\.json"):
        Cast.load(store)


def test_a_file_of_corrections_that_is_none_is_one_line(store, run):
    file_beside(store).write_text("{")
    seen = run("info", store)
    assert seen.returncode == 2 and len(seen.stderr.splitlines()) == 1


def test_the_command_line(store, tmp_path, run):
    assert "new: person 3; 4 people" in run("split", store, 0, "--tracks", "6").stderr
    assert run("name", store, 3, EVIL).returncode == 0
    assert "one person now" in run("merge", store, 1, 3).stderr
    assert "3" in run("info", store).stdout
    assert "undone: merge" in run("undo", store).stderr
    assert run("split", store, 0, "--tracks", "x").returncode == 2
    done = run("group", store, "--cluster", "dbscan(eps=0.2)", "-o", tmp_path / "paper.npz")
    assert "3 people, 0 impossible merges" in done.stderr


def test_names_are_inert_on_the_page(store, tmp_path, run):
    name(store, 0, EVIL)
    assert run("show", store, "-o", tmp_path / "people.html", "--title", EVIL).returncode == 0
    text = (tmp_path / "people.html").read_text()
    assert "<script" not in text and "<img src=x" not in text and "&lt;script&gt;" in text
    assert "default-src 'none'" in text and "http://" not in text and "https://" not in text
    assert text.count("data:image/jpeg;base64,") == 7
    shown = run("show", store, "--page", store)
    assert shown.returncode == 2 and "would replace" in shown.stderr
