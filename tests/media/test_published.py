"""Features as MICap's and FillIn's authors publish them, as stores: folders of films, faces with .info, pickles."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("safetensors", reason="stores of one file need fabula[learn]")

from fabula.core.errors import FabulaError, InputError
from fabula.media.stores.features import Features
from fabula.media.stores.pickles import load_arrays
from fabula.verbs.command_line import fabula as command

CLIPS = ["0001_A_1", "0001_A_2", "0002_B_1"]
INFO = {
    "videos": [{"clip": clip, "num_blanks": n} for clip, n in zip(CLIPS, (2, 0, 1), strict=True)],
    "groups": [
        {"id": 0, "split": "train", "videos": [0, 1]}, {"id": 1, "split": "train", "videos": [1]},
        {"id": 2, "split": "val", "videos": [2]},
    ],
}  # fmt: skip


def run(*words: object) -> str:
    result = CliRunner().invoke(command, ["features", "convert", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def write_arrays(folder: Path, ending: str = ".npy", columns: int = 4, rows: tuple[int, ...] = (3, 2, 0)) -> Path:
    for k, (clip, n) in enumerate(zip(CLIPS, rows, strict=True)):
        (folder / clip[:6]).mkdir(parents=True, exist_ok=True)
        np.save(folder / clip[:6] / f"{clip}{ending}", np.arange(n * columns).reshape(n, columns) / 10 + k)
    return folder


@pytest.fixture
def info(tmp_path: Path) -> Path:
    (tmp_path / "info.json").write_text(json.dumps(INFO))
    return tmp_path / "info.json"


def test_a_folder_of_films(tmp_path: Path) -> None:
    source = write_arrays(tmp_path / "i3d", rows=(3, 2, 1))
    assert "3 entries" in run(source, "-o", tmp_path / "action.safetensors")
    store = Features(tmp_path / "action.safetensors")
    assert sorted(store) == sorted(CLIPS) and store["0001_A_1"].shape == (3, 4)
    np.testing.assert_allclose(store["0001_A_2"], np.load(source / "0001_A" / "0001_A_2.npy"))
    (source / "0002_B" / "0001_A_1.npy").write_bytes((source / "0001_A" / "0001_A_1.npy").read_bytes())
    with pytest.raises(InputError, match="clip '0001_A_1': this clip is there twice, also in 0001_A"):
        run(source, "-o", tmp_path / "twice.safetensors")
    assert not (tmp_path / "twice.safetensors").exists()


def test_faces_and_their_boxes(tmp_path: Path) -> None:
    source = write_arrays(tmp_path / "arcface", "_concatenated.npy")
    faces = [{"frame_num": 5 * k, "bbox": f"[-{k}.5, 2, 30, 40.25]", "age": 30, "gender": 1} for k in range(3)]
    (source / "0001_A" / "0001_A_1.info").write_text(json.dumps(faces))
    (source / "0001_A" / "0001_A_2.info").write_text(json.dumps([{**face, "bbox": [1, 2, 3, 4]} for face in faces[:2]]))
    run(source, "-o", tmp_path / "streams")
    face, box = (Features(tmp_path / "streams" / f"{stream}.safetensors") for stream in ("face", "box"))
    assert sorted(face) == sorted(box) == CLIPS[:2]  # a clip without a face has no entry
    np.testing.assert_allclose(box["0001_A_1"], [[k + 0.5, 2, 30, 40.25, 5 * k] for k in range(3)])
    np.testing.assert_allclose(box["0001_A_2"][0], [1, 2, 3, 4, 0])
    assert face["0001_A_2"].shape == (2, 4)
    (source / "0001_A" / "0001_A_2.info").write_text(json.dumps(faces))
    with pytest.raises(InputError, match="clip '0001_A_2': 3 entries for 2 faces"):
        run(source, "-o", tmp_path / "again")
    (source / "0001_A" / "0001_A_2.info").write_text(json.dumps([{"frame_num": 1, "bbox": "?"}] * 2))
    with pytest.raises(InputError, match="no frame and box of four numbers"):
        run(source, "-o", tmp_path / "again")


def test_face_clusters(tmp_path: Path) -> None:
    """FillIn's: the second column is when; every row is somebody else, whatever the film."""
    source = write_arrays(tmp_path / "clusters", columns=6 + 3)
    said = run(source, "--kind", "people", "-o", tmp_path / "streams")
    assert "shares of their clips" in said and "boxes are not known" in said
    face, box = (Features(tmp_path / "streams" / f"{stream}.safetensors") for stream in ("face", "box"))
    raw = [np.load(source / "0001_A" / f"{clip}.npy") for clip in CLIPS[:2]]
    np.testing.assert_allclose(face["0001_A_1"], raw[0][:, 6:])
    np.testing.assert_allclose(box["0001_A_1"][:, 4], raw[0][:, 1], rtol=1e-6)
    assert box["0001_A_1"][:, 5].tolist() == [0, 1, 2] and box["0001_A_2"][:, 5].tolist() == [3, 4]
    frames = write_arrays(tmp_path / "frames", rows=(7, 2, 1))
    run(frames, "-o", tmp_path / "frame.safetensors")
    run(source, "--kind", "people", "--frames", tmp_path / "frame.safetensors", "-o", tmp_path / "scaled")
    np.testing.assert_allclose(Features(tmp_path / "scaled" / "box.safetensors")["0001_A_1"][:, 4], raw[0][:, 1] * 35)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_text_and_genders_by_set(protocol: int, tmp_path: Path, info: Path) -> None:
    folder, chance = tmp_path / "bert", np.random.default_rng(0)
    folder.mkdir()
    train, val = ([chance.normal(size=(4, 6)).astype(np.float32) for _ in range(n)] for n in (2, 1))
    for split, arrays in (("train", train), ("val", val)):
        (folder / f"{split}_embeddings.pkl").write_bytes(pickle.dumps(arrays, protocol))
    assert "1 sets have no blank" in run(folder, "--info", info, "-o", tmp_path / "text.safetensors")
    text = Features(tmp_path / "text.safetensors")
    assert sorted(text) == ["0001_A_1", "0002_B_1"]
    np.testing.assert_array_equal(text["0001_A_1"], train[0][:2])
    np.testing.assert_array_equal(text["0002_B_1"], val[0][:1])
    (tmp_path / "genders.json").write_text(json.dumps({"0001_A_1": ["F", "M"], "0002_B_1": ["G"]}))
    run(tmp_path / "genders.json", "--info", info, "-o", tmp_path / "gender.safetensors")
    gender = Features(tmp_path / "gender.safetensors")
    assert [gender[name].tolist() for name in ("0001_A_1", "0002_B_1")] == [[[1], [0]], [[2]]]


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("executed",)


@pytest.mark.parametrize("thing", [Evil(), [np.zeros((2, 2)), Evil()], np.array([Evil()], object)])
def test_nothing_in_a_pickle_is_executed(thing: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train_embeddings.pkl").write_bytes(pickle.dumps(thing))
    with pytest.raises(InputError, match="no pickle of arrays"):
        load_arrays(tmp_path / "train_embeddings.pkl", "look")
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ([np.zeros((4, 6))], "1 arrays for 2 sets of the split 'train'"),
        ([np.zeros((1, 6))] * 2, "1 rows for 2 blanks"),
        ({"a": 1}, "no arrays for 2 sets"),
        (b"", "no pickle of arrays"),
    ],
)
def test_pickles_that_do_not_fit(content: object, problem: str, tmp_path: Path, info: Path) -> None:
    file = tmp_path / "train_embeddings.pkl"
    file.write_bytes(content if isinstance(content, bytes) else pickle.dumps(content))
    with pytest.raises(FabulaError, match=problem):
        run(file, "--info", info, "-o", tmp_path / "text.safetensors")
    with pytest.raises(FabulaError, match="which --info names"):
        run(file, "-o", tmp_path / "text.safetensors")
    assert not (tmp_path / "text.safetensors").exists()


def test_what_is_not_there(tmp_path: Path, info: Path) -> None:
    for source, words, problem in (
        ("absent", (), "no such file or folder"),
        (".", (), "no FILM/CLIP.npy here"),
        (".", ("--info", info), "--info only applies to text and gender; this is features"),
    ):
        with pytest.raises(FabulaError, match=problem):
            run(tmp_path / source, *words, "-o", tmp_path / "x.safetensors")
    (tmp_path / "a.pkl").write_bytes(b"")
    (tmp_path / "wrong.json").write_text('{"videos": [], "groups": [{"videos": [3]}]}')
    with pytest.raises(FabulaError, match="not the authors' JSON of videos and groups"):
        run(tmp_path / "a.pkl", "--info", tmp_path / "wrong.json", "-o", tmp_path / "x.safetensors")
