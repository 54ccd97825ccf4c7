"""What makes a score what it is: predictions under other rules and without their errors, metrics under stress."""

from fabula.core.rooms import also_verb
from fabula.diagnose.errors import Diagnosis, errors
from fabula.diagnose.factors import Factors, factors
from fabula.diagnose.finding import Limits
from fabula.diagnose.retrieval import Retrieval, retrieval
from fabula.diagnose.stress import Stress, stress

__all__ = ["Diagnosis", "Factors", "Limits", "Retrieval", "Stress", "errors", "factors", "retrieval", "stress"]

also_verb(__name__)
