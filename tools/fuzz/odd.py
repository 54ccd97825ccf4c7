"""Values that files should not have, and do: numbers at the edges, texts that break lines, pieces that are no JSON."""

# fmt: off
NUMBERS = (
    0, 1, -1, 2, 7, 100, 10**9, 2**31, 2**31 - 1, -(2**31), 2**53, 2**53 + 1, 2**63, 2**63 - 1, -(2**63), 2**64, 10**19,
    10**400, -(10**400), 0.0, -0.0, 0.5, 1e-9, 5e-324, 2.2e-308, 1e308, -1e308, 1.7976931348623157e308, 1e16, 1e300,
    float("nan"), float("inf"), float("-inf"), 0.1 + 0.2, 1 / 3, 99.99999999999999,
)
SOME = (0, 1, -1, 0.0, -0.0, 1e-9, 0.5, 1e6, 1e15, 2**31, 2**53 + 1, 1e16, 99.99999999999999, 5e-324, 1e300)  # finite
TOKENS = (
    "NaN", "-NaN", "Infinity", "1e400", "-1e400", "1e-400", "-0", "-0.0", "01", "+1", "1.", ".5", "1e", "0x1F", "1_000",
    "...", "b'x'", "{1,2}", "3j", "(1,)", "None", "True", "1L", "nan", "inf", "'x'", "٣", "１２", "²", "Ⅷ", "1 2",
    '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\x41"', '"\\q"', '"\\u12"', '"a\nb"', '"\t"', "//c", "/*c*/",
    "undefined", "0x" + "f" * 5000, "9" * 5000, "1" + "0" * 400, "0." + "0" * 400 + "1", "[" * 900, "]" * 3,
    '{"a":' * 900, "{", "}", "[", "]", ",", ":", '"', "'", "lambda: 0", "f'{x}'", "[]*9**9", "-" * 3000 + "1", "not 1",
)
STRINGS = (
    "", " ", "\t", "\n", "a\nb", "\r", "\x00", "\x1b]0;t\x07", "\x1b[31mred", "\x7f", "\x85", "\u2028", "\u2029",
    "\ufeff", "\ufffe", "\ud800", "a\udc00b", "e" + "\u0301" * 30, "\u0301", "\u200d\u200d", "\u202etfel", "𝟙𝟚", "١٢",
    "１２", "²", "①", "\U0010ffff", "{n}", "%s %d", "[/]", "[link=evil]b", "[bold]x", "<script>", "&amp;", "../../etc",
    "/dev/zero", "C:\\x", "~", "-", "--help", "nan", "inf", "-inf", "1e5", "1e999", "0", "-1", "12.5", "true", "null",
    "None", "v_kite", "P1", "[PERSON1]", "P01", "P١", "_", ",", "dog\tcat", "dog ||| cat", "# x", "##", "a.b.c", "...",
    "n't", "'s", "``", "''", "(", "-lrb-", "x" * 300, "wörter", "ß", "İ", "ſ", "ǅ", "漢字 かな", "🙂", "👩‍👩‍👧",
    "a" + "\u0301" * 1000, "the " * 200, "x" * 5000, "a b " * 30, "__class__", "__proto__", "id", "results",
)
CUTS = b'{}[]",:\\/ \t\r\n0123456789eE+-.nulltruefalseNaNIfity\x00\x80\xc3\xe2\xf0\xff\xed\xa0\x80\xef\xbb\xbf'
BLOBS = (
    b"\xef\xbb\xbf", b"\x00", b"\r\n", b"\r", b"\n\n", b"\x80", b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"{}", b"[]",
    b"\xf4\x90\x80\x80", b"\x1b[2J", b"null", b'"', b"\x0c", b"\xe2\x80\xa8", b"\x1a", b"\xc2\xa0",
)
SPLICES = (  # of answers
    "\n", "\n\n", "```", "</think>", "| --- |", "00:12 - 00:30 ", "12s", "40%", "{'start': ", '"end": ', "99:99:99",
    "1:2:3:4", "1e5s", "-5 to -3", "frame 9999999999", "<time_token_5>", "1'30\"",
)
BITS = (",", "(", ")", "@", "=", "/", "|", "1e400", "-1", "0", "nan", "top=", "none", "9" * 400, "k=1", "tau=2", " ")
FILES = (  # their names, without the ending
    "a[link=evil]b", "a\x1b]0;t\x07b", "a\nb", "\u202eb", "a b", "[/]", "[bold]", "a'b", 'a"b', "ä", "a%s", "a{n}",
    "x" * 200, "a\tb", "a\rb", "a\u2028b", "-", "--refs", "a\\b", "~", "$HOME", "a;b", "a|b", "🙂", "\udcff",
)
VALUES = (  # of options
    "", " ", "-", "--", "0", "1", "-1", "1e12", "1000000000000", "99999999999999999999", "nan", "inf", "-inf", "1e400",
    "1e-300", "0.5", "true", "none", "x", "x" * 900, "a\nb", "\x1b[31m", "[/]", "١٢", "\udcff", "../..", "/", ".",
    "/dev/null", "no.json", "pred.json", "ref0.json", "SODA_c", "SODA_c,SODA_c", "mIoU(", "default",
    "soda-2021", "dense", "regions", "fabula", "coco:xyxy", "ptb", "(", "(a+)+$", "a,b,c", ",", "meteor", "0x10",
    "1_000", "3000000000", "1/0", "9" * 5000, "frames,fps=0", "tokens,bins=1", "percent", "drop", "swap,swap", "bca",
    "bootstrap", "out.json", "out.jsonl", "nowhere/out.json",
)
UNITS = (  # of files that are nothing but this
    b" ", b"\0", b"a", b"[", b"{", b'{"a":', b"[],", b"{},", b"\n", b"{}\n", b"0,", b'"', b"\\", b"\xff", b"1", b",",
    b"[0,1],", b'{"id": "v", "events": []}\n', b'{"image_id": 1, "caption": "a"},', b'"v": [[0, 1]],', b"\xc3", b"\r",
    b"a,b\n", b"-",
)
HEADERS = (  # of .npy files
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (), }",
    "{'descr': '<U9999999', 'fortran_order': False, 'shape': (2, 2), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2), }",
    "{'descr': '<f4', 'shape': (2, 2)}", "[" * 5000,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2L), }",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), " + "'x': 1, " * 3000 + "}",
)
# fmt: on
