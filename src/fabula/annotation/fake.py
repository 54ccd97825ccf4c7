"""What the fake endpoint answers to our prompts: nonsense in the right shape, the same for the same question.

It knows a prompt by the format that it asks for, so prompts of one's own that ask for the same formats work as well.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Callable

from fabula.documents.fields import JsonDict
from fabula.llm.fake import count_images, read_prompt

QUOTED = re.compile(r"\"([^\"]{3,400})\"")
PLACES = ("a small kitchen", "a bright hall", "a garden", "a narrow street", "an office", "a bedroom")
ADVERBS = ("here", "there", "again", "once", "often", "now", "soon", "gladly", "late")
LOOKS = ("a red shirt", "a blue cap", "long dark hair", "a white dress", "brown boots", "a striped tie")
MOVES = ("turning left", "walking slowly", "stepping back", "raising one hand", "looking down", "leaning forward")


def reply(body: JsonDict) -> str:
    """The answer to a request."""
    prompt = read_prompt(body)
    seed = json.dumps([body, count_images(body)], sort_keys=True)
    rng = random.Random(hashlib.blake2b(seed.encode(), digest_size=8).digest())
    return choose(prompt)(find_caption(prompt), prompt, rng)


def choose(prompt: str) -> Callable[[str, str, random.Random], str]:
    if "Desc:" in prompt:
        return say_frame
    if '"original"' in prompt:
        return say_variants
    if "(Q)" in prompt:
        return say_moves
    if "your mark" in prompt:
        return say_marks
    if "After the answers" in prompt:
        return say_answers
    return say_questions if "questions" in prompt else say_rewrites


def find_caption(prompt: str) -> str:
    """What the prompt quotes as the caption: after "is", "as" or "words"."""
    marked = re.findall(r"(?:\bis|\bas|words:)\s+\"([^\"]{1,2000})\"", prompt)
    quoted = marked or QUOTED.findall(prompt)
    return quoted[-1].rstrip(". ") if quoted else "something happens"


def say_frame(caption: str, prompt: str, rng: random.Random) -> str:
    place, look = rng.choice(PLACES), rng.choice(LOOKS)
    return f"Background: {place},\nObjects Attributes: {look}\n\nDesc: {caption} in {place}."


def say_variants(caption: str, prompt: str, rng: random.Random) -> str:
    lines = {
        str(i): f"{caption}, with {rng.choice(LOOKS)}, in {place}." for i, place in enumerate(rng.sample(PLACES, 3), 1)
    }
    return json.dumps({"original": caption, **lines}, indent=4)


def say_questions(caption: str, prompt: str, rng: random.Random) -> str:
    questions = (
        "To which side does it move?",
        "What comes first?",
        "How fast is it?",
        "What changes?",
        "How does it end?",
    )
    return "\n".join(f"{i}. {q}" for i, q in enumerate(rng.sample(questions, 5), 1))


def say_answers(caption: str, prompt: str, rng: random.Random) -> str:
    answers = "\n".join(f"{i}. Somebody is seen {rng.choice(MOVES)}." for i in range(1, 6))
    return f"{answers}\n\nOver the clip somebody is {rng.choice(MOVES)}, then {rng.choice(MOVES)}."


def say_moves(caption: str, prompt: str, rng: random.Random) -> str:
    return "\n".join(f"{i}. {caption}, {move}." for i, move in enumerate(rng.sample(MOVES, 3), 1))


def say_rewrites(caption: str, prompt: str, rng: random.Random) -> str:
    words = rng.sample([f"{a} {b}" for a in ADVERBS for b in ADVERBS], 3)
    return "\n".join(f'{i}. "{caption} {word}."' for i, word in enumerate(words, 1))


def say_marks(caption: str, prompt: str, rng: random.Random) -> str:
    numbers = re.findall(r"(?m)^(\d+)\. (?!\.\.\.)", prompt)
    return "\n".join(f"{n}. {rng.randrange(0, 101)}" for n in numbers)
