"""What a metric means when nothing is said: every choice, its main number, and the tasks that show it."""

import pytest

from fabula.metrics import metric, room

STORY = "refs=mean,missing=zero,order=time,segments=checked,eps=0"
CAPTION = "nonascii=keep,missing=zero"
SODA = f"{STORY},text=meteor,roles=prediction-as-hypothesis,tok=ptb,nonascii=keep,columns=index"
COVERED = f"{STORY},top=none,f1=videos,best_by=f1"
WORDS = f"{STORY},garbage=zero,top=none,tok=ptb,nonascii=keep"
PARAGRAPH = "missing=zero,order=time,pairing=video"
TIOU = "@0.3/0.5/0.7/0.9"
RANKED = "missing=zero,k=1/5/10/100,top=100,order=file"
RECALL = f"{RANKED},iou=0.5/0.7,cmp=>=,cast=float64,agree=2,agree_from=4,nms=none,nms_rows=right"
LENGTHS = (
    "missing=zero,iou=0.5/0.55/0.6/0.65/0.7/0.75/0.8/0.85/0.9/0.95,lengths=true,"
    "short=10,middle=30,long=none,longest=none"
)
REGIONS = (
    "ious=0.3/0.4/0.5/0.6/0.7,meteors=0/0.05/0.1/0.15/0.2/0.25,merge=0.7,pixel=0,claim=best,stray=nothing,"
    "missing=zero,passing=direct,levels=100,grid=exact"
)

FULL = [
    f"BLEU_1(tok=ptb,{CAPTION})",
    f"BLEU_2(tok=ptb,{CAPTION})",
    f"BLEU_3(tok=ptb,{CAPTION})",
    f"BLEU_4(tok=ptb,{CAPTION})",
    f"CIDEr(tok=ptb,{CAPTION},idf=corpus)",
    f"DenseCap_AP({REGIONS})",
    f"DenseCap_mAP({REGIONS})",
    f"DVC_BLEU_1({WORDS}){TIOU}",
    f"DVC_BLEU_2({WORDS}){TIOU}",
    f"DVC_BLEU_3({WORDS}){TIOU}",
    f"DVC_BLEU_4({WORDS}){TIOU}",
    f"DVC_CIDEr({WORDS},idf=corpus){TIOU}",
    f"DVC_iSPICE({STORY},garbage=zero,top=none,tok=none,nonascii=keep,spice=native,ids=11){TIOU}",
    f"DVC_METEOR({WORDS},agg=items){TIOU}",
    f"DVC_ROUGE_L({WORDS}){TIOU}",
    f"DVC_SPICE({WORDS},spice=native){TIOU}",
    "FITB(labels=clean,short=zero)",
    "Grounding(missing=zero,iou=0.3/0.5/0.7,cmp=>=,order=file,reader=fabula)",
    "HL_Hit1(missing=zero,clip=2)",
    "HL_mAP(missing=zero,clip=2,steps=recall)",
    f"iSPICE(tok=none,{CAPTION},ids=11,boundary=word,skip_empty=no,spice=native)",
    f"METEOR(tok=ptb,{CAPTION},agg=corpus)",
    f"mIoU({STORY})",
    f"mJaccard({STORY})",
    f"MR_mAP({LENGTHS},order=score,top=10,empty=zero)",
    f"MR_R1({LENGTHS},order=score)",
    f"OrderedPRF({STORY},cmp=>)@0.5",
    f"Para_BLEU_4({PARAGRAPH})",
    f"Para_CIDEr({PARAGRAPH})",
    f"Para_iSPICE({PARAGRAPH},ids=11,spice=native)",
    f"Para_METEOR({PARAGRAPH})",
    f"Para_ROUGE_L({PARAGRAPH})",
    f"Para_SPICE({PARAGRAPH},spice=native)",
    f"PRF({COVERED},cmp=>)@0.5",
    f"ROUGE_L(tok=ptb,{CAPTION})",
    f"SODA_a({SODA},backtrack=exact){TIOU}",
    f"SODA_b({SODA},backtrack=exact)",
    f"SODA_c({SODA})",
    f"SODA_d({STORY})",
    f"SPICE(tok=ptb,{CAPTION},spice=native)",
    f"StartPRF({COVERED})@5",
    f"SVMR({RECALL})",
    f"VCMR({RECALL})",
    f"VR({RANKED},repeats=once)",
]


def test_every_metric_stands_here():
    assert {text.partition("(")[0] for text in FULL} <= {cls.name for cls in room.all()}


@pytest.mark.parametrize("text", FULL, ids=[text.partition("(")[0] for text in FULL])
def test_defaults(text):
    assert metric(text.partition("(")[0]).full() == text


MAIN = {  # the number that a table prints where there is room for one
    "f1": ("PRF", "StartPRF", "OrderedPRF", "SODA_a", "SODA_b", "SODA_c", "SODA_d"),
    "class": ("FITB",),
    "map": ("DenseCap_mAP", "MR_mAP"),
    "iou0.5_meteor0": ("DenseCap_AP",),
    "r1@0.5": ("Grounding", "MR_R1", "SVMR", "VCMR"),
    "r1": ("VR",),
    "verygood": ("HL_mAP", "HL_Hit1"),
}


@pytest.mark.parametrize("text", FULL, ids=[text.partition("(")[0] for text in FULL])
def test_main_number(text):
    made = metric(text)
    assert [made.primary] == ([field for field, names in MAIN.items() if made.name in names] or ["value"])
    assert made.primary in made.fields and made.scale == 100
