"""Which option an answer names, as PLM-VideoBench's fgqa reads it (lmms-eval).

The first word is a part of "(a)", or holds it; so "(" and "." are right.
"""

from __future__ import annotations

from fabula.data.questions import Response, letter
from fabula.metrics.questions.letters import ChoiceReader, Verdict


def read_choice(response: Response) -> Verdict:
    assert response.right is not None
    text = (response.answer or "").lower()
    if "answer:" in text:
        text = text.replace("answer:", "").strip()
    word, label = text.split(" ")[0], f"({letter(response.right).lower()})"
    return Verdict(bool(word) and (word.replace(".", "") in label or label in word), bool(word))


CHOICE_READER = ChoiceReader("plm", read_choice)
