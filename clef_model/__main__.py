"""The command line: decide, plan, lint, compare two models, measure a server, or serve over HTTP."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clef_model.commands import add_commands
from clef_model.decision import Decision, Limits, predictions
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError, InvalidRecord, Notice, Problem
from clef_model.json_text import parse_json
from clef_model.parsing import parse_questions, parse_record
from clef_model.release_folder import NANO
from clef_model.schema import ImageInput, Record, VideoInput

BAD_INPUT, FAILED = 2, 1  # exit codes; argparse uses the first as well
WITHOUT_SERVER = ("predict", "plan", "lint", "compare", "canary")

EXAMPLES = """
A value is typed as it is, read from a file with @FILE, or from standard input with -. A state that begins with { or [
is read as JSON, any other as text; --state-text takes any value as text.

examples:
  python -m clef_model predict --state "I was charged twice!" \\
      --questions '{"refund": {"type": "noul", "instructions": "Does the customer want money back?"}}'
  python -m clef_model predict --state @ticket.json --questions @questions.json --release Cloudflare/clef-flash
  cat request.json | python -m clef_model predict --request -
  python -m clef_model plan --state @log.txt --questions @questions.json --max-length 4096 | jq .budget

exit codes: 0 done, 3 done and lint, compare or canary found something, 2 the input is not valid or too long,
1 anything else.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code. Results are JSON on standard output; notices and errors are sentences on standard error."""
    given = sys.argv[1:] if arguments is None else arguments
    flags = build_parser(with_serve=not {*given[:1]} & {*WITHOUT_SERVER}).parse_args(given)
    # transformers warns of every kernel that is not installed; that is no news to who runs a command.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        return flags.run(flags) or 0
    except ClefError as error:
        print(f"clef: {error}", file=sys.stderr)
        return BAD_INPUT if isinstance(error, ValueError) else FAILED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone, and Python would complain of it once more
        return FAILED


def build_parser(*, with_serve: bool = True) -> argparse.ArgumentParser:
    """All commands; without `serve`, whose server takes a moment to import, when another was asked for."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m clef_model", description=__doc__, epilog=EXAMPLES, formatter_class=formatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    predict = commands.add_parser(
        "predict",
        help="print {question: {option: probability}}",
        description="Decides a record and prints {question: {option: probability}}.",
        epilog=EXAMPLES,
        formatter_class=formatter,
    )
    _add_record_flags(predict)
    predict.add_argument("--device", default="auto", help="auto, cuda, cuda:1, mps or cpu (default: auto)")
    predict.add_argument("--dtype", default="auto", help="auto, bfloat16 or float32 (default: auto)")
    predict.set_defaults(run=run_predict)
    plan = commands.add_parser(
        "plan",
        help="print where every token goes; needs no weights",
        description="Prints the ledger of a record: every segment of the prompt with its tokens. Needs no weights.",
        epilog=EXAMPLES,
        formatter_class=formatter,
    )
    _add_record_flags(plan)
    plan.set_defaults(run=run_plan)
    add_commands(commands)
    if with_serve:
        from clef_model.serving import add_serve

        add_serve(commands)
    return parser


def _add_record_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="VALUE", help="what the questions are about: text, or JSON from { or [ on")
    parser.add_argument("--state-text", metavar="VALUE", help="the state as text, whatever it begins with")
    parser.add_argument("--questions", metavar="VALUE", help="JSON map of questions by id")
    parser.add_argument("--request", metavar="VALUE", help="a whole System One request, instead of state and questions")
    parser.add_argument("--image", metavar="FILE", type=Path, action="append", default=[], help="may be repeated")
    parser.add_argument("--video", metavar="FILE", type=Path, action="append", default=[], help="may be repeated")
    parser.add_argument("--release", default=str(NANO), help="a release's folder or hub id (default: clef-nano)")
    parser.add_argument("--revision", help="revision of a hub release (default: the pinned one)")
    parser.add_argument(
        "--max-length", type=int, default=Limits().max_length, help="tokens of a record (default: 16384)"
    )
    parser.add_argument("--max-state-tokens", type=int, help="tokens of the state (default: no extra limit)")
    parser.add_argument(
        "--no-truncate", action="store_true", help="refuse a state that does not fit, instead of cutting"
    )


def run_predict(flags: argparse.Namespace) -> None:
    record = read_record(flags)
    from clef_model.loading import load_release

    decider = load_release(flags.release, device=flags.device, dtype=flags.dtype, revision=flags.revision)
    (decision,) = decider.decide([record], _limits(flags))
    _say(decision.notices)
    _say([Notice("model", "", _model_line(decision))])
    _print(predictions(decision))


def run_plan(flags: argparse.Namespace) -> None:
    record = read_record(flags)
    from clef_model.facts import plan_facts
    from clef_model.planner import read_planner

    planner = read_planner(flags.release, revision=flags.revision)
    encoded: EncodedRecord = planner.plan(record, _limits(flags))
    _say(encoded.notices)
    _print(plan_facts(encoded, planner.status))


def read_record(flags: argparse.Namespace) -> Record:
    """The record that the flags describe.

    Raises: InvalidRecord: flags are missing or contradict each other, files cannot be read, or the record is wrong.
    """
    given = {name: getattr(flags, name) for name in ("state", "state_text", "questions", "request")}
    problems = _flag_problems(given)
    if problems:
        raise InvalidRecord(problems)
    media = _media(flags)
    if given["request"] is not None:
        record = parse_record(_value("--request", given["request"]))
        return replace(record, images=(*record.images, *media["images"]), videos=(*record.videos, *media["videos"]))
    questions_text = _value("--questions", given["questions"])
    parse_questions(questions_text)  # here the text is at hand, so problems have their lines
    state: Any
    if given["state_text"] is not None:
        state = _value("--state-text", given["state_text"])
    else:
        state = _value("--state", given["state"])
        if state.lstrip()[:1] in ("{", "["):
            state = _state_json(state)
    return parse_record({"state": state, "questions": parse_json(questions_text).value, **media})


def _flag_problems(given: dict[str, str | None]) -> list[Problem]:
    used = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    problems = []
    if given["request"] is not None and len(used) > 1:
        problems.append(Problem("--request", f"is a whole record, and {used[0]} was given too. Give one of them."))
    elif given["request"] is None:
        if (given["state"] is None) == (given["state_text"] is None):
            found = "none was given" if given["state"] is None else "both were given"
            problems.append(Problem("--state", f"one of --state and --state-text is needed, {found}."))
        if given["questions"] is None:
            problems.append(Problem("--questions", "is missing. Give a JSON map of questions, or a whole --request."))
    if [value for value in given.values() if value == "-"][1:]:
        problems.append(Problem("-", "standard input can be read once only. Read the other values with @FILE."))
    return problems


def _value(flag: str, value: str) -> str:
    """What a flag's value stands for: standard input, a file's text, or itself."""
    if value != "-" and not value.startswith("@"):
        return value
    try:
        content = sys.stdin.buffer.read() if value == "-" else Path(value[1:]).read_bytes()
        return content.decode("utf-8-sig")
    except OSError as error:
        raise InvalidRecord([Problem(flag, f"{value[1:]} cannot be read: {error.strerror}.")]) from error
    except UnicodeDecodeError as error:
        raise InvalidRecord(
            [Problem(flag, f"{value} is not UTF-8 at byte {error.start}. Save it as UTF-8.")]
        ) from error


def _state_json(text: str) -> Any:
    try:
        return parse_json(text).value
    except InvalidRecord as error:
        advice = Problem("--state", "begins like JSON and was read as such. Use --state-text to have it read as text.")
        raise InvalidRecord([*(replace(p, where=p.where or "state") for p in error.problems), advice]) from error


def _media(flags: argparse.Namespace) -> dict[str, list[Any]]:
    problems, media = [], {"images": [], "videos": []}  # type: ignore[var-annotated]
    for key, kind, paths in (("images", ImageInput, flags.image), ("videos", VideoInput, flags.video)):
        for place, path in enumerate(paths):
            try:
                media[key].append(kind(path.name, "", path.read_bytes()))
            except OSError as error:
                problems.append(Problem(f"{key}[{place}]", f"{path} cannot be read: {error.strerror}."))
    if problems:
        raise InvalidRecord(problems)
    return media


def _limits(flags: argparse.Namespace) -> Limits:
    return Limits(flags.max_length, flags.max_state_tokens, not flags.no_truncate)


def _model_line(decision: Decision) -> str:
    model, timing = decision.model, decision.timing
    name = f"{model.name} (a small demonstration model)" if model.is_demonstration else model.name
    return f"{name} on {model.device} in {model.dtype}, {timing.total_ms:.0f} ms"


def _say(notices: Sequence[Notice]) -> None:
    for notice in notices:
        print(f"note: {notice}", file=sys.stderr)


def _print(result: Any) -> None:
    print(json.dumps(result, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    sys.exit(main())
