"""fabula study and fabula meta as they are typed: what they say, and one line and exit code 2 for what is wrong."""

from __future__ import annotations

import csv
import json
import sqlite3

import pytest

from tests.studies.made import make_plan

LINE = {"id": "i", "video": "one", "time": [0, 1], "descriptions": {"coarse": "x", "fine": "y"}}


@pytest.fixture
def plan(tmp_path):
    return make_plan(tmp_path, count=12, questions=12, checks=2)


def refused(ran, *said):
    """One line, exit code 2, and it says what and what to do."""
    assert ran.code == 2, ran
    lines = [line for line in ran.err.splitlines() if "warning" not in line]
    assert len(lines) == 1 and "Traceback" not in ran.err, ran.err
    for words in said:
        assert words in lines[0], lines[0]


def test_from_plan_to_results(fabula, plan, tmp_path):
    assert "smallest difference" in fabula("study", "power", plan).out
    told = json.loads(fabula("study", "power", plan, "--effect", "0.9", "--json", "-").out)
    assert told["raters"] == 3 and 0 < told["power"] <= 1
    made = fabula("study", "new", plan, "-o", "kitchen")
    assert made.code == 0 and "12 questions, 3 raters, 36 answers" in made.err
    links = (tmp_path / "kitchen" / "links.csv").read_text().splitlines()
    assert len(links) == 4 and links[1].startswith("1,/start?token=")
    simulated = fabula("study", "simulate", plan, "--studies", "4", "--mix", "careful=2,random=1", "-o", "sim")
    assert simulated.out.startswith("SIMULATED\t4 studies of 3 raters") and "random\t1.000\t4" in simulated.out
    ran = fabula("study", "results", "sim", "--html", "r.html", "--table", "a.csv", "--json", "r.json")
    assert ran.code == 0 and "R_s (static)\tfine\tall\t" in ran.out and "these raters are simulated" in ran.err
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert json.loads((tmp_path / "r.json").read_text())["study"]
    assert fabula("study", "results", "sim", "--latex").out.count("\\\\") == 3
    assert fabula("study", "backup", "sim", "copy.sqlite").code == 0
    same = fabula("study", "results", "copy.sqlite", "--json", "-").out
    assert json.loads(same) == json.loads((tmp_path / "r.json").read_text())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({**LINE, "video": "gone"}, ("item 'i'", "no clip of it in", "a file of that name is needed")),
        ({**LINE, "video": "../clips/one"}, ("leads out of the clips' folder",)),
        ({**LINE, "video": "/etc/passwd"}, ("leads out of the clips' folder",)),
        ({**LINE, "video": 3}, ("video: saw 3",)),
        ({**LINE, "time": [1, 1]}, ("time: saw [1, 1]", "[start, end] in seconds")),
        ({**LINE, "time": [0, "x"]}, ("saw 'x'",)),
        ({**LINE, "descriptions": {"coarse": "x"}}, ("has descriptions of coarse",)),
        ({**LINE, "descriptions": {"coarse": "x", "fine": ""}}, ("a description is text",)),
        ({**LINE, "descriptions": []}, ("descriptions: saw []",)),
        ({**LINE, "id": "i0"}, ("'i0': stands twice",)),
        ([], ("a line is an object",)),
    ],
)
def test_items_that_are_wrong(fabula, plan, tmp_path, line, said):
    with (tmp_path / "items.jsonl").open("a") as out:
        out.write(json.dumps(line) + "\n")
    refused(fabula("study", "new", plan, "-o", "kitchen"), *said)
    assert not (tmp_path / "kitchen").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "title is missing"),
        ("title = 3", "title is 3; it should be text"),
        ("title = [", "not TOML"),
        ('title = "x"\nitems = "i"\nfrom = 1', "no setting is called 'from'; did you mean 'form'?"),
        ('title = "x"\nitems = "i"\nform = "odd"', "no form is called 'odd'; there are: richer, yes-no, preference"),
        ('title = "x"', "names one of items, benchmark and [systems]; this one names none of them"),
        ('title = "x"\nitems = "i"\nbenchmark = "b"', "this one names items and benchmark"),
        ('title = "x"\nitems = "i"\n[exclude]\nchecks = 2', "exclude.checks is 2; it is a share"),
        ('title = "x"\nitems = "i"\n[analysis]\nprimary = "z"', "the form richer measures static, dynamic, accuracy"),
        ('title = "x"\nitems = "gone.jsonl"', "gone.jsonl"),
        ('title = "x"\nitems = "items.jsonl"\nclips = "none"', "no such folder"),
        ('title = "x"\nitems = "items.jsonl"\nclips = "clips"\nraters = 2', "too few raters"),
        ('title = "x"\nitems = "items.jsonl"\nclips = "clips"\nraters = 1\nraters_per_question = 3', "too few raters"),
        ('title = "x"\nitems = "i"\nreturn_url = "javascript:alert(1)"', "begins with https://"),
    ],
)
def test_plans_that_are_wrong(fabula, plan, tmp_path, text, said):
    plan.write_text(text + "\n")
    for verb in (["new", plan, "-o", "kitchen"], ["power", plan], ["simulate", plan, "--studies", "1"]):
        refused(fabula("study", *verb), said)
    assert not (tmp_path / "kitchen").exists()


def test_studies_that_are_none(fabula, plan, tmp_path):
    refused(fabula("study", "results", "nowhere"), "no such study", "fabula study new")
    refused(fabula("study", "serve", "nowhere"), "no such study")
    (tmp_path / "file.sqlite").write_text("words")
    refused(fabula("study", "results", "file.sqlite"), "cannot be used as a study")
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE x (y)").connection.close()
    refused(fabula("study", "results", "other.sqlite"), "is no study")
    assert fabula("study", "new", plan, "-o", "kitchen").code == 0
    refused(fabula("study", "new", plan, "-o", "kitchen"), "exists already")
    refused(fabula("study", "results", "kitchen"), "has no answers yet")
    refused(fabula("study", "results", "kitchen", "--table", "a.txt"), ".csv or .parquet")
    refused(fabula("study", "serve", "kitchen", "--host", "0.0.0.0"), "say --origin https://NAME")
    (tmp_path / "clips" / "one.mp4").unlink()
    refused(fabula("study", "serve", "kitchen"), "the clip is gone")
    for mix in ("lazy=1", "careful=x", "careful=0"):
        refused(fabula("study", "simulate", make_plan(tmp_path, count=12, questions=12), "--mix", mix))


def test_answers_of_another_study(fabula, plan, tmp_path):
    """Refused in one line, and nothing that was there is touched."""
    fabula("study", "simulate", plan, "--studies", "1", "-o", "one")
    other = make_plan(tmp_path, count=12, questions=12, checks=2, title="Another")
    fabula("study", "simulate", other, "--studies", "1", "-o", "two")
    before = fabula("study", "results", "one", "--json", "-").out
    fabula("study", "backup", "two", "two.sqlite")
    refused(fabula("study", "results", "one", "--answers", "two.sqlite"), "holds answers of another study", "'Another'")
    refused(fabula("study", "results", "one", "--answers", "items.jsonl"), "cannot be used as a study")
    refused(fabula("study", "backup", "one", "one/study.sqlite"), "would replace")
    assert fabula("study", "results", "one", "--json", "-").out == before
    fabula("study", "results", "two", "--table", "answers.csv")
    with (tmp_path / "scores.csv").open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerows([["id", "system", "METEOR"], *(["elsewhere", s, 0.5] for s in ("coarse", "fine"))])
    refused(
        fabula("meta", "scores.csv", "answers.csv", "--measure", "accuracy"),
        "not one judged item has scores",
        "same study?",
    )


def test_meta_of_a_study(fabula, tmp_path):
    plan = make_plan(tmp_path, count=30, form="scale", systems=("a", "b", "c"), checks=2)
    fabula("study", "simulate", plan, "--studies", "1", "-o", "sim", "--effect", "1")
    fabula("study", "results", "sim", "--table", "answers.csv")
    with (tmp_path / "answers.csv").open() as file:
        answers = list(csv.DictReader(file))
    mean: dict[tuple[str, str], list[float]] = {}
    for row in answers:
        mean.setdefault((row["item"], row["system"]), []).append(float(row["value"]))
    for name in ("a", "b", "c"):  # a file a system
        with (tmp_path / f"{name}.csv").open("w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["id", "good", "bad", "judge"])
            for (item, system), values in mean.items():
                if system == name:
                    rows.writerow([item, sum(values) / len(values), 0.1 * len(item), round(sum(values) / len(values))])
    ran = fabula("meta", "a.csv", "b.csv", "c.csv", "answers.csv", "--resamples", "200")
    assert ran.code == 0, ran.err
    assert "simulated: nobody said them" in ran.err
    found = json.loads(fabula("meta", "a.csv", "b.csv", "c.csv", "answers.csv", "--resamples", "50", "--json", "-").out)
    good, bad = (found["metrics"][n] for n in ("good", "bad"))
    assert good["segment"]["tau_b"]["value"] > 0.5 > bad["segment"]["tau_b"]["value"]
    assert good["system"]["accuracy"]["value"] == 1 and good["system"]["pearson"]["value"] == pytest.approx(1)
    assert found["metrics"]["judge"]["kappa"]["quadratic"]["value"] > 0.5 and not bad["kappa"]
    assert next(d for d in found["differences"] if {d["a"], d["b"]} == {"good", "bad"})["p_holm"] < 0.1
    assert "κ quadratic" in ran.out and ran.out.splitlines()[-1].startswith("tau_b|judgements:")
    assert r"\tau_b" in fabula("meta", "a.csv", "b.csv", "c.csv", "answers.csv", "--resamples", "9", "--latex").out
    refused(fabula("meta", "a.csv", "answers.csv", "-m", "nothing"), "no score is called 'nothing'")


def test_meta_of_what_is_wrong(fabula, tmp_path):
    (tmp_path / "answers.csv").write_text("item,value\nx,1\ny,2\nz,2\n")
    (tmp_path / "scores.csv").write_text("item,m\nx,0.1\ny,0.2\n")
    ran = fabula("meta", "scores.csv", "answers.csv", "--resamples", "50")
    assert ran.code == 0 and "1 of 3 judgements have no scores" in ran.err
    refused(fabula("meta", "scores.csv"), "name tables of scores")
    refused(fabula("meta", "scores.csv", "gone.csv"), "gone.csv")
    refused(fabula("meta", "scores.txt", "answers.csv"), "is no table")
    refused(fabula("meta", "scores.csv", "answers.csv", "--measure", "m"), "holds no measure 'm'")
    refused(fabula("meta", "scores.csv", "answers.csv", "--crowd"), "--crowd only applies with --flickr8k")
    refused(fabula("meta", "--flickr8k", "nowhere"), "nowhere")
    refused(fabula("meta", "--flickr8k", "nowhere", "scores.csv"), "name no other files")
    for name, text, said in (
        ("value", "item\nx\n", "no column called value"),
        ("key", "a,value\nx,1\n", "none of the columns item, id, video"),
        ("number", "item,value\nx,many\n", "saw 'many'"),
        ("inf", "item,value\nx,inf\n", "saw 'inf'"),
        ("short", "item,value\nx\n", "1 cells under 2 columns"),
        ("empty", "item,value\n", "holds no rows"),
        ("same", "item,value\nx,1\ny,1\n", "no correlation is defined"),
        ("systems", "item,value,system\nx,1,a\ny,2,b\n", "the scores name no system"),
    ):
        (tmp_path / f"{name}.csv").write_text(text)
        refused(fabula("meta", "scores.csv", f"{name}.csv"), said)
