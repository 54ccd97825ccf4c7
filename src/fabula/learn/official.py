"""Weights that others published, as weights of our models; the first was PDVC (.pth of github.com/ttengwang/PDVC).

    weights, found = load_official("model-best.pth", config)            # all of it
    weights, found = load_official("model-best.pth", config, "encoder")   # what reads the video, to train the rest anew
    model.load_state_dict(weights, strict=False)                        # strict=True after "all"

    sizes = read_sizes("model-best.pth")                  # {"feature_dim": 3072, "queries": 100, …}: fields of Config
    words = read_vocabulary("vocabulary_youcook2.json")   # → Config.vocabulary

A file is {"epoch": …, "model": {name: tensor}, "optimizer": …} or the names and tensors alone, read by `torch.load`
with `weights_only=True`: tensors and plain values, nothing in it is executed. Every tensor of the file must have its
place in the table of the model, and every weight of ours must be in the file, in our shape; else one line says which.

A model is one `Table`: how its names become ours, which of its tensors have no use here, which part reads the video,
and which sizes its shapes tell. Another published model is another table in `TABLES`. PDVC's CUDA kernel, which its
published weights were trained with, reads zeros beyond a level's ends: give them `Config(outside="zero")`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.memory import available
from fabula.documents.files import check_path, load_json
from fabula.learn.models import fillin, hero, micap, qd_detr, reloclnet, room, xml
from fabula.learn.words import UNKNOWN
from fabula.media.stores.kinds import NONSENSE, summarize

State = dict[str, Tensor]


@dataclass(frozen=True)
class Table:
    """How the names of a published model become ours."""

    names: tuple[tuple[str, str], ...]  # pattern of an official name → ours; the first that fits counts
    unused: tuple[str, ...]  # patterns of tensors that have no use here
    same: tuple[tuple[str, str], ...]  # aliases: a pattern and the name that must hold the same numbers
    encoder: tuple[str, ...]  # our names that begin so are the part that reads the video
    sizes: Callable[[Mapping[str, Tensor]], dict[str, object]]  # our state → fields of our Config
    idle: Callable[[Any], tuple[str, ...]] = lambda config: ()  # our names that begin so have no place in a config


@dataclass(frozen=True)
class LoadedWeights:
    """What a file held."""

    model: str  # ours: pdvc
    epoch: int | None  # of its training, if it is known
    sizes: dict[str, object]  # fields of Config that its shapes tell
    loaded: int  # tensors that are ours now
    unused: tuple[str, ...]  # official names of those that have no use here, or are not of the wanted part


# ---------------------------------------------------------------------------------------------------------------------
# PDVC

DEFORMABLE = (("sampling_offsets", "offset"), ("attention_weights", "weight"), ("value_proj", "value"),
              ("output_proj", "out"))  # fmt: skip


def pdvc_sizes(state: Mapping[str, Tensor]) -> dict[str, object]:
    """The settings that follow from the shapes of a state; heads, points and dropout do not."""

    def count(start: str) -> int:
        return len({name.removeprefix(start).split(".")[0] for name in state if name.startswith(start)})

    def shape(name: str) -> torch.Size | None:
        return state[name].shape if name in state else None

    sizes: dict[str, object] = {"levels": count("pyramid.convs."), "encoder_layers": count("encoder."),
                             "decoder_layers": count("decoder.")}  # fmt: skip
    measured = {
        "feature_dim": ("pyramid.convs.0.weight", 1), "hidden": ("pyramid.convs.0.weight", 0),
        "duration_bins": ("pyramid.duration.weight", 1), "feedforward": ("encoder.0.ffn.up.weight", 0),
        "queries": ("queries.weight", 0), "word_dim": ("captioner.words.weight", 1), "rnn": ("captioner.out.weight", 1),
    }  # fmt: skip
    for field, (name, axis) in measured.items():
        if (size := shape(name)) is not None and len(size) > axis:
            sizes[field] = size[axis]
    if (size := shape("count_heads.0.bias")) is not None and len(size):
        sizes["max_count"] = size[0] - 1
    sizes["captioner"] = "none"
    if "captioner.out.bias" in state:
        sizes["captioner"] = "standard" if "captioner.energy.weight" in state else "light"
        sizes["words"] = state["captioner.out.bias"].numel() - 1  # the vocabulary's size
    return sizes


def pdvc_idle(config: Any) -> tuple[str, ...]:
    """With learned queries the file has these for nothing, as with known steps, or without captions."""
    idle = {
        "learned": ("from_box.", "from_box_norm."),
        "gt": ("queries.", "reference.", "box_heads.", "class_heads.", "count_heads."),
    }.get(config.proposals, ())
    return (*idle, "captioner.") if config.captioner == "none" else idle


PDVC = Table(
    names=(
        (r"base_encoder\.pos_embed\.duration_embed_layer\.(.+)", r"pyramid.duration.\1"),
        (r"base_encoder\.input_proj\.(\d+)\.0\.(.+)", r"pyramid.convs.\1.\2"),
        (r"base_encoder\.input_proj\.(\d+)\.1\.(.+)", r"pyramid.norms.\1.\2"),
        (r"transformer\.level_embed", r"pyramid.level"),
        (r"transformer\.reference_points\.(.+)", r"reference.\1"),
        (r"transformer\.pos_trans\.(.+)", r"from_box.\1"),
        (r"transformer\.pos_trans_norm\.(.+)", r"from_box_norm.\1"),
        *((rf"transformer\.encoder\.layers\.(\d+)\.self_attn\.{a}\.(.+)", rf"encoder.\1.attention.{b}.\2")
          for a, b in DEFORMABLE),
        *((rf"transformer\.encoder\.layers\.(\d+)\.{a}\.(.+)", rf"encoder.\1.{b}.\2")
          for a, b in (("linear1", "ffn.up"), ("linear2", "ffn.down"), ("norm1", "norm"), ("norm2", "ffn.norm"))),
        *((rf"transformer\.decoder\.layers\.(\d+)\.cross_attn\.{a}\.(.+)", rf"decoder.\1.cross.{b}.\2")
          for a, b in DEFORMABLE),
        *((rf"transformer\.decoder\.layers\.(\d+)\.{a}\.(.+)", rf"decoder.\1.{b}.\2")
          for a, b in (("self_attn", "attention"), ("linear1", "ffn.up"), ("linear2", "ffn.down"), ("norm1", "norm2"),
                       ("norm2", "norm1"), ("norm3", "ffn.norm"))),
        (r"query_embed\.weight", r"queries.weight"),
        (r"(class|count)_head\.(\d+)\.(.+)", r"\1_heads.\2.\3"),
        *((rf"(?:transformer\.decoder\.)?bbox_head\.(\d+)\.layers\.{k}\.(.+)", rf"box_heads.\1.{2 * k}.\2")
          for k in range(3)),
        (r"caption_head\.0\.embed\.(.+)", r"captioner.words.\1"),
        (r"caption_head\.0\.logit\.(.+)", r"captioner.out.\1"),
        (r"caption_head\.0\.core\.rnn\.(.+)", r"captioner.lstm.\1"),
        (r"caption_head\.0\.core\.deformable_att\.sampling_offsets\.(.+)", r"captioner.clip.offset.\1"),
        (r"caption_head\.0\.core\.deformable_att\.value_proj\.(.+)", r"captioner.clip.value.\1"),
        (r"caption_head\.0\.core\.ctx2att\.(.+)", r"captioner.from_clip.\1"),
        (r"caption_head\.0\.core\.h2att\.(.+)", r"captioner.from_state.\1"),
        (r"caption_head\.0\.core\.alpha_net\.(.+)", r"captioner.energy.\1"),
    ),
    unused=(r"caption_head\.\d+\.core\.deformable_att\.(attention_weights|output_proj)\..+",),
    same=((r"caption_head\.[1-9]\d*\.(.+)", r"caption_head.0.\1"),),
    encoder=("pyramid.", "encoder."),
    sizes=pdvc_sizes,
    idle=pdvc_idle,
)  # fmt: skip

# The others keep their names beside the model.
HERO = Table(hero.OFFICIAL, hero.UNUSED, (), hero.Model.parts["inner"], hero.read_sizes)
QD_DETR = Table(qd_detr.OFFICIAL, qd_detr.UNUSED, (), ("from_", "cross.", "encoder.", "token"), qd_detr.read_sizes)
READS = ("video_", "inner")  # of XML and ReLoCLNet: what reads the video
XML = Table(xml.OFFICIAL, xml.UNUSED, (), READS, xml.read_sizes)
RELOCLNET = Table(reloclnet.OFFICIAL, reloclnet.UNUSED, (), READS, reloclnet.read_sizes)
MICAP = Table(micap.OFFICIAL, micap.UNUSED, (), micap.READS, micap.read_sizes, micap.idle_weights)
FILLIN = Table(fillin.OFFICIAL, fillin.UNUSED, (), fillin.READS, fillin.read_sizes, fillin.idle_weights)

TABLES = {"pdvc": PDVC, "hero": HERO, "qd_detr": QD_DETR, "xml": XML, "reloclnet": RELOCLNET, "micap": MICAP,
          "fillin": FILLIN}  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def load_official(path: str | Path, config: Any, part: str = "all", model: str = "pdvc") -> tuple[State, LoadedWeights]:
    """The weights of a published file under our names, for a model of this config; the model need not be built.

    A table that the model lets grow (`Model.grows`) has the rows of the file, even if the config has more.
    """
    if part not in ("all", "encoder"):
        raise SpecError(f"part is {part!r}; it may be all or encoder")
    table = table_of(model)
    official, epoch = read_pth(path)
    state, unused = rename(official, table, path)
    sizes = table.sizes(state)
    idle = table.idle(config)
    if part == "encoder":
        loaded = {name: t for name, t in state.items() if name.startswith(table.encoder)}
    else:
        words = sizes.get("words")
        if words is not None and getattr(config, "captioner", "none") != "none" and words != len(config.vocabulary):
            raise InputError(
                f"weights for {words} words; the vocabulary has {len(config.vocabulary)}",
                file=path,
                hint="give the vocabulary it was trained with, or load the encoder alone",
            )
        loaded = state
    loaded = {name: t for name, t in loaded.items() if not (idle and name.startswith(idle))}
    with torch.device("meta"):
        wanted = room.get(model)(config).state_dict()
    if part == "encoder":
        wanted = {name: t for name, t in wanted.items() if name.startswith(table.encoder)}
    for name in set(getattr(room.get(model), "grows", ())) & loaded.keys() & wanted.keys():
        wanted[name] = wanted[name][: len(loaded[name])]
    check_fit(loaded, wanted, path)
    of = {ours: name for name in official if (ours := translate(name, table)) is not None}
    left = (*unused, *(of[name] for name in state if name not in loaded))
    return loaded, LoadedWeights(model, epoch, sizes, len(loaded), tuple(sorted(left)))


def read_sizes(path: str | Path, model: str = "pdvc") -> dict[str, object]:
    """The fields of our Config that follow from the shapes of a published file.

    "words" is no field: it is how many words the vocabulary has.
    """
    table = table_of(model)
    return table.sizes(rename(read_pth(path)[0], table, path)[0])


def read_words(path: str | Path, model: str = "pdvc") -> tuple[str, ...]:
    """The vocabulary of published weights as our Config has it: PDVC's or FillIn's file, or BERT's vocab.txt."""
    if model == "fillin":
        return fillin.read_vocabulary(path)
    if model != "micap":
        return read_vocabulary(path)
    from fabula.learn.identity.wordpiece import read_pieces

    return read_pieces(path)


def read_vocabulary(path: str | Path) -> tuple[str, ...]:
    """PDVC's {"ix_to_word": {"1": word, …}} as the words of our Config: the last stands for all unknown ones.

    PDVC encodes a word it does not know as the largest index, whatever word stands there; here that is <unk>.
    """
    document = load_json(check_path(path))
    by_index = document.get("ix_to_word") if isinstance(document, dict) else None
    if not isinstance(by_index, dict) or not all(isinstance(w, str) for w in by_index.values()):
        raise InputError("not a vocabulary of PDVC", file=path, hint='it is {"ix_to_word": {"1": text, …}, …}')
    named = {index: word for index, word in by_index.items() if index != "0"}
    words = [named.get(str(i)) for i in range(1, len(named) + 1)]
    missing = next((i for i, word in enumerate(words, 1) if word is None), None)
    if missing is not None or not words:
        raise InputError(f"{len(named)} words, but none has index {missing or 1}", file=path, hint="repair the file")
    vocabulary = (*(str(w) for w in words[:-1]), UNKNOWN)
    twice = (
        next((w for i, w in enumerate(vocabulary) if w in vocabulary[:i]), None)
        if len(set(vocabulary)) < len(vocabulary)
        else None
    )
    if twice is not None:
        raise InputError(f"the word {shown(twice)} has two indices", file=path, hint="repair the file")
    return vocabulary


def table_of(model: str) -> Table:
    if model not in TABLES:
        raise SpecError(f"no published weights are known for {model!r}; there are tables for: {', '.join(TABLES)}")
    return TABLES[model]


def read_pth(path: str | Path) -> tuple[State, int | None]:
    """Names and tensors of a .pth, and its epoch. Nothing in it is executed."""
    path = check_path(path)
    if not path.is_file():
        raise InputError("no such file of weights", file=path, hint="name a .pth")
    check_room(path.stat().st_size, path)
    try:
        with torch.serialization.safe_globals([argparse.Namespace]):  # options, which the DETRs of moments keep beside
            document = torch.load(path, map_location="cpu", weights_only=True)
    except UnpicklingError:
        raise InputError(
            "holds more than tensors and plain values, or is damaged",
            file=path,
            hint="nothing else is read, for it would have to be executed; save it again as torch.save(state_dict, …)",
        ) from None
    except NONSENSE as error:
        raise InputError(f"not a file of weights ({summarize(error)})", file=path, hint="name a .pth") from None
    epoch: object = None
    for inside in ("model", "state_dict", "model_state_dict"):
        if isinstance(document, dict) and isinstance(document.get(inside), dict):
            epoch, document = document.get("epoch"), document[inside]
            break
    if not isinstance(document, dict) or not document or not all(isinstance(n, str) for n in document):
        raise InputError("no weights by name in it", file=path, hint='it should hold {"model": {name: tensor, …}}')
    state = {n.removeprefix("module."): t for n, t in document.items()}
    check_room(sum(4 * t.numel() for t in state.values() if isinstance(t, Tensor)), path)  # a view may claim any size
    for name, t in state.items():
        if not isinstance(t, Tensor) or t.layout != torch.strided or t.is_quantized:
            raise InputError(f"{shown(name)} is no plain tensor", file=path, hint="name a file of weights")
        if not t.is_floating_point() or not bool(torch.isfinite(t).all()):
            raise InputError(f"{shown(name)} holds no finite real numbers", file=path, hint="name another file")
    return {n: t.detach().float().contiguous() for n, t in state.items()}, epoch if type(epoch) is int else None


def check_room(need: int, file: object) -> None:
    if need > (free := available()):
        raise InputError(
            f"{need / 1e9:,.1f} GB of weights, {free / 1e9:,.1f} GB of memory are free",
            file=file,
            hint="make room, or name another file",
        )


def translate(name: str, table: Table) -> str | None:
    """Our name of an official one, None where there is none."""
    for pattern, ours in table.names:
        if match := re.fullmatch(pattern, name):
            return match.expand(ours)
    return None


def rename(official: State, table: Table, file: object) -> tuple[State, list[str]]:
    """Under our names, and the official names of what has no use. Aliases must hold what they are aliases of."""
    state: State = {}
    unused: list[str] = []
    for name, t in official.items():
        ours = translate(name, table)
        if ours is not None and ours not in state:
            state[ours] = t
            continue
        if ours is not None:
            twin: Tensor | None = state[ours]
        elif any(re.fullmatch(pattern, name) for pattern in table.unused):
            unused.append(name)
            continue
        else:
            twin = next((official.get(m.expand(to)) for p, to in table.same if (m := re.fullmatch(p, name))), None)
        if twin is None:
            raise InputError(
                f"{shown(name)} is no weight of the published model",
                file=file,
                hint="name weights of this model; those of variants have no place here",
            )
        if twin.shape != t.shape or not torch.equal(twin, t):
            raise InputError(
                f"{shown(name)} differs from the layer it should share its weights with",
                file=file,
                hint="only models with shared heads can be read",
            )
        unused.append(name)
    return state, unused


def check_fit(state: State, wanted: State, file: object) -> None:
    """Every weight of the model is there, in its shape."""
    for name in sorted(wanted.keys() | state.keys()):
        theirs, ours = (
            str(tuple(tensors[name].shape)) if name in tensors else "nothing" for tensors in (state, wanted)
        )
        if theirs != ours:
            raise InputError(
                f"the weights do not fit: {name} is {theirs} in the file, {ours} in the model",
                file=file,
                hint="take the sizes of the file (learn.official.read_sizes), or load the encoder alone",
            )
