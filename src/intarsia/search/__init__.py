"""Which plan to ship: every engine alone, greedy by priority, the measured optimum, or the plan a user wrote."""

from intarsia.search.collage.collage import CollageResult, CollageSearch, Mix
from intarsia.search.collage.edge_costs import Known
from intarsia.search.collage.fixed_plan import given_candidate
from intarsia.search.decision.decide import decide
from intarsia.search.decision.decision import Decision
from intarsia.search.decision.interrupted import decide_early
from intarsia.search.decision.prediction import failure_error, predict
from intarsia.search.single.single_engine import Single, tune_singles

__all__ = [
    "CollageResult",
    "CollageSearch",
    "Decision",
    "Known",
    "Mix",
    "Single",
    "decide",
    "decide_early",
    "failure_error",
    "given_candidate",
    "predict",
    "tune_singles",
]
