"""Texts as features: a vector a token, or one a text, by weights of the user's; and stores of them.

    fabula features text charades_fig/*.jsonl --model roberta-base/ -o words.h5

by id      the key is the query's id, as TVR's programs read words; the metadata holds a digest of each text, so that
           words of another caption are refused
by text    the key is a digest of the text: one store for all splits, coarse and fine captions and disturbed ones

Words are those of RoBERTa's second-to-last layer without both ends, as TVR's program extracts them (Lei et al., ECCV
2020). A text is the mean of its tokens after the last layer, scaled to length 1, or what CLIP's text encoder gives.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes, Progress, silent
from fabula.core.options import MUST, Options, option
from fabula.data.moments import Id
from fabula.documents.fields import JsonDict
from fabula.documents.files import check_absent, write_text
from fabula.io.moments import choose_captions, read_queries
from fabula.learn.noise.texts import make_texts, read_candidates, read_rewrites
from fabula.media.sentences import digest
from fabula.media.stores.features import Features, Frames, write_features

BLOCK = 1024  # texts that are encoded at a time
KEPT = 1 << 30  # bytes of texts in memory
CLIP = "openclip"
STORES = (".h5", ".hdf5", ".safetensors")

Encode = Callable[[Sequence[str]], list[Frames]]  # texts → [L, C] each


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Which texts are encoded, and how."""

    model: str | None = option(
        None, "Encoder: a folder of RoBERTa or BERT, minilm, or openclip:FILE (with --each text).", metavar="NAME"
    )
    out: Path = option(
        MUST, "Store to write: .h5, .safetensors or a folder of .npy. Without --model: keys and texts, .jsonl.", "-o"
    )
    each: Literal["words", "text"] = option(
        "words", "A vector for each word, or one for each text.", shows_default=True
    )
    by: Literal["id", "text"] = option(
        "id", "Key of a text: the query's id, or a digest of the text, for several splits.", shows_default=True
    )
    granularity: Literal["fig", "cog", "both"] = option(
        "fig",
        "Of annotations with two captions each: the fine or the coarse one, or both (with --by text).",
        shows_default=True,
    )
    layer: int | None = option(None, "Layer that gives the words. Default: the second to last.", at_least=1)
    disturbed: int = option(
        0, "Also disturbed captions by rule, this many of each kind (with --by text).", at_least=0, at_most=20
    )
    rewrites: Path | None = option(None, "Also the rewritten and disturbed captions of this file (with --by text).")
    candidates: Path | None = option(None, "Also the candidates of this file (with --by text).")
    format: str | None = option(None, "Format of the queries. Default: detected from the content.")
    overwrite: bool = option(False, "Replace an existing store.")

    def __post_init__(self) -> None:
        super().__post_init__()
        more = self.granularity == "both" or self.disturbed or self.rewrites or self.candidates
        if more and self.by == "id":
            raise SpecError("a query has several texts, an id has one: add --by text")
        if self.each == "text" and self.layer is not None:
            raise SpecError("--layer chooses the layer of words; leave it out with --each text")
        if self.model is None and self.out.suffix != ".jsonl":
            raise SpecError("no encoder is named: add --model; or list keys and texts for another: -o texts.jsonl")
        if self.each == "words" and self.model is not None and self.model.startswith(CLIP):
            raise SpecError("CLIP gives one vector a text; add --each text")


def text_key(text: str) -> str:
    """The key of a text, the same on every machine."""
    return f"{digest('text', text.strip()):016x}"


# ---------------------------------------------------------------------------------------------------------------------
# Making a store


def write_text_store(files: Sequence[str | Path], options: TextOptions, notes: Notes, watch: Progress = silent) -> int:
    """Encode the captions of some files of queries; returns how many keys the store has."""
    texts = collect_texts(files, options, notes)
    if options.model is None:
        check_absent(options.out, options.overwrite)
        lines = (json.dumps({"key": key, "text": text}, ensure_ascii=False) + "\n" for key, text in texts.items())
        write_text(options.out, lines)
        return len(texts)
    encode, recipe = open_encoder(options.model, options.each, options.layer)
    metadata: JsonDict = {"recipe": {**recipe, "each": options.each}, "by": options.by}
    if options.by == "id":
        metadata |= {"granularity": options.granularity, "texts": {key: text_key(text) for key, text in texts.items()}}
    return write_features(options.out, encode_all(texts, encode, watch), metadata, options.overwrite)


def collect_texts(files: Sequence[str | Path], options: TextOptions, notes: Notes) -> dict[str, str]:
    """Key → text, in the order of the files."""
    grains = ("fig", "cog") if options.granularity == "both" else (options.granularity,)
    found: dict[str, str] = {}
    if options.by == "id":
        for file in files:
            for id, text in captions_of(file, grains[0], options.format, notes):
                if found.setdefault(str(id), text) != text:
                    raise InputError(
                        "another file has this id with another text", file=file, video=id, noun="query",
                        hint="make a store for each file, or one with --by text",
                    )  # fmt: skip
        return found
    for text in texts_of_all(files, grains, options, notes):
        found.setdefault(text_key(text), text)
    return found


def texts_of_all(
    files: Sequence[str | Path], grains: Sequence[str], options: TextOptions, notes: Notes
) -> Iterator[str]:
    """Captions, and where the options ask for them rewritten and disturbed ones and candidates."""
    rewrites = read_rewrites(options.rewrites) if options.rewrites is not None else {}
    for file in files:
        for grain in grains:
            for id, text in captions_of(file, grain, options.format, notes):
                yield text
                if options.disturbed or id in rewrites:
                    every = make_texts(text, rewrites.get(id), options.disturbed)
                    yield from every.true[1:]
                    yield from (wrong.text for wrong in every.wrong)
    if options.candidates is not None:
        yield from (str(c["text"]) for listed in read_candidates(options.candidates).values() for c in listed)


def captions_of(file: str | Path, grain: str, format: str | None, notes: Notes) -> Iterator[tuple[Id, str]]:
    """Id and text of the queries that have words; the others are counted."""
    for id, query in read_queries([file], Notes(), choose_captions(file, grain == "cog", format)).items():
        if query.text and any(c.isalnum() for c in query.text):
            yield id, query.text.strip()
        else:
            notes.add("{n} queries have no words and are left out", str(id))


def encode_all(texts: Mapping[str, str], encode: Encode, watch: Progress) -> Iterator[tuple[str, Frames]]:
    if not texts:
        raise SpecError("no query has words")
    items = list(texts.items())
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        yield from zip((key for key, _ in block), encode([text for _, text in block]), strict=True)
        watch("encoding texts", start + len(block), len(items))


def open_encoder(model: str, each: str, layer: int | None = None) -> tuple[Encode, JsonDict]:
    """The function that encodes texts, and what makes its vectors what they are."""
    if model.startswith(CLIP):
        return open_clip(model)
    from fabula.text.embed import Embed
    from fabula.text.neural.model import digest as digest_of
    from fabula.text.neural.model import find_folder, open_model

    encoder = open_model(model)
    recipe: JsonDict = {"encoder": find_folder(model).name, "weights": digest_of(model)}
    if each == "text":
        embed = Embed(model)
        return (lambda texts: [row[None] for row in embed.vectors(texts)]), recipe
    layers = encoder.shape.layers
    chosen = max(1, layers - 1) if layer is None else layer
    if chosen > layers:
        raise SpecError(f"layer {chosen}; this encoder has 1 to {layers}")

    def words(texts: Sequence[str]) -> list[Frames]:
        rows = [x[1:-1] for x in encoder.encode(encoder.tokens(texts), chosen)]  # without both ends
        for text, row in zip(texts, rows, strict=True):
            if not len(row):
                raise InputError(
                    f"no tokens of {shown(text)}", file=encoder.folder, hint="use the encoder's own tokenizer"
                )
        return rows

    return words, {**recipe, "layer": chosen}


def open_clip(model: str) -> tuple[Encode, JsonDict]:
    """CLIP's text encoder; its tokenizer.json lies beside the weights."""
    from fabula.media.clip_text import embed_texts
    from fabula.media.extractors import extractor
    from fabula.media.extractors.openclip import Extractor

    pictures = extractor(model)
    path = pictures.weights_file()
    assert isinstance(pictures, Extractor) and path is not None

    def encode(texts: Sequence[str]) -> list[Frames]:
        return [row[None] for row in embed_texts(texts, path, pictures.act, "cpu", pictures.threads)]

    return encode, {"encoder": "openclip", "weights": pictures.weights_digest()}


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def open_texts(name: str) -> TextVectors:
    """A store, or an encoder that gives one vector a text."""
    path = Path(name)
    if path.suffix in STORES or (path.is_dir() and not (path / "config.json").is_file()):
        return StoredTexts(path)
    return EncodedTexts(name)


class TextVectors(Protocol):
    """Where the vectors of captions come from."""

    @property
    def dim(self) -> int: ...
    @property
    def recipe(self) -> JsonDict | None: ...
    def read(self, text: str, id: Id) -> Frames:
        """[L, C]"""

    def check(self, texts: Iterable[tuple[str, Id]]) -> None:
        """Every one of these can be read."""


class StoredTexts:
    """Vectors of a store; those that were read stay in memory, KEPT bytes of them."""

    def __init__(self, path: Path) -> None:
        self.store = Features(path)
        self.known: dict[str, Frames] = {}
        self.size = 0
        self.dim, self.recipe = self.store.dim, self.store.recipe

    def read(self, text: str, id: Id) -> Frames:
        key = text_key(text)
        if key in self.known:
            return self.known[key]
        rows = find_words(self.store, id, text)
        if self.size + rows.nbytes <= KEPT:
            self.known[key], self.size = rows, self.size + rows.nbytes
        return rows

    def check(self, texts: Iterable[tuple[str, Id]]) -> None:
        for text, id in texts:
            if key_in(self.store, id, text) == str(id):
                raise no_text(self.store, id, text)


class EncodedTexts:
    """Vectors that an encoder makes, once for each text."""

    def __init__(self, model: str) -> None:
        self.encode, recipe = open_encoder(model, "text")
        self.recipe: JsonDict | None = {**recipe, "each": "text"}
        self.known: dict[str, Frames] = {}

    @functools.cached_property
    def dim(self) -> int:
        return int(self.encode(["a"])[0].shape[1])

    def read(self, text: str, id: Id) -> Frames:
        self.check([(text, id)])
        return self.known[text]

    def check(self, texts: Iterable[tuple[str, Id]]) -> None:
        new = list(dict.fromkeys(text for text, _ in texts if text not in self.known))
        for start in range(0, len(new), BLOCK):
            block = new[start : start + BLOCK]
            self.known.update(zip(block, self.encode(block), strict=True))


def find_words(store: Features, id: Id, text: str | None) -> Frames:
    """The vectors of a query."""
    return store[key_in(store, id, text)]


def no_text(store: Features, id: Id, text: str | None) -> InputError:
    hint = "make it of the same captions: fabula features text --by text, with --disturbed 3, --rewrites, --candidates"
    return InputError(f"no text {shown(text)} in the store", file=store.path, video=id, noun="query", hint=hint)


def key_in(store: Features, id: Id, text: str | None) -> str:
    """The key of a query, of the kind that the store has; words of another text are refused."""
    metadata, key = store.metadata, text_key(text or "")
    if key in store:
        return key
    if metadata.get("by") == "text":
        raise no_text(store, id, text)
    texts = metadata.get("texts")
    if isinstance(texts, Mapping) and text is not None and texts.get(str(id), key) != key:
        grain = {"fig": "fine", "cog": "coarse"}.get(str(metadata.get("granularity")), "other")
        raise InputError(
            f"words of another text than {shown(text)}: the store has those of {grain} captions",
            file=store.path,
            video=id,
            noun="query",
            hint="make them of the captions that are read (fabula features text --granularity, or --by text)",
        )
    return str(id)
