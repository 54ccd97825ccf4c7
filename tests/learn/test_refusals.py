"""What models, tasks and readers refuse, each with its words; and the nearest thing that they take."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")
pytest.importorskip("lightning_fabric", reason="training needs fabula[learn]")

from fabula.core.errors import FabulaError, InputError, SpecError  # noqa: E402
from fabula.core.notes import Notes  # noqa: E402
from fabula.learn import raw, soft, text_features  # noqa: E402
from fabula.learn.identity import clips, film, wordpiece  # noqa: E402
from fabula.learn.models import fillin, hero, micap, noise_scorer, pdvc, procnets, qd_detr, reloclnet, xml  # noqa: E402
from fabula.learn.retrieval import bpe, npz, search  # noqa: E402
from fabula.learn.tasks import micap as micap_task  # noqa: E402
from fabula.learn.tasks import noise, vcmr  # noqa: E402
from tests.learn import test_micap, test_pdvc, test_procnets  # noqa: E402


def build(Model, Config, **values):
    with torch.device("meta"):
        return Model(Config.tiny(**values))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: fillin.Config(streams="action,face"), "FillIn takes text, and maybe action, face, with commas"),
        (lambda: fillin.Config(streams="text,sound"), "streams is 'text,sound'"),
        (lambda: fillin.Config(streams="text,action"), "FillIn sees the video only where it looks at faces"),
        (lambda: fillin.Config(hidden=10, heads=4), "hidden is 10; it must be a multiple of heads, 4"),
        (lambda: fillin.Config(gender=True, face_hidden=8), r"gender needs face_hidden \(8\) to be hidden \(512\)"),
        (lambda: micap.Config(streams=""), "streams is ''; use some of"),
        (lambda: micap.Config(streams="text,sound"), "streams is 'text,sound'; use some of"),
        (
            lambda: micap.Config(streams="text"),
            "captioning needs a visual stream, and streams is only text; use task=fitb",
        ),
        (lambda: micap.Config(classifier="separate", task="fitb"), "classifier=separate is for task=joint"),
        (lambda: micap.Config(vocabulary=("a", "b"), words=3), "words is 3, the vocabulary has 2"),
        (lambda: micap.Config(hidden=10, heads=4), "hidden is 10; it must be a multiple of heads, 4"),
        (lambda: build(hero.Model, hero.Config, hidden=10, heads=4), "hidden is 10; it must be a multiple of heads, 4"),
        (lambda: build(hero.Model, hero.Config, vocab_size=2), "a vocabulary of 2 words; ids 0 and 1 are no words"),
        (
            lambda: build(hero.Model, hero.Config, max_clips=101),
            "101 clips or 24 words and CLS do not fit into 100 and 256 positions",
        ),
        (lambda: build(hero.Model, hero.Config, max_words=256), "48 clips or 256 words and CLS do not fit"),
        (
            lambda: build(qd_detr.Model, qd_detr.Config, hidden=6, heads=2),
            "hidden is 6; it must be a multiple of 4 and of heads, 2",
        ),
        (lambda: build(qd_detr.Model, qd_detr.Config, hidden=8, heads=3), "it must be a multiple of 4 and of heads, 3"),
        (lambda: build(qd_detr.Model, qd_detr.Config, projections=0), "projections is 0; there are 1 to 3"),
        (lambda: build(qd_detr.Model, qd_detr.Config, projections=4), "projections is 4; there are 1 to 3"),
        (lambda: build(pdvc.Model, pdvc.Config), "a captioner needs a vocabulary; build one, or use captioner='none'"),
        (
            lambda: build(pdvc.Model, pdvc.Config, proposals="gt", captioner="none"),
            "proposals='gt' trains captions alone",
        ),
        (
            lambda: build(procnets.Model, procnets.Config, anchor_low=4),
            "anchors must be of odd length: anchor_low odd, anchor_step even",
        ),
        (lambda: build(procnets.Model, procnets.Config, pool_frames=7), "do not fill cells of"),
        (lambda: micap_task.PredictOptions(longest=0.0), "longest is 0.0; it is a number of seconds above 0"),
        (lambda: micap_task.AnalyseOptions(data="x", eps=(2.1,)), "a cosine distance is between 0 and 2"),
        (lambda: micap_task.AnalyseOptions(data="x", eps=("a",)), "write numbers with commas"),
        (
            lambda: noise.PredictOptions(data="x", features=("f",), fit=Path("c")),
            "--fit compares true captions with wrong ones; add --disturbed 3",
        ),
        (
            lambda: noise.PredictOptions(data="x", features=("f",), summary=Path("c")),
            "--summary compares true captions",
        ),
        (lambda: vcmr.PredictOptions(**ASK, address="a"), "--address names a Ray cluster; add --engine ray"),
        (lambda: vcmr.PredictOptions(**ASK, engine="ray", processes=2), "--processes has no effect with --engine ray"),
        (lambda: vcmr.PredictOptions(**ASK, resume=True), "add --work FOLDER"),
        (lambda: vcmr.PredictOptions(**ASK, processes=2), "need a folder for the parts"),
        (
            lambda: text_features.TextOptions(**TEXT, granularity="both", by="id"),
            "a query has several texts, an id has one: add --by text",
        ),
        (
            lambda: text_features.TextOptions(**TEXT, by="text", each="text", layer=3),
            "--layer chooses the layer of words",
        ),
    ],
)
def test_settings_that_do_not_go_together(make, told):
    with pytest.raises(FabulaError, match=told):
        make()


ASK = {"features": ("f",), "data": Path("q")}
TEXT = {"model": "roberta", "out": Path("o")}


def test_settings_that_just_go():
    assert (
        fillin.Config(gender=True, face_hidden=512).gender and micap.Config(streams="text", task="fitb").task == "fitb"
    )
    assert (
        micap_task.AnalyseOptions(data="x", eps=(0.0, 2.0)).eps == (0.0, 2.0)
        and micap_task.AnalyseOptions(data="x").eps == micap_task.EPS
    )
    assert (
        micap_task.AnalyseOptions(data="x", eps="0.5").eps == (0.5,) and micap_task.AnalyseOptions(data="x").most == 3
    )
    assert build(qd_detr.Model, qd_detr.Config, projections=3) and build(
        hero.Model, hero.Config, max_clips=100, vocab_size=3
    )
    assert test_procnets.TINY.anchor_low % 2 and test_pdvc.TINY.vocabulary and test_micap.SMALL.heads == 2


def test_films_and_videos_of_one_name():
    paths = [Path("a/x.mp4"), Path("b/x.mkv")]
    with pytest.raises(InputError, match="2 videos have this name; rename them, or predict one at a time"):
        raw.RawVideos(paths, {"extractor": "x"}, None)
    with pytest.raises(InputError, match="2 films have this name; rename them"):
        film.read_films(paths, {}, ["face"], notes=Notes())
    with pytest.raises(SpecError, match="the run does not say how its face features were made"):
        film.read_films(paths[:1], {}, ["text", "face"], notes=Notes())


def test_folders_of_streams(tmp_path):
    with pytest.raises(InputError, match="no such folder of streams; a folder with a store per stream"):
        clips.Streams(tmp_path / "none")
    with pytest.raises(InputError, match="no stream in this folder; there should be"):
        clips.Streams(tmp_path)
    (tmp_path / "face.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="faces and boxes go together, and there is one of the two; write both"):
        clips.Streams(tmp_path)


def test_vocabularies_of_pieces(tmp_path):
    path = tmp_path / "vocab.txt"
    for text, told in (
        ("[SEP]\na\n", r"no line \[UNK\]"),
        ("[UNK]\n", r"no line \[SEP\]"),
        ("[UNK]\n[SEP]\na\na\n", "a piece is there twice"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=f"not a WordPiece vocabulary: {told}; it is BERT's vocab.txt"):
            wordpiece.read_pieces(path)
    path.write_text("[UNK]\n[SEP]\na\n")
    assert wordpiece.read_pieces(path) == ("[UNK]", "[SEP]", "a")
    with pytest.raises(
        InputError, match="the model has no vocabulary, so it cannot read captions; train with captions"
    ):
        wordpiece.Pieces(SimpleNamespace(vocabulary=()))


def test_tokens_of_roberta(tmp_path):
    with pytest.raises(InputError, match="no such file; name a folder that holds"):
        bpe.Tokens(tmp_path)
    (tmp_path / "merges.txt").write_text("#version: 0.2\nd o\n")
    for words, told in (
        ({"a": "b"}, "no vocabulary: it should map tokens to their numbers"),
        ([], "no vocabulary"),
        ({"<s>": 1, "<pad>": 0}, "its <s> and <pad> are not 0 and 1"),
    ):
        (tmp_path / "vocab.json").write_text(json.dumps(words))
        with pytest.raises(InputError, match=told):
            bpe.Tokens(tmp_path)


def test_folders_of_arrays(tmp_path):
    with pytest.raises(InputError, match=r"no .npz files here; name a folder of .npz, one per video or query"):
        npz.NpzFeatures(tmp_path)
    np.savez(tmp_path / "v.npz", features=np.ones((3, 2), np.float32))
    np.savez(tmp_path / "w.npz", other=np.ones((3, 2), np.float32))
    store = npz.NpzFeatures(tmp_path)
    assert store["v"].shape == (3, 2) and store.dim == 2 and list(store) == ["v", "w"] and len(store) == 2
    with pytest.raises(InputError, match="no features of this; the folder has 2, the first is 'v'"):
        store["x"]
    with pytest.raises(InputError, match="it holds other, not features or last_hidden_state"):
        store["w"]
    assert npz.NpzFeatures(tmp_path, "other")["w"].shape == (3, 2)


def test_a_mask_is_for_a_batch():
    with pytest.raises(FabulaError, match="mask is for a batch"):
        soft.soft_ordered(torch.zeros(2, 2), ([1], [1]))
    assert soft.soft_ordered(torch.zeros(2, 2)).shape == ()


def test_nothing_to_search():
    model = SimpleNamespace(config=SimpleNamespace(max_clips=4, max_length=2))
    with pytest.raises(SpecError, match="no video to search"):
        search.encode_corpus(model, [])


@pytest.mark.parametrize("module", [fillin, hero, micap, noise_scorer, pdvc, qd_detr, reloclnet, xml])
def test_no_heads_are_refused(module):
    with pytest.raises(SpecError, match=r"hidden is \d+; it must be a multiple of .*heads, 0"):
        build(module.Model, module.Config, heads=0, **({"captioner": "none"} if module is pdvc else {}))
