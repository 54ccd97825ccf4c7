"""Learn the lemmatiser of text/spice/lemma.py: the fewest rules "words of this tag that end so lose this and get that".

    python tools/spice/lemmas.py LEMMAS.tsv --out src/fabula/text/spice/lemmas.tsv

LEMMAS.tsv holds word, tag, lemma per line, as the teacher's lemmatiser answers (CoreNLP's `Morphology -stem word_TAG
…`). A rule is kept where the words with an ending do not do what the shorter ending says; a whole word (written
^word) is the longest ending.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

Edit = tuple[int, str]  # letters lost, letters gained


def edit(word: str, lemma: str) -> Edit:
    k = 0
    while k < min(len(word), len(lemma)) and word[k] == lemma[k]:
        k += 1
    return len(word) - k, lemma[k:]


def learn(pairs: dict[str, str]) -> dict[str, Edit]:
    """Ending → edit, from the shortest ending to the longest."""
    rules: dict[str, Edit] = {}
    todo = {"^" + word: edit(word, lemma) for word, lemma in pairs.items()}
    said: dict[str, Edit] = dict.fromkeys(todo, (0, ""))
    for length in range(1, max(map(len, todo), default=0) + 1):
        groups: dict[str, Counter[Edit]] = defaultdict(Counter)
        for word, wanted in todo.items():
            if len(word) >= length:
                groups[word[-length:]][wanted] += 1
        for ending, votes in groups.items():
            best, count = votes.most_common(1)[0]
            here = said_of(ending, rules)
            if best != here and count > votes[here] and (ending[0] == "^" or count >= 2):
                rules[ending] = best
        for word in todo:
            if len(word) >= length and word[-length:] in rules:
                said[word] = rules[word[-length:]]
    return rules


def said_of(ending: str, rules: dict[str, Edit]) -> Edit:
    for k in range(1, len(ending)):
        if ending[k:] in rules:
            return rules[ending[k:]]
    return (0, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lemmas", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    by_tag: dict[str, dict[str, str]] = defaultdict(dict)
    for line in options.lemmas.read_text(encoding="utf-8").splitlines():
        word, tag, lemma = line.split("\t")
        by_tag[tag][word] = lemma
    lines = []
    for tag, pairs in sorted(by_tag.items()):
        for ending, (lost, gained) in sorted(learn(pairs).items()):
            lines.append(f"{tag}\t{ending}\t{lost}\t{gained}")
    options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} rules from {sum(map(len, by_tag.values()))} words")


if __name__ == "__main__":
    main()
