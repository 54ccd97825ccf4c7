"""LSMDC's own files wherever captionsets are read: captions of clips, ids, sets; and the challenge's lines out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import fabula
from fabula.core.errors import FabulaError, InputError, SpecError
from fabula.core.notes import Notes
from fabula.evaluate.captionsets import read_captionsets, write_captionsets
from fabula.io.identity import read_sets
from fabula.io.identity.captionsets import SetText
from fabula.io.identity.clip_captions import find_tables, group_films
from fabula.verbs.command_line import fabula as command

CLIPS = [f"0001_A_FILM_00.00.{k:02d}-00.00.{k + 1:02d}" for k in range(7)] + ["0002_B_00.01", "0002_B_00.02"]
BLANK = [
    "[...] looks at [...].", "[...]'s dog barks.", "The rain falls.", "[...] runs.", "[...] laughs.",
    "[...] sits.", "A door opens.", "[...] and [...] dance.", "[...] leaves.",
]  # fmt: skip
IDS = [
    "[1_PERSON7],[1_PERSON3]", "[1_PERSON3]", "_", "[1_PERSON7]", "[1_PERSON9]",
    "[1_PERSON3]", "_", "[2_PERSON1],[2_PERSON2]", "[2_PERSON1]",
]  # fmt: skip


def write_files(folder: Path, split: str = "val") -> Path:
    """What the fill-in challenge hands out: six columns, the caption last."""
    rows = [f"{clip}\t0\t1\t0\t1\t{text}\n" for clip, text in zip(CLIPS, BLANK, strict=True)]
    (folder / f"LSMDC16_annos_{split}_blank.csv").write_text("".join(rows))
    ids = [f"{clip}\t0\t1\t0\t1\t{text}\n" for clip, text in zip(CLIPS, IDS, strict=True)]
    (folder / f"LSMDC16_annos_{split}_onlyIDs_NEW.csv").write_text("".join(ids))
    return folder / f"LSMDC16_annos_{split}_blank.csv"


def run(*words: object) -> str:
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def test_five_clips_of_a_film_are_a_set() -> None:
    assert [len(s) for s in group_films(CLIPS, False)] == [5, 2, 2]
    assert [CLIPS.index(s[0]) for s in group_films(CLIPS, True)] == [0, 5, 1, 6, 2, 3, 4, 7, 8]
    assert all(len(s) <= 5 and len({clip.rpartition("_")[0] for clip in s}) == 1 for s in group_films(CLIPS, True))


def test_the_published_sets_are_five_consecutive_clips() -> None:
    folder = Path(__file__).parents[2].parent / "shared" / "data" / "lsmdc_fillin"
    if not folder.is_dir():
        pytest.skip(f"LSMDC's fill-in files are absent from {folder}")
    for refs, sets, of in (("references_val_new", "valSets", 1486), ("references_val_new_2", "valSets_2", 1443)):
        clips = [line.partition("\t")[0] for line in (folder / f"{refs}.csv").read_text().splitlines()]
        published = [tuple(line.split()) for line in (folder / f"{sets}.csv").read_text().splitlines()]
        assert group_films(clips, False) == published and len(published) == of


def test_blanks_are_filled_from_the_file_beside(tmp_path: Path) -> None:
    file, notes = write_files(tmp_path), Notes()
    sets = read_captionsets(file, notes)
    assert list(sets) == [CLIPS[0], CLIPS[5], CLIPS[7]]
    assert sets[CLIPS[0]].captions == (
        "P1 looks at P2.",
        "P2's dog barks.",
        "The rain falls.",
        "P1 runs.",
        "P3 laughs.",
    )
    assert sets[CLIPS[0]].clips == tuple(CLIPS[:5]) and sets[CLIPS[5]].captions == ("P1 sits.", "A door opens.")
    assert any("five consecutive clips of a film" in line and "3 sets" in line for line in notes.lines())
    assert any("onlyIDs_NEW" in line for line in notes.lines())
    (tmp_path / "sets.csv").write_text("\t".join(CLIPS[:2]) + "\n" + "\t".join(CLIPS[7:]) + "\n")
    named = read_captionsets(file, Notes(), sets=tmp_path / "sets.csv")
    assert [one.captions for one in named.values()] == [
        ("P1 looks at P2.", "P2's dog barks."), ("P1 and P2 dance.", "P1 leaves.")
    ]  # fmt: skip


def test_ids_of_any_spelling(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    ids = tmp_path / "LSMDC16_annos_val_onlyIDs_NEW.csv"
    ids.write_text(ids.read_text().replace("1_PERSON", "x").replace("2_PERSON", "y"))
    assert next(iter(read_captionsets(file, Notes()).values())).captions[0] == "P1 looks at P2."
    ids.write_text(ids.read_text().replace("[x7],[x3]", "[x7]"))
    with pytest.raises(InputError, match=f"clip '{CLIPS[0]}': 1 ids for 2 blanks of its caption"):
        read_captionsets(file, Notes())


def test_a_folder_has_its_files_by_name(tmp_path: Path) -> None:
    for split in ("training", "val"):
        write_files(tmp_path, split)
    for name in ("LSMDC16_annos_val.csv", "valSets.csv", "valSets_2.csv", "train_valSets.csv", "notes.txt"):
        (tmp_path / name).write_text("a\tb\n")
    found = find_tables(tmp_path, "val")
    assert found is not None and found.ids is not None and found.sets is not None
    assert [found.captions.name, found.ids.name, found.sets.name] == [
        "LSMDC16_annos_val_blank.csv", "LSMDC16_annos_val_onlyIDs_NEW.csv", "valSets.csv"
    ]  # fmt: skip
    train = find_tables(tmp_path, "train")
    assert train is not None and train.captions.name == "LSMDC16_annos_training_blank.csv" and train.sets is None
    assert find_tables(tmp_path, "test") is None
    write_files(tmp_path, "val_2")
    with pytest.raises(InputError, match="expected one file of captions of the split 'val', saw"):
        find_tables(tmp_path, "val")


def test_scoring_still_wants_its_sets(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the sets of clips are missing"):
        read_sets(write_files(tmp_path), Notes())


# convert --------------------------------------------------------------------------------------------------------------


def test_there_and_back(tmp_path: Path) -> None:
    file = write_files(tmp_path)
    said = run("convert", file, tmp_path / "val.jsonl", "--to", "captionsets")
    assert "3 captionsets of 9 clips → captionsets" in said
    rows = [json.loads(line) for line in (tmp_path / "val.jsonl").read_text().splitlines()]
    assert rows[2] == {"id": CLIPS[7], "captions": ["P1 and P2 dance.", "P1 leaves."], "clips": CLIPS[7:]}
    run("convert", tmp_path / "val.jsonl", tmp_path / "ids.csv", "--to", "fillin")
    lines = (tmp_path / "ids.csv").read_text().splitlines()
    assert lines[:3] == [f"{CLIPS[0]}\t[P1],[P2]", f"{CLIPS[1]}\t[P2]", f"{CLIPS[2]}\t_"] and len(lines) == 9
    run("convert", tmp_path / "val.jsonl", tmp_path / "captions.csv")  # no blanks: captions
    run("convert", tmp_path / "val.jsonl", tmp_path / "sets.csv", "--to", "fillin-sets")
    again = read_captionsets(tmp_path / "captions.csv", Notes(), sets=tmp_path / "sets.csv")
    assert again == read_captionsets(tmp_path / "val.jsonl", Notes())
    ids = [f"{clip}\t{text}\n" for clip, text in zip(CLIPS, IDS, strict=True)]
    (tmp_path / "refs.csv").write_text("".join(ids))
    score = fabula.score(
        tmp_path / "ids.csv", tmp_path / "refs.csv", sets=tmp_path / "sets.csv", protocol="lsmdc-fillin"
    )
    assert score["FITB"].values["instance"] == 1
    run("convert", tmp_path / "val.jsonl", tmp_path / "val.json", "--to", "captionsets")
    assert json.loads((tmp_path / "val.json").read_text())[2] == rows[2]


def test_overlapping_sets_are_asked_for(tmp_path: Path) -> None:
    done = fabula.convert(write_files(tmp_path), tmp_path / "train.jsonl", to="captionsets", overlapping=True)
    assert done.sets is not None and len(done.sets) == len(CLIPS)
    with pytest.raises(InputError, match="in two sets, so that it has two lines of ids"):
        fabula.convert(tmp_path / "train.jsonl", tmp_path / "ids.csv", to="fillin")
    assert not (tmp_path / "ids.csv").exists()


@pytest.mark.parametrize(
    ("target", "keywords", "problem"),
    [
        ("a.csv", {"to": "captionsets"}, "the format captionsets is written as .jsonl or .json"),
        ("a.jsonl", {"to": "fillin"}, "the format fillin is written as .csv or .tsv"),
        ("a.jsonl", {"to": "captionset"}, "no format is called 'captionset'"),
        ("a.jsonl", {"to": "captionsets", "sets": "absent.csv"}, "absent.csv"),
        ("a.jsonl", {"overlapping": True}, "--overlapping applies to captionsets; add --to captionsets"),
        ("a.json", {"from_": "clip-captions", "to": "submission"}, "captionsets are not written as 'submission'"),
    ],
)
def test_what_cannot_be_converted(target: str, keywords: dict[str, object], problem: str, tmp_path: Path) -> None:
    with pytest.raises(FabulaError, match=problem):
        fabula.convert(write_files(tmp_path), tmp_path / target, **keywords)
    assert not (tmp_path / target).exists()


def test_tables_need_clips_and_one_line_a_clip(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="captionset 'a': no clips are named"):
        write_captionsets({"a": SetText(("P1 runs.",))}, tmp_path / "a.csv")
    with pytest.raises(InputError, match="a tab or a line break"):
        write_captionsets({"a": SetText(("P1\truns.",), clips=("c",))}, tmp_path / "a.csv")
    with pytest.raises(SpecError, match=r"written as \.jsonl, \.json or \.csv"):
        write_captionsets({"a": SetText(("P1 runs.",))}, tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())


def test_captions_of_clips_are_checked_as_captions(tmp_path: Path) -> None:
    """Not as ids: six columns are no file of sets."""
    file = write_files(tmp_path)
    found = fabula.lint(file)
    assert found.format == "captionsets" and found.sound


# baselines and stress -------------------------------------------------------------------------------------------------


def test_anybodys_captions_without_knowing_who(tmp_path: Path) -> None:
    """Table 5: all ids P1, or P1, P2, P3, … set by set; in captions of clips, and in captionsets with blanks."""
    file = write_files(tmp_path)
    run("baseline", "same-id", "--refs", file, "-o", tmp_path / "same.jsonl")
    run("baseline", "all-different", "--refs", file, "-o", tmp_path / "different.csv")
    same = read_captionsets(tmp_path / "same.jsonl", Notes())
    assert same[CLIPS[0]].captions[:2] == ("P1 looks at P1.", "P1's dog barks.")
    assert (tmp_path / "different.csv").read_text().splitlines()[7:] == [
        f"{CLIPS[7]}\tP1 and P2 dance.", f"{CLIPS[8]}\tP3 leaves."
    ]  # fmt: skip
    told = {"id": "a", "captions": ["[PERSON4] meets [PERSON2].", "[PERSON4] runs."], "blanks": [["x", "y"], ["x"]]}
    (tmp_path / "told.jsonl").write_text(json.dumps(told) + "\n")
    made = fabula.baseline("all-different", tmp_path / "told.jsonl")
    assert made == {"a": SetText(("P1 meets P2.", "P3 runs."), (("P1", "P2"), ("P3",)))}
    with pytest.raises(SpecError, match=r"written as \.jsonl, \.json or \.csv"):
        fabula.baseline("same-id", tmp_path / "told.jsonl", tmp_path / "same.txt")


def test_stress_reads_captionsets_and_tables(tmp_path: Path) -> None:
    """Table 1 without times: the same numbers from captionsets and from captions of clips."""
    file, ways = write_files(tmp_path), ["swap ids", "add id", "remove id"]
    run("convert", file, tmp_path / "val.jsonl", "--to", "captionsets")
    run("convert", file, tmp_path / "sets.csv", "--to", "fillin-sets")
    seen = fabula.stress("METEOR,CIDEr", tmp_path / "val.jsonl", ways=ways, resamples=20)
    assert list(seen.cells) == ["METEOR", "CIDEr"] and seen.copies == 3 and seen.stories == 3
    assert [seen["METEOR"][way].stories for way in ways] == [2, 2, 2]
    by_clip = fabula.stress("METEOR,CIDEr", file, ways=ways, resamples=20, sets=tmp_path / "sets.csv")
    assert by_clip.cells == seen.cells
    usual = fabula.stress("METEOR", file, resamples=20)
    assert not {"split", "merge", "shift"} & set(usual.ways) and "shuffle" in usual.ways
    for metrics, more, problem in (
        ("SODA_c", {}, "SODA_c reads times"), ("METEOR", {"ways": ["shift"]}, "'shift' changes times")
    ):  # fmt: skip
        with pytest.raises(SpecError, match=problem):
            fabula.stress(metrics, file, **more)
    with pytest.raises(SpecError, match="--sets only applies with --corpus"):
        fabula.stress("METEOR", sets=tmp_path / "sets.csv")
