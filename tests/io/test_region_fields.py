"""Boxes, captions and scores of one image: parallel lists of numbers and text, or an error that names the entry."""

from pathlib import Path

import pytest

from fabula.core.errors import InputError
from fabula.documents.fields import Source
from fabula.io.regions.fields import build_picture, read_size

BOXES = [[0, 1, 2, 3], [4.5, 5, 6, 7]]


def build(boxes=BOXES, captions=("a", "b"), scores=(0.5, 1)):
    listed = list(scores) if isinstance(scores, tuple) else scores
    source = Source(Path("f.json"), noun="image")
    return build_picture(source, "i", boxes, list(captions), listed, "xywh", (640.0, 480.0))


def test_an_image():
    made = build()
    assert made.boxes.tolist() == BOXES and made.scores.tolist() == [0.5, 1] and made.captions == ("a", "b")
    assert (made.id, made.form, made.size) == ("i", "xywh", (640.0, 480.0))
    assert build(scores=None).scores is None
    assert build([], [], []).boxes.shape == (0, 4) and len(build([], [], [])) == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"boxes": "x"}, r"boxes: expected a list, saw the string 'x'"),
        (
            {"boxes": [[0, 1, 2]], "captions": "a", "scores": (1,)},
            r"boxes\[0\]: expected four numbers, saw 3; a box is",
        ),
        ({"boxes": [BOXES[0], 7]}, r"boxes\[1\]: expected a list, saw the number 7; a box is a list of four numbers"),
        ({"boxes": [BOXES[0], [0, 1, "2", 3]]}, r"boxes\[1\]\[2\]: expected a number, saw the string '2'"),
        ({"boxes": [[0, 1, float("inf"), 3], BOXES[1]]}, r"boxes\[0\]\[2\]: expected a finite number, saw inf"),
        ({"captions": ("a",)}, r"captions: 2 boxes, but 1 captions; give one for each box"),
        ({"captions": ("a", None)}, r"captions\[1\]: expected text, saw null"),
        ({"scores": (0.5,)}, r"scores: 2 boxes, but 1 scores; give one for each box"),
        ({"scores": (0.5, "sure")}, r"scores\[1\]: expected a number, saw the string 'sure'"),
        ({"scores": (0.5, True)}, r"scores\[1\]: expected a number, saw true"),
        ({"scores": (float("nan"), 1)}, r"scores\[0\]: expected a finite number, saw nan"),
        ({"scores": 3}, r"scores: expected a list, saw the number 3"),
    ],
)
def test_faults_name_the_entry(change, said):
    with pytest.raises(InputError, match=r"^f\.json: image 'i': " + said):
        build(**change)


def test_sizes():
    source = Source(Path("f.json"), noun="image")
    assert read_size(source, {"width": 640, "height": 480}, "i") == (640, 480)
    assert read_size(source, {"width": 640}, "i") is read_size(source, {"height": 480}, "i") is None
    with pytest.raises(InputError, match="image 'i': height: expected a number, saw null"):
        read_size(source, {"width": 640, "height": None}, "i")
