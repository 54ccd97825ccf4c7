"""Runs of tables: numbers beside the paper's, rows that need something, work that is killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fabula.core.errors import InputError, MissingExtra, SpecError
from fabula.papers.outcome import Cell
from fabula.papers.plan import Plan
from fabula.papers.printed import BANNER
from fabula.papers.run import RunOptions, run_tables
from fabula.papers.sources import Inputs
from fabula.papers.table import find_tables, read_printed
from fabula.verbs.training.reproduce import execute

STEPS = {  # a small copy of a data set, as a user would have it
    f"yc2_my_{split}.json": {
        f"{split}_{k}": {"duration": 100.0, "timestamps": [[5, 30 + k], [40, 60]], "sentences": ["cut it", "fry it"]}
        for k in range(3)
    }
    for split in ("train", "val", "test")
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("yc2")
    for name, stories in STEPS.items():
        (folder / name).write_text(json.dumps(stories))
    return folder


def test_rows_that_can_be_run_are_run_and_others_say_what_they_need(data: Path, command_line: Callable) -> None:
    done = command_line("reproduce", "run", "pss-table1", "--data", data)
    assert done.returncode == 0
    assert "| Uniform (GT) | here | " in done.stdout and "|  | paper | 34.18 | 38.26 | 30.47 |" in done.stdout
    assert "not run: PDVC: needs --features youcook2-r3d=PATH (store of ResNeXt-3D" in done.stdout
    assert "pss-2022: mIoU" in done.stdout and BANNER not in done.stdout


def test_tables_share_what_they_say_alike(data: Path) -> None:
    """PDVC of Table 1 is R3D with Hungarian matching of Table 2: one training, one prediction, one score."""
    plan = Plan(Inputs((str(data),), ()), simulate=True)
    first, second = (
        plan.add_row(table, next(row for row in table.rows if row.name == name), "", 777)
        for table, name in zip(
            find_tables(["pss-table1", "pss-table2"]), ("PDVC", "ResNeXt-3D (R3D) Hungarian"), strict=True
        )
    )
    assert isinstance(first, dict) and isinstance(second, dict)
    assert first == {name: second[name] for name in ("train", "predict", "score")}
    other = plan.add_row(find_tables(["pss-table1"])[0], find_tables(["pss-table1"])[0].rows[4], "", 778)
    assert isinstance(other, dict) and not set(other.values()) & set(first.values())


def test_a_column_of_another_data_set_stays_empty(data: Path) -> None:
    (outcome,) = run_tables(find_tables(["pss-table3"]), RunOptions(data=(f"youcook2={data}",), rows=("1",)), execute)
    (line,) = outcome.lines
    assert [len(cell.values) for cell in line.cells] == [1, 1, 1, 0, 0, 0]
    assert line.problem.startswith("needs --data tasty=PATH")
    document = outcome.to_dict()
    assert document["rows"][0]["cells"][3] == {
        "values": [], "mean": None, "sd": None, "paper": 35.11, "paper sd": None, "difference": None,
    }  # fmt: skip


def test_where_nothing_can_be_run_it_is_an_error(command_line: Callable) -> None:
    done = command_line("reproduce", "run", "pss-table2")
    assert done.returncode == 2 and not done.stdout
    assert "nothing can be run: needs --data youcook2=PATH" in done.stderr


def test_training_wants_a_folder(data: Path) -> None:
    options = RunOptions(data=(str(data),), features=(f"youcook2-s3d={data}",), rows=("6",))
    with pytest.raises(SpecError, match="name a folder for the work with --work"):
        run_tables(find_tables(["pss-table1"]), options, execute)


@pytest.mark.parametrize(("form", "text"), [("latex", r"\toprule"), ("html", "<h1>SODA"), ("json", '"same value, %"')])
def test_forms(form: str, text: str, tmp_path: Path, command_line: Callable) -> None:
    out = tmp_path / "table"
    assert command_line("reproduce", "run", "soda", "--rows", "3", "--format", form, "-o", out).returncode == 0
    assert text in out.read_text()


def test_the_listing_is_the_library(tmp_path: Path) -> None:
    outcomes = run_tables(find_tables(["soda", "densecap"]), RunOptions(), execute)
    for line in outcomes[0].lines:
        assert [cell.values for cell in line.cells] == [(2000.0,), (100.0,), (100.0,), (0.0,)]
    here, readme, detection, readme_detection = (cell.mean for cell in outcomes[1].lines[0].cells)
    assert here == pytest.approx(readme, abs=1e-9) and detection == pytest.approx(readme_detection, abs=1e-9)
    assert here is not None and 10 < here < 90


def test_a_simulated_copy_fills_the_table_and_says_so(command_line: Callable) -> None:
    done = command_line("reproduce", "run", "verified-table1", "verified-table3", "--simulate", "--format", "json")
    assert done.returncode == 0 and BANNER in done.stderr
    captions, study = json.loads(done.stdout)
    assert captions["simulated"] and all(cell["mean"] for row in captions["rows"] for cell in row["cells"])
    for row in study["rows"]:
        richer, accuracy, *_ = (cell["mean"] for cell in row["cells"])
        assert 50 < richer <= 100 and 1 <= accuracy <= 5


def test_mean_spread_and_difference() -> None:
    cell = Cell(read_printed("2.50±0.10"), (1.0, 2.0, 3.0))
    assert (cell.mean, cell.sd, cell.difference) == (2.0, 1.0, -0.5)
    assert Cell(None, (1.0,)).sd is None and Cell(None, ()).mean is None and Cell(None, (1.0,)).difference is None


def test_a_work_folder_is_resumed_only_when_told(tmp_path: Path, data: Path) -> None:
    tables, work = find_tables(["pss-table1"]), tmp_path / "work"
    first = run_tables(tables, RunOptions(data=(str(data),), work=work, rows=("1",)), execute)
    with pytest.raises(InputError, match="holds an earlier run"):
        run_tables(tables, RunOptions(data=(str(data),), work=work, rows=("1",)), execute)

    def never(words: object, log: Path) -> None:
        raise AssertionError(words)

    again = RunOptions(data=(str(data),), work=work, rows=("1",), resume=True)
    assert run_tables(tables, again, never)[0].to_dict() == first[0].to_dict()
    damaged = next(path for path in work.glob("steps/*/out.json") if "scores" in path.read_text())
    damaged.write_text("{}")
    assert run_tables(tables, again, execute)[0].to_dict() == first[0].to_dict()
    (data / "yc2_my_val.json").touch()  # the data are others now, for all that is known
    fresh = list(work.glob("steps/*"))
    run_tables(tables, again, execute)
    assert len(list(work.glob("steps/*"))) == 2 * len(fresh)


class Recorded:
    """A command line that is noted and writes an empty result; one verb may lack a package."""

    def __init__(self, lacking: str = "") -> None:
        self.lines: list[list[str]] = []
        self.lacking = lacking

    def __call__(self, words: Sequence[str], log: Path) -> None:
        self.lines.append(list(words))
        if words[0] == self.lacking:
            raise MissingExtra("this row", "learn")
        flag = next(word for word in ("--out", "-o", "--json") if word in words)
        path = Path(words[words.index(flag) + 1])
        path.mkdir() if flag == "--out" else path.write_text("{}")


def test_seeds_are_spread_over_devices(tmp_path: Path, data: Path) -> None:
    recorded = Recorded()
    options = RunOptions(
        data=(str(data),), features=(f"youcook2-s3d={data}",), rows=("6",), seeds=4, devices=("0", "1"), workers=1,
        work=tmp_path / "work",
    )  # fmt: skip
    run_tables(find_tables(["pss-table1"]), options, recorded)
    trained = [line for line in recorded.lines if line[0] == "train"]
    assert [line[line.index("--seed") + 1] for line in trained] == ["777", "778", "779", "780"]
    assert [line[-2:] for line in trained] == [["--device", f"cuda:{k % 2}"] for k in range(4)]
    assert all("--device" not in line for line in recorded.lines if line[0] == "score")


def test_what_needs_a_package_is_said_and_the_rest_is_run(tmp_path: Path, data: Path) -> None:
    recorded = Recorded(lacking="train")
    options = RunOptions(
        data=(str(data),), features=(f"youcook2-s3d={data}",), rows=("1", "6"), seeds=2, work=tmp_path / "work"
    )
    uniform, ours = run_tables(find_tables(["pss-table1"]), options, recorded)[0].lines
    assert "[learn]; install it with: pip install" in ours.problem
    assert uniform.problem == "no number of mIoU, mJaccard, precision, recall, SODA-D (F1) in what the steps wrote"
    assert [line[0] for line in recorded.lines] == ["baseline", "score", "train", "train"]


def killed_and_resumed(words: list[str], work: Path, kills: int, every: float = 0.05) -> tuple[str, int]:
    """The output of a command that is killed whenever another step is done, and how often it was."""
    base = [sys.executable, "-m", "fabula", "reproduce", "run", *words, "--work", str(work)]
    happened = 0
    for k in range(kills + 1):
        command = [*base, *(["--resume"] if k else [])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
        before = len(list(work.glob("steps/*/done.json")))
        while k < kills and process.poll() is None and len(list(work.glob("steps/*/done.json"))) <= before:
            time.sleep(every)
        if k < kills and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            happened += 1
        text, _ = process.communicate(timeout=600)
    return text, happened


def test_killed_twice_and_resumed_the_numbers_are_the_same(tmp_path: Path) -> None:
    words = ["soda", "densecap", "--format", "json"]
    text, happened = killed_and_resumed(words, tmp_path / "killed", 2)
    whole, _ = killed_and_resumed(words, tmp_path / "whole", 0)
    assert happened == 2 and text == whole and json.loads(whole)[1]["rows"][0]["cells"][0]["mean"] > 0


@pytest.mark.slow
def test_a_training_killed_twice_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    words = ["pss-table1", "--rows", "PDVC,Ours", "--simulate", "--seeds", "2", "--workers", "2", "--format", "json"]
    text, happened = killed_and_resumed(words, tmp_path / "killed", 2)
    whole, _ = killed_and_resumed(words, tmp_path / "whole", 0)
    assert happened == 2 and text == whole
