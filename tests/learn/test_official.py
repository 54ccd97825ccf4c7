"""Published weights: what is read, what is refused, and that nothing of a file is executed."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="training needs fabula[learn]")

from fabula.core.errors import InputError, SpecError  # noqa: E402
from fabula.learn.models.pdvc import Config, Model  # noqa: E402
from fabula.learn.official import PDVC, load_official, read_sizes, read_vocabulary, translate  # noqa: E402

WORDS = ("stir", "pour", "cut", "the", "<unk>")
TINY = Config.tiny(feature_dim=6, frames=24, hidden=16, heads=2, norm_groups=4, feedforward=16, queries=7, rnn=8,
                   word_dim=8, vocabulary=WORDS, max_words=6, captioner="standard")  # fmt: skip
BACK = {  # ours → official, written down apart from the table: what the README of the vectors says
    "pyramid.duration.": "base_encoder.pos_embed.duration_embed_layer.", "pyramid.level": "transformer.level_embed",
    "reference.": "transformer.reference_points.", "queries.": "query_embed.",
    "captioner.words.": "caption_head.0.embed.",
    "captioner.out.": "caption_head.0.logit.", "captioner.lstm.": "caption_head.0.core.rnn.",
    "captioner.clip.offset.": "caption_head.0.core.deformable_att.sampling_offsets.",
    "captioner.clip.value.": "caption_head.0.core.deformable_att.value_proj.",
    "captioner.from_clip.": "caption_head.0.core.ctx2att.", "captioner.from_state.": "caption_head.0.core.h2att.",
    "captioner.energy.": "caption_head.0.core.alpha_net.",
}  # fmt: skip
INNER = {"attention.offset": "self_attn.sampling_offsets", "attention.weight": "self_attn.attention_weights",
         "attention.value": "self_attn.value_proj", "attention.out": "self_attn.output_proj", "ffn.up": "linear1",
         "ffn.down": "linear2", "norm": "norm1", "ffn.norm": "norm2"}  # fmt: skip
CROSS = {"cross.offset": "cross_attn.sampling_offsets", "cross.weight": "cross_attn.attention_weights",
         "cross.value": "cross_attn.value_proj", "cross.out": "cross_attn.output_proj", "ffn.up": "linear1",
         "ffn.down": "linear2", "norm1": "norm2", "norm2": "norm1", "ffn.norm": "norm3"}  # fmt: skip


def official_name(name: str) -> str:
    for ours, theirs in BACK.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    head, n, *rest = name.split(".")
    tail, leaf = ".".join(rest[:-1]), rest[-1]
    if head == "pyramid":
        return f"base_encoder.input_proj.{rest[0]}.{0 if n == 'convs' else 1}.{leaf}"
    if head == "encoder":
        return f"transformer.encoder.layers.{n}.{INNER[tail]}.{leaf}"
    if head == "decoder":
        tail = CROSS.get(tail) or tail.replace("attention", "self_attn")
        return f"transformer.decoder.layers.{n}.{tail}.{leaf}"
    if head == "box_heads":
        return f"bbox_head.{n}.layers.{int(tail) // 2}.{leaf}"
    return f"{head.removesuffix('s')}.{n}.{leaf}"


def official_state(model: Model) -> dict[str, torch.Tensor]:
    """As PDVC saves it: with aliases and layers that nobody reads."""
    state = {official_name(name): t.clone() for name, t in model.state_dict().items()}
    state |= {f"transformer.decoder.{n}": t for n, t in state.items() if n.startswith("bbox_head")}
    state |= {n.replace("head.0", "head.1"): t for n, t in state.items() if n.startswith("caption_head.0")}
    for i in range(2):
        state[f"caption_head.{i}.core.deformable_att.output_proj.weight"] = torch.randn(16, 16)
    D = model.config.hidden
    state |= {"transformer.pos_trans.weight": torch.randn(2 * D, D), "transformer.pos_trans.bias": torch.randn(2 * D)}
    state |= {f"transformer.pos_trans_norm.{x}": torch.randn(2 * D) for x in ("weight", "bias")}
    return state


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    made = Model(TINY)
    for p in made.parameters():
        p.data.normal_()
    return made


@pytest.mark.parametrize("form", ["whole", "bare", "parallel"])
def test_official_weights_are_ours(model, form, tmp_path):
    state = official_state(model)
    document = {"whole": {"epoch": 7, "model": state, "optimizer": {"state": {}}}, "bare": state,
                "parallel": {"model": {f"module.{n}": t for n, t in state.items()}}}[form]  # fmt: skip
    torch.save(document, tmp_path / "model-best.pth")
    weights, found = load_official(tmp_path / "model-best.pth", TINY)
    other = Model(TINY)
    other.load_state_dict(weights)
    for (name, a), b in zip(model.state_dict().items(), other.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    assert found.epoch == (7 if form == "whole" else None) and found.loaded == len(weights)
    assert "transformer.pos_trans.weight" in found.unused and "caption_head.1.embed.weight" in found.unused


def test_the_encoder_alone_fits_another_decoder(model, tmp_path):
    torch.save(official_state(model), tmp_path / "a.pth")
    config = replace(TINY, queries=9, vocabulary=("a", "<unk>"), captioner="light", decoder_layers=1, max_count=3)
    weights, _ = load_official(tmp_path / "a.pth", config, "encoder")
    other = Model(config)
    assert other.load_state_dict(weights, strict=False).unexpected_keys == []
    assert {n.split(".")[0] for n in weights} == {"pyramid", "encoder"}
    assert torch.equal(other.pyramid.level, model.pyramid.level)
    with pytest.raises(InputError, match=r"the weights do not fit: encoder\.0"):
        load_official(tmp_path / "a.pth", replace(config, encoder_layers=1, feedforward=20), "encoder")
    with pytest.raises(SpecError, match="it may be all or encoder"):
        load_official(tmp_path / "a.pth", config, "decoder")


def test_sizes_of_a_file_build_its_model(model, tmp_path):
    torch.save(official_state(model), tmp_path / "a.pth")
    sizes = read_sizes(tmp_path / "a.pth")
    assert sizes.pop("words") == len(WORDS)
    assert {name: getattr(TINY, name) for name in sizes} == sizes and len(sizes) == 12


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"feature_dim": 7}, r"pyramid.convs.0.weight is \(16, 6, 1\) in the file, \(16, 7, 1\) in the model"),
        ({"queries": 8}, r"queries.weight is \(7, 32\) in the file, \(8, 32\) in the model"),
        ({"vocabulary": ("a", "<unk>")}, "weights for 5 words; the vocabulary has 2"),
        ({"captioner": "light"}, "captioner.*in the file"),
        ({"decoder_layers": 3}, "nothing in the file"),
    ],
)
def test_another_size_is_one_line(model, change, line, tmp_path):
    torch.save(official_state(model), tmp_path / "a.pth")
    with pytest.raises(InputError, match=line) as error:
        load_official(tmp_path / "a.pth", replace(TINY, **change))
    assert "\n" not in str(error.value) and "a.pth" in str(error.value)


def test_what_has_no_place_is_named(model, tmp_path):
    state = official_state(model)
    torch.save({**state, "text_encoder.weight": torch.zeros(2)}, tmp_path / "a.pth")
    with pytest.raises(InputError, match=r"'text_encoder\.weight' is no weight of the published model"):
        load_official(tmp_path / "a.pth", TINY)
    torch.save({**state, "caption_head.1.embed.weight": torch.zeros(6, 8)}, tmp_path / "a.pth")
    with pytest.raises(InputError, match="differs from the layer it should share"):
        load_official(tmp_path / "a.pth", TINY)
    state["query_embed.weight"][0, 0] = torch.nan
    torch.save(state, tmp_path / "a.pth")
    with pytest.raises(InputError, match="no finite real numbers"):
        load_official(tmp_path / "a.pth", TINY)


class Evil:
    def __init__(self, path: object) -> None:
        self.path = path

    def __reduce__(self) -> object:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("where", ["whole", "model", "legacy"])
def test_nothing_is_executed(model, where, tmp_path):
    trap = tmp_path / "executed"
    document = Evil(trap) if where == "whole" else {"model": {**official_state(model), "x": Evil(trap)}}
    torch.save(document, tmp_path / "a.pth", _use_new_zipfile_serialization=where != "legacy")
    with pytest.raises(InputError, match="more than tensors and plain values") as error:
        load_official(tmp_path / "a.pth", TINY)
    assert not trap.exists() and "\n" not in str(error.value) and len(str(error.value)) < 500


@pytest.mark.parametrize("content", [b"", b"no weights", b"PK\x03\x04broken", b"\x80\x02}q\x00."])
def test_files_that_hold_no_weights(content, tmp_path):
    (tmp_path / "a.pth").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.pth"):
        load_official(tmp_path / "a.pth", TINY)


def test_a_view_that_claims_more_than_the_memory(tmp_path):
    torch.save({"query_embed.weight": torch.zeros(1).expand(1 << 30, 1 << 20)}, tmp_path / "a.pth")
    with pytest.raises(InputError, match="GB of memory are free"):
        load_official(tmp_path / "a.pth", TINY)


def test_pdvc_s_vocabulary(tmp_path):
    words = {"1": "stir", "2": "pour", "3": "UNK"}
    (tmp_path / "v.json").write_text(json.dumps({"ix_to_word": words, "word_to_ix": {}}))
    assert read_vocabulary(tmp_path / "v.json") == ("stir", "pour", "<unk>")
    for wrong in ({"words": []}, {"ix_to_word": {"1": "a", "3": "b"}}, {"ix_to_word": {"1": "a", "2": "a", "3": "b"}}):
        (tmp_path / "v.json").write_text(json.dumps(wrong))
        with pytest.raises(InputError, match=r"v\.json"):
            read_vocabulary(tmp_path / "v.json")


@pytest.mark.parametrize("wrong", [{"1": "stir", "2": 5, "3": "UNK"}, {"1": 5, "2": "stir"}])
def test_one_word_that_is_no_text_refuses_the_vocabulary(tmp_path, wrong):
    (tmp_path / "v.json").write_text(json.dumps({"ix_to_word": wrong}))
    with pytest.raises(InputError, match="not a vocabulary of PDVC"):
        read_vocabulary(tmp_path / "v.json")


def test_names():
    assert translate("transformer.decoder.layers.1.norm1.bias", PDVC) == "decoder.1.norm2.bias"
    assert (
        translate("transformer.decoder.layers.0.self_attn.in_proj_weight", PDVC) == "decoder.0.attention.in_proj_weight"
    )
    assert translate("something.else", PDVC) is None
    with pytest.raises(SpecError, match="there are tables for: pdvc"):
        read_sizes("a.pth", "procnets")
