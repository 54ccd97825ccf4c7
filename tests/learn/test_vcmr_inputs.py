"""What `train vcmr`, `predict vcmr` and `fabula.moments` are given: one line and exit 2 where it cannot be used;
RoBERTa's tokens, QVHighlights' preset and protocol, and a film that is longer than any window."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

import fabula  # noqa: E402
from fabula.core.errors import FabulaError, InputError, SpecError  # noqa: E402
from fabula.data.moments import Moment, Query  # noqa: E402
from fabula.learn import checkpoint  # noqa: E402
from fabula.learn.models import hero, procnets, qd_detr, xml  # noqa: E402
from fabula.learn.retrieval.bpe import Tokens  # noqa: E402
from fabula.learn.retrieval.data import Words  # noqa: E402
from fabula.learn.retrieval.highlights import draw_windows  # noqa: E402
from fabula.learn.retrieval.search import cut_windows, overlap_of  # noqa: E402
from fabula.match.nms import nms  # noqa: E402
from fabula.media.stores.features import write_features  # noqa: E402
from fabula.verbs.command_line import main  # noqa: E402

DIM = 8
RECIPE = {"extractor": "toy", "fps": 1.0}


def row(i: int, text: str, **more: Any) -> dict[str, Any]:
    told = {"desc_id": i, "video": f"v{i % 4}", "duration": 20.0, "time": [2.0, 8.0], "cog_desc": text}
    return {**told, "fig_desc": text, **more}


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def write_store(path: Path, dim: int = DIM, videos: int = 4, recipe: Any = RECIPE) -> Path:
    rng = np.random.default_rng(0)
    items = [(f"v{i}", rng.standard_normal((20, dim)).astype(np.float32)) for i in range(videos)]
    write_features(path, items, {} if recipe is None else {"recipe": recipe})
    return path


def write_run(path: Path, model: Any, about: Any = None) -> Path:
    weights = {f"model.{n}": t for n, t in model.state_dict().items()}
    told = {"task": "vcmr", "recipe": RECIPE} if about is None else about
    checkpoint.write(path, weights, checkpoint.header_of(model, about=told))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    write_rows(folder / "good.jsonl", [row(i, f"a man opens door {i}") for i in range(8)])
    write_rows(folder / "wordless.jsonl", [row(0, "a man"), row(1, "?! …")])
    write_rows(folder / "empty.jsonl", [row(0, "a man"), row(1, "")])
    write_rows(folder / "stranger.jsonl", [row(0, "a man", video="nobody")])
    write_rows(folder / "long.jsonl", [row(i, "dog " * 10_000) for i in range(4)])
    write_store(folder / "clips.safetensors")
    write_store(folder / "wide.safetensors", DIM + 3)
    write_store(folder / "other.safetensors", recipe={**RECIPE, "fps": 4.0})
    write_store(folder / "silent.safetensors", recipe=None)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"feature_dim": DIM, "hidden": 16, "heads": 2, "max_words": 8, "query_dim": 16}
    write_run(folder / "xml.safetensors", xml.Model(xml.Config.tiny(**sizes, max_clips=12, words="hashing")))
    made = qd_detr.Config.tiny(**sizes, clip=1.0, max_clips=12, overlap=4, words="hashing")
    write_run(folder / "qd_detr.safetensors", qd_detr.Model(made))
    write_run(folder / "procnets.safetensors", procnets.Model(procnets.Config.tiny(feature_dim=DIM)), {"task": "pss"})
    return folder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[list[str]], tuple[int, str]]:
    """`fabula …` as a user runs it: its exit code, and what it says."""

    def run(words: list[str]) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["fabula", *words])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        return code, capfd.readouterr().err

    return run


def refused(run: Any, words: list[str], says: str) -> None:
    code, told = run(words)
    assert code == 2 and "Traceback" not in told, told
    assert re.search(says, told.strip().splitlines()[-1]), told


def asked(folder: Path, data: str = "good.jsonl", store: str = "clips.safetensors") -> list[str]:
    return ["--data", str(folder / data), "--features", str(folder / store)]


BAD: list[tuple[dict[str, str], str]] = [
    ({"data": "wordless.jsonl"}, "without words"),
    ({"data": "empty.jsonl"}, "without words|no caption|empty"),
    ({"data": "stranger.jsonl"}, "no features of this video"),
    ({"data": "nowhere.jsonl"}, "nowhere.jsonl"),
    ({"store": "nowhere.h5"}, "nowhere.h5"),
]


@pytest.mark.parametrize(("given", "says"), BAD)
@pytest.mark.parametrize("verb", ["train", "predict"])
def test_one_line_and_exit_2(
    run: Any, folder: Path, tmp_path: Path, verb: str, given: dict[str, str], says: str
) -> None:
    out = tmp_path / "out"
    words = ["predict", "vcmr", str(folder / "xml.safetensors"), *asked(folder, **given), "-o", str(out)]
    if verb == "train":
        words = ["train", "vcmr", *asked(folder, **given), "--tiny", "--epochs", "1", "-o", str(out)]
    refused(run, words, says)
    assert not out.exists()


@pytest.mark.parametrize(
    ("model", "given", "more", "says"),
    [
        ("xml", {"store": "wide.safetensors"}, [], "11 channels; the model takes 8"),
        ("xml", {"store": "other.safetensors"}, [], "another way than the run's: fps"),
        ("xml", {"store": "silent.safetensors"}, [], "cannot be compared"),
        ("procnets", {}, [], "a model of the task 'pss'"),
        ("qd_detr", {}, ["--protocol", "tvr"], "search a corpus"),
        ("xml", {}, ["--form", "csv"], "csv"),
        ("xml", {}, ["--tokenizer", "nowhere"], "vocab.json"),
    ],
)
def test_what_a_question_refuses(
    run: Any, folder: Path, tmp_path: Path, model: str, given: dict[str, str], more: list[str], says: str
) -> None:
    out = tmp_path / "out.json"
    words = ["predict", "vcmr", str(folder / f"{model}.safetensors"), *asked(folder, **given), "-o", str(out), *more]
    refused(run, words, says)
    assert not out.exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--from", "xml.safetensors", "--model", "hero"], "weights of the model 'xml'"),
        (["--preset", "qvhighlights", "--model", "xml"], "is for the model qd_detr"),
        (["--protocol", "qvhighlights"], "compat_mixed_masks"),
        (["--tokenizer", "."], "vocab.json"),
        (["--model", "pdvc"], "finds no moments"),
    ],
)
def test_what_a_training_refuses(run: Any, folder: Path, tmp_path: Path, more: list[str], says: str) -> None:
    more = [str(folder / word) if word.endswith(".safetensors") else word for word in more]
    refused(run, ["train", "vcmr", *asked(folder), "--epochs", "1", "-o", str(tmp_path / "run"), "--tiny", *more], says)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_ten_thousand_words_are_cut_and_counted(run: Any, folder: Path, tmp_path: Path, verb: str) -> None:
    words = ["predict", "vcmr", str(folder / "xml.safetensors"), *asked(folder, "long.jsonl"), "-o"]
    if verb == "train":
        words = ["train", "vcmr", *asked(folder, "long.jsonl"), "--tiny", "--epochs", "1", "--set", "max_words=8", "-o"]
    code, told = run([*words, str(tmp_path / "out"), "--device", "cpu"])
    assert code == 0 and "4 queries have more than 8 words; the first 8 are read" in told
    m = fabula.moments(folder / "xml.safetensors")
    film = m.encode(np.ones((20, DIM), np.float32), "film")
    assert m.find(film, "dog " * 10_000) == m.find(film, "dog " * 8)
    assert "more than 8 words" in m.notes.lines()[0]


def test_what_a_finder_refuses(folder: Path, tmp_path: Path) -> None:
    m = fabula.moments(folder / "xml.safetensors")
    film = m.encode(np.ones((20, DIM), np.float32), "film")
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: m.find(film, ""), "without words"),
        (lambda: m.find(film, ["a dog", "…"]), "without words"),
        (lambda: m.encode(np.ones((20, 5)), "film"), "5 channels; the model takes 8"),
        (lambda: m.encode(np.zeros((0, DIM)), "film"), "length 0"),
        (lambda: m.encode(np.full((3, DIM), np.nan), "film"), "finite|nan|NaN"),
        (lambda: m.encode("film.mp4"), "reads features"),
        (lambda: m.encode_all(fabula.media.stores.features.Features(folder / "other.safetensors")), "fps"),  # type: ignore[attr-defined]
        (lambda: fabula.moments(folder / "qd_detr.safetensors"), "searches no corpus"),
        (lambda: fabula.moments(folder / "procnets.safetensors"), "searches no corpus"),
        (lambda: fabula.moments(folder / "nowhere"), "no such run or checkpoint"),
        (lambda: fabula.moments(folder / "xml.safetensors", extract="thumbnail(fps=1)"), "another way"),
        (lambda: fabula.moments(folder / "xml.safetensors", tokenizer=tmp_path), "vocab.json"),
    ]
    for call, says in cases:
        with pytest.raises(FabulaError, match=says) as caught:
            call()
        assert "\n" not in str(caught.value)


# -- RoBERTa's tokens -------------------------------------------------------------------------------------------------


def write_tokens(folder: Path) -> Path:
    """A small byte-level vocabulary of RoBERTa's kind."""
    folder.mkdir(exist_ok=True)
    merges = ["m a", "ma n", "Ġ o", "Ġo p", "e n", "Ġop en"]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *"amnopesADG", "Ġ", "ma", "man", "Ġo", "Ġop", "en", "Ġopen"]
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    return folder


def test_tokens_are_those_of_the_files(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="RoBERTa's tokens need fabula[learn]")
    tokens = Tokens(write_tokens(tmp_path / "roberta"))
    ids = json.loads((tmp_path / "roberta" / "vocab.json").read_text())
    assert tokens("man opens") == [ids["man"], ids["Ġopen"], ids["s"]]  # no space before the first word
    assert tokens("MAN") == tokens("man") != tokens("mAn")  # capitals alone are read small
    with pytest.raises(InputError, match="merges"):
        (tmp_path / "roberta" / "merges.txt").write_text("#version: 0.2\nx y\n")
        Tokens(tmp_path / "roberta")
    with pytest.raises(InputError, match="<s> and <pad>"):
        (tmp_path / "roberta" / "vocab.json").write_text('{"a": 0}')
        Tokens(tmp_path / "roberta")


def test_hero_is_trained_and_asked_with_them(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="RoBERTa's tokens need fabula[learn]")
    given: dict[str, Any] = {
        "data": folder / "good.jsonl", "features": (str(folder / "clips.safetensors"),), "device": "cpu",
    }  # fmt: skip
    tokens = write_tokens(tmp_path / "roberta")
    small = {"hidden": 16, "heads": 2, "max_clips": 24, "feedforward": 16, "vocab_size": 10}
    fabula.train("vcmr", **given, model="hero", tiny=True, tokenizer=tokens, out=tmp_path / "run", set_=small, epochs=1)
    model, _ = checkpoint.load_model(tmp_path / "run")
    assert model.config.vocabulary == () and model.config.vocab_size == 21
    words = Words(model.config, tokens=Tokens(tokens))
    assert words(Query(0, "v", ((0.0, 1.0),), None, "man opens")).tolist() == Tokens(tokens)("man opens")
    with pytest.raises(SpecError, match="--tokenizer"):
        fabula.predict("vcmr", tmp_path / "run", **given)
    found = fabula.predict("vcmr", tmp_path / "run", **given, tokenizer=tokens)
    m = fabula.moments(tmp_path / "run", tokenizer=tokens)
    one = m.find(m.encode(np.ones((20, DIM), np.float32), "film"), "man opens")
    assert len(found.answers) == 8 and one
    with pytest.raises(InputError, match="other tokens than the run's"):
        more = write_tokens(tmp_path / "more")
        (more / "merges.txt").write_text("#version: 0.2\nm a\n")
        fabula.predict("vcmr", tmp_path / "run", **given, tokenizer=more)
    with pytest.raises(SpecError, match="its own vocabulary"):
        Words(hero.Config.tiny(vocabulary=("<s>", "<pad>", "man", "<unk>")), tokens=Tokens(tokens))


# -- QVHighlights -----------------------------------------------------------------------------------------------------


def test_windows_are_drawn_where_the_config_says_so() -> None:
    windows = torch.arange(14.0).view(7, 2)
    assert draw_windows(windows, None) is windows and draw_windows(windows[:5], 5) is not None
    torch.manual_seed(0)
    seen: set[float] = set()
    for _ in range(50):
        some = draw_windows(windows, 5)
        assert len(some) == 5 and (some[1:, 0] > some[:-1, 0]).all()
        seen |= set(some[:, 0].tolist())
    assert seen == set(windows[:, 0].tolist())


def test_preset_and_protocol_qvhighlights(folder: Path, tmp_path: Path) -> None:
    lines = [
        {"qid": i, "query": "a man opens the door", "vid": f"v{i % 4}", "duration": 40, "relevant_windows": [[4, 12]],
         "relevant_clip_ids": [2, 3, 4, 5], "saliency_scores": [[1, 2, 3]] * 4} for i in range(8)
    ]  # fmt: skip
    data = write_rows(tmp_path / "highlight_train.jsonl", lines)
    given: dict[str, Any] = {"data": data, "features": (str(folder / "clips.safetensors"),), "device": "cpu"}
    small = {"hidden": 16, "heads": 2, "feedforward": 16, "query_dim": 16}
    out = tmp_path / "run"
    fabula.train(
        "vcmr", **given, tiny=True, preset="qvhighlights", protocol="qvhighlights", set_=small, epochs=1, out=out
    )
    config = checkpoint.load_model(out)[0].config
    assert (config.clip, config.max_clips, config.most_windows, config.rivals) == (2.0, 75, 5, "all")
    assert config.compat_mixed_masks and config.rounding == "published"
    given["rate"] = 1.0  # the toy has clips of 1 s
    fabula.predict("vcmr", folder / "qd_detr.safetensors", tmp_path / "own.jsonl", **given, form="qvhighlights")
    fabula.predict("vcmr", folder / "qd_detr.safetensors", tmp_path / "theirs.jsonl", **given, protocol="qvhighlights")
    own, theirs = (
        [json.loads(x) for x in (tmp_path / n).read_text().splitlines()] for n in ("own.jsonl", "theirs.jsonl")
    )
    spans = np.array([w[:2] for line in theirs for w in line["pred_relevant_windows"]])
    assert (spans == np.round(spans)).all()  # whole clips
    assert any(w[0] != round(w[0]) for line in own for w in line["pred_relevant_windows"])
    scored = fabula.score(tmp_path / "theirs.jsonl", data, protocol="qvhighlights")
    assert scored.metrics


# -- a film longer than any window ------------------------------------------------------------------------------------


def test_a_films_moments_are_those_of_its_windows_as_files(tmp_path: Path) -> None:
    """Files that are the film's windows, cut without encoding anew; `bench/moments_hour.py` does it for an hour."""
    above = (p / "shared" / "data" / "videos" / "charades.mp4" for p in Path(__file__).resolve().parents)
    source = next((p for p in above if p.is_file()), None)
    if source is None:
        pytest.skip("../shared/data/videos is not here: a real video is wanted")
    av = pytest.importorskip("av", reason="videos are read with PyAV")
    fps, seconds = 2, 54
    with av.open(str(source)) as video:
        pictures = [f.reformat(64, 48, "rgb24").to_ndarray() for f in video.decode(video=0)]
    with av.open(str(tmp_path / "film.avi"), "w") as film:
        stream = film.add_stream("mjpeg", rate=fps)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        for i in range(seconds * fps):
            dark = 1 - 0.004 * i  # no two stretches are alike
            frame = av.VideoFrame.from_ndarray((pictures[7 * i % len(pictures)] * dark).astype(np.uint8), "rgb24")
            frame.pts, frame.time_base = i, Fraction(1, fps)
            film.mux(stream.encode(frame))
        film.mux(stream.encode())
    spec = "thumbnail(fps=1)"
    dim = fabula.media.extractor(spec).dim  # type: ignore[attr-defined]
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden": 16, "heads": 2, "query_dim": 16, "max_clips": 20, "max_length": 6}
    model = xml.Model(xml.Config.tiny(feature_dim=dim, words="hashing", **sizes))
    with torch.no_grad():
        for p in model.parameters():
            p += 0.3 * torch.randn_like(p)
    m = fabula.moments(write_run(tmp_path / "xml.safetensors", model, {"task": "vcmr"}), extract=spec)
    film = m.encode(tmp_path / "film.avi")
    found = m.find(film, "a man opens the door", top=50)
    windows = cut_windows(seconds, m.config.max_clips, overlap_of(m.config))
    assert len(film.rows) == len(windows) == 4
    whole, m.decoding = m.decoding, replace(m.decoding, nms=None)
    every: list[Moment] = []
    for start, end in windows:
        cut(av, tmp_path / "film.avi", tmp_path / f"{start}.avi", start * fps, end * fps, fps)
        alone = m.find(m.encode(tmp_path / f"{start}.avi"), "a man opens the door", top=200)
        every += [Moment(x.start + start, x.end + start, "film", x.score) for x in alone]
    every = sorted(every, key=lambda x: -(x.score or 0))[:200]
    spans, scores = np.array([(x.start, x.end) for x in every]), np.array([x.score for x in every])
    kept = nms(spans, scores, whole.nms, top=50)
    assert len(kept) == len(found) > 10
    np.testing.assert_allclose([(x.start, x.end) for x in found], spans[kept])
    np.testing.assert_allclose([x.score for x in found], scores[kept], rtol=1e-4)


def cut(av: Any, path: Path, out: Path, first: int, end: int, fps: int) -> None:
    """Some frames of a film whose frames are all key frames, as they are."""
    with av.open(str(path)) as film, av.open(str(out), "w") as part:
        source = film.streams.video[0]
        target = part.add_stream_from_template(source)
        for i, packet in enumerate(p for p in film.demux(source) if p.size):
            if first <= i < end:
                packet.pts = packet.dts = i - first
                packet.time_base, packet.stream = Fraction(1, fps), target
                part.mux(packet)
