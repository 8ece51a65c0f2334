"""Files of any size and in any state are read: what is no trace is counted, located and skipped."""

from __future__ import annotations

import io
import itertools
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces_made import DATA, changed, contract_checker, legal_texts, straight

from diagnosis import check_traces
from diagnosis.traces import MAX_DOCUMENT, MAX_LINE

GOOD = json.dumps({"run_id": "good", "orchestration_trace": straight()}).encode()


def checked(data: bytes):
    return check_traces(contract_checker(), io.BytesIO(data))


def told(data: bytes):
    report = checked(data)
    return (
        report.conforming,
        report.deviating,
        report.unreadable,
        [(each.line, each.detail) for each in report.deviations],
    )


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (GOOD[:200], "it is no JSON: Input data was truncated"),
        (b"\xff\xfe\xfd", "it is no JSON: JSON is malformed: invalid character (byte 0)"),
        (b'"\xff"', "it is no JSON: Invalid UTF-8 encoded string"),
        (b"\x00\x00", "it is no JSON: JSON is malformed: invalid character (byte 0)"),
        (GOOD + b"\x00", f"it is no JSON: JSON is malformed: trailing characters (byte {len(GOOD) + 1})"),
        (GOOD + GOOD, f"it is no JSON: JSON is malformed: trailing characters (byte {len(GOOD) + 1})"),
        (b"[" * 100_000 + b"]" * 100_000, "the JSON is nested too deeply"),
        (b'{"a":' * 100_000, "the JSON is nested too deeply"),
        (b"x" * (MAX_LINE + 1), "the line is longer than 1 MiB; it was skipped unread"),
        (b"NaN", "it is no JSON: JSON is malformed: invalid character (byte 0)"),
    ],
)
def test_a_line_that_is_no_json_is_counted_located_and_skipped(line, detail):
    assert told(GOOD + b"\n" + line + b"\n" + GOOD + b"\n") == (2, 0, 1, [(2, detail)])


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (b"3", "found 3; a trace is an object, bare or as 'orchestration_trace' of a record"),
        (b"null", "found null; a trace is an object, bare or as 'orchestration_trace' of a record"),
        (b"[]", "found a list; a trace is an object, bare or as 'orchestration_trace' of a record"),
        (b"{}", "version is missing; allowed: a whole number from 1"),
        (b'{"run_id": [], "orchestration_trace": null}', "run_id is a list; allowed: a text or null"),
        (b'{"orchestration_trace": []}', "orchestration_trace is a list; allowed: an object or null"),
        (b'{"version": 1, "transitions": {}}', "transitions is an object; allowed: a list"),
        (b'{"version": 1, "transitions": [7]}', "transitions[0] is 7; allowed: an object"),
    ],
)
def test_json_that_is_no_trace_deviates_as_malformed(line, detail):
    assert told(line + b"\n" + GOOD) == (1, 1, 0, [(1, detail)])


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_nothing():
    assert told(b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n  \n\n" + GOOD) == (2, 0, 0, [])


class Made(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, lines):
        self.lines = lines
        self.rest = b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while len(self.rest) < len(buffer):
            line = next(self.lines, None)
            if line is None:
                break
            self.rest += line
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def peak_of(lines):
    """Give the report, and the MiB at the peak of making it."""
    checker = contract_checker()
    stream = io.BufferedReader(Made(lines), 1 << 18)
    tracemalloc.start()
    try:
        report = check_traces(checker, stream, keep=100)
        return report, tracemalloc.get_traced_memory()[1] / (1 << 20)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("letter", [b"x", b"[", b'{"', b'"'])
def test_a_hundred_megabytes_of_garbage_on_one_line_are_skipped_in_little_memory(letter):
    piece = letter * ((1 << 18) // len(letter))
    report, peak = peak_of(itertools.chain(itertools.repeat(piece, 400), [b"\n", GOOD]))
    assert (report.unreadable, report.conforming) == (1, 1)
    assert [(each.line, each.detail) for each in report.deviations] == [
        (1, "the line is longer than 1 MiB; it was skipped unread")
    ]
    assert peak < 2 * (MAX_DOCUMENT >> 20)


def test_memory_does_not_grow_with_the_number_of_traces():
    texts = [text.encode() for text in legal_texts()[::10]]
    texts.append(texts[0].replace(b"PLAN_READY", b"PLAN_RUINED"))
    peaks = []
    for count in (1_000, 10_000):
        lines = (
            b'{"run_id": "run %d", "orchestration_trace": %s}\n' % (number, texts[number % len(texts)])
            for number in range(count)
        )
        report, peak = peak_of(lines)
        assert (report.checked, report.deviating) == (count, count // len(texts))
        peaks.append(peak)
    assert peaks[1] < 8
    assert peaks[1] - peaks[0] < 0.5


def test_a_document_may_be_one_trace_or_a_list_bare_or_wrapped_and_indented():
    bare, wrapped = straight(), {"run_id": "r", "orchestration_trace": straight()}
    for document in (bare, wrapped, [bare, wrapped], [wrapped] * 300):
        for indent in (None, 2):
            report = checked(json.dumps(document, indent=indent).encode())
            assert report.conforming == (len(document) if isinstance(document, list) else 1)
            assert report.conforms


def test_a_trace_in_a_list_is_located_by_its_line_and_its_place():
    wrong = changed(lambda steps, trace: steps[1].update(attempt=2))
    text = json.dumps([straight(), wrong, straight(), {"run_id": "r", "orchestration_trace": wrong}], indent=1)
    found = [(each.line, each.item, each.run_id, each.at) for each in checked(text.encode()).deviations]
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines, 1) if line == " {"]
    assert found == [(starts[1], 1, None, 1), (starts[3], 3, "r", 1)]


def test_a_document_too_large_to_be_read_as_a_whole_is_refused_with_the_way_out():
    report = checked(b"[\n" + b" " * MAX_DOCUMENT + b"]")
    assert report.refused == {"-": "the JSON document is larger than 8 MiB; write one trace a line (JSON Lines)"}
    assert not report.conforms


def test_a_truncated_first_line_does_not_make_a_document_of_the_rest():
    assert told(GOOD[:100] + b"\n" + GOOD + b"\n" + GOOD) == (2, 0, 1, [(1, "it is no JSON: Input data was truncated")])


def test_a_long_line_and_a_line_across_two_pieces_keep_the_numbers_of_lines():
    filler = json.dumps({"orchestration_trace": straight(), "note": "x" * 300_000}).encode()
    wrong = json.dumps(changed(lambda steps, trace: steps[1].update(attempt=2))).encode()
    data = b"\n".join([GOOD, b"y" * (3 * MAX_LINE), filler, wrong, filler, wrong])
    report = checked(data)
    assert (report.conforming, report.deviating, report.unreadable) == (3, 2, 1)
    assert [each.line for each in report.deviations] == [2, 4, 6]


def test_the_shipped_damaged_file_is_read_to_its_end():
    report = check_traces(contract_checker(), DATA / "damaged.jsonl")
    assert (report.conforming, report.deviating, report.unreadable) == (1, 3, 5)
    assert [(each.line, each.kind) for each in report.deviations] == [
        (2, "malformed"),
        (4, "malformed"),
        (5, "malformed"),
        (6, "malformed"),
        (7, "malformed"),
        (8, "malformed"),
        (9, "incomplete"),
        (10, "malformed"),
    ]


def test_files_that_cannot_be_opened_are_refused_and_others_still_checked(tmp_path):
    report = check_traces(contract_checker(), [tmp_path / "none.jsonl", tmp_path, DATA / "one_trace.json"])
    assert report.refused == {
        str(tmp_path / "none.jsonl"): "it cannot be read: No such file or directory",
        str(tmp_path): "it cannot be read: Is a directory",
    }
    assert report.conforming == 1


def test_traces_from_memory_may_be_texts_bytes_or_mappings():
    report = check_traces(contract_checker(), [GOOD, GOOD.decode(), straight(), b"{", "\ud800"])
    assert (report.conforming, report.unreadable) == (3, 2)
    assert [(each.file, each.line) for each in report.deviations] == [(None, 4), (None, 5)]
    assert check_traces(contract_checker(), straight()).conforming == 1


def test_deviations_are_told_as_they_are_found_however_many_a_report_keeps():
    wrong = changed(lambda steps, trace: steps[1].update(attempt=2))
    seen = []

    def lines():
        for number in range(1_000):
            yield wrong
            assert len(seen) >= number - 255

    report = check_traces(contract_checker(), lines(), tell=seen.append, keep=3)
    assert (len(seen), len(report.deviations), report.by_class["reason_mismatch"]) == (1_000, 3, 1_000)
    assert "and 997 more" in report.text()


def test_a_text_that_was_seen_before_is_believed_only_where_it_means_the_same():
    nested = '{"meta": {"orchestration_trace": 1}, "orchestration_trace": TRACE}'
    odd = [
        '{"run_id": 7, "orchestration_trace": TRACE}',
        '{"run_id": "x" "orchestration_trace": TRACE}',
        '{"run_id": "x, "orchestration_trace": TRACE}',
        '[{"orchestration_trace": TRACE}',
        '{"meta": {"orchestration_trace": TRACE}',
        '"orchestration_trace": TRACE}',
        '{"at": "yesterday", "orchestration_trace": TRACE}',
        '{"orchestration_trace": 1}, "orchestration_trace": TRACE}',
        '{"run_id": "\\ud800", "orchestration_trace": TRACE}',
    ]
    nested, *odd = (line.replace("TRACE", json.dumps(straight())) for line in (nested, *odd))
    good = [GOOD.decode()] * 300
    report = check_traces(contract_checker(), [*good, nested, *odd, *good, nested, *odd])
    assert (report.conforming, report.deviating + report.unreadable) == (602, 18)
    assert [each.line for each in report.deviations] == [*range(302, 311), *range(612, 621)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300)
@given(st.data())
def test_no_change_of_bytes_and_no_value_anywhere_is_fatal(data):
    text = bytearray(data.draw(st.sampled_from([GOOD, json.dumps(straight()).encode()])))
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    report = checked(GOOD + b"\n" + bytes(text) + b"\n" + GOOD)
    assert report.conforming >= 2
    trace = straight()
    holder = data.draw(st.sampled_from([trace, *trace["transitions"]]))
    holder[data.draw(st.sampled_from([*holder, "at", "events", "run_id"]))] = data.draw(JSON)
    assert check_traces(contract_checker(), [json.dumps(trace), trace]).checked == 2


def test_what_is_long_or_deep_is_told_in_short():
    deep = json.dumps(straight())[:-2] + "[" * 900 + "]" * 900 + "}"
    long = changed(lambda steps, trace: steps[1].update(reason_code="x" * 500_000))
    report = check_traces(
        contract_checker(),
        [deep, {"run_id": "r" * 500_000, "orchestration_trace": long}, {**straight(), "degraded": "y" * 500_000}],
    )
    assert [each.kind for each in report.deviations] == ["malformed", "unknown_reason", "summary_mismatch"]
    assert all(len(str(each)) < 3_000 for each in report.deviations)
    assert [len(name) for name in report.outside] == [500]
