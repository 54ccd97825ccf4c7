"""What makes a score what it is: predictions under other rules and without their errors, metrics under stress."""

from fabula.diagnosis.errors import Diagnosis, errors
from fabula.diagnosis.factors import Factors, factors
from fabula.diagnosis.finding import Limits
from fabula.diagnosis.retrieval import Retrieval, retrieval
from fabula.diagnosis.stress import Stress, stress

__all__ = ["Diagnosis", "Factors", "Limits", "Retrieval", "Stress", "errors", "factors", "retrieval", "stress"]
