"""Why a server gave no answer, as an error with what it said and what to do."""

from clef_model.diagnostics.limits import Finding
from clef_model.encoding import EncodedRecord
from clef_model.errors import ClefError, ContextTooLong, InvalidRecord, RemoteFailed
from clef_model.json_paths import counted
from clef_model.remote_calls import HttpReply, status_words
from clef_model.remote_profiles import ServerProfile
from clef_model.remote_wire import server_error, told_problems


def refusal(name: str, profile: ServerProfile, has_key: bool, reply: HttpReply, encoded: EncodedRecord) -> ClefError:
    """The error that a reply without an answer stands for; `name` is what people call the server.

    InvalidRecord when a workbench's service lists problems, ContextTooLong when the record is too long for the server,
    else RemoteFailed. Of a page that is no JSON nothing is repeated.
    """
    code, words = server_error(reply.body)
    problems = told_problems(reply.body) if profile.reply == "workbench" else ()
    said = _said(reply, code, words)
    if problems:
        return InvalidRecord(problems)
    if reply.status == 413 or any(part in words for part in profile.too_long):
        message = f"{name} takes no record of this length ({said}). Shorten the state, or lower max_length."
        return ContextTooLong(message, needed=len(encoded.input_ids), limit=profile.limits.context_tokens or 0)
    if 200 <= reply.status < 300:
        message = f"{name} answered with {reply.kind} instead of JSON. Is its address right?"
        return RemoteFailed(message, status=reply.status)
    return RemoteFailed(f"{name} {_what(reply)} ({said}). {_advice(reply, has_key)}", status=reply.status)


def refusal_words(finding: Finding) -> str:
    """A finding that a server would refuse, with its own words where they are known."""
    return finding.message if finding.theirs is None else f"{finding.message} It would say: {finding.theirs}."


def _what(reply: HttpReply) -> str:
    if reply.status in (401, 403):
        return "refuses the key"
    if reply.status in (429, 503):
        return "is busy"
    return "failed" if reply.status >= 500 else "refuses the request"


def _said(reply: HttpReply, code: int | str | None, words: str) -> str:
    parts = [f"HTTP {status_words(reply.status)}"]
    if code is not None and str(code) != str(reply.status):
        parts.append(f"code {code}")
    told = ", ".join(parts)
    return f"{told}: {words.rstrip('.')}" if words else told


def _advice(reply: HttpReply, has_key: bool) -> str:
    if reply.status in (401, 403):
        return "Check the key that the operator has set." if has_key else "It wants a key, and none is set."
    if reply.status in (404, 405, 501):
        return "Check its address, its kind and the name of the model."
    if reply.status in (429, 503, 529):
        asked = f"It was asked {counted(reply.attempts, 'time')}. " if reply.attempts > 1 else ""
        seconds = reply.retry_after_s
        return asked + (f"Try again in {seconds:,.0f} seconds." if seconds else "Try again later.")
    return "Its log may say more." if reply.status >= 500 else "Change the record, or ask another server."
