"""Plain stories in memory become columns without a file; what they become is what the same file is read as."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula import io
from fabula.core.errors import FabulaError
from fabula.documents.object_columns import read_plain_stories
from tests.io.test_fuzz import mangled, serialised

TRUTH = {
    "a": {"timestamps": [[0, 1.5], [2, 3]], "sentences": ["one", "für"], "duration": 9},
    "b": {"timestamps": []},
}
RESULTS = {"version": "1", "results": {"a": [{"timestamp": [0, 1], "sentence": "x"}, {"timestamp": [1, 2]}], "b": []}}
LINES = [{"id": "a", "duration": 9, "events": [{"start": 0, "end": 1, "caption": "x", "score": 0.5}]}]
TUPLES = {"a": [(0, 1, "x"), (2, 3)], "b": []}


@pytest.mark.parametrize("document", [TRUTH, RESULTS, LINES, {"b": {"timestamps": [[0, 1]]}}])
def test_as_its_file(document, tmp_path: Path):
    path = tmp_path / ("f.jsonl" if isinstance(document, list) else "f.json")
    path.write_bytes(serialised("fabula", document))
    same_as_file(document, path)
    assert read_plain_stories(document, "here") is not None, "it is plain"


def test_events_in_tuples():
    corpus = read_plain_stories(TUPLES, "here")
    assert corpus is not None and corpus.format == "fabula" and [len(story) for story in corpus.values()] == [2, 0]
    assert corpus["a"].spans.tolist() == [[0, 1], [2, 3]] and list(corpus["a"].words) == ["x", None]


def test_nothing_of_the_users_is_kept_that_can_change():
    document = json.loads(json.dumps(RESULTS))
    corpus, _ = io.read(document)
    document["results"]["a"][0]["timestamp"][0] = 7
    document["version"] = "2"
    assert corpus["a"].spans[0, 0] == 0 and corpus.external["version"] == "1"


@pytest.mark.parametrize("name", ["activitynet", "submission", "fabula"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_not_plain_goes_the_way_of_files(name, tmp_path_factory, data):
    document = data.draw(mangled(name))
    path = tmp_path_factory.getbasetemp() / ("plain.jsonl" if isinstance(document, list) else "plain.json")
    path.write_bytes(serialised("fabula", document))
    same_as_file(document, path)


def same_as_file(document, path: Path) -> None:
    """The same stories, format and header, nothing to say of them; or no stories."""
    ours = read_plain_stories(document, "here")
    if ours is None:
        return
    try:
        theirs, notes = io.read(path)
    except FabulaError as error:
        raise AssertionError(f"refused as a file: {error}") from error
    assert not notes.lines()
    assert (list(ours.items()), ours.format) == (list(theirs.items()), theirs.format)
    assert repr(ours.external) == repr(theirs.external)  # NaN is no NaN
