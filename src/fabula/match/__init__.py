"""Matrix → pairs: ordered (SODA), soft_ordered (SoftSODA), hungarian, greedy; its meaning is not known here."""

from fabula.match._matrix import Matrix, Pairs
from fabula.match.greedy import greedy
from fabula.match.hungarian import hungarian
from fabula.match.ordered import ordered
from fabula.match.soft_ordered import soft_ordered

__all__ = ["Matrix", "Pairs", "greedy", "hungarian", "ordered", "soft_ordered"]
