"""`--device auto`: a GPU where the adapter's own library can use one, else the CPU; recipes do not know of it."""

from __future__ import annotations

import sys
from dataclasses import fields
from types import SimpleNamespace

import pytest

from fabula.library.embedders import embedder
from fabula.library.options import IndexOptions, SearchOptions
from fabula.media.devices import find_device, place_adapter
from fabula.media.extractors import extractor
from fabula.media.options import ExtractOptions
from fabula.media.people.detectors import detector
from fabula.media.people.options import FindOptions


def libraries(gpu: bool) -> dict[str, SimpleNamespace]:
    """Torch and ONNX Runtime of a machine with a GPU, or without."""
    providers = ["CUDAExecutionProvider"] * gpu + ["CPUExecutionProvider"]
    return {
        "torch": SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: gpu)),
        "onnxruntime": SimpleNamespace(get_available_providers=lambda: providers),
    }


@pytest.mark.parametrize("options", [ExtractOptions, FindOptions, IndexOptions, SearchOptions])
def test_the_default_is_auto(options):
    assert {f.name: f.default for f in fields(options)}["device"] == "auto"


@pytest.mark.parametrize(("gpu", "there"), [(True, "cuda"), (False, "cpu")])
def test_a_gpu_is_used_where_there_is_one(monkeypatch, gpu, there):
    for name, module in libraries(gpu).items():
        monkeypatch.setitem(sys.modules, name, module)
    assert find_device("auto", "torch") == find_device("auto", "onnx") == there
    assert find_device("auto", "none") == "cpu" and find_device("cuda:1", "torch") == "cuda:1"
    made = extractor("efficientnet_lite0", device="auto")
    assert place_adapter(made).device == place_adapter(detector("scrfd", device="auto")).device == there
    assert place_adapter(detector("yunet:x.onnx", device="auto")).device == "cpu"  # OpenCV's own
    assert place_adapter(extractor("efficientnet_lite0(device=mps)", device="auto")).device == "mps"
    search = embedder("offline", device="auto")
    assert place_adapter(search).device == there and place_adapter(search, search.text_library).device == "cpu"


def test_without_the_library_it_is_the_cpu(monkeypatch):
    for name in libraries(False):
        monkeypatch.setitem(sys.modules, name, None)
    assert find_device("auto", "torch") == find_device("auto", "onnx") == "cpu"
    assert str(place_adapter(extractor("efficientnet_lite0", device="auto"))) == "efficientnet_lite0"
