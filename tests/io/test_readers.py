"""fabula list formats: every reader of every task, each with a file that it reads."""

import pytest

from fabula import io
from fabula.core.notes import Notes
from fabula.data.moments import VideoNumbers
from fabula.documents.document import open_document
from fabula.documents.fields import Source
from fabula.evaluate.tasks import task_names
from fabula.io import captions, identity, moments, questions, regions
from fabula.io.identity import fillin
from fabula.io.identity.captionsets import SetText

READERS = io.all_formats()


def story(path, reader):
    corpus, _ = io.read(path, None if io.find(reader.name)[0].guess else reader.name)
    return corpus.format.partition(":")[0] == reader.name and corpus.events > 0


def moment(path, reader):
    if reader.holds == "predictions":
        stream, name = moments.read_rankings(path, VideoNumbers(), Notes())
        return name == reader.name and len(list(stream)) == 1
    named = None if reader.guess else reader.name
    known = moments.choose_format(open_document(path), named, "references").name
    return known == reader.name and len(moments.read_queries([path], Notes(), named)) == 1


def region(path, reader):
    format, form = regions.choose_format(path, None)
    return format.name == reader.name and [len(p) for p in format.read_pictures(Source(path), form)] == [1]


def item(path, reader):
    if reader.name == "coco-annotations":
        return captions.read_side(Source(path, noun="item"), "references") == {1: ("a kite is rising",)}
    if reader.name == "coco-results":
        (path.parent / "refs.json").write_text('{"annotations": [{"image_id": 1, "caption": "a kite"}]}')
        return captions.read_items(path, [path.parent / "refs.json"])[0][0].candidate == "a kite rises"
    if reader.name == "plm-rcap":
        return captions.read_side(Source(path, noun="item"), "references") == {1: ("A kite rises.",)}
    if reader.name == "caption-answers":
        (path.parent / "refs.jsonl").write_text('{"uid": 1, "total_frames": 9, "caption": "a kite"}')
        return captions.read_items(path, [path.parent / "refs.jsonl"])[0][0].candidate == "A kite rises."
    return captions.read_items(path)[0][0].references == ("a kite is rising",)


def clip(path, reader):
    if reader.name == "fillin-sets":
        return len(fillin.read_grouping(path, Notes())[0]) == 2
    if reader.name == "captionsets":
        both = SetText(("P1 runs.", "P2 follows P1."), (("P1",), ("P2", "P1")))
        return identity.read_sets(path, Notes()) == {"kite": both}
    if reader.name == "clip-captions":
        one = SetText(("[PERSON1] looks at [PERSON2].",), None, ("1005_Signs_00.01.21",))
        return identity.read_sets(path, Notes(), grouped="disjoint") == {"1005_Signs_00.01.21": one}
    return list(fillin.read_references(path, Notes()).values()) == [("[PERSON1]", "[PERSON2]")]


def question(path, reader):
    role = "predictions" if reader.holds == "either" else reader.holds
    known = questions.choose_format(path, None if reader.guess else reader.name, role)
    return known.name == reader.name and len(questions.read_responses(path, Notes(), known.name, role)) == 1


LOOK = {
    "dense": story,
    "moments": moment,
    "grounding": moment,
    "regions": region,
    "captions": item,
    "identity": clip,
    "questions": question,
}


@pytest.mark.parametrize("reader", READERS, ids=lambda r: f"{r.tasks[0]}-{r.name}")
def test_the_example_is_a_file_that_the_reader_knows_and_reads(reader, tmp_path):
    path = tmp_path / reader.pattern.partition(",")[0].replace("*", "file")
    path.write_text(f"{reader.example}\n")
    assert LOOK[reader.tasks[0]](path, reader)


def test_every_task_has_a_reader():
    assert {task for reader in READERS for task in reader.tasks} == set(task_names())


def test_formats_of_every_room_are_there():
    names = {r.name for r in READERS}
    assert names >= {f.name for some in (io.formats(), moments.formats(), regions.formats()) for f in some}
