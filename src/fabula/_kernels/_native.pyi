import numpy as np
from numpy.typing import NDArray

def ordered(C: NDArray[np.float64]) -> tuple[float, list[tuple[int, int]]]: ...
