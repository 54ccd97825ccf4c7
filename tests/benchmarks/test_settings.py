"""Every protocol's metrics carry exactly the settings that its file documents: all that differs from the defaults.

The defaults themselves stand in tests/metrics/test_defaults.py.
"""

import pytest

from fabula.benchmarks import protocol, room

DENSEVID = "refs=merged,order=file,segments=raw,eps=1e-08,garbage={},top=1000,nonascii=blank"
DENSEVID_DROP = DENSEVID.replace("merged,", "merged,missing=drop,")
TIOU = "@0.3/0.5/0.7/0.9"
DETECTION = "refs=best,order=file,segments=raw,eps=1e-08,top=1000,f1=means,best_by=each"
SODA_MEAN = "SODA_c(missing=drop,order=start,segments=raw,eps=1e-08,roles=gold-as-hypothesis,nonascii=blank)"
FILE_PARAGRAPHS = tuple(f"Para_{n}(order=file)" for n in ("METEOR", "CIDEr", "ROUGE_L", "BLEU_4"))


def words(rules: str, garbage: str) -> tuple[str, ...]:
    r = rules.format(garbage)
    return (
        f"DVC_METEOR({r},agg=corpus){TIOU}",
        f"DVC_CIDEr({r},idf=video){TIOU}",
        f"DVC_ROUGE_L({r}){TIOU}",
        *(f"DVC_BLEU_{n}({r}){TIOU}" for n in (1, 2, 3, 4)),
    )


def scenic(missing: str = "", paragraph: str = "", nonascii: str = "") -> tuple[str, ...]:
    """Vid2Seq's evaluation and its descendants: ends swapped, file order, caption scores in sorted columns."""
    rest = "order=file,segments=swap,eps=1e-08"
    return (
        f"SODA_c({missing}{rest},roles=gold-as-hypothesis{nonascii},columns=sorted)",
        f"DVC_METEOR(refs=merged,{missing}{rest},garbage=random{nonascii},agg=corpus){TIOU}",
        f"DVC_CIDEr(refs=merged,{missing}{rest},garbage=random{nonascii},idf=video){TIOU}",
        f"PRF(refs=best,{missing}{rest},best_by=each){TIOU}",
        f"Para_METEOR(order=file{paragraph})",
        f"Para_CIDEr(order=file{paragraph})",
    )


def soda(refs: str) -> tuple[str, ...]:
    story, told = f"{refs},segments=raw,eps=1e-08", "roles=gold-as-hypothesis,nonascii=blank"
    return (
        f"SODA_a({story},{told},backtrack=marked){TIOU}",
        f"SODA_b({story},{told},backtrack=marked)",
        f"SODA_c({story},{told})",
        f"SODA_d({story})",
    )


DOCUMENTED = {
    "coco": (
        *(f"BLEU_{k}(missing=drop)" for k in (1, 2, 3, 4)),
        *("METEOR(missing=drop,ties=file)", "ROUGE_L(missing=drop)", "CIDEr(missing=drop)"),
    ),
    "densecap": ("DenseCap_mAP(pixel=1,stray=last,passing=pipe,ties=file,grid=accumulated)",),
    "densecap-pytorch": ("DenseCap_mAP(missing=drop,passing=pipe,ties=file,grid=arange)",),
    "densevid-2017": (*words(DENSEVID, "last"), f"PRF({DETECTION}){TIOU}"),
    "densevid-2018": (*words(DENSEVID, "abc"), f"PRF({DETECTION}){TIOU}"),
    "densevid-2019": (*words(DENSEVID, "random"), f"PRF({DETECTION}){TIOU}"),
    "lighthouse": (
        "MR_R1(missing=error,repeated=last,lengths=false,longest=1500,order=file,undefined=chosen)",
        "MR_mAP(missing=error,repeated=join,lengths=false,longest=1500,order=file,empty=drop,undefined=hit)",
        "HL_mAP(missing=error,repeated=last,steps=scores)",
        "HL_Hit1(missing=error,repeated=last)",
    ),
    "lsmdc-fillin": ("FITB(labels=exact,short=shift)",),
    "micap": (
        "FITB(labels=exact,short=shift)",
        "METEOR(tok=none,agg=mean,passing=pipe)",
        "ROUGE_L(tok=none)",
        "CIDEr(tok=none,idf=batch:16)",
        "SPICE(tok=none)",
        "iSPICE(boundary=blank,skip_empty=yes)",
    ),
    "pdvc-2018": (*words(DENSEVID, "abc"), f"PRF({DETECTION}){TIOU}", SODA_MEAN, *FILE_PARAGRAPHS),
    "pdvc-2021": (*words(DENSEVID, "random"), f"PRF({DETECTION}){TIOU}", SODA_MEAN, *FILE_PARAGRAPHS),
    "procnets": (
        "PRF(refs=best,order=file,segments=raw,eps=1e-08,top=15,f1=means,best_by=each)@0.5",
        "mIoU(segments=raw)",
        "mJaccard(segments=raw)",
    ),
    "pss-2022": (
        "SODA_d(refs=single,missing=drop,order=start,segments=raw,eps=1e-08)",
        "mIoU(refs=single,segments=raw)",
        "mJaccard(refs=single,segments=raw)",
    ),
    "qvhighlights": (
        "MR_R1(missing=error,repeated=last,long=150,order=file,undefined=chosen)",
        "MR_mAP(missing=error,repeated=join,long=150,order=file,empty=drop,undefined=hit)",
        "HL_mAP(missing=error,repeated=last,steps=scores)",
        "HL_Hit1(missing=error,repeated=last)",
    ),
    "reloclnet": (
        "VCMR(missing=error,repeated=last,k=1/10/100,unlisted=wrong,cast=float32)",
        "SVMR(missing=error,repeated=last,k=1/10/100,unlisted=wrong,cast=float32,nms_rows=shifted)",
        "VR(missing=error,repeated=last,k=1/10/100,unlisted=wrong,repeats=count)",
    ),
    "soda-2021": soda("refs=merged,missing=drop,order=start"),
    "soda-2021-multi": soda("refs=best,missing=drop,order=predictions"),
    "timechat": scenic(paragraph=",pairing=shifted"),
    "timechat-tvg": ("Grounding(missing=drop)",),
    "trace": scenic("missing=drop,", ",pairing=shifted"),
    "tvr": (
        "VCMR(missing=error,repeated=last,unlisted=wrong,cast=float32)",
        "SVMR(missing=error,repeated=last,unlisted=wrong,cast=float32)",
        "VR(missing=error,repeated=last,unlisted=wrong,repeats=count)",
    ),
    "vid2seq": scenic(nonascii=",nonascii=blank"),
    "vidchapters": (
        *words(DENSEVID_DROP, "random"),
        f"PRF({DETECTION.replace('best,', 'best,missing=drop,', 1).replace('means', 'levels')}){TIOU}",
        "StartPRF(refs=best,missing=drop,order=file,segments=raw,eps=1e-08,top=1000,f1=levels,best_by=each)"
        "@1/3/5/10/30/60",
        SODA_MEAN,
    ),
    "vtimellm": (SODA_MEAN, *words(DENSEVID_DROP, "random")[:2]),
}
TASKS = {
    "captions": ("coco",),
    "regions": ("densecap", "densecap-pytorch"),
    "highlights": ("lighthouse", "qvhighlights"),
    "identity": ("lsmdc-fillin", "micap"),
    "procedure": ("procnets", "pss-2022"),
    "moments": ("reloclnet", "tvr"),
    "grounding": ("timechat-tvg",),
}


def test_every_protocol_is_documented_here():
    assert set(DOCUMENTED) <= {p.name for p in room.all()}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_settings(name):
    assert tuple(map(str, protocol(name).metrics)) == DOCUMENTED[name]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_task(name):
    found = [task for task, names in TASKS.items() if name in names] or ["dense"]
    assert [protocol(name).task] == found


TAKES_SEGMENTS_AS_THEY_COME = {
    *("densevid-2017", "densevid-2018", "densevid-2019", "pdvc-2018", "pdvc-2021", "soda-2021", "soda-2021-multi"),
    *("timechat", "trace", "vid2seq", "vidchapters", "vtimellm", "procnets", "pss-2022"),
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_who_judges_segments(name):
    """One metric that takes them as they come is enough: paragraphs have no segments to judge."""
    assert protocol(name).judges_segments == (name not in TAKES_SEGMENTS_AS_THEY_COME)
