"""Captionsets as tokens: WordPiece (BERT's vocabulary, or one trained on the captions) with people as tokens of their own.

    ["P1 enters.", "P2 smiles at P1."]  →  START P1 enters [SEP] P2 smiles at P1 [SEP] END

The full stop that ends a caption is its [SEP]. A blank that is to be filled in is written [BLANK], ___ or SOMEONE (LSMDC's);
where people are to be filled in, their ids count as blanks, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.core.errors import InputError, MissingExtra, shown
from fabula.io.files import check_path, read_lines
from fabula.text.identity import ID, plain_number

if TYPE_CHECKING:
    from fabula.learn.models.micap import Config

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WHO = re.compile(rf"{ID.pattern}|\[BLANK\]|_{{2,}}|(?<![\w-])SOMEONE(?![\w-])")
GLUED = re.compile(r" ([,.;:!?)\]%]|' ?(?:s|t|re|ve|ll|d|m)\b)")


def need_tokenizers() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise MissingExtra("WordPiece", "learn") from None
    return tokenizers


def read_pieces(path: str | Path) -> tuple[str, ...]:
    """A vocabulary of BERT's kind (vocab.txt): a piece a line, its number is the line's."""
    path = check_path(path)
    pieces = tuple(line for _, line in read_lines(path))
    missing = [name for name in ("[UNK]", "[SEP]") if name not in pieces]
    if missing or len(set(pieces)) != len(pieces):
        seen = f"no line {missing[0]}" if missing else "a piece stands twice"
        raise InputError(
            f"not a WordPiece vocabulary: {seen}", file=path, hint="it is BERT's vocab.txt, a piece a line"
        )
    return pieces


def train_pieces(captions: Iterable[str], size: int = 4000, min_count: int = 2) -> tuple[str, ...]:
    """A vocabulary of at most `size` pieces for these captions, people aside; the same captions give the same one."""
    tokenizers = need_tokenizers()
    made = tokenizers.BertWordPieceTokenizer(lowercase=True)
    said = (part for caption in captions for part in WHO.split(caption) if part)  # digits of ids go, words stay
    made.train_from_iterator(
        [part for part in said if not part.isdigit()], vocab_size=size, min_frequency=min_count,
        special_tokens=list(SPECIAL), show_progress=False,
    )  # fmt: skip
    number = made.get_vocab()
    pieces = sorted(number, key=lambda piece: number[piece])
    rest = sorted(
        pieces[len(SPECIAL) :], key=lambda piece: (piece.startswith("##"), piece)
    )  # ties are not the trainer's
    return (*pieces[: len(SPECIAL)], *rest)


class Pieces:
    """Captions as tokens of a model, and back."""

    def __init__(self, config: Config) -> None:
        self.config = config
        if not config.vocabulary:
            raise InputError("the model has no vocabulary, so it cannot read captions", hint="train with captions")
        number = {piece: i for i, piece in enumerate(config.vocabulary)}
        self.tokenizer = need_tokenizers().BertWordPieceTokenizer(vocab=number, lowercase=True)
        self.said: dict[str, list[int]] = {}

    def words(self, text: str) -> list[int]:
        if text not in self.said:
            self.said[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.said[text]

    def encode(self, captions: Sequence[str], name: str = "", blank: bool = False) -> tuple[int, ...]:
        """START … END. People are numbered by first appearance; with `blank` none is told apart."""
        tokens, seen = [self.config.start], dict[str, int]()
        for caption in captions:
            text, last = caption.strip().rstrip(".").rstrip(), 0
            for found in WHO.finditer(text):
                tokens += self.words(text[last : found.start()])
                last = found.end()
                who = 0 if blank or found[1] is None else seen.setdefault(plain_number(found[1]), len(seen) + 1)
                tokens.append(self.config.blank + who)
            tokens += [*self.words(text[last:]), self.config.sep]
        if len(seen) > self.config.people:
            problem = f"captions name {len(seen)} people; the model knows {self.config.people}"
            hint = "train with --set people=…, or cut the set into smaller ones"
            raise InputError(problem, video=name or None, noun="captionset", hint=hint)
        return (*tokens, self.config.end)

    def decode(self, tokens: Sequence[int], clips: int) -> list[str]:
        """A caption a clip, ids as P1, P2, …; a clip that nothing is said of has an empty one, what is beyond is not kept."""
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
        told = [GLUED.sub(lambda m: m[1].replace(" ", ""), " ".join(words)) for words in captions]
        made = [f"{text}." if text else "" for text in told]
        return [*made, *[""] * clips][:clips]


def fill_blanks(captions: Sequence[str], people: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Captions with their blanks filled in, and who stands in the blanks of each."""
    left, filled, who = iter(people), list[str](), list[list[str]]()
    for caption in captions:
        here: list[str] = []

        def put(found: re.Match[str], here: list[str] = here) -> str:
            here.append(next(left))
            return here[-1]

        filled.append(WHO.sub(put, caption))
        who.append(here)
    if (over := next(left, None)) is not None:
        raise InputError(f"an id {shown(over)} for no blank", hint="an id a blank")
    return filled, who


def mask_people(captions: Sequence[str]) -> list[list[tuple[str, str]]]:
    """For every caption and blank: the caption with all people hidden, and the words around the blank."""
    made = []
    for caption in captions:
        hidden = WHO.sub("someone", caption)
        here = []
        for found in WHO.finditer(caption):
            left = WHO.sub("someone", caption[: found.start()]).split()[-3:]
            right = WHO.sub("someone", caption[found.end() :]).split()[:3]
            here.append((hidden, " ".join([*left, "blank", *right])))
        made.append(here)
    return made
