"""Python's objects as JSON has them: numbers of numpy and torch become numbers, tuples and arrays lists; the rest is
refused with its place. What is plain already is handed on as it is; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from fabula.core.errors import InputError, shown

SHORT = {str, float, bool, type(None)}
LEAVES = {*SHORT, int}
LONG = 14_000  # bits: about 4,300 digits, beyond which Python writes no number
DEEPEST = 60  # no format nests so far: a list that holds itself ends here
WORDS = {
    dict: "a dict",
    list: "a list",
    tuple: "a tuple",
    set: "a set",
    str: "text",
    type(None): "None",
    bytes: "bytes",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands in an object: `[3]['events'][0]`, and whose it is."""

    called: str
    path: tuple[object, ...] = ()
    item: object = None

    def inside(self, key: object) -> Place:
        return Place(self.called, (*self.path, key), self.item)

    def wrong(self, problem: str, hint: str) -> InputError:
        spelled = "".join(f"[{shown(key)}]" for key in self.path)
        return InputError(problem, file=self.called, video=self.item, field=spelled or None, hint=hint, noun="item")


def name_kind(value: Any) -> str:
    """`a dict`, `a list`, `a pandas DataFrame`: what people call it."""
    kind = type(value)
    if kind in WORDS:
        return WORDS[kind]
    if isinstance(value, str):
        return "text"
    home = kind.__module__.partition(".")[0]
    name = kind.__name__ if home in ("builtins", "__main__") or len(home) > 20 else f"{home} {kind.__name__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def to_plain(value: Any, place: Place) -> Any:
    """As JSON has it."""
    kind = type(value)
    if kind is int:
        return check_length(value, place)
    if kind in LEAVES:
        return value
    if len(place.path) > DEEPEST:
        raise Place(place.called, place.path[:3], place.item).wrong(
            "nested too deeply, or holds itself", "no format read here needs it"
        )
    if kind is list:
        if set(map(type, value)) <= SHORT:
            return list(value)
        return [x if type(x) in SHORT else to_plain(x, place.inside(i)) for i, x in enumerate(value)]
    if isinstance(value, Mapping):
        return plain_mapping(value, place)
    if isinstance(value, tuple):
        return to_plain(list(value), place)
    return to_plain(convert(value, place), place)


def check_length(number: int, place: Place) -> int:
    if number.bit_length() > LONG:
        raise place.wrong("a whole number of more than 4,300 digits", "mend it")
    return number


def plain_mapping(value: Mapping[Any, Any], place: Place) -> dict[str, Any]:
    try:
        pairs = list(value.items())
    except Exception as error:
        raise place.wrong(f"cannot be read ({type(error).__name__}: {error})", "give a dict") from error
    plain: dict[str, Any] = {}
    for key, inner in pairs:
        name = key if type(key) is str else to_key(key, place)
        if name in plain:
            raise place.wrong(f"the key {shown(name)} stands twice", "keep one of the two")
        plain[name] = inner if type(inner) in SHORT else to_plain(inner, place.inside(name))
    return plain


def to_key(key: Any, place: Place) -> str:
    """Ids may be whole numbers; anything else is no key of JSON."""
    if isinstance(key, str):
        return str(key)
    if not isinstance(key, bool) and (isinstance(key, int) or is_whole(key)):
        return str(int(key))
    raise place.wrong(f"a key that is {name_kind(key)}: {shown(key)}", "keys are text or whole numbers")


def is_whole(value: Any) -> bool:
    return (
        type(value).__module__ == "numpy"
        and getattr(getattr(value, "dtype", None), "kind", "") in "iu"
        and (getattr(value, "shape", None) == ())
    )


def convert(value: Any, place: Place) -> Any:
    """One step towards JSON: what arrays, tensors and columns hold; of anything else, what is wrong with it."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int | float):  # of a class of its own: an enum
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, set | frozenset):
        raise place.wrong("a set, which has no order", "give a list")
    if isinstance(value, bytes | bytearray | memoryview):
        raise place.wrong(f"bytes: {shown(bytes(value[:20]))}", "decode them: text is str")
    if is_missing(value):
        return None
    for way in ("tolist", "to_list", "to_pylist", "as_py", "item"):
        if callable(getattr(value, way, None)) and not isinstance(value, type):
            try:
                found = getattr(value, way)()
            except Exception as error:
                problem = f"{name_kind(value)} that cannot be read ({type(error).__name__}: {error})"
                raise place.wrong(problem, "give a list or a number") from error
            if type(found) is not type(value):
                return found
            break
    if isinstance(value, range):
        return list(islice(value, 10**7))
    raise place.wrong(f"{name_kind(value)}: {shown(value)}", "give text, numbers, lists and dicts")


def is_missing(value: Any) -> bool:
    """What pandas puts where nothing is: NA, NaT."""
    return type(value).__name__ in ("NAType", "NaTType") and type(value).__module__.startswith("pandas")
