"""Pasted text as a draft: a System One request, a bare question map, or the curl command of either."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clef_model.attachments import parse_images, parse_videos
from clef_model.errors import ClefError, InvalidRecord
from clef_model.json_paths import Path, counted, path_text, shown
from clef_model.json_text import scan_json
from clef_model.parsing import REQUEST_KEYS
from clef_model.schema import KINDS, ImageInput, VideoInput
from clef_ui.draft_types import Draft
from clef_ui.json_source import NotJson, Source, lay_out, read_source
from clef_ui.question_checks import form_from_text

_CURL = re.compile(r"\s*(?:\$\s+)?curl\s")
_BODY_FLAGS = ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json")
_MEANT = re.compile(r'\s*\{.*"questions"\s*:', re.DOTALL)  # as a request, though it may not be JSON
_CONTINUED = re.compile(r"[\\^`]\r?\n")  # of sh, cmd and PowerShell


@dataclass(frozen=True, slots=True)
class Filled:
    """A draft with what a text held. Its pictures and clips are `images` and `videos`: they still have to be stored.

    `sentence` says what was filled in, and what of the text was left out.
    """

    draft: Draft
    sentence: str
    images: tuple[ImageInput, ...] = ()
    videos: tuple[VideoInput, ...] = ()


def from_request_text(text: str, draft: Draft) -> Filled | None:
    """The draft with everything the text holds in place of its own; None when the text is no request.

    Raises: ClefError: a curl command without a request in it, or a request that is no JSON.
    """
    is_curl = _CURL.match(text) is not None
    body = _curl_body(text) if is_curl else text.removeprefix("\ufeff")
    try:
        source = read_source(body)
    except NotJson as error:
        if not is_curl and not _MEANT.match(body):
            return None
        what = "The body of the curl command" if is_curl else "The text looks like a request, but it"
        raise ClefError(f"{what} is no JSON: {scan_json(body).problems[0]}") from error
    keys = {_plain(member.key): member.value for member in source.members or ()}
    origin = "the curl command of " if is_curl else ""
    if "questions" in keys and len(keys) == len(source.members or ()):
        return _from_request(keys, draft, origin)
    if _is_question_map(source):
        filled, questions = _with_questions(draft, source.literal)
        return Filled(filled, f"Filled in from {origin}a question map: {questions}. The state was kept.")
    if is_curl:
        raise ClefError("The body of the curl command is no System One request: it has no questions.")
    return None


def _from_request(keys: dict[str, Source], draft: Draft, origin: str) -> Filled:
    draft = replace(draft, media=())
    parts = []
    if "state" in keys:
        state = keys["state"]
        text = _plain(state.literal) if state.is_string else None
        if text is None or "\r" in text:  # a text field would drop carriage returns
            draft = replace(draft, state_mode="json", state_text=lay_out(state.literal))
        else:
            draft = replace(draft, state_mode="text", state_text=text)
        parts.append(f"the state as {'JSON' if draft.state_mode == 'json' else 'text'}")
    draft, questions = _with_questions(draft, keys["questions"].literal)
    parts.append(questions)
    faults: list[str] = []

    def report(path: Path, message: str) -> None:
        faults.append(f"{path_text(path)}: {message}")

    images = parse_images(_value(keys.get("images")), report)
    videos = parse_videos(_value(keys.get("videos")), report)
    parts += [counted(len(images), "image")] * bool(images) + [counted(len(videos), "video")] * bool(videos)
    sentence = f"Filled in from {origin}a request: {', '.join(parts)}."
    if "state" not in keys:
        sentence += " It has no state, so the state was kept."
    unread = [shown(key) for key in keys if key not in REQUEST_KEYS]
    if unread:
        sentence += f" Left out: {', '.join(unread[:5])}."
    if faults:
        sentence += f" Left out: {' '.join(faults[:3])}"
    return Filled(draft, sentence, images, videos)


def _with_questions(draft: Draft, literal: str) -> tuple[Draft, str]:
    """The draft with these questions, as cards where the form can show them, and what they are in words."""
    try:
        questions = form_from_text(literal)
    except InvalidRecord:  # kept as typed; the problems are told beside the JSON
        broken = replace(draft, questions_mode="json", questions_text=lay_out(literal))
        return broken, "questions as JSON, which have problems"
    return replace(draft, questions_mode="form", questions=questions), counted(len(questions), "question")


def _is_question_map(source: Source) -> bool:
    if not source.members or any(member.value.members is None for member in source.members):
        return False
    types = [
        member.value.literal
        for question in source.members
        for member in question.value.members or ()
        if _plain(member.key) == "type"
    ]
    return len(types) == len(source.members) and all(kind[1:-1] in KINDS for kind in types)


def _curl_body(text: str) -> str:
    try:
        words = shlex.split(_CONTINUED.sub(" ", text.strip().removeprefix("$")))
    except ValueError as error:
        raise ClefError(f"The curl command cannot be read: {error}. Paste it as a shell takes it.") from error
    body = _argument(words)
    if body is None:
        raise ClefError(f"The curl command sends no body. One of {', '.join(_BODY_FLAGS)} is expected.")
    if body.startswith("@"):
        raise ClefError(f"The curl command sends the file {body[1:]!r}, which the page cannot open. Paste its text.")
    return body


def _argument(words: Sequence[str]) -> str | None:
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word in _BODY_FLAGS:
            return following
        for flag in _BODY_FLAGS:
            if word.startswith(f"{flag}=") or (flag == "-d" and word.startswith("-d") and not word.startswith("--")):
                return word.removeprefix(flag).removeprefix("=")
    return None


def _plain(literal: str) -> str:
    value = _scanned(literal)
    return value if isinstance(value, str) else literal


def _value(source: Source | None) -> Any:
    return None if source is None else _scanned(source.literal)


def _scanned(literal: str) -> Any:
    return scan_json(literal).value
