"""fabula.cite: every paper that a metric or protocol names has an entry, and a result cites what it used."""

import re

import pytest

import fabula
from fabula import metrics
from fabula.benchmarks import room
from fabula.core.errors import SpecError
from fabula.core.papers import PAPERS
from tests.golden.test_golden import DEMO

NAMED = {m.paper for m in metrics.room.all()} | {p.paper for p in room.all()}


def test_every_paper_has_an_entry_and_none_is_idle():
    signed = {name for name in NAMED if re.search(r"et al\.|&|, WS", name)}  # a benchmark without authors has no entry
    assert signed == set(PAPERS)
    for name in NAMED - signed:
        protocol = next(p for p in room.all() if p.paper == name)
        assert f": {name}" in fabula.cite(protocol.name)
    assert len({p.key for p in PAPERS.values()}) == len(PAPERS)


@pytest.mark.parametrize(("named", "paper"), PAPERS.items(), ids=PAPERS)
def test_an_entry_says_what_the_name_says(named, paper):
    """Authors and year of the short name are those of the entry; braces are paired."""
    first = re.match(r"[\w-]+", named)[0]
    assert paper.authors.startswith(f"{first}, ") and str(paper.year) in named
    text = paper.bibtex()
    assert text.count("{") == text.count("}") and text.startswith(f"@{paper.kind}{{{paper.key},")


def test_a_metric_brings_what_it_leans_on():
    text = fabula.cite("SODA_c")
    assert "fujita2020soda" in text and "denkowski2014meteor" in text and "@software{fabula," in text
    assert "vedantam2015cider" in fabula.cite("SODA_c(text=cider)") and "anderson2016spice" in fabula.cite("SPICE")


def test_a_protocol_says_where_it_was_read():
    text = fabula.cite("soda-2021")
    assert "protocol soda-2021 (github.com/fujiso/SODA, 9cb3e2c)" in text and text.count("@inproceedings") == 2


def test_results_cite_what_they_used(tmp_path):
    result = fabula.score(DEMO / "good.json", DEMO / "annotator_1.json", protocol="pdvc-2021", metrics="METEOR")
    text = fabula.cite(result)
    assert "wang2021pdvc" in text and "denkowski2014meteor" in text
    import json

    (tmp_path / "out.json").write_text(json.dumps(result.to_dict()))
    assert fabula.cite(tmp_path / "out.json") == text
    with pytest.raises(SpecError, match=r"is no result"):
        fabula.cite(DEMO / "good.json")


@pytest.mark.parametrize("wrong", ["SODA_x", "soda", "SODA_c(x=1)"])
def test_an_unknown_name_is_said(wrong):
    with pytest.raises(SpecError):
        fabula.cite(wrong)
