"""What a run has spent, what calls under way may cost, and what films that were begun still need.

    a call is sent    spent + under way + its worst ≤ budget
    a film is begun   spent + under way + what begun films still need + its worst ≤ budget

So a film is begun only where all of it can be paid for, and money is left to finish those that were begun. The worst
of a call: its tokens as we count them, on the long side, and an answer as long as it may be. Where a server counts
more tokens than we do, later estimates grow by that ratio.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from fabula.documents.files import name_write_failures
from fabula.llm import Answer, Call
from fabula.llm.answer import Attempt
from fabula.llm.prices import Prices
from fabula.llm.store import AnswerStore

UNBOUNDED = 4096  # tokens of an answer that nothing bounds


@dataclass
class Ledger:
    """The money of a run, in the unit of the prices."""

    prices: Prices
    model: str
    budget: float | None = None
    attempts: Path | None = None  # file of tries that gave no answer and cost money
    spent: float = 0.0
    under_way: float = 0.0
    needs: dict[str, float] = field(default_factory=dict)  # film → what its further calls may cost
    ratio: float = 1.0  # tokens that a server counts to those that we count

    def take_over(self, store: AnswerStore) -> None:
        """What earlier runs have spent."""
        for key in store.places:
            answer = store.read_answer(key)
            self.spent += self.price(answer)
        if self.attempts is None or not self.attempts.is_file():
            return
        for line in self.attempts.read_text("utf-8", "replace").splitlines():
            try:
                tokens_in, tokens_out = json.loads(line)["tokens"]
            except (ValueError, KeyError, TypeError):
                continue  # cut off by a kill
            self.spent += self.prices.cost(self.model, tokens_in, tokens_out)

    def price(self, answer: Answer) -> float:
        return self.prices.cost(self.model, answer.tokens_in, answer.tokens_out)

    def worst(self, tokens_in: int, tokens_out: int) -> float:
        return self.prices.cost(self.model, round(tokens_in * self.ratio), tokens_out or UNBOUNDED)

    def worst_of(self, call: Call) -> float:
        return self.worst(call.tokens, call.longest)

    def can_begin(self, film: str, worst: float) -> bool:
        """Whether all of a film can be paid for; if so, its money is put aside."""
        others = sum(need for id, need in self.needs.items() if id != film)
        if self.budget is not None and self.spent + self.under_way + others + worst > self.budget:
            return False
        self.needs[film] = worst
        return True

    def can_ask(self, call: Call) -> bool:
        return self.budget is None or self.spent + self.under_way + self.worst_of(call) <= self.budget

    def release(self, film: str, amount: float) -> None:
        """A call of the film is asked, or was answered before."""
        self.needs[film] = max(0.0, self.needs.get(film, 0.0) - amount)

    def finish(self, film: str) -> None:
        self.needs.pop(film, None)

    def pay(self, call: Call, answer: Answer) -> None:
        self.spent += self.price(answer)
        if answer.tokens_in:
            self.ratio = max(self.ratio, answer.tokens_in / max(1, call.tokens))

    def note(self, attempt: Attempt) -> None:
        """A try that gave no answer: it may have been paid for."""
        self.spent += self.prices.cost(self.model, attempt.tokens_in, attempt.tokens_out)
        if self.attempts is None:
            return
        row = {
            "key": attempt.key,
            "kind": attempt.kind,
            "status": attempt.status,
            "message": attempt.message,
            "tokens": [attempt.tokens_in, attempt.tokens_out],
        }
        with name_write_failures(self.attempts), self.attempts.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
