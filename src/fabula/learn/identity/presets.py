"""A preset for each trained row of MICap's Tables 2 to 6 (docs/identity.md): what is seen and what is learnt.

Whose vectors the faces have, FaceNet's or ArcFace's, is a matter of the store `face`.
"""

from __future__ import annotations

from fabula.documents.fields import JsonObject
from fabula.learn.tasks.base import Preset

FITB: JsonObject = {"task": "fitb"}
FACES: JsonObject = {**FITB, "streams": "text,action,face"}
CLUSTERS: JsonObject = {**FACES, "face_clusters": "clip", "pool_faces": True}
EVERYTHING: JsonObject = {**FITB, "streams": "text,action,face,frame"}
DECODER: JsonObject = {"encoder": False}


def micap(about: str, config: JsonObject) -> Preset:
    return Preset(about=about, model="micap", config=config)


def fillin(about: str, config: JsonObject) -> Preset:
    return Preset(about=about, model="fillin", config=config)


def language(about: str, base: str, streams: str) -> Preset:
    return Preset(about=about, model="lm", config={"task": "caption", "base": base, "streams": streams})


PRESETS = {
    "fillin-text-only": fillin("Table 2, row 0: FillIn, text alone", {"streams": "text"}),
    "fillin": fillin("Table 2, row 1; Tables 3 and 5: FillIn as its published command trains it", {}),
    "fillin-gender": fillin("the same with the loss of genders, which its paper adds", {"gender": True}),
    "text-only": micap("Table 2, row 2: text alone", {**FITB, "streams": "text"}),
    "clip-clusters": micap("Table 2, row 3: FillIn's face clusters, one mean face a person and clip", CLUSTERS),
    "clip-clusters-only-decoder": micap("the same without an encoder", {**CLUSTERS, **DECODER}),
    "facenet": micap("Table 2, row 4: single faces, with FaceNet's vectors in the store", FACES),
    "facenet-only-decoder": micap("the same without an encoder", {**FACES, **DECODER}),
    "facenet-clip": micap("Table 2, row 5: and CLIP frames", EVERYTHING),
    "facenet-clip-only-decoder": micap("the same without an encoder", {**EVERYTHING, **DECODER}),
    "fitb-only": micap("Table 2, row 6; Tables 3 and 4: all streams, ArcFace's vectors in the store", EVERYTHING),
    "only-decoder": micap("the same without an encoder", {**EVERYTHING, **DECODER}),
    "captions-only": micap("Table 4: captions alone", {"task": "caption"}),
    "joint": micap("Tables 4, 5 and 6: blanks and captions, one classifier", {"task": "joint"}),
    "joint-separate": micap("section 3.2: joint, with a classifier for blanks", {"classifier": "separate"}),
    "t5-clip": language("Table 6: T5, only CLIP", "t5", "frame"),
    "t5-all": language("Table 6: T5, all features", "t5", "action,face,frame"),
    "gpt2-clip": language("Table 6: GPT-2, only CLIP", "gpt2", "frame"),
    "gpt2-all": language("Table 6: GPT-2, all features", "gpt2", "action,face,frame"),
}
