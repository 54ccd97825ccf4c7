import numpy as np
from numpy.typing import NDArray

def lcs(A: list[list[int]], B: list[list[int]]) -> NDArray[np.int64]: ...
def ordered(C: NDArray[np.float64]) -> tuple[float, list[tuple[int, int]]]: ...
def lift(
    text: bytes, key: str, first: int, whole: bool
) -> tuple[bytes, int, NDArray[np.float64], NDArray[np.int64]]: ...

class Scanner:
    def __init__(
        self,
        classes: bytes,
        members: list[bytes],
        follow: list[list[int]],
        accept: list[int],
        first: list[int],
        rules: list[tuple[int, int, int, str, str | None, str, list[tuple[str, str]]]],
        blanks: str,
    ) -> None: ...
    def lines(self, texts: list[str]) -> list[str]: ...
