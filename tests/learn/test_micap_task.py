"""`fabula train micap`, `fabula predict micap`: a small simulated world from files to scores; bad input; long sets."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch", reason="models need fabula[learn]")
for module in ("lightning_fabric", "safetensors", "tokenizers"):
    pytest.importorskip(module, reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.evaluate.captionsets import overwrite_people  # noqa: E402
from fabula.io.identity.captionsets import SetText  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.identity.clips import Streams, Videosets, link_faces, read_sets_of  # noqa: E402
from fabula.learn.identity.windows import Film, People, answer_sets, caption_film, pair_off  # noqa: E402
from fabula.learn.identity.wordpiece import Pieces, fill_blanks, mask_people, read_pieces, train_pieces  # noqa: E402
from fabula.learn.models import micap  # noqa: E402
from fabula.learn.options import Callbacks  # noqa: E402
from fabula.learn.tasks.micap import SetAnswer, score_blanks, score_captions  # noqa: E402
from fabula.learn.worlds.films import Recipe, features_of, make_film, write_world  # noqa: E402
from fabula.media.stores.features import Features, write_features  # noqa: E402
from fabula.text.identity import ID, ids  # noqa: E402
from fabula.verbs.command_line import fabula as command  # noqa: E402

RECIPE = Recipe(train_films=3, val_films=1, test_films=1, clips=12, face_dim=16, action_dim=8, frame_dim=8)
SHAPE = {"hidden": 16, "heads": 2, "feedforward": 16, "decoder_layers": 1}
FAST = {"epochs": 2, "batch_size": 8, "lr": 1e-3, "threads": 1}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    assert write_world(folder, RECIPE) == 3 * 8 + 2 + 2
    return folder


@pytest.fixture(scope="module")
def run(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "joint"
    fabula.train("micap", data=world, features=world, tiny=True, set_=SHAPE, settings=FAST, out=out)
    return out


def ask(run: Path, world: Path, task: str, **more: object) -> dict[str, SetText]:
    made: dict[str, SetText] = fabula.predict("micap", run, task=task, data=world, split="test", features=world, **more)
    return made


# --- the world -------------------------------------------------------------------------------------------------------


def test_a_world_is_its_recipe(world: Path, tmp_path: Path) -> None:
    write_world(tmp_path / "again", RECIPE)
    for file in sorted(world.iterdir()):
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name
    with pytest.raises(InputError, match="exists already"):
        write_world(world, RECIPE)
    with pytest.raises(SpecError, match="probability"):
        replace(RECIPE, absent=1.5)


def test_a_world_says_that_it_is_simulated(world: Path) -> None:
    for stream in ("frame", "action", "face", "box"):
        metadata = Features(world / f"{stream}.safetensors").metadata
        assert metadata["simulated"] is True and metadata["recipe"]["cast"] == RECIPE.cast


def test_ids_of_a_set_are_the_cast(world: Path) -> None:
    """Captions of overlapping sets name the same people, and number them by first appearance."""
    film = make_film("sim-train-000", RECIPE)
    sets = read_sets_of(world, "train", Notes())
    for name, one in sets.items():
        if not name.startswith("sim-train-000"):
            continue
        first = int(name[-4:])
        own: dict[str, str] = {}
        for k, caption in enumerate(one.captions or ()):
            truth = film.scenes[first + k].caption
            for mine, theirs in zip(ids(caption), ids(truth), strict=True):
                assert own.setdefault(theirs, mine) == mine
        assert sorted(own.values()) == list(own.values()) and len(own) > 1


def test_faces_tell_who_is_who() -> None:
    """Without poses and absences, clusters over a film's clips are its cast; an agent's face is the largest."""
    film = make_film("f", replace(RECIPE, pose=0.1, jitter=0.05, absent=0.0, face_dim=64))
    faces, truth = [], []
    for k, scene in enumerate(film.scenes):
        seen = features_of(film, k)
        tall = seen["box"][:, 3] - seen["box"][:, 1]
        largest = seen["face"][tall.argmax()]
        assert int((film.base @ largest).argmax()) == scene.agent
        faces += list(seen["face"])
        truth += [int(x) for x in (seen["face"] @ film.base.T).argmax(1)]
    who = link_faces(np.array(faces), 0.6)
    assert len(set(zip(who.tolist(), truth, strict=True))) == len(set(truth)) == len(set(who.tolist()))


def test_hidden_faces_are_missing() -> None:
    film = make_film("f", replace(RECIPE, absent=1.0, bystanders=0.0))
    assert not any(len(features_of(film, k)["face"]) for k in range(len(film.scenes)))


# --- words -----------------------------------------------------------------------------------------------------------


def test_captions_to_tokens_and_back() -> None:
    words = train_pieces(["the old man opens the door", "she doesn't look, he smiles"], 200, 1)
    assert words == train_pieces(["the old man opens the door", "she doesn't look, he smiles"], 200, 1)
    config = micap.Config.tiny(vocabulary=words, words=len(words), sep=words.index("[SEP]"))
    pieces = Pieces(config)
    said = ["P7 opens the door.", "P2's man doesn't look, P7 smiles"]
    tokens = pieces.encode(said)
    assert tokens[0] == config.start and tokens[-1] == config.end and tokens.count(config.sep) == 2
    assert [t - config.blank for t in tokens if config.blank <= t < config.start] == [1, 2, 1]
    assert pieces.decode(tokens, 3) == ["P1 opens the door.", "P2's man doesn't look, P1 smiles.", ""]
    hidden = pieces.encode(["[BLANK] opens the door.", "SOMEONE's man doesn't look, ___ smiles"])
    assert hidden == pieces.encode(said, blank=True)
    with pytest.raises(InputError, match="12 people; the model has room for 11"):
        pieces.encode([" ".join(f"P{k}" for k in range(1, 13))])


def test_frequent_pairs_become_pieces() -> None:
    """By pencil: 'ab' 3 times, 'abc' 2 times: a+##b (5), then ab+##c (2)."""
    words = train_pieces(["ab ab P1 ab abc", "abc"], 100, 2)
    assert words[5:] == ("a", "##b", "##c", "ab", "abc")
    assert train_pieces(["ab ab P1 ab abc", "abc"], 9, 2)[5:] == ("a", "##b", "##c", "ab")


def test_berts_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhat\n##s\n")
    words = read_pieces(path)
    pieces = Pieces(micap.Config.tiny(vocabulary=words, words=6, sep=3))
    assert pieces.encode(["P1 hats"])[2:4] == (4, 5)
    path.write_text("a\nb\n")
    with pytest.raises(InputError, match="no line \\[UNK\\]"):
        read_pieces(path)


def test_blanks_and_their_words() -> None:
    filled, who = fill_blanks(["P3 hugs P1.", "Rain.", "SOMEONE's hat."], ["P1", "P2", "P1"])
    assert filled == ["P1 hugs P2.", "Rain.", "P1's hat."] and who == [["P1", "P2"], [], ["P1"]]
    masked = mask_people(["P3 hugs P1 now."])
    assert masked == mask_people(["P9 hugs P2 now."])  # no id is told
    assert masked == [
        [
            ("someone hugs someone now.", "blank hugs someone now."),
            ("someone hugs someone now.", "someone hugs blank now."),
        ]
    ]


# --- training and predicting -----------------------------------------------------------------------------------------


def test_a_run_keeps_a_best_of_each_task(run: Path) -> None:
    header = checkpoint.read(run / "last.safetensors")[1]
    assert header["model"] == "micap" and header["about"]["simulated"] is True
    best = {file.name for file in run.glob("best*.safetensors")}
    assert len(best) >= 2, best
    rows = (
        (run / "scores.csv").read_text()
        if (run / "scores.csv").exists()
        else "".join(f.read_text() for f in run.glob("*.csv"))
    )
    for score in ("class", "METEOR", "CIDEr"):
        assert score in rows


def test_predictions_are_scored(run: Path, world: Path, tmp_path: Path) -> None:
    truth = read_sets_of(world, "test", Notes())
    filled = ask(run, world, "fitb", out=tmp_path / "filled.jsonl")
    assert list(filled) == list(truth)
    for name, one in filled.items():
        want = fill_blanks(truth[name].captions or (), ["P1"] * sum(map(len, one.blanks or ())))[0]
        assert fill_blanks(one.captions or (), ["P1"] * sum(map(len, one.blanks or ())))[0] == want
    result = fabula.score(tmp_path / "filled.jsonl", world / "test.jsonl", task="identity", metrics="FITB")
    assert 0 <= result["FITB"].values["instance"] <= 1
    told = ask(run, world, "caption", out=tmp_path / "told.jsonl")
    assert all(len(one.captions or ()) == 5 for one in told.values())
    fabula.score(tmp_path / "told.jsonl", world / "test.jsonl", task="identity", metrics="METEOR,CIDEr")


def test_scores_in_memory_are_those_of_files(tmp_path: Path) -> None:
    truth = {
        "a": SetText(("P1 runs to the door.", "P2 waits for P1."), (("P1",), ("P2", "P1"))),
        "b": SetText(("P1 sits.", "P1 reads a book."), (("P1",), ("P1",))),
    }
    filled = [SetAnswer("a", ("P1", "P2", "P2")), SetAnswer("b", ("P1", "P1"))]
    captions = {"a": ("P1 walks.", "P2 waits for a man."), "b": ("P1 sits down.", "")}
    lines = [{"id": id, "captions": s.captions, "blanks": s.blanks} for id, s in truth.items()]
    (tmp_path / "truth.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    blanks = [{"id": "a", "blanks": [["P1"], ["P2", "P2"]]}, {"id": "b", "blanks": [["P1"], ["P1"]]}]
    (tmp_path / "filled.jsonl").write_text("".join(json.dumps(line) + "\n" for line in blanks))
    own = [{"id": id, "captions": texts} for id, texts in captions.items()]
    (tmp_path / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in own))
    fitb = fabula.score(tmp_path / "filled.jsonl", tmp_path / "truth.jsonl", task="identity", metrics="FITB")["FITB"]
    assert score_blanks(filled, truth) == {
        name: fitb.values[name] for name in ("class", "instance", "same", "different")
    }
    assert 0 < fitb.values["class"] < 1
    names = ("METEOR", "CIDEr")
    scores = fabula.score(
        tmp_path / "captions.jsonl", tmp_path / "truth.jsonl", task="identity", metrics=",".join(names)
    )
    assert score_captions(captions, truth, names) == {name: scores[name].value for name in names}


def test_one_blank_a_set_is_scored_zero() -> None:
    truth = {"a": SetText(("P1 runs.",), (("P1",),)), "b": SetText(("P1 sits.",), (("P1",),))}
    zero = dict.fromkeys(("class", "instance", "same", "different"), 0.0)
    assert score_blanks([SetAnswer("a", ("P1",)), SetAnswer("b", ("P1",))], truth) == zero


def test_no_id_of_the_question_is_looked_at(run: Path, world: Path, tmp_path: Path) -> None:
    text = (world / "test.jsonl").read_text()
    (tmp_path / "test.jsonl").write_text(
        "\n".join(line.replace("P1", "[BLANK]").replace("P2", "P9") for line in text.splitlines())
    )
    plain, hidden = (
        ask(run, world, "fitb"),
        fabula.predict("micap", run, task="fitb", data=tmp_path, split="test", features=world),
    )
    assert {n: one.blanks for n, one in plain.items()} == {n: one.blanks for n, one in hidden.items()}


def test_trivial_people(run: Path, world: Path) -> None:
    same, different = (ask(run, world, "fitb", people=people) for people in ("same", "different"))
    assert {i for one in same.values() for row in one.blanks or () for i in row} == {"P1"}
    assert all(
        len(ids) == len(set(ids)) for one in different.values() if (ids := [i for row in one.blanks or () for i in row])
    )
    assert overwrite_people(("P4 sees P2.", "P4 runs."), "different") == ("P1 sees P2.", "P3 runs.")
    assert overwrite_people(("P4 sees P2.",), "same") == ("P1 sees P1.",)


def test_command_line(world: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    shape = [word for name, value in SHAPE.items() for word in ("--set", f"{name}={value}")]
    told = [
        "--tiny",
        "--task",
        "fitb",
        "--streams",
        "text",
        "--epochs",
        "1",
        "--batch-size",
        "8",
        "--lr",
        "1e-3",
        "--threads",
        "1",
    ]
    train = ["train", "micap", "--data", str(world), "--features", str(world), *told, "--out", out, *shape]
    done = CliRunner().invoke(command, train)
    assert done.exit_code == 0, done.output
    assert "simulated" in done.output
    ask = ["predict", "micap", out, "--data", str(world), "--split", "test", "--features", str(world), "-o"]
    done = CliRunner().invoke(command, [*ask, str(tmp_path / "f.jsonl"), "--task", "fitb"])
    assert done.exit_code == 0 and json.loads((tmp_path / "f.jsonl").read_text().splitlines()[0])["blanks"]
    done = CliRunner().invoke(command, [*ask, str(tmp_path / "c.jsonl"), "--task", "caption"])
    assert isinstance(done.exception, SpecError) and "trained for fitb alone" in str(done.exception)
    assert not (tmp_path / "c.jsonl").exists()


# --- lines of clips ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same films as LSMDC has its own: captions with blanks, ids, sets; a line a clip."""
    folder = tmp_path_factory.mktemp("tables")
    for split, name, films in (("train", "training", 3), ("val", "val", 1), ("test", "test", 1)):
        captions, labels = [], []
        for n in range(films):
            film = make_film(f"sim-{split}-{n:03d}", RECIPE)
            for k, scene in enumerate(film.scenes):
                clip = f"{film.name}-{k:04d}\t0\t1\t0\t1"
                captions.append(f"{clip}\t{ID.sub('[...]', scene.caption)}\n")
                people = (f"[{n}_PERSON{who[1:]}]" for who in ids(scene.caption))
                labels.append(f"{clip}\t{','.join(people) or '_'}\n")
        (folder / f"LSMDC16_annos_{name}_blank.csv").write_text("".join(captions))
        (folder / f"LSMDC16_annos_{name}_onlyIDs_NEW.csv").write_text("".join(labels))
    clips = [f"sim-val-000-{k:04d}" for k in range(10)]
    (folder / "valSets.csv").write_text("\t".join(clips[:5]) + "\n" + "\t".join(clips[5:]) + "\n")
    return folder


def test_tables_are_the_sets_of_the_world(world: Path, tables: Path) -> None:
    """Five clips of a film are a set; to be trained on, one begins at every clip. The file of sets leaves two out."""
    for split, count in (("train", 3 * 12), ("val", 2), ("test", 3)):
        notes = Notes()
        found, wanted = read_sets_of(tables, split, notes), read_sets_of(world, split, Notes())
        assert len(found) == count and wanted.keys() <= found.keys()
        for name, one in wanted.items():
            assert one == found[name]
        assert any("five consecutive clips" in line for line in notes.lines()) == (split != "val")


def test_tables_are_trained_on_and_filled(world: Path, tables: Path, tmp_path: Path) -> None:
    """The whole way: LSMDC's lines in, the challenge's lines out, scored as the challenge does."""
    out, data = str(tmp_path / "run"), ["--data", str(tables), "--features", str(world)]
    shape = [word for name, value in SHAPE.items() for word in ("--set", f"{name}={value}")]
    quick = ["--tiny", "--task", "fitb", "--streams", "text", "--steps", "2", "--batch-size", "4", "--threads", "1"]
    done = CliRunner().invoke(command, ["train", "micap", *data, *quick, *shape, "--out", out])
    assert done.exit_code == 0, done.output
    file = tmp_path / "filled.csv"
    ask = ["predict", "micap", out, *data, "--task", "fitb", "-o", str(file)]
    done = CliRunner().invoke(command, ask)
    assert done.exit_code == 0, done.output
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    truth = (tables / "LSMDC16_annos_val_onlyIDs_NEW.csv").read_text().splitlines()[:10]
    assert [row[0] for row in rows] == [line.split("\t")[0] for line in truth]
    assert [row[1].count("[") for row in rows] == [line.count("[") for line in truth]
    (tmp_path / "refs.csv").write_text("".join(f"{line.split()[0]}\t{line.split()[-1]}\n" for line in truth))
    score = fabula.score(file, tmp_path / "refs.csv", sets=tables / "valSets.csv", protocol="lsmdc-fillin")
    assert 0 <= score["FITB"].values["instance"] <= 1 and not score.warnings
    done = CliRunner().invoke(command, [*ask[:-1], str(tmp_path / "filled.txt")])
    assert isinstance(done.exception, SpecError) and ".jsonl, .json or .csv" in str(done.exception)
    one = ["--data", str(tables / "LSMDC16_annos_val_blank.csv"), "--features", str(world), "--overwrite"]
    done = CliRunner().invoke(command, [*ask[:3], *one, "--sets", str(tables / "valSets.csv"), *ask[-4:]])
    assert done.exit_code == 0, done.output
    assert file.read_text().splitlines() == ["\t".join(row) for row in rows]


def test_blanks_are_filled_without_ids_and_not_trained_on(run: Path, world: Path, tables: Path, tmp_path: Path) -> None:
    """Of a test split nobody knows the ids."""
    for split in ("training", "test"):
        name = f"LSMDC16_annos_{split}_blank.csv"
        (tmp_path / name).write_bytes((tables / name).read_bytes())
    told = {"task": "fitb", "split": "test", "features": world}
    blind, known = (fabula.predict("micap", run, data=folder, **told) for folder in (tmp_path, tables))
    assert {name: one.blanks for name, one in blind.items()} == {name: one.blanks for name, one in known.items()}
    with pytest.raises(InputError, match=r"a blank \[\.\.\.\] that nobody fills"):
        fabula.train("micap", data=tmp_path, features=world, tiny=True, settings=FAST, out=tmp_path / "run")


# --- long sets -------------------------------------------------------------------------------------------------------


def test_the_most_alike_first() -> None:
    assert pair_off({(0, 0): 0.9, (0, 1): 0.8, (1, 0): 0.85, (1, 1): 0.1}) == {0: 0, 1: 1}
    assert pair_off({}) == {}


def test_faces_are_met_again() -> None:
    """Each of a clip is another; a number of the data stands over likeness."""
    a, b = np.eye(3, dtype=np.float32)[:2]
    people = People(0.5)
    assert people.meet([a, b]) == [0, 1]
    assert people.meet([b + 0.1 * a]) == [1]
    assert people.meet([a, a]) == [0, 2]  # two faces of one clip are two people
    numbered = People(0.5)
    assert numbered.meet([a, b], [7, 3]) == [0, 1]
    assert numbered.meet([a, a], [3, 9]) == [1, 2]


def test_who_is_named_is_who_was_looked_at() -> None:
    people = People(0.5)
    assert people.name({50: {0: 1.0}, 51: {1: 1.0}}, {}) == {50: 0, 51: 1}
    assert people.name({50: {1: 0.9, 0: 0.1}, 51: {2: 1.0}}, {}) == {50: 1, 51: 2}
    assert people.name({50: {1: 1.0}}, {50: 0}) == {50: 0}  # known by text
    assert people.name({50: {}}, {}) == {50: 3}  # no face: new
    assert people.name({50: {1: 1.0}, 51: {1: 1.0}}, {}) == {50: 1, 51: 0}  # the likelier first, each one once


def test_clips_that_show_the_same_faces_are_given_again(run: Path, world: Path) -> None:
    model, _ = checkpoint.load_model(run)
    clips = tuple(f"sim-test-000-{k:04d}" for k in range(9))
    data = Videosets({"film": SetText(("P1 runs.",) * 9, clips=clips)}, Streams(world), model.config, "fitb")
    film = Film(model, data, "film", "fitb")
    film.named = [[0], [], [1], [2], [1], [3], [0]]
    film.sizes = [{0: 1.0}, {5: 1.0}, {1: 1.0, 0: 0.2}, {2: 1.0}, {1: 1.0}, {3: 1.0}, {}, {1: 1.0, 0: 0.5, 5: 0.3}]
    assert film.anchors(7, 1) == [2]  # the earliest that shows most; nobody is named in clip 1
    assert film.anchors(7, 2) == [0, 2] or film.anchors(7, 2) == [2, 4]
    assert film.anchors(7, 9) == [0, 2, 3, 4, 5]
    film = Film(model, data, "film", "fitb")
    seen = []
    for window, told in film.windows():
        seen.append((window, told))
        film.named += [[0] for _ in window[told:]]
    assert seen[0] == (list(range(5)), 0)
    for k, (window, told) in enumerate(seen[1:], 5):
        assert window[-1] == k and window[-2] == k - 1 and told == 4 and len(set(window)) == 5


def test_a_long_set_is_told_in_windows(run: Path, world: Path) -> None:
    film = make_film("sim-test-000", RECIPE)
    long = SetText(tuple(s.caption for s in film.scenes), clips=tuple(film.clip(k) for k in range(len(film.scenes))))
    model, _ = checkpoint.load_model(run)
    data = Videosets({"film": long}, Streams(world), model.config, "both")
    ((name, filled, told),) = answer_sets(model, data, [0])
    blanks = sum(len(row) for row in mask_people(long.captions or ()))
    assert name == "film" and filled is not None and told is not None
    assert len(filled) == blanks and len(told) == len(film.scenes)
    short = Videosets(
        {"film": replace(long, captions=(long.captions or ())[:5], clips=(long.clips or ())[:5])},
        Streams(world),
        model.config,
        "both",
    )
    ((_, first, _),) = answer_sets(model, short, [0])
    assert [filled.index(i) for i in filled[: len(first or ())]] == [(first or ()).index(i) for i in first or ()]
    captions, people = caption_film(model, data, "film")
    named = {int(i[1:]) for caption in captions for i in ids(caption)}
    assert captions == told and named <= set(range(1, len(people.votes) + 1))
    trained = Videosets({"film": long}, Streams(world), model.config)
    assert len(trained) == len(film.scenes) - 4  # stride 1


# --- bad input -------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_said(run: Path, world: Path, tmp_path: Path) -> None:
    model, _ = checkpoint.load_model(run)
    streams = Streams(world)
    clips = next(iter(read_sets_of(world, "test", Notes()).values())).clips
    with pytest.raises(InputError, match="no clips are named"):
        Videosets({"a": SetText(("P1 runs.",))}, streams, model.config)
    with pytest.raises(InputError, match="1 captions for 5 clips"):
        Videosets({"a": SetText(("P1 runs.",), clips=clips)}, streams, model.config)
    with pytest.raises(InputError, match="no such folder of streams"):
        Streams(tmp_path / "nowhere")
    (tmp_path / "sets.jsonl").write_text('{"id": "a", "captions": ["P1 runs."], "clips": ["nobody-0001"]}\n')
    with pytest.raises(InputError, match="no features of this clip"):
        fabula.predict("micap", run, task="fitb", data=tmp_path / "sets.jsonl", features=world)


def test_captions_without_ids_and_clips_without_faces(run: Path, world: Path) -> None:
    model, _ = checkpoint.load_model(run)
    clips = next(iter(read_sets_of(world, "test", Notes()).values())).clips or ()
    data = Videosets({"a": SetText(("It rains.", "It snows."), clips=clips[:2])}, Streams(world), model.config, "both")
    ((_, filled, told),) = answer_sets(model, data, [0])
    assert filled == () and told is not None and len(told) == 2


def test_ten_thousand_faces(run: Path, tmp_path: Path) -> None:
    """The first `faces` are looked at, as the published program does; the rest costs no memory of clustering."""
    model, _ = checkpoint.load_model(run)
    draw = np.random.default_rng(0)
    config = model.config
    sizes = {
        "frame": (4, config.frame_dim),
        "action": (6, config.action_dim),
        "face": (10_000, config.face_dim),
        "box": (10_000, 5),
    }
    for stream, shape in sizes.items():
        write_features(
            tmp_path / f"{stream}.safetensors", [("c", np.abs(draw.normal(size=shape)).astype(np.float32))], {}
        )
    data = Videosets({"a": SetText(("P1 runs.",), clips=("c",))}, Streams(tmp_path), config, "both")
    assert len(data[0].clips[0].face) == config.faces
    assert answer_sets(model, data, [0])[0][1] is not None
    assert data.notes.lines() == [
        "1 captionsets have more than 40 faces in 5 clips, of which the first 40 are seen: 'a' (10,000)"
    ]
    (tmp_path / "sets.jsonl").write_text('{"id": "a", "captions": ["P1 runs."], "clips": ["c"]}\n')
    heard: list[str] = []
    asked = {"task": "fitb", "data": tmp_path / "sets.jsonl", "features": tmp_path}
    fabula.predict("micap", run, callbacks=Callbacks(warn=heard.append), **asked)
    assert any("10,000" in line for line in heard)


def test_a_clip_of_no_length(run: Path, tmp_path: Path) -> None:
    """Features of length 0 are no features; the clip is named."""
    config = checkpoint.load_model(run)[0].config
    for stream in ("frame", "action", "face", "box"):
        (tmp_path / stream).mkdir()
        width = 5 if stream == "box" else getattr(config, f"{stream}_dim")
        np.save(tmp_path / stream / "c.npy", np.zeros((0 if stream == "frame" else 2, width), np.float32))
    (tmp_path / "sets.jsonl").write_text('{"id": "a", "captions": ["P1 runs."], "clips": ["c"]}\n')
    with pytest.raises(InputError, match="'c': features of length 0"):
        fabula.predict("micap", run, task="fitb", data=tmp_path / "sets.jsonl", features=tmp_path)


def test_a_set_without_a_face_anywhere(run: Path, tmp_path: Path) -> None:
    """No store of faces at all is an error that says what to do; a clip without faces is one like any other."""
    model, _ = checkpoint.load_model(run)
    draw = np.random.default_rng(0)
    for stream in ("frame", "action"):
        x = draw.normal(size=(4, getattr(model.config, f"{stream}_dim"))).astype(np.float32)
        write_features(tmp_path / f"{stream}.safetensors", [("c", x), ("d", x)], {})
    asked = {"task": "caption", "data": tmp_path / "sets.jsonl", "features": tmp_path}
    (tmp_path / "sets.jsonl").write_text('{"id": "a", "captions": ["", ""], "clips": ["c", "d"]}\n')
    with pytest.raises(InputError, match="face features of no channels"):
        fabula.predict("micap", run, **asked)
    write_features(tmp_path / "face.safetensors", [("other", np.ones((1, model.config.face_dim), np.float32))], {})
    write_features(tmp_path / "box.safetensors", [("other", np.ones((1, 5), np.float32))], {})
    assert len(fabula.predict("micap", run, **asked)["a"].captions or ()) == 2


def test_more_people_than_the_model_knows(world: Path, tmp_path: Path) -> None:
    clips = next(iter(read_sets_of(world, "test", Notes()).values())).clips or ()
    captions = [" and ".join(f"P{k}" for k in range(1, 13)) + " walk.", *["It rains."] * (len(clips) - 1)]
    line = json.dumps({"id": "crowd", "captions": captions, "clips": clips})
    (tmp_path / "train.jsonl").write_text(f"{line}\n")
    told = {"data": tmp_path / "train.jsonl", "features": world, "tiny": True, "min_count": 1, "settings": FAST}
    with pytest.raises(InputError, match="'crowd': captions name 12 people; the model has room for 11"):
        fabula.train("micap", out=tmp_path / "few", set_=SHAPE, **told)
    fabula.train("micap", out=tmp_path / "many", set_={**SHAPE, "people": 12}, **told)


def test_captions_that_name_nobody(world: Path, tmp_path: Path) -> None:
    clips = next(iter(read_sets_of(world, "test", Notes()).values())).clips or ()
    line = json.dumps({"id": "rain", "captions": ["It rains."] * len(clips), "clips": clips})
    (tmp_path / "train.jsonl").write_text(f"{line}\n")
    told = {"data": tmp_path / "train.jsonl", "features": world, "tiny": True, "min_count": 1, "settings": FAST}
    with pytest.raises(InputError, match="none of 1 captionsets names a person"):
        fabula.train("micap", out=tmp_path / "fitb", task="fitb", set_=SHAPE, **told)
    heard: list[str] = []
    fabula.train("micap", out=tmp_path / "joint", set_=SHAPE, callbacks=Callbacks(warn=heard.append), **told)
    assert any(line == "1 captionsets name nobody and have no person to learn from: 'rain'" for line in heard)
    assert column(tmp_path / "joint", "fitb/fitb") == [0.0, 0.0]


def test_given_people_are_taken(tmp_path: Path, run: Path) -> None:
    model, _ = checkpoint.load_model(run)
    config = model.config
    draw = np.random.default_rng(0)
    box = np.abs(draw.normal(size=(3, 6))).astype(np.float32)
    box[:, 5] = [8, 3, 8]
    stores = {"frame": draw.normal(size=(4, config.frame_dim)), "action": draw.normal(size=(6, config.action_dim)),
              "face": draw.normal(size=(3, config.face_dim)), "box": box}  # fmt: skip
    for stream, x in stores.items():
        write_features(tmp_path / f"{stream}.safetensors", [("c", x.astype(np.float32))], {})
    data = Videosets({"a": SetText(("P1 runs.",), clips=("c",))}, Streams(tmp_path), config, "both")
    assert data.collate([data[0]]).face_cluster[0].tolist() == [0, 1, 0]


# --- the loop --------------------------------------------------------------------------------------------------------


def column(run: Path, name: str) -> list[float]:
    with (run / "steps.csv").open(newline="") as stream:
        return [float(row[name]) for row in csv.DictReader(stream)]


@pytest.mark.slow
def test_resumed_is_as_if_never_stopped(world: Path, run: Path, tmp_path: Path) -> None:
    told = {"data": world, "features": world, "tiny": True, "set_": SHAPE, "out": tmp_path / "run"}
    fabula.train("micap", settings={**FAST, "epochs": 1}, **told)
    fabula.train("micap", settings=FAST, resume=True, **told)
    assert column(tmp_path / "run", "loss") == column(run, "loss")


@pytest.mark.slow
def test_two_processes_are_one(world: Path, tmp_path: Path) -> None:
    """Half the sets each, with other numbers of people and words: losses and gradients are those of one process."""
    shape = [f"--set={name}={value}" for name, value in SHAPE.items()]
    both = ["-m", "fabula", "train", "micap", "--data", str(world), "--features", str(world), "--tiny", "--epochs", "1",
            "--lr", "1e-3", "--threads", "1", *shape]  # fmt: skip
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    for name, begin, size in (("one", [], "8"), ("two", launch, "4")):
        words = [sys.executable, *begin, *both, "--batch-size", size, "--out", str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    for name in ("loss", "fitb/fitb", "caption/people", "caption/words", "grad_norm"):
        assert column(tmp_path / "two", name) == pytest.approx(column(tmp_path / "one", name), abs=1e-4), name


MEASURE = """
import sys, torch
torch.set_num_threads(1)
from fabula.learn import checkpoint
from fabula.learn.identity.clips import Streams, Videosets
from fabula.learn.identity.windows import answer_sets
from fabula.io.identity.captionsets import SetText
from fabula.learn.worlds.films import Recipe, make_film
film = make_film("sim-test-000", Recipe(train_films=1, val_films=1, test_films=1, clips=600))
n = int(sys.argv[3])
one = SetText(tuple(s.caption for s in film.scenes[:n]), clips=tuple(film.clip(k) for k in range(n)))
model, _ = checkpoint.load_model(sys.argv[1])
data = Videosets({"film": one}, Streams(sys.argv[2]), model.config, "both")
((_, filled, told),) = answer_sets(model, data, [0])
assert len(told) == n and len(filled) >= n
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))  # ours, not our parent's
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.experiment
def test_a_film_of_600_clips_takes_the_memory_of_a_window(tmp_path: Path) -> None:
    write_world(tmp_path / "world", Recipe(train_films=1, val_films=1, test_films=1, clips=600))
    told = {"data": tmp_path / "world" / "val.jsonl", "features": tmp_path / "world", "tiny": True}
    fabula.train("micap", settings={**FAST, "epochs": 1}, out=tmp_path / "run", **told)
    peak = {}
    for n in (5, 60, 600):
        words = [sys.executable, "-c", MEASURE, str(tmp_path / "run"), str(tmp_path / "world"), str(n)]
        peak[n] = int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    print(peak)
    assert peak[60] < 2 * peak[5] and peak[600] < 2 * peak[5]


# --- fabula simulate micap -------------------------------------------------------------------------------------------


def test_a_world_by_command(tmp_path: Path) -> None:
    """The folder of a simulated world is trained on as a user's own would be, without being told where features are."""
    few = ["--train-films", "1", "--val-films", "1", "--test-films", "1", "--clips", "6"]
    made = CliRunner().invoke(command, ["simulate", "micap", "-o", str(tmp_path / "world"), *few, "--cast", "5"])
    assert made.exit_code == 0, made.output
    recipe = Features(tmp_path / "world" / "face.safetensors").metadata["recipe"]
    assert recipe["cast"] == 5 and recipe["stay"] == 0.4
    again = CliRunner().invoke(command, ["simulate", "micap", "-o", str(tmp_path / "world"), *few])
    assert isinstance(again.exception, InputError) and "exists already" in str(again.exception)
    words = ["train", "micap", "--data", str(tmp_path / "world"), "--tiny", "--epochs", "1", "--out"]
    shape = [f"--set={name}={value}" for name, value in SHAPE.items()]
    done = CliRunner().invoke(command, [*words, str(tmp_path / "run"), *shape])
    assert done.exit_code == 0, done.output


def test_difficulty(tmp_path: Path) -> None:
    from fabula.verbs.training.simulate import simulate_world

    few = {"train_films": 1, "val_films": 1, "test_films": 1, "clips": 5}
    simulate_world("micap", tmp_path, difficulty="faces", stay=0.5, **few)
    recipe = Features(tmp_path / "face.safetensors").metadata["recipe"]
    assert (recipe["told"], recipe["absent"], recipe["stay"]) == (0.0, 0.0, 0.5)  # what is said stands over it
    with pytest.raises(SpecError, match="it is a probability"):
        simulate_world("micap", tmp_path / "x", stay=1.5, **few)
    with pytest.raises(SpecError, match="has no simulated world"):
        simulate_world("vcmr", tmp_path / "x")
