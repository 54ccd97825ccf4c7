"""No number of a metric with its defaults depends on the order of a file; which protocols do depend on it, and why."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from tools import permute

import fabula
from fabula import benchmarks, metrics
from fabula.benchmarks import room
from fabula.core import spec


@pytest.mark.parametrize("name", permute.DRAWS)
@pytest.mark.parametrize("seed", range(3))
def test_no_number_depends_on_the_order_of_a_file(name: str, seed: int) -> None:
    for apart in permute.try_orders(name, f"test {seed}", orders=2):
        assert not apart


def test_every_metric_is_tried() -> None:
    asked = {
        spec.parse(one)[0] for name, draw in permute.DRAWS.items() for k in range(9) for one in draw(Random(k)).metrics
    }
    assert asked == set(metrics.room.names())


def differing(name: str, orders: list[permute.Files]) -> bool:
    found = []
    for files in orders:
        with tempfile.TemporaryDirectory() as folder:
            preds = permute.save(Path(folder) / "preds", files.preds)
            refs = [permute.save(Path(folder) / f"refs{i}", document) for i, document in enumerate(files.refs)]
            result = fabula.score(preds, refs, protocol=name, **files.options)
        found.append({f"{n}/{part}": v for n, s in result.scores.items() for part, v in s.values.items()})
    return bool(permute.differing(*found))


START = "events that start together stay as in the file"
JOINED = "paragraphs join sentences in file order, "
SCORES = "equal scores and equal overlaps are settled by the file's order"
# published programs whose numbers depend on the order of a file, and what in them does
ORDERED = {
    "coco": "METEOR: of references with one score the first of the file brings its statistics",
    "densecap": f"{SCORES}; a detection that overlaps nothing claims the last reference of its image",
    "densecap-pytorch": SCORES,
    "densevid-2017": "of the predictions that overlap nothing the last of the file counts",
    "lighthouse": "the file's order ranks windows",
    "micap": "CIDEr's document frequencies are those of 16 captionsets at a time",
    "omtg": "of windows that start together the first of the answer is lengthened",
    "pdvc-2018": JOINED + START,
    "pdvc-2021": JOINED + START,
    "pss-2022": START,
    "qvhighlights": "the file's order ranks windows",
    "rvmr": "of equally near references of one grade the first of the file is taken",
    "soccernet": START,
    "soda-2021": START,
    "soda-2021-multi": "references stay in file order",
    "timechat": JOINED + "and SODA takes events in file order",
    "trace": JOINED + "and SODA takes events in file order",
    "vid2seq": JOINED + "and SODA takes events in file order",
    "vidchapters": START,
    "vtimellm": START,
}
# a draw for each; not tried: those that ask a judge or an encoder, and etbench-mcq, -gvq and -dvc, which embed captions
UNTRIED = {"soda-bertscore", "vantage-dvc", "etbench-dvc", "etbench-mcq", "etbench-gvq"}
SETS = {"omtg", "etbench-tal", "etbench-evs"}  # all windows of an answer count; of others the first is the prediction
DRAWN = {
    **{"dense": "stories", "procedure": "stories", "captions": "captions", "moments": "ranked", "grounding": "ranked"},
    **{"highlights": "scored", "regions": "regions", "identity": "blanks", "questions": "questions"},
}
TRIED = [
    name
    for name in room.names()
    if name not in {*ORDERED, *UNTRIED} and not any(m.uses_llm for m in benchmarks.protocol(name).metrics)
]


@pytest.mark.parametrize("name", TRIED)
def test_other_protocols_do_not_depend_on_it(name: str) -> None:
    draw = "sets" if name in SETS else DRAWN[benchmarks.protocol(name).task]
    tried = 0
    for seed in range(12):
        case = permute.DRAWS[draw](Random(f"protocol {seed}"))
        try:
            assert not differing(name, [case.write(Random(k)) for k in (1, 2)])
        except fabula.FabulaError:  # a query without an answer, say, where that ends the program
            continue
        tried += 1
        if tried == 3:
            return
    assert tried, "no draw could be scored"


def test_what_depends_on_it_is_on_the_page_of_protocols() -> None:
    page = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
    part = page.partition("## Whose numbers depend on the order of a file")[2].partition("\n## ")[0]
    assert set(ORDERED) <= set(room.names())
    assert {name for name in ORDERED if f"`{name}`" not in part} == set()
