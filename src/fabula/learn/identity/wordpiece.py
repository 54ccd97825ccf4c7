"""Captionsets as tokens: WordPiece (BERT's, or trained on the captions), with people as tokens of their own.

    ["P1 enters.", "P2 smiles at P1."]  →  START P1 enters [SEP] P2 smiles at P1 [SEP] END

The full stop that ends a caption is its [SEP]. A blank that is to be filled in is written [BLANK], ___, or as
LSMDC has it [...], <blank> or SOMEONE; where people are to be filled in, their ids count as blanks, too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from fabula.core.errors import InputError, import_extra, shown
from fabula.documents.files import check_path, read_lines
from fabula.text.identity import ID, plain_number

if TYPE_CHECKING:
    from fabula.learn.models.lm import Config as LanguageConfig
    from fabula.learn.models.micap import Config

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WHO = re.compile(rf"{ID.pattern}|\[BLANK\]|\[\.\.\.\]|<blank>|_{{2,}}|(?<![\w-])SOMEONE(?![\w-])")
GLUED = re.compile(r" ([,.;:!?)\]%]|' ?(?:s|t|re|ve|ll|d|m)\b)")


def need_tokenizers() -> ModuleType:
    return import_extra("tokenizers", "WordPiece", "learn")


def read_pieces(path: str | Path) -> tuple[str, ...]:
    """A vocabulary of BERT's kind (vocab.txt): a piece a line, its number is the line's."""
    path = check_path(path)
    pieces = tuple(line for _, line in read_lines(path))
    missing = [name for name in ("[UNK]", "[SEP]") if name not in pieces]
    if missing or len(set(pieces)) != len(pieces):
        problem = f"no line {missing[0]}" if missing else "a piece is there twice"
        raise InputError(
            f"not a WordPiece vocabulary: {problem}", file=path, hint="it is BERT's vocab.txt, a piece a line"
        )
    return pieces


def train_pieces(captions: Iterable[str], size: int = 4000, min_count: int = 2) -> tuple[str, ...]:
    """A vocabulary of at most `size` pieces for these captions, people aside; the same captions give the same one.

    Characters first (h ##a ##t), then the most frequent pair of neighbours becomes a piece, again and again; of equal
    ones the first by spelling. (The trainers of `tokenizers` break ties by chance, and a run could not be resumed.)
    """
    counts = count_words(captions)
    words = {word: [word[0], *(f"##{c}" for c in word[1:])] for word in sorted(counts)}
    pieces = sorted({piece for split in words.values() for piece in split}, key=lambda p: (p.startswith("##"), p))
    pairs, where = Counter[tuple[str, str]](), defaultdict[tuple[str, str], set[str]](set)
    for word, split in words.items():
        for pair in pairwise(split):
            pairs[pair] += counts[word]
            where[pair].add(word)
    known = dict.fromkeys(pieces)
    while pairs and len(known) < size - len(SPECIAL):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        joined = best[0] + best[1].removeprefix("##")
        known[joined] = None
        for word in sorted(where.pop(best)):
            old, new = words[word], join_pair(words[word], best, joined)
            pairs.subtract(Counter({p: n * counts[word] for p, n in Counter(pairwise(old)).items()}))
            pairs.update(Counter({p: n * counts[word] for p, n in Counter(pairwise(new)).items()}))
            words[word] = new
            for pair in pairwise(new):
                where[pair].add(word)
        pairs = Counter({pair: n for pair, n in pairs.items() if n > 0})
    return (*SPECIAL, *known)


def count_words(captions: Iterable[str]) -> Counter[str]:
    """Words as BERT cuts them, people left out."""
    tokenizers = need_tokenizers()
    normal, cut = tokenizers.normalizers.BertNormalizer(lowercase=True), tokenizers.pre_tokenizers.BertPreTokenizer()
    counts = Counter[str]()
    for caption, n in Counter(WHO.sub(" ", caption) for caption in captions).items():
        for word, _ in cut.pre_tokenize_str(normal.normalize_str(caption)):
            counts[word] += n
    return counts


def join_pair(split: Sequence[str], pair: tuple[str, str], merged: str) -> list[str]:
    """A word's pieces with every such pair of neighbours joined."""
    joined: list[str] = []
    for piece in split:
        if joined and (joined[-1], piece) == pair:
            joined[-1] = merged
        else:
            joined.append(piece)
    return joined


class Pieces:
    """Captions as tokens of a model, and back."""

    def __init__(self, config: Config) -> None:
        self.config = config
        if not config.vocabulary:
            raise InputError("the model has no vocabulary, so it cannot read captions", hint="train with captions")
        number = {piece: i for i, piece in enumerate(config.vocabulary)}
        self.tokenizer = need_tokenizers().BertWordPieceTokenizer(vocab=number, lowercase=True)
        self.piece_ids: dict[str, list[int]] = {}

    def words(self, text: str) -> list[int]:
        if text not in self.piece_ids:
            self.piece_ids[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.piece_ids[text]

    def encode(self, captions: Sequence[str], name: str = "", blank: bool = False) -> tuple[int, ...]:
        """START … END. People are numbered by first appearance; with `blank` all people share one token."""
        tokens, number_of = [self.config.start], dict[str, int]()
        for caption in captions:
            text, last = caption.strip().rstrip(".").rstrip(), 0
            for match in WHO.finditer(text):
                tokens += self.words(text[last : match.start()])
                last = match.end()
                who = (
                    0 if blank or match[1] is None else number_of.setdefault(plain_number(match[1]), len(number_of) + 1)
                )
                tokens.append(self.config.blank + who)
            tokens += [*self.words(text[last:]), self.config.sep]
        if len(number_of) > self.config.people:
            raise InputError(
                f"captions name {len(number_of)} people; the model has room for {self.config.people}",
                video=name or None,
                noun="captionset",
                hint="train with --set people=…, or cut the set into smaller ones",
            )
        return (*tokens, self.config.end)

    def decode(self, tokens: Sequence[int], clips: int) -> list[str]:
        """One caption per clip, ids as P1, P2, …; empty if the row has none; extra captions are dropped."""
        captions = [list[str]()]
        for token in tokens:
            if token == self.config.sep:
                captions.append([])
            elif self.config.blank < token < self.config.start:
                captions[-1].append(f"P{token - self.config.blank}")
            elif token < self.config.words and (piece := self.config.vocabulary[token]) not in ("[PAD]", "[CLS]"):
                if piece.startswith("##") and captions[-1]:
                    captions[-1][-1] += piece[2:]
                else:
                    captions[-1].append(piece)
        texts = [GLUED.sub(lambda m: m[1].replace(" ", ""), " ".join(words)) for words in captions]
        sentences = [f"{text}." if text else "" for text in texts]
        return [*sentences, *[""] * clips][:clips]


class LanguagePieces(Pieces):
    """The same with the tokenizer of a language model (tokenizer.json), whose people are tokens behind its own."""

    def __init__(self, config: LanguageConfig) -> None:
        self.config, self.space = config, " " if config.base == "gpt2" else ""  # GPT-2's words begin with theirs
        self.tokenizer = need_tokenizers().Tokenizer.from_str(config.tokenizer)
        self.piece_ids: dict[str, list[int]] = {}

    def words(self, text: str) -> list[int]:
        text = text.strip()
        return super().words(self.space + text) if text else []

    def decode(self, tokens: Sequence[int], clips: int) -> list[str]:
        """As above; the model's own tokens between two people are one stretch of text."""
        sentences = []
        for caption in split_captions(tokens, self.config, clips):
            parts = [
                " ".join(f"P{t - self.config.blank}" for t in group) if named else self.tokenizer.decode(list(group))
                for named, group in groupby(caption, lambda t: self.config.blank < t < self.config.start)
            ]
            text = GLUED.sub(lambda m: m[1].replace(" ", ""), " ".join(part.strip() for part in parts if part.strip()))
            sentences.append(f"{text.rstrip('.').rstrip()}." if text else "")
        return sentences


def open_pieces(config: Config) -> Pieces:
    """Captions as tokens of the model that has this config."""
    return LanguagePieces(cast("LanguageConfig", config)) if getattr(config, "tokenizer", "") else Pieces(config)


def split_captions(row: Sequence[int], config: Config, clips: int) -> list[list[int]]:
    """The tokens of each clip, without START, [SEP] and END."""
    captions: list[list[int]] = [[]]
    for token in row:
        if token == config.sep:
            captions.append([])
        elif token not in (config.start, config.end):
            captions[-1].append(token)
    return [*captions, *([] for _ in range(clips))][:clips]


def fill_blanks(captions: Sequence[str], people: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Captions with their blanks filled in, and the ids in the blanks of each."""
    left, filled, who = iter(people), list[str](), list[list[str]]()
    for caption in captions:
        here: list[str] = []

        def put(match: re.Match[str], here: list[str] = here) -> str:
            here.append(next(left))
            return here[-1]

        filled.append(WHO.sub(put, caption))
        who.append(here)
    if (over := next(left, None)) is not None:
        raise InputError(f"an id {shown(over)} for no blank", hint="an id a blank")
    return filled, who


def mask_people(captions: Sequence[str]) -> list[list[tuple[str, str]]]:
    """For every caption and blank: the caption with all people hidden, and the words around the blank."""
    masked = []
    for caption in captions:
        hidden = WHO.sub("someone", caption)
        here = []
        for match in WHO.finditer(caption):
            left = WHO.sub("someone", caption[: match.start()]).split()[-3:]
            right = WHO.sub("someone", caption[match.end() :]).split()[:3]
            here.append((hidden, " ".join([*left, "blank", *right])))
        masked.append(here)
    return masked
