"""The Export panel: the request as JSON, as curl, for the command line and for Python."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clef_model.decision import Limits
from clef_model.diagnostics.limits import Verdict

HOSTED_MODELS = ("clef-flash", "clef")  # what the hosted service takes as `model`
LONG_BASE64 = re.compile(r"(base64,[A-Za-z0-9+/=]{24})[A-Za-z0-9+/=]{176,}")
MAX_ARGUMENT_BYTES = 100_000  # Linux takes 131,072 in one argument; a longer request goes through standard input
_END = "CLEF_REQUEST"


@dataclass(frozen=True, slots=True)
class Exported:
    """What the snippets are made of. `request` is the whole request as JSON text, media included as data URLs."""

    request: str
    limits: Limits
    release: str  # folder or hub id
    model: str  # the request's model name
    origin: str  # scheme, host and port of this page
    images: Sequence[str] = ()  # names of the picture files
    videos: Sequence[str] = ()


def export_view(exported: Exported, hosted_verdict: Verdict) -> dict[str, Any]:
    """The snippets, with embedded files shortened for reading, and what the hosted service makes of the request."""
    snippets = [
        ("request", "Request (JSON)", "json", exported.request),
        ("curl", "curl", "bash", curl(exported)),
        ("command", "Command line", "bash", command(exported)),
        ("library", "Python, this library", "python", library(exported)),
        ("release", "Python, the release's own file", "python", release(exported)),
        ("hosted", "Python, Workers AI", "python", hosted(exported)),
    ]
    return {
        "snippets": [
            {
                "name": name,
                "title": title,
                "language": language,
                "text": shortened(text),
                "whole": shortened(text) == text,
            }
            for name, title, language, text in snippets
        ],
        "hosted": verdict_view(hosted_verdict),
        "hasMedia": bool(exported.images or exported.videos),
    }


def shortened(text: str) -> str:
    """The text with embedded files cut short and marked; what is copied or saved is whole."""
    return LONG_BASE64.sub(lambda match: f"{match[1]}… ({len(match[0]):,} characters)", text)


def snippet(exported: Exported, name: str) -> str:
    """One snippet, whole."""
    makers = {"curl": curl, "command": command, "library": library, "release": release, "hosted": hosted}
    return makers[name](exported) if name in makers else exported.request


def curl(exported: Exported) -> str:
    """Posts the request to this page's own address; other System One servers take the same body."""
    start = f"curl -sS {exported.origin}/v1/systemone \\\n  -H 'content-type: application/json' --data-binary "
    if len(exported.request.encode()) < MAX_ARGUMENT_BYTES:
        return f"{start}{shlex.quote(exported.request)}\n"
    end = _delimiter(exported.request)
    return f"{start}@- <<'{end}'\n{exported.request}\n{end}\n"


def command(exported: Exported) -> str:
    end = _delimiter(exported.request)
    flags = f"--request @request.json --release {shlex.quote(exported.release)}{_flags(exported.limits)}"
    return f"cat > request.json <<'{end}'\n{exported.request}\n{end}\npython -m clef_model predict {flags}\n"


def library(exported: Exported) -> str:
    """Through this project's library, which takes a request as it is, pictures as data URLs included."""
    limits = exported.limits
    settings = [f"max_length={limits.max_length}"]
    if limits.max_state_tokens is not None:
        settings.append(f"max_state_tokens={limits.max_state_tokens}")
    if not limits.truncate:
        settings.append("truncate=False")
    return (
        "from clef_model import load_release, parse_record\n"
        "from clef_model.decision import Limits, predictions, to_response\n\n"
        f"request = {json_literal(exported.request)}\n\n"
        f"decider = load_release({exported.release!r})\n"
        f"[decision] = decider.decide([parse_record(request)], Limits({', '.join(settings)}))\n"
        "print(to_response(decision))\n"
        "print(predictions(decision))  # full precision\n"
    )


def release(exported: Exported) -> str:
    """Through joint_schema_model.py as it lies in the release's folder."""
    limits = exported.limits
    lines = ["import json", ""]
    if exported.images or exported.videos:
        lines += ["from PIL import Image", ""]
    lines.append("# joint_schema_model.py lies in the release's folder")
    with_state_limit = limits.max_state_tokens is not None
    names = (
        "collate_records, encode_record, load_release_model" if with_state_limit else "load_release_model, systemone"
    )
    lines += [
        f"from joint_schema_model import {names}",
        "",
        f"request = json.loads({json_literal(exported.request)})",
        *_release_media(exported),
        "",
        f"model, processor = load_release_model({exported.release!r})",
    ]
    if with_state_limit:
        lines += [
            "tokenizer = processor.tokenizer",
            f"record = encode_record(tokenizer, request, max_length={limits.max_length}, "
            f"max_state_tokens={limits.max_state_tokens}, processor=processor)",
            "batch = collate_records([record], tokenizer.pad_token_id, model.language_model.device)",
            "for question, logits in zip(record.questions, model(batch)[0]):",
            "    print(question.question_id, dict(zip(question.option_ids, logits.float().softmax(-1).tolist())))",
        ]
    else:
        lines.append(f"print(systemone(model, processor, request, max_length={limits.max_length}))")
    if not limits.truncate:
        lines.append("# the release cuts in silence: there is no truncate=False there")
    return "\n".join(lines) + "\n"


def hosted(exported: Exported) -> str:
    """Over HTTP to Workers AI; the account and its token come from the environment, never from the text."""
    model = exported.model if exported.model in HOSTED_MODELS else HOSTED_MODELS[0]
    return (
        "import json\nimport os\n\nimport requests\n\n"
        f"request = json.loads({json_literal(exported.request)})\n"
        f'request["model"] = {model!r}\n'
        'account = os.environ["CLOUDFLARE_ACCOUNT_ID"]\n'
        "reply = requests.post(\n"
        f'    f"https://api.cloudflare.com/client/v4/accounts/{{account}}/ai/run/@cf/cloudflare/{model}",\n'
        '    headers={"Authorization": f"Bearer {os.environ[\'CLOUDFLARE_API_TOKEN\']}"},\n'
        "    json=request,\n"
        "    timeout=60,\n"
        ")\n"
        "reply.raise_for_status()\n"
        'print(reply.json()["result"])\n'
    )


def json_literal(text: str) -> str:
    """A JSON text as a Python literal: raw and over several lines where that is exact, else escaped."""
    if "'''" in text or text.endswith(("'", "\\")) or not text.replace("\n", "").isprintable():
        return ascii(text)
    return f"r'''{text}'''"


def verdict_view(verdict: Verdict) -> dict[str, Any]:
    profile = verdict.profile
    return {
        "id": profile.id,
        "title": profile.title,
        "status": verdict.status,
        "note": profile.note,
        "source": profile.source,
        "date": profile.date,
        "findings": [
            {"kind": finding.kind, "where": finding.where, "message": finding.message, "theirs": finding.theirs}
            for finding in verdict.findings
        ],
    }


def _flags(limits: Limits) -> str:
    flags = f" --max-length {limits.max_length}"
    if limits.max_state_tokens is not None:
        flags += f" --max-state-tokens {limits.max_state_tokens}"
    return flags + ("" if limits.truncate else " --no-truncate")


def _delimiter(text: str) -> str:
    """A here-document's end that is no line of the text."""
    lines = set(text.splitlines())
    return next(end for end in (_END, *(f"{_END}_{n}" for n in range(len(lines) + 1))) if end not in lines)


def _release_media(exported: Exported) -> list[str]:
    """The release takes pictures and frames as PIL images, not as data URLs."""
    lines = []
    if exported.images:
        opened = ", ".join(f'Image.open({name!r}).convert("RGB")' for name in exported.images)
        lines.append(f'request["images"] = [{opened}]')
    if exported.videos:
        named = ", ".join(repr(name) for name in exported.videos)
        lines.append(f"# decode these clips to lists of frames first: {named}")
        lines.append('request["videos"] = [frames_of_each_clip]')
        lines.append('request["media_kwargs"] = {"do_sample_frames": False}  # else 24 frames a second are assumed')
    return lines
