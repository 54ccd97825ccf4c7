"""Caption items: COCO's two files, pairs, SPICE's list; every fault names the file, the place, and what to do."""

import gzip
import json

import pytest

from fabula.core.errors import InputError
from fabula.data.stories import Item
from fabula.io.captions import SHELF, is_inline, is_items, read_items

RESULTS = [{"image_id": 1, "caption": "a kite"}, {"image_id": "x", "caption": "a dog"}]
ANNOTATIONS = {
    "annotations": [
        {"image_id": "x", "caption": "a dog runs"},
        {"image_id": 1, "caption": "a kite rises"},
        {"image_id": "x", "caption": "one dog"},
        {"image_id": 3, "caption": "nobody told this"},
    ]
}


def put(path, content):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in content))
    else:
        path.write_text(json.dumps(content))
    return path


def test_coco_items_stand_in_the_references_order(tmp_path):
    results, refs = put(tmp_path / "r.json", RESULTS), put(tmp_path / "a.json", ANNOTATIONS)
    items, notes = read_items(results, [refs])
    assert items == [
        Item("x", "a dog", ("a dog runs", "one dog")),
        Item(1, "a kite", ("a kite rises",)),
        Item(3, None, ("nobody told this",)),
    ]
    assert notes.lines() == ["1 annotated images have no candidate (see missing=… in each signature): 3"]
    twice, _ = read_items(results, [refs, refs])
    assert twice[1] == Item(1, "a kite", ("a kite rises", "a kite rises"))  # files add up


def test_images_that_nobody_annotated(tmp_path):
    results = put(tmp_path / "r.json", [*RESULTS, {"image_id": 9, "caption": "a cat"}])
    items, notes = read_items(results, [put(tmp_path / "a.json", ANNOTATIONS)])
    assert [i.id for i in items] == ["x", 1, 3]
    assert "1 captioned images are not in the annotations and are not scored: 9" in notes.lines()
    stray = put(tmp_path / "s.json", [{"image_id": 9, "caption": "a cat"}])
    with pytest.raises(InputError, match=r"no image of the results is in the annotations.*results have 9, .* 'x'"):
        read_items(stray, [tmp_path / "a.json"])
    assert len(read_items(put(tmp_path / "none.json", []), [tmp_path / "a.json"])[0]) == 3


def test_pairs_and_spices_list(tmp_path):
    lines = [{"id": 1, "cand": "a kite", "refs": ["a kite rises", "kites"]}, {"id": "b", "cand": "", "refs": ["x"]}]
    expected = [Item(1, "a kite", ("a kite rises", "kites")), Item("b", "", ("x",))]
    assert read_items(put(tmp_path / "p.jsonl", lines))[0] == expected
    named = [{"image_id": e["id"], "test": e["cand"], "refs": e["refs"]} for e in lines]
    assert read_items(put(tmp_path / "s.json", named))[0] == expected
    assert read_items(put(tmp_path / "p.json", lines))[0] == expected  # the same as one list


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.json", {"a": 1}, r"r\.json: the root: expected a list, saw an object of 1; COCO results are"),
        ("r.json", [3], r"r\.json: entry 0: expected an object, saw the number 3; expected \[\{"),
        ("r.json", [{"caption": "x"}], r"entry 0: the key 'image_id' is missing; it has 'caption'"),
        ("r.json", [{"image_id": 4}], r"item 4: entry 0: the key 'caption' is missing; it has 'image_id'"),
        ("r.json", [{"image_id": 1.5, "caption": "x"}], r"entry 0 image_id: expected an id \(text or a whole number\)"),
        ("r.json", [{"image_id": True, "caption": "x"}], r"entry 0 image_id: expected an id .* saw true; mend"),
        (
            "r.json",
            [RESULTS[0], {"image_id": 1, "caption": 5}],
            r"item 1: entry 1 caption: expected text, saw the numb",
        ),
        ("r.json", [*RESULTS, RESULTS[0]], r"item 1: entry 2: this image has two captions; keep one candidate"),
    ],
)
def test_faulty_results(tmp_path, name, content, said):
    with pytest.raises(InputError, match=said) as caught:
        read_items(put(tmp_path / name, content), [put(tmp_path / "a.json", ANNOTATIONS)])
    assert caught.value.hint and caught.value.file == tmp_path / name


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], r"a\.json: the root: expected an object, saw a list of 0; COCO annotations are"),
        ({"images": []}, r"a\.json: the key 'annotations' is missing; it has 'images'"),
        ({"annotations": {}}, r"a\.json: annotations: expected a list, saw an object of 0; they are"),
        (
            {"annotations": [{"image_id": 2, "caption": None}]},
            r"item 2: annotations\[0\] caption: expected text, saw n",
        ),
    ],
)
def test_faulty_annotations(tmp_path, content, said):
    with pytest.raises(InputError, match=said):
        read_items(put(tmp_path / "r.json", RESULTS), [put(tmp_path / "a.json", content)])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([[1]], r"line 1: expected an object, saw a list of 1; an item is \{"),
        ([{"cand": "x", "refs": ["y"]}], r"line 1: the key 'id' is missing"),
        ([{"id": 1, "cand": "x", "refs": ["y"]}] * 2, r"line 2: the id 1 stands twice; ids must differ"),
        ([{"id": 1, "cand": "x", "refs": []}], r"item 1: line 1 refs: no references; give at least one"),
        ([{"id": 1, "cand": "x", "refs": "y"}], r"item 1: line 1 refs: expected a list, saw the string 'y'"),
        ([{"id": 1, "cand": "x", "refs": ["y", 2]}], r"item 1: line 1 refs\[1\]: expected text, saw the number 2"),
        ([{"id": 1, "cand": 3, "refs": ["y"]}], r"item 1: line 1 cand: expected text, saw the number 3"),
        ([{"id": 1, "refs": ["y"]}], r"item 1: line 1: the key 'cand' is missing"),
    ],
)
def test_faulty_pairs(tmp_path, lines, said):
    with pytest.raises(InputError, match=said):
        read_items(put(tmp_path / "p.jsonl", lines))


def test_where_references_are_looked_for(tmp_path):
    pairs = put(tmp_path / "p.jsonl", [{"id": 1, "cand": "x", "refs": ["y"]}])
    with pytest.raises(InputError, match=r"p\.jsonl: a \.jsonl of pairs has its references inline; leave --refs out"):
        read_items(pairs, [pairs])
    with pytest.raises(InputError, match=r"r\.json: the references are missing; name the references with --refs"):
        read_items(put(tmp_path / "r.json", RESULTS))
    assert is_inline([{"refs": []}])
    assert not any(map(is_inline, [[], {}, [1], [{"cand": "x"}], "refs", {"refs": 1}]))


def test_a_first_look(tmp_path):
    assert is_items(put(tmp_path / "r.json", RESULTS))
    assert not is_items(put(tmp_path / "a.json", ANNOTATIONS))
    marked = tmp_path / "m.json"
    marked.write_bytes(b"\xef\xbb\xbf \t\r\n[]")
    assert is_items(marked)
    packed = tmp_path / "r.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(RESULTS).encode()))
    assert is_items(packed)
    assert is_items(put(tmp_path / "p.jsonl", [{"id": 1, "cand": "x", "refs": ["y"]}]))
    assert not is_items(put(tmp_path / "s.jsonl", [{"video": "v", "events": []}]))


def test_which_role_a_file_plays():
    assert {f.name: f.holds for f in SHELF.formats()} == {
        "caption-answers": "predictions",
        "plm-rcap": "references",
        "coco-results": "predictions",
        "coco-annotations": "references",
        "lmms-captions": "either",
        "pairs": "either",
        "spice": "either",
    }
    assert {r.name: r.holds for r in SHELF.rules} == {
        "caption-answers": "predictions",
        "plm-rcap": "references",
        "coco-results": "predictions",
        "coco-annotations": "references",
        "lmms-captions": "either",
        "pairs": "either",
        "spice": "either",
    }
