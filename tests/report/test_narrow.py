"""Tables of a narrow terminal: a number may go on in the next line, but is never cut short."""

import io
import re

import pytest
from rich.console import Console

import fabula
from fabula import demo
from fabula.diagnose import errors
from fabula.report import compare as compare_report
from fabula.report import diagnose as diagnose_report
from fabula.report import table

SYSTEMS = {name: demo.SYSTEMS[name] for name in ("good", "over_segmenting")}
REFS = list(demo.REFERENCES.values())


def drawn(thing) -> str:
    console = Console(file=io.StringIO(), width=40)
    console.print(thing)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def tables():
    results = {name: fabula.score(path, REFS, metrics="SODA_d,mIoU,PRF") for name, path in SYSTEMS.items()}
    compared = fabula.compare(SYSTEMS, REFS, metrics="SODA_d,mIoU", resamples=50)
    return {
        "score": table.rich_table(results["good"], "good"),
        "systems": table.rich_comparison(results, "two"),
        "compare": compare_report.rich_tables(compared),
        "diagnose": diagnose_report.rich_tables(errors(SYSTEMS["good"], REFS, metric="SODA_d")),
    }


@pytest.mark.parametrize("name", ["score", "systems", "compare", "diagnose"])
def test_no_number_is_cut_short(tables, name):
    text = drawn(tables[name])
    assert not re.search(r"\d\.?…|\.…", text), text
