"""Blanks as BERT reads them: `fabula features blanks` against the published helper's numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

for module in ("safetensors", "tokenizers"):
    pytest.importorskip(module, reason="an encoder of sentences needs fabula[neural]")
import tokenizers  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402

from fabula.core.errors import FabulaError, InputError  # noqa: E402
from fabula.learn.identity.blank_features import BlankReader  # noqa: E402
from fabula.media.stores.features import Features  # noqa: E402
from fabula.verbs.command_line import fabula as command  # noqa: E402

CASE = Path(__file__).parents[2].parent / "shared" / "spec" / "vectors-models" / "fillin" / "case_a"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"the man open ##s a door looks at . , '".split(), "s"]  # noqa: SIM905


def write_encoder(folder: Path, words: list[str], weights: dict[str, np.ndarray], **config: int | float) -> Path:
    """A folder as model hubs lay it out."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", **config}))
    save_file(weights, folder / "model.safetensors")
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizers.BertWordPieceTokenizer(vocab=vocabulary, lowercase=True).save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer with weights drawn at random."""
    chance, C, F = np.random.default_rng(0), 8, 12
    shapes = {
        "embeddings.word_embeddings": (len(WORDS), C), "embeddings.position_embeddings": (60, C),
        "embeddings.token_type_embeddings": (2, C), "embeddings.LayerNorm": (C,),
    }  # fmt: skip
    at = "encoder.layer.0"
    for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
        shapes[f"{at}.{name}"] = C, C
    shapes |= {f"{at}.intermediate.dense": (F, C), f"{at}.output.dense": (C, F)}
    shapes |= {f"{at}.attention.output.LayerNorm": (C,), f"{at}.output.LayerNorm": (C,)}
    weights = {
        f"{name}.weight": (chance.normal(size=shape) * 0.5 + ("Norm" in name)).astype(np.float32)
        for name, shape in shapes.items()
    }
    weights |= {f"{n}.bias": np.zeros(s[0], np.float32) for n, s in shapes.items() if "embeddings.w" not in n}
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": C, "max_position_embeddings": 60}
    return write_encoder(tmp_path_factory.mktemp("bert") / "small", WORDS, weights, **sizes)


@pytest.mark.skipif(not CASE.is_dir(), reason=f"the published helper's numbers are absent from {CASE}")
def test_the_published_helpers_vectors(tmp_path: Path) -> None:
    """Three paragraphs of which the second has no blank: in order, and with the published counter's mistake."""
    about, outputs = json.loads((CASE / "bert.json").read_text()), load_file(CASE / "bert_outputs.safetensors")
    reader = BlankReader(str(
        write_encoder(tmp_path / "bert", about["vocab"], load_file(CASE / "bert_params.safetensors"), **about["config"])
    ))  # fmt: skip
    sentences, paragraphs = iter(about["sents"]), []
    for count in about["sent_num"]:
        paragraphs.append(reader.paragraph([next(sentences) for _ in range(count)]))
    for paragraph, ids, mask in zip(paragraphs, outputs["input_ids"], outputs["attention_mask"], strict=True):
        assert paragraph.tokens == ids[mask > 0].astype(int).tolist()
    for counter, name in (("corrected", "character_embedding_in_order"), ("published", "character_embedding")):
        for rows, wanted in zip(reader.vectors(paragraphs, counter), outputs[name], strict=True):
            np.testing.assert_allclose(rows, wanted[: len(rows)], atol=1e-5)
            assert not wanted[len(rows) :].any()


def test_a_blank_is_a_mask_whoever_it_is(small: Path) -> None:
    reader = BlankReader(str(small))
    written = [["P3 opens a door.", "The man looks at P1."], ["[...] opens a door.", "the MAN looks at SOMEONE."]]
    first, second = (reader.paragraph(captions) for captions in written)
    assert first == second and [first.tokens[k] for k in first.blanks] == [reader.mask] * 2
    assert first.tokens[0] == reader.first and first.tokens[-1] == reader.last
    (rows,) = reader.vectors([first])
    assert rows.shape == (2, 16) and (rows[0, :8] == rows[1, :8]).all() and (rows[0, 8:] != rows[1, 8:]).any()
    with pytest.raises(InputError, match="captionset 'long': 62 tokens; the encoder reads 60"):
        reader.paragraph(["the " * 60], "long")


def test_the_store_by_command(small: Path, tmp_path: Path) -> None:
    """Captionsets and lines of clips; a set without a blank has no entry."""
    sets = [
        {"id": "a", "captions": ["P1 opens a door.", "P2 looks at P1."], "clips": ["a", "b"]},
        {"id": "c", "captions": ["The man opens a door."], "clips": ["c"]},
    ]
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "val.jsonl").write_text("".join(json.dumps(one) + "\n" for one in sets))
    (tmp_path / "lines.csv").write_text("f_1\t[...] opens a door.\nf_2\tThe man looks at [...].\n")
    out = tmp_path / "text.safetensors"
    said = CliRunner().invoke(
        command,
        [
            "features",
            "blanks",
            f"{tmp_path / 'sets'}",
            str(tmp_path / "lines.csv"),
            "--model",
            str(small),
            "-o",
            str(out),
        ],
    )
    assert said.exit_code == 0 and "5 blanks of 2 captionsets" in said.output, said.output
    store = Features(out)
    assert {name: store[name].shape for name in store} == {"a": (3, 16), "f_1": (2, 16)}
    assert store.recipe is not None and store.recipe["counter"] == "corrected" and len(store.recipe["weights"]) == 8
    again = CliRunner().invoke(
        command, ["features", "blanks", str(tmp_path / "lines.csv"), "--model", str(small), "-o", str(out)]
    )
    assert isinstance(again.exception, FabulaError) and "exists" in str(again.exception)


@pytest.mark.parametrize(
    ("lines", "model", "problem"),
    [
        ('{"id": "a", "blanks": [["P1"]]}', None, "no captions"),
        ('{"id": "a", "captions": ["P1 runs."]}', "absent", "no such folder"),
    ],
)
def test_what_has_no_blanks(small: Path, lines: str, model: str | None, problem: str, tmp_path: Path) -> None:
    (tmp_path / "sets.jsonl").write_text(lines + "\n")
    words = [
        "features",
        "blanks",
        str(tmp_path / "sets.jsonl"),
        "--model",
        model or str(small),
        "-o",
        str(tmp_path / "t.h5"),
    ]
    said = CliRunner().invoke(command, words)
    assert isinstance(said.exception, FabulaError) and problem in str(said.exception)
    assert not (tmp_path / "t.h5").exists()


# --- genders ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def gendered(tmp_path: Path) -> Path:
    """Captions in which the door says who opens it."""
    folder = tmp_path / "sets"
    folder.mkdir()
    lines, letters = [], {}
    for k in range(24):
        man = k % 2
        text = "P1 opens a door." if man else "P1 looks at the man."
        lines.append(json.dumps({"id": f"s{k}", "captions": [text, "The man."], "clips": [f"c{k}", f"d{k}"]}) + "\n")
        letters[f"c{k}"] = ["M" if man else "F"]
    (folder / "train.jsonl").write_text("".join(lines))
    (folder / "val.jsonl").write_text("".join(lines[:4]))
    (tmp_path / "genders.json").write_text(json.dumps(letters))
    return folder


def test_the_trained_encoder_is_the_same_arithmetic(small: Path) -> None:
    torch = pytest.importorskip("torch", reason="tuning needs fabula[learn]")
    from fabula.learn.identity.genders import Bert, Example, make_batch

    reader = BlankReader(str(small))
    texts = [["P3 opens a door.", "The man looks at P1."], ["P1."]]
    examples = [Example(p, (0,) * len(p.blanks)) for p in map(reader.paragraph, texts)]
    model = Bert(reader.encoder.shape, reader.encoder.weights, 3).eval()
    (tokens, real, rows, columns), _ = make_batch(examples, torch.device("cpu"))
    with torch.inference_mode():
        hidden = model.encode(tokens, real)
    first = np.array([0, 0, 1])
    ours = torch.cat([hidden[first, 0], hidden[rows, columns]], 1).numpy()
    np.testing.assert_allclose(ours, np.concatenate(reader.vectors([e.paragraph for e in examples])), atol=1e-5)


def test_genders_are_learned(small: Path, gendered: Path, tmp_path: Path) -> None:
    """The tuned folder is an encoder, other than before, and tells all genders; the same seed gives the same bytes."""
    pytest.importorskip("torch", reason="tuning needs fabula[learn]")
    words = ["features", "tune", str(gendered), "--genders", str(tmp_path / "genders.json"), "--model", str(small)]
    words += ["--epochs", "8", "--batch", "8", "--lr", "0.03", "--device", "cpu"]
    for name in ("tuned", "again"):
        said = CliRunner().invoke(command, [*words, "-o", str(tmp_path / name)])
        assert said.exit_code == 0, said.output
        assert "epoch 8: " in said.output and "100.00 % of val" in said.output
    for file in ("model.safetensors", "gender.safetensors"):
        assert (tmp_path / "tuned" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    captions = ["P1 opens a door."]
    before, after = (BlankReader(str(folder)) for folder in (small, tmp_path / "tuned"))
    assert before.paragraph(captions) == after.paragraph(captions)
    assert (
        np.abs(before.vectors([before.paragraph(captions)])[0] - after.vectors([after.paragraph(captions)])[0]).max()
        > 0.1
    )
    said = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "tuned")])
    assert isinstance(said.exception, InputError) and "exists already" in str(said.exception)
    (tmp_path / "genders.json").write_text('{"c0": ["M", "F"]}')
    said = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "new")])
    assert isinstance(said.exception, InputError) and "for 1 blanks" in str(said.exception)
    assert not (tmp_path / "new").exists()
