"""The budget cases: what is cut, what is refused, and what the counts are made of."""

import base64
import io
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from cases import case_request, mentions, read_cases
from clef_model.encoding import EncodedRecord, encode
from clef_model.errors import BudgetExceeded, ContextTooLong, InvalidRecord
from clef_model.media import read_media_config
from clef_model.parsing import parse_record
from clef_model.rendering import render
from clef_model.schema import ImageInput
from clef_model.tokenizer import Tokenizer, read_tokenizer

NANO = Path(__file__).parents[2] / "models" / "clef-nano"
CASES = {case["id"]: case for case in read_cases("budget")}


@cache
def tokenizer() -> Tokenizer:
    return read_tokenizer(NANO)


def planned(request: Any, **limits: Any) -> EncodedRecord:
    return encode(parse_record(request), tokenizer(), media_config=read_media_config(NANO), **limits)


def fixed(request: Any) -> int:
    return planned(request, max_length=262_144).budget.fixed


def state_texts(encoded: EncodedRecord) -> tuple[str, str]:
    """The kept and the lost text."""
    texts = {segment.kind: segment.text for segment in encoded.ledger}
    return texts["state"], texts.get("state_cut", "")


def codes(encoded: EncodedRecord) -> list[str]:
    return [notice.code for notice in encoded.notices]


def test_bud_01_the_answer_is_in_the_part_that_is_cut() -> None:
    request = case_request(CASES["BUD-01"])
    limit = fixed(request) + 50
    encoded = planned(request, max_length=limit)
    truncation = encoded.budget.truncation
    assert truncation is not None
    assert truncation.kept_tokens == 50 == limit - encoded.budget.fixed
    kept, lost = state_texts(encoded)
    assert kept + lost == request["state"]
    assert kept.endswith(truncation.last_kept_text)
    assert lost.startswith(truncation.first_lost_text)
    assert "vault code is amber" in lost
    assert codes(encoded) == ["state_cut"]
    with pytest.raises(ContextTooLong, match=f"needs {encoded.budget.fixed + encoded.budget.state} .* is {limit}"):
        planned(request, max_length=limit, truncate=False)


def test_bud_03_the_fixed_part_exactly_and_one_below() -> None:
    request = case_request(CASES["BUD-03"])
    needed = fixed(request)
    encoded = planned(request, max_length=needed)
    assert len(encoded.input_ids) == needed
    assert codes(encoded) == ["state_empty"]
    with pytest.raises(BudgetExceeded) as caught:
        planned(request, max_length=needed - 1)
    assert f"schema requires {needed} tokens before state; maximum is {needed - 1}" in str(caught.value)


def test_bud_05_values_of_max_state_tokens() -> None:
    request = case_request(CASES["BUD-05"])
    assert codes(planned(request, max_state_tokens=0)) == ["state_empty"]
    assert planned(request, max_state_tokens=10**9).notices == ()
    for value in (-1, "512", 1.5):
        with pytest.raises(InvalidRecord, match="max_state_tokens"):
            planned(request, max_state_tokens=value)


def test_bud_06_values_of_max_length() -> None:
    request = case_request(CASES["BUD-06"])
    assert planned(request, max_length=None).budget.limit == 16_384
    for value in (0, -5, True, 1e9, 10**9):
        with pytest.raises(InvalidRecord, match="max_length"):
            planned(request, max_length=value)


@pytest.mark.parametrize("state", [case_request(CASES["BUD-07"])["state"], "𠜎𠜱𠝹😀👩‍👩‍👧" * 20, "ਙੱ ꧁ ᠮᠣᠩ " * 9])
def test_bud_07_a_cut_inside_a_character(state: str) -> None:
    request = {**case_request(CASES["BUD-07"]), "state": state}
    split = 0
    for limit in range(1, planned(request).budget.state):
        encoded = planned(request, max_state_tokens=limit)
        truncation = encoded.budget.truncation
        assert truncation is not None
        kept, lost = state_texts(encoded)
        assert kept + lost == state
        assert "\ufffd" not in kept + truncation.last_kept_text + truncation.first_lost_text
        segment = next(segment for segment in encoded.ledger if segment.kind == "state")
        decoded = tokenizer().decode(encoded.input_ids[segment.span.start : segment.span.end])
        assert decoded.endswith("\ufffd") == truncation.splits_character
        assert decoded.startswith(kept)
        assert encoded.ledger[-1].span.end == len(encoded.input_ids)
        split += truncation.splits_character
    assert split > 0 or "日" in state  # the vocabulary has every character of the first text whole


def test_bud_09_image_tokens_count_before_the_state() -> None:
    case = CASES["BUD-09"]
    file = io.BytesIO()
    Image.new("L", (1024, 1024), 128).save(file, "PNG")
    request = {**case_request(case), "images": [ImageInput("grey.png", "image/png", file.getvalue())]}
    assert planned(request).budget.media == 1024 + 2 + 1
    with pytest.raises(BudgetExceeded) as caught:
        planned(request, max_length=1_000)
    assert [term for term in case["expected"]["message_should_mention"] if not mentions(str(caught.value), term)] == []


def test_bud_11_counts_come_from_the_tokenizer() -> None:
    noise = base64.b64encode(random.Random(0).randbytes(3_000)).decode()
    for state in (case_request(CASES["BUD-11"])["state"], "漢" * 500, "😀" * 200, noise):
        encoded = planned({**case_request(CASES["BUD-11"]), "state": state})
        assert encoded.budget.state == len(tokenizer().encode(state))
        assert encoded.budget.total == len(encoded.input_ids)


def test_bud_12_beyond_the_trained_length() -> None:
    encoded = planned(case_request(CASES["BUD-12"]), max_length=32_768)
    assert 16_384 < encoded.budget.total == len(encoded.input_ids)
    assert codes(encoded) == ["beyond_trained_length"]
    assert "beyond the trained length" in encoded.notices[0].message
    assert encoded.budget.limit == 32_768


def test_bud_13_sorted_keys_decide_what_is_cut() -> None:
    request = case_request(CASES["BUD-13"])
    encoded = planned(request, max_length=fixed(request) + 40)
    kept, lost = state_texts(encoded)
    assert (kept + lost).endswith(CASES["BUD-13"]["expected"]["state_piece_ends"])
    assert kept + lost == render(request["state"])
    truncation = encoded.budget.truncation
    assert truncation is not None
    assert (truncation.lost_paths, truncation.cut_path) == (("state.summary",), "state.alpha_trace")
    assert "Lost: state.summary." in encoded.notices[0].message


def test_every_budget_case_has_its_test() -> None:
    tested = {name.split("_")[2] for name in globals() if name.startswith("test_bud_")}
    assert {case_id.removeprefix("BUD-") for case_id in CASES} == tested
