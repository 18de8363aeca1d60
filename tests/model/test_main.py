"""The command line: values from text, files and standard input, JSON out, sentences on standard error, exit codes."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from media_files import flat
from tiny_release import write_tiny_release

from clef_model.__main__ import main

QUESTIONS = '{"ok": {"type": "noul"}, "team": {"type": "choice", "criteria": {"z": "last", "a": null}}}'
NANO = "models/clef-nano"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    pytest.importorskip("torch")
    return str(write_tiny_release(tmp_path_factory.mktemp("tiny") / "tiny"))


class Ran:
    """What a command did."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.code = main(arguments)
        self.out, self.err = capsys.readouterr()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def test_predict_prints_probabilities_in_the_requests_order(capsys: pytest.CaptureFixture[str], tiny: str) -> None:
    ran = Ran(capsys, "predict", "--state", "fine", "--questions", QUESTIONS, "--release", tiny, "--device", "cpu")
    assert ran.code == 0
    assert {name: list(options) for name, options in ran.json.items()} == {"ok": ["true", "false"], "team": ["z", "a"]}
    assert all(sum(options.values()) == pytest.approx(1) for options in ran.json.values())
    assert ran.err.startswith("note: tiny on cpu in float32, ")


def test_predict_takes_a_picture(capsys: pytest.CaptureFixture[str], tiny: str, tmp_path: Path) -> None:
    (tmp_path / "red.png").write_bytes(flat((64, 64), "red"))
    ran = Ran(
        capsys,
        *("predict", "--state", "", "--questions", QUESTIONS, "--release", tiny, "--image", str(tmp_path / "red.png")),
    )
    assert (ran.code, list(ran.json)) == (0, ["ok", "team"])


def test_plan_prints_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "plan", "--state", "fine", "--questions", QUESTIONS)
    assert ran.code == 0
    assert ran.json["budget"]["total"] == sum(segment["tokens"] for segment in ran.json["ledger"])
    assert ran.json["model"]["name"] == "clef-nano"
    assert not ran.json["counts_are_exact"]


def test_plan_imports_neither_torch_nor_gradio() -> None:
    code = (
        "import sys; from clef_model.__main__ import main; "
        f"assert main(['plan', '--state', 'x', '--questions', {QUESTIONS!r}]) == 0; "
        "print([name for name in ('torch', 'transformers', 'gradio') if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stderr == "[]\n"


ROOT = Path(__file__).parents[2]


def test_values_come_from_files_and_standard_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "questions.json").write_text("\ufeff" + QUESTIONS, encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("grüße".encode())))
    ran = Ran(capsys, "plan", "--state", "-", "--questions", f"@{tmp_path}/questions.json")
    assert [segment["text"] for segment in ran.json["ledger"] if segment["kind"] == "state"] == ["grüße"]


@pytest.mark.parametrize(
    ("flag", "value", "text"),
    [
        ("--state", '{"b": 1.0, "a": [2]}', '{"a":[2],"b":1.0}'),
        ("--state", ' ["x"]', '["x"]'),
        ("--state", "42", "42"),
        ("--state", '"quoted"', '"quoted"'),
        ("--state-text", '{"b": 1}', '{"b": 1}'),
    ],
)
def test_a_state_is_json_from_a_brace_or_bracket_on(
    capsys: pytest.CaptureFixture[str], flag: str, value: str, text: str
) -> None:
    ran = Ran(capsys, "plan", flag, value, "--questions", QUESTIONS)
    assert [segment["text"] for segment in ran.json["ledger"] if segment["kind"] == "state"] == [text]


def test_a_whole_request_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    request = f'{{"model": "clef", "state": {{"a": 1}}, "questions": {QUESTIONS}}}'
    ran = Ran(capsys, "plan", "--request", request)
    assert [question["id"] for question in ran.json["questions"]] == ["ok", "team"]


def test_a_cut_is_said_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "plan", "--state", "one two three four", "--questions", QUESTIONS, "--max-state-tokens", "2")
    assert ran.code == 0
    assert ran.err.startswith("note: state: ")
    assert ran.json["budget"]["truncation"]["kept_tokens"] == 2


def test_no_truncate_refuses_what_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(
        capsys,
        *("plan", "--state", "one two three", "--questions", QUESTIONS, "--max-state-tokens", "2", "--no-truncate"),
    )
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("clef: Record 'unknown': maximum context length exceeded: the state needs 3 tokens")


def test_all_problems_of_the_questions_come_with_their_lines(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "plan", "--state", "x", "--questions", '{"a": {"type": "text"},\n "b": {"kind": "noul"}}')
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("clef: questions.a.type (line 1, column 16): ")
    assert "\nquestions.b.kind (line 2, column 16): found the unknown key 'kind'" in ran.err


def test_json_that_ends_early_says_how_to_pass_it_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "plan", "--state", '{"a": 1', "--questions", QUESTIONS)
    assert ran.code == 2
    assert ran.err == (
        "clef: state (line 1, column 8): the text ends while '{' of line 1, column 1 is open. Add '}'.\n"
        "--state: begins like JSON and was read as such. Use --state-text to have it read as text.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            [],
            "--state: one of --state and --state-text is needed, none was given.\n"
            "--questions: is missing. Give a JSON map of questions, or a whole --request.",
        ),
        (
            ["--state", "a", "--state-text", "b", "--questions", "{}"],
            "--state: one of --state and --state-text is needed, both were given.",
        ),
        (
            ["--request", "{}", "--state", "a"],
            "--request: is a whole record, and --state was given too. Give one of them.",
        ),
        (
            ["--state", "-", "--questions", "-"],
            "-: standard input can be read once only. Read the other values with @FILE.",
        ),
        (
            ["--state", "@/nowhere/x", "--questions", QUESTIONS],
            "--state: /nowhere/x cannot be read: No such file or directory.",
        ),
        (
            ["--state", "x", "--questions", QUESTIONS, "--image", "/nowhere/x.png"],
            "images[0]: /nowhere/x.png cannot be read: No such file or directory.",
        ),
    ],
)
def test_flags_that_make_no_record(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    ran = Ran(capsys, "plan", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"clef: {text}\n")


def test_a_broken_release_is_another_exit_code(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ran = Ran(capsys, "plan", "--state", "x", "--questions", QUESTIONS, "--release", str(tmp_path))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"clef: Release {tmp_path.name}: config.json is missing. Download the release again.\n"


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["predict", "--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "python -m clef_model predict --state @ticket.json --questions @questions.json" in out
    assert "exit codes: 0 done" in out
