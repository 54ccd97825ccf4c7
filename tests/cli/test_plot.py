"""fabula plot, as a user types it."""

from fabula import demo


def test_from_score_to_picture(fabula, tmp_path):
    for name in ("a", "b"):
        files = (demo.SYSTEMS["good"], "--refs", demo.REFERENCES["annotator_1"])  # fewer than 5 videos: no interval
        typed = ("score", *files, "-m", "SODA_c,METEOR,mIoU", "--ci", "--resamples", 50)
        assert fabula(*typed, "--json", f"{name}.json", "--rows", f"{name}.jsonl").code == 0
    for kind, ending in {"scatter": "jsonl", "thresholds": "json", "intervals": "json"}.items():
        ran = fabula("plot", kind, f"a.{ending}", f"b.{ending}", "-o", f"{kind}.svg", "--names", "A,B")
        assert ran.code == 0, ran.err
        assert ran.out == "" and f"{kind}.svg" in ran.err
        text = (tmp_path / f"{kind}.svg").read_text()
        assert text.startswith("<?xml") and "</svg>" in text and ">A<" in text.replace(" of A<", ">A<")


def test_what_is_wrong_is_one_line_and_nothing_is_written(fabula, tmp_path):
    for typed, told in {
        ("plot", "scatter", "preds.json", "refs.json", "-o", "x.svg"): "rows are .jsonl",
        ("plot", "intervals", "preds.json", "-o", "x.svg"): "no result of fabula score --json",
        ("plot", "intervals", "preds.json", "-o", "x.png"): "plots are SVG",
        ("plot", "intervals", "none.json", "-o", "x.svg"): "no such file",
    }.items():
        ran = fabula(*typed)
        assert ran.code == 2 and told in ran.err and len(ran.err.splitlines()) == 1
    assert not (tmp_path / "x.svg").exists()
    assert fabula("plot", "pie", "preds.json", "-o", "x.svg").code == 2
