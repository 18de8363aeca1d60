"""The commands lint, compare and canary: JSON out, and an exit code that says whether something was found."""

import argparse
import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clef_model.decision import Limits
from clef_model.errors import InvalidRecord, Notice, Problem
from clef_model.parsing import parse_record
from clef_model.schema import Record

if TYPE_CHECKING:
    from clef_model.decision import Decider
    from clef_model.lazy import Planner
    from clef_model.remote_settings import RemoteSetting

FOUND = 3  # exit code: there is advice, an answer differs, or a state is not read whole

EXAMPLES = """
A and B are a release's folder or hub id, a server of the list in CLEF_REMOTES by its name, or an address: a URL, or
PROFILE=URL for a server of a known kind, with #MODEL at its end where requests name the model. `-` is standard input.

examples:
  python -m clef_model lint request.json
  python -m clef_model compare models/clef-nano http://127.0.0.1:8000 request.json
  python -m clef_model compare Cloudflare/clef-flash ollama=http://127.0.0.1:11434#clef-flash:9b request.json
  cat request.json | python -m clef_model compare "gpu box" "hosted" - | jq .largest
  python -m clef_model canary "gpu box" --max-tokens 32768          (what it would cost)
  python -m clef_model canary "gpu box" --max-tokens 32768 --run

exit codes: 0 done, 3 done and something was found (advice, an answer that differs, a state that is not read whole),
2 the input is not valid or too long, 1 anything else.
"""


def add_commands(commands: Any) -> None:
    """Adds the commands to the subparsers of an ArgumentParser; each has its function as its `run` default."""
    _add_lint(commands)
    _add_compare(commands)
    _add_canary(commands)


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def _add_lint(commands: Any) -> None:
    lint = _command(commands, "lint", "print advice on a request's questions; needs no weights")
    lint.add_argument("request", help="file with a System One request, or -")
    lint.add_argument("--release", help="whose tokenizer counts: a folder or hub id (default: clef-nano)")
    lint.set_defaults(run=run_lint)


def _add_compare(commands: Any) -> None:
    parser = _command(commands, "compare", "decide a request in two places and print how far each option moves")
    parser.add_argument("a", metavar="A", help="release or server, see below")
    parser.add_argument("b", metavar="B", help="release or server, see below")
    parser.add_argument("request", help="file with a System One request, or -")
    parser.add_argument("--device", default="auto", help="where releases run: auto, cuda, mps or cpu (default: auto)")
    parser.add_argument("--dtype", default="auto", help="auto, bfloat16 or float32 (default: auto)")
    parser.add_argument("--max-length", type=int, default=Limits().max_length, help="tokens (default: 16384)")
    parser.add_argument("--max-state-tokens", type=int, help="tokens of the state (default: no extra limit)")
    parser.add_argument("--no-truncate", action="store_true", help="refuse a state that does not fit")
    parser.set_defaults(run=run_compare)


def _add_canary(commands: Any) -> None:
    parser = _command(commands, "canary", "measure how much of a long state a server reads")
    parser.add_argument("server", metavar="SERVER", help="release or server, see below")
    parser.add_argument("--max-tokens", type=int, default=Limits().max_length, help="of the longest state (16384)")
    parser.add_argument("--run", action="store_true", dest="is_run", help="measure; without it the cost is printed")
    parser.set_defaults(run=run_canary)


def run_lint(flags: argparse.Namespace) -> int:
    """Prints the advice as a list of {code, where, message}."""
    record = read_request(flags.request)
    from clef_model.diagnostics.lint import lint
    from clef_model.encoding import MAX_POSITIONS
    from clef_model.planner import read_planner
    from clef_model.release_folder import NANO

    encoded = read_planner(flags.release or NANO).plan(record, Limits(max_length=MAX_POSITIONS))
    advice = [advice.notice(record) for advice in lint(record, encoded)]
    _print([asdict(notice) for notice in advice])
    return FOUND if advice else 0


def run_compare(flags: argparse.Namespace) -> int:
    """Prints `comparison_facts`."""
    record = read_request(flags.request)
    if record.model is not None:
        _say(Notice("model", "model", f"{record.model!r} is left out: A and B say which models are asked."))
    from clef_model.comparing import compare, comparison_facts

    limits = Limits(flags.max_length, flags.max_state_tokens, not flags.no_truncate)
    a, b = _deciders(flags)
    comparison = compare(a, b, replace(record, model=None), limits)
    _print(comparison_facts(comparison))
    return FOUND if comparison.changed else 0


def run_canary(flags: argparse.Namespace) -> int:
    """Prints what measuring would cost at most, or with `--run` the window that it finds."""
    from clef_model.diagnostics.canary import FIRST_TOKENS, estimate, measure_window
    from clef_model.encoding import MAX_POSITIONS

    if not FIRST_TOKENS <= flags.max_tokens <= MAX_POSITIONS:
        found = f"found {flags.max_tokens:,}; {FIRST_TOKENS} to {MAX_POSITIONS:,} tokens can be measured."
        raise InvalidRecord([Problem("--max-tokens", found)])
    setting = _setting(flags.server)
    price = setting.profile.price(setting.model) if setting else None
    decider = _measured(setting) if setting else _release(flags.server, "auto", "auto")
    if not flags.is_run:
        _print({"at_most": asdict(estimate(decider, flags.max_tokens, price))})
        return 0
    window = measure_window(decider, flags.max_tokens, _progress if sys.stderr.isatty() else None)
    _print({**asdict(window), "is_refused": window.is_refused})
    return FOUND if window.unread_tokens is not None or not window.is_conclusive else 0


def read_request(name: str) -> Record:
    """The record of a file, or of standard input for "-".

    Raises: InvalidRecord: the file cannot be read, or is no valid request.
    """
    try:
        return parse_record(sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes())
    except OSError as error:
        raise InvalidRecord([Problem(name, f"cannot be read: {error.strerror}.")]) from error


def _setting(text: str) -> "RemoteSetting | None":
    from clef_model.remote_settings import named_on_the_command_line, read_remotes

    return named_on_the_command_line(text, read_remotes(os.environ))


def _deciders(flags: argparse.Namespace) -> "tuple[Decider, Decider]":
    """Both sides. Where one is a release, its tokenizer plans for the other: it is exact where the release's is."""
    texts = (flags.a, flags.b)
    settings = [_setting(text) for text in texts]
    releases = {
        text: _release(text, flags.device, flags.dtype)
        for text, setting in zip(texts, settings, strict=True)
        if setting is None
    }
    planner: Planner | None = next(iter(releases.values()), None)
    a, b = (
        releases[text] if setting is None else _remote(setting, planner)
        for text, setting in zip(texts, settings, strict=True)
    )
    return a, b


def _release(text: str, device: str, dtype: str) -> Any:
    from clef_model.loading import load_release

    return load_release(text, device=device, dtype=dtype)


def _remote(setting: "RemoteSetting", planner: "Planner | None") -> "Decider":
    if planner is None:
        from clef_model.planner import read_planner

        planner = read_planner()
    return setting.decider(planner)


def _measured(setting: "RemoteSetting") -> "Decider":
    """One address of the server, sent records of any length: how much it takes is the question."""
    from clef_model.planner import read_planner
    from clef_model.remote import RemoteDecider

    return RemoteDecider(setting.remotes()[0], read_planner(), checks_length=False)


def _progress(share: float, stage: str) -> None:
    end = "\n" if share >= 1 else ""
    print(f"\r{share:4.0%} {stage:<60}", end=end, file=sys.stderr, flush=True)


def _say(notice: Notice) -> None:
    print(f"note: {notice}", file=sys.stderr)


def _print(result: Any) -> None:
    print(json.dumps(result, ensure_ascii=False, indent=2))
