"""Numbers that no metric can use are refused, whichever metric has the field."""

import pytest

from fabula.core.errors import SpecError
from fabula.diagnosis.retrieval import retrieval
from fabula.metrics import metric


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("SODA_c(eps=-1)", "eps=-1; what is added to a union is 0 or more"),
        ("mIoU(eps=-0.5)", "eps=-0.5"),
        ("PRF@1.5", "tau=1.5; an overlap lies between 0 and 1"),
        ("VCMR(iou=0.5/2)", "iou=2; an overlap lies between 0 and 1"),
        ("Grounding(iou=-0.1)", "iou=-0.1"),
        ("MR_mAP(iou=50)", "iou=50"),
        ("VCMR(k=0)", "k=0; it is a whole number from 1 on"),
        ("VR(k=1/-5)", "k=-5"),
        ("SVMR(k=1.5)", "k=1.5"),
        ("VCMR(top=0)", "top=0; it must be at least 1"),
        ("MR_mAP(top=-1)", "top=-1"),
    ],
)
def test_a_number_out_of_range_is_refused(spec, why):
    with pytest.raises(SpecError) as seen:
        metric(spec)
    assert why in str(seen.value)


@pytest.mark.parametrize("iou", [7, -1, float("nan")])
def test_the_overlap_of_a_diagnosis_too(tmp_path, iou):
    queries, answers = tmp_path / "queries.jsonl", tmp_path / "answers.jsonl"
    queries.write_text('{"id": 1, "video": "a", "windows": [[1, 2]]}\n')
    answers.write_text('{"id": 1, "windows": [[1, 2, 0.5]], "videos": ["a"]}\n')
    with pytest.raises(SpecError, match="an overlap lies between 0 and 1"):
        retrieval(answers, queries, iou=iou)
