"""What other servers make of a record, from the facts of their profiles."""

import re
from dataclasses import replace
from typing import Any

import pytest
from model.small_tokenizers import byte_tokenizer

from clef_model.diagnostics.limits import Finding, Profile, Verdict, check, check_all, read_profiles
from clef_model.encoding import encode
from clef_model.parsing import parse_record
from clef_model.schema import ImageInput, Record, VideoInput

PROFILES = {profile.id: profile for profile in read_profiles()}
PNG = ImageInput("a.png", "image/png", b"x" * 100)
IGNORED = "videos are ignored in silence, and the questions answered without them."
CLIP = VideoInput("a.mp4", "video/mp4", b"x")


def record(questions: dict[str, Any] | None = None, state: Any = "A parcel is late.", **rest: Any) -> Record:
    questions = questions or {"late": {"type": "noul", "instructions": "Is it late?"}}
    return parse_record({"state": state, "questions": questions, **rest})


def verdict(profile: str, asked: Record, *, tokens: bool = False) -> Verdict:
    encoded = encode(replace(asked, images=(), videos=()), byte_tokenizer(), max_length=200_000) if tokens else None
    return check(asked, encoded, PROFILES[profile])


def found(profile: str, asked: Record, **options: Any) -> list[Finding]:
    return list(verdict(profile, asked, **options).findings)


def choice(count: int, **question: Any) -> dict[str, Any]:
    options = {f"k{place:03d}": None for place in range(count)}
    return {"type": "choice", "instructions": "Which?", "criteria": options} | question


def test_an_ordinary_record_is_accepted_by_all() -> None:
    assert {each.profile.id: each.status for each in check_all(record(), encode(record(), byte_tokenizer()))} == (
        dict.fromkeys(PROFILES, "accepted")
    )


def test_every_profile_has_its_source_and_date() -> None:
    assert [*PROFILES] == [
        "release",
        "workers-ai",
        "sglang",
        "vllm-fork",
        "llama-cpp",
        "ollama",
        "mlx",
        "mlx-vlm",
        "coreai",
    ]
    for profile in PROFILES.values():
        assert profile.source
        assert profile.title
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", profile.date)


def test_a_misspelt_fact_in_the_data_stops_the_reading() -> None:
    with pytest.raises(TypeError, match="max_images"):
        Profile("x", "x", "x", "2026-10", "", None, "cut", max_images=4)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("profile", "asked", "findings"),
    [
        (
            "workers-ai",
            record({"c": choice(256)}),
            [("refused", "found 256 options; Workers AI takes 2 to 255.", "422, code 5012")],
        ),
        ("release", record({"c": choice(256)}), []),
        ("ollama", record({"c": choice(27)}), [("refused", "found 27 options; Ollama 0.40 takes 2 to 26.", None)]),
        ("llama-cpp", record({"c": choice(256)}), [("refused", "found 256 options; llama.cpp takes 1 to 255.", None)]),
        (
            "workers-ai",
            record({"l": {"type": "score", "instructions": "How?", "criteria": ["x"] * 11}}),
            [("refused", "found 11 levels; Workers AI takes 2 to 10.", "422, code 5012")],
        ),
        (
            "coreai",
            record({f"q{place}": {"type": "noul"} for place in range(17)}),
            [("refused", "found 17 questions; CoreAI takes 1 to 16.", None)],
        ),
        (
            "coreai",
            record({"a": choice(100), "b": choice(29)}),
            [("refused", "found 129 options; CoreAI takes 1 to 128.", None)],
        ),
        (
            "workers-ai",
            record({"late?": {"type": "noul", "instructions": "x"}}),
            [("refused", "the id 'late?' does not match [A-Za-z0-9_.-]{1,100}.", "422, code 5012")],
        ),
        (
            "workers-ai",
            record(model="clef-omni"),
            [
                (
                    "refused",
                    "the model 'clef-omni' is none that Workers AI knows.",
                    "422, code 5012",
                )
            ],
        ),
        (
            "workers-ai",
            record({"q": {"type": "noul", "instructions": 7}}),
            [
                (
                    "refused",
                    "Workers AI wants non-empty instructions for each question.",
                    "422, code 5012",
                )
            ],
        ),
        (
            "llama-cpp",
            record({"q": {"type": "noul"}}),
            [("refused", "llama.cpp wants instructions for each question.", None)],
        ),
        ("llama-cpp", record(state=None), [("refused", "the state is null, which llama.cpp does not take.", None)]),
        (
            "llama-cpp",
            record({"q": {"type": "noul", "instructions": "x", "criteria": {"false": None}}}),
            [
                (
                    "input",
                    "null is read as the usual text, 'The proposition is false or the answer is no.', "
                    "which the release leaves out.",
                    None,
                )
            ],
        ),
        (
            "sglang",
            record({"q": {"type": "noul", "criteria": {"maybe": "x"}}}),
            [("refused", "found 'maybe'; only 'true' and 'false' are taken.", None)],
        ),
        (
            "mlx",
            record({"q": {"type": "noul", "instructions": []}}),
            [("input", "[] is read as no instructions, so the id stands in; the release writes it out.", None)],
        ),
    ],
)
def test_a_departure_is_named(profile: str, asked: Record, findings: list[tuple[str, str, str | None]]) -> None:
    inputs = [(each.kind, each.message, each.theirs) for each in found(profile, asked) if each.kind != "output"]
    assert inputs == findings


def test_other_confidence_and_order_are_told_for_graded_questions_alone() -> None:
    asked = record({"c": {"type": "choice", "instructions": "Which?", "criteria": {"b": None, "a": None}}})
    confidence = (
        "confidence is computed {}, in the release it is the top probability. Compare probabilities. "
    ).strip()
    typesafe = confidence.format("as in TypeSafe's service, from 0 for an even spread")
    assert found("llama-cpp", asked) == [
        Finding(
            "output", "questions.c.criteria", "the answer lists the options sorted by id; ties go to the first of them."
        ),
        Finding("output", "", typesafe),
    ]
    assert found("ollama", asked) == [Finding("output", "", confidence.format("from the entropy"))]
    assert (verdict("ollama", asked).status, verdict("ollama", record()).status) == ("different", "accepted")


def media(images: int = 0, videos: int = 0, image: ImageInput = PNG) -> Record:
    return replace(record(), images=(image,) * images, videos=(CLIP,) * videos)


@pytest.mark.parametrize(
    ("profile", "asked", "findings"),
    [
        ("release", media(9, 3), []),
        ("sglang", media(1, 1), [("input", IGNORED, None)]),
        ("vllm-fork", media(1), [("refused", "found 1 image; none can be sent.", "NotImplementedError")]),
        ("ollama", media(0, 1), [("refused", "Ollama 0.40 takes no videos.", None)]),
        ("mlx", media(1, 1), [("refused", "MLX (clef_mlx.py) takes no videos.", None)]),
        ("workers-ai", media(5), [("refused", "found 5 images; at most 4 can be sent.", None)]),
        (
            "workers-ai",
            media(1, image=replace(PNG, mime="image/gif")),
            [("refused", "image/gif is not one of image/png, image/jpeg, image/webp.", None)],
        ),
        (
            "workers-ai",
            media(3, image=replace(PNG, data=b"x" * 4_000_000)),
            [("refused", "the images have 12,000,000 bytes together; at most 8,388,608 are taken.", None)],
        ),
        (
            "workers-ai",
            media(1, image=replace(PNG, data=b"x" * 5_000_000)),
            [("refused", "found 5,000,000 bytes; at most 4,194,304 are taken.", None)],
        ),
        (
            "coreai",
            media(1),
            [("input", "the image is squashed to a fixed grid, so the model sees another picture.", None)],
        ),
    ],
)  # fmt: skip
def test_media_are_checked(profile: str, asked: Record, findings: list[tuple[str, str, str | None]]) -> None:
    assert [(each.kind, each.message, each.theirs) for each in found(profile, asked)] == findings


def test_a_long_state_is_cut_or_refused_by_the_servers_own_rules() -> None:
    asked = record(state="x" * 20_000)
    encoded = encode(asked, byte_tokenizer(), max_length=200_000)
    fixed = encoded.budget.fixed
    tokens = {
        each.profile.id: [(f.kind, f.message, f.theirs) for f in each.findings] for each in check_all(asked, encoded)
    }
    cut = ("input", f"the state is cut in silence: {16_384 - fixed:,} of its 20,000 tokens are kept.", None)
    total = 20_000 + fixed
    assert tokens == {
        "release": [cut],
        "workers-ai": [],
        "sglang": [cut],
        "vllm-fork": [cut],
        "llama-cpp": [],
        "ollama": [
            (
                "refused",
                f"the record has {total:,} tokens; Ollama 0.40 holds 16,384 and never cuts.",
                f"Clef input has {total} tokens; context limit is 16384",
            )
        ],
        "mlx": [cut],
        "mlx-vlm": [cut],
        "coreai": [("refused", f"the record has {total:,} tokens; CoreAI holds 4,096 and never cuts.", None)],
    }


def test_questions_that_do_not_fit_get_the_servers_words() -> None:
    asked = record({"q": {"type": "noul", "instructions": "x" * 17_000}})
    (finding,) = found("release", asked, tokens=True)
    fixed = encode(asked, byte_tokenizer(), max_length=200_000).budget.fixed
    assert finding == Finding(
        "refused",
        "questions",
        f"everything but the state needs {fixed:,} tokens; the release holds 16,384.",
        f"schema requires {fixed} tokens before state; maximum is 16384",
    )


def test_text_beyond_64_kib_is_refused_by_ollama() -> None:
    assert [each.theirs for each in found("ollama", record(state="é" * 33_000))] == [
        "text and schema must not exceed 64 KiB"
    ]


@pytest.mark.parametrize(
    ("state", "where", "message"),
    [
        ({"a": [0.5, 1.0]}, "state.a[1]", "1.0 is written 1, as are others like it. Send exact numbers as text."),
        (1234567.89, "state", "1234567.89 is written 1.23457e+06, as are others like it. Send exact numbers as text."),
        (2**64 - 1, "state", "18446744073709551615 is written -1, as are others like it. Send exact numbers as text."),
        ({"n": 10**30}, "state.n", f"{10**30} is written 1e+30, as are others like it. Send exact numbers as text."),
    ],
)
def test_numbers_that_a_server_writes_otherwise_are_told_of(state: Any, where: str, message: str) -> None:
    (finding,) = found("llama-cpp", record(state=state))
    assert (finding.kind, finding.where, finding.message) == ("input", where, message)


def test_numbers_that_stay_as_they_are_need_no_word() -> None:
    assert found("llama-cpp", record(state={"a": [0.25, 3, -7, 1e-05, True, None, "1.0"]})) == []


def test_a_number_in_a_question_is_looked_at_too() -> None:
    question = {"type": "choice", "instructions": "Which?", "criteria": {"a": {"from": 2.0}, "b": None}}
    assert found("llama-cpp", record({"q": question}))[0].where == "questions.q.criteria.a.from"
