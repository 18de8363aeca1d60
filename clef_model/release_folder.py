"""A release's folder: found on this machine or downloaded at its pinned revision, and checked before it is read."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from clef_model.decision import Progress
from clef_model.errors import BrokenRelease
from clef_model.nano_rows import NANO_FILE, ROWS_FILE, is_nano, is_text_only

# The revisions that this library was tested against.
PINNED = {
    "Cloudflare/clef-flash": "17f0b0ad64efb65d273590632833508766b2aae6",
    "Cloudflare/clef": "2f3de3dd85f379784083b0814d997ab627200f0c",
}
CODE_FILE = "joint_schema_model.py"  # never imported; its hash says whether the release works as the one we follow
CODE_SHA256 = "0e304cf7c6500e8bb59bef7e2afd2c6373f82596dfb3b57d1aa93c175e2dc3a3"  # of both pinned revisions
NANO = Path(__file__).resolve().parents[1] / "models" / "clef-nano"  # the embedded release

CONFIG_FILE = "config.json"
HEAD_CONFIG_FILE = "joint_head_config.json"
HEAD_FILE = "joint_head.safetensors"
INDEX_FILE = "model.safetensors.index.json"
MODEL_TYPE = "qwen3_5"
PLAN_FILES = (CONFIG_FILE, "tokenizer.json", "tokenizer_config.json", "processor_config.json", NANO_FILE)
# Code, pickles and pictures of a repository stay where they are.
LOAD_FILES = (*PLAN_FILES, HEAD_CONFIG_FILE, INDEX_FILE, ROWS_FILE, "*.safetensors")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """A release on this machine. `revision` is None for a local folder; `name` is what people see."""

    path: Path
    name: str
    revision: str | None

    @property
    def is_demonstration(self) -> bool:
        """Whether it is clef-nano, which is never shown as Clef."""
        return is_nano(self.path) or is_text_only(self.path)

    @property
    def accepts_media(self) -> bool:
        return not is_text_only(self.path)


def code_note(release: ReleaseFolder) -> str:
    """That the release brings another version of its code than the one followed here, with both hashes; else empty."""
    path = release.path / CODE_FILE
    if not path.is_file():
        return ""
    found = sha256(path.read_bytes()).hexdigest()
    if found == CODE_SHA256:
        return ""
    return (
        f"Its {CODE_FILE} (SHA-256 {found[:12]}…) is not the version followed here ({CODE_SHA256[:12]}…); "
        "it is not executed, so answers may differ from its own."
    )


def find_release(
    release: str | Path,
    *,
    revision: str | None = None,
    files: Sequence[str] = LOAD_FILES,
    progress: Progress | None = None,
) -> ReleaseFolder:
    """A local folder as it is, or a hub repository downloaded at `revision`: the pinned one unless told otherwise.

    Raises: BrokenRelease: no such folder or repository or revision, or no network.
    """
    path = Path(release).expanduser()
    if path.is_dir():
        if revision is not None:
            raise BrokenRelease(
                f"Release {path.name}: a local folder has no revision, got {revision!r}. Leave the revision out, or "
                "give a hub id such as 'Cloudflare/clef-flash'."
            )
        return ReleaseFolder(path.resolve(), path.resolve().name, None)
    if not isinstance(release, str) or not HUB_ID.fullmatch(release):
        raise BrokenRelease(
            f"Release {str(release)!r}: no such folder, and no hub id. Give a release's folder, or an id such as "
            f"{next(iter(PINNED))!r}."
        )
    from clef_model.hub import download  # httpx and more; only for a repository

    wanted = revision or PINNED.get(release) or "main"
    folder, commit = download(release, wanted, files, progress)
    return ReleaseFolder(folder, release, commit)


def read_config(release: ReleaseFolder) -> dict[str, Any]:
    """The backbone's configuration.

    Raises: BrokenRelease: there is none, or it is of another kind of model.
    """
    config = read_json(release, CONFIG_FILE)
    kind = config.get("model_type")
    if kind != MODEL_TYPE:
        raise BrokenRelease(
            f"Release {release.name}: {CONFIG_FILE} has model_type {kind!r}, {MODEL_TYPE!r} is expected. "
            "Give the folder of Clef or Clef-Flash, or of a model trained from them."
        )
    for key in ("quantization_config", "quantization"):
        if config.get(key):
            raise BrokenRelease(
                f"Release {release.name}: its weights are quantised ({key} in {CONFIG_FILE}), and only plain ones "
                "are read. Give the release in bfloat16."
            )
    return config


def read_head_config(release: ReleaseFolder) -> dict[str, int]:
    """The head's sizes, as keyword arguments of `JointSchemaHead`.

    Raises: BrokenRelease: the folder has no head, or the sizes are not the six that a head has.
    """
    missing = [name for name in (HEAD_CONFIG_FILE, HEAD_FILE) if not (release.path / name).is_file()]
    if len(missing) == 2:
        raise BrokenRelease(
            f"Release {release.name}: this is a backbone only: it has neither {HEAD_FILE} nor {HEAD_CONFIG_FILE}, "
            "and without a head nothing is decided. Give the folder of a Clef release."
        )
    if missing:
        raise BrokenRelease(f"Release {release.name}: {missing[0]} is missing. Download the release again.")
    config = read_json(release, HEAD_CONFIG_FILE)
    expected = ("hidden_size", "width", "routing_layers", "layers", "heads", "feedforward")
    wrong = [f"lacks {key!r}" for key in expected if key not in config]
    wrong += [f"has the unknown key {key!r}" for key in config if key not in expected]
    wrong += [
        f"has {key!r} = {config[key]!r}, a whole number above 0 is expected"
        for key in expected
        if key in config and (not isinstance(config[key], int) or isinstance(config[key], bool) or config[key] < 1)
    ]
    if not wrong and config["width"] % config["heads"]:
        wrong.append(f"has 'width' = {config['width']}, which its {config['heads']} heads do not divide")
    if wrong:
        raise BrokenRelease(
            f"Release {release.name}: {HEAD_CONFIG_FILE} {'; '.join(wrong)}. Download the release again."
        )
    return config


def weight_files(release: ReleaseFolder) -> list[Path]:
    """The backbone's safetensors files.

    Raises: BrokenRelease: there are none, files named by the index are missing, or the weights are pickles.
    """
    index = release.path / INDEX_FILE
    if index.is_file():
        weight_map = read_json(release, INDEX_FILE).get("weight_map")
        names = sorted(set(weight_map.values())) if isinstance(weight_map, dict) else []
        # A name with a folder in it could lead out of the release.
        if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
            raise BrokenRelease(
                f"Release {release.name}: {INDEX_FILE} names no files of the folder. Download it again."
            )
    else:
        names = sorted(path.name for path in release.path.glob("model*.safetensors"))
    missing = [name for name in names if not (release.path / name).is_file()]
    if missing:
        raise BrokenRelease(
            f"Release {release.name}: {len(missing)} of {len(names)} weight files are missing: {', '.join(missing[:3])}"
            f"{' and more' if len(missing) > 3 else ''}. Download the release again."
        )
    if names:
        return [release.path / name for name in names]
    pickles = sorted(path.name for pattern in PICKLES for path in release.path.glob(pattern))
    if pickles:
        raise BrokenRelease(
            f"Release {release.name}: its weights are pickles ({pickles[0]}), which can run code when they are read. "
            "Give a release with safetensors files."
        )
    raise BrokenRelease(f"Release {release.name}: no model.safetensors in it. Download the release again.")


def read_json(release: ReleaseFolder, name: str) -> dict[str, Any]:
    """A JSON object of the folder.

    Raises: BrokenRelease: no such file, or no JSON object in it.
    """
    try:
        content = json.loads((release.path / name).read_bytes())
    except FileNotFoundError as error:
        raise BrokenRelease(f"Release {release.name}: {name} is missing. Download the release again.") from error
    except (OSError, ValueError) as error:
        raise BrokenRelease(f"Release {release.name}: {name} cannot be read ({error}). Download it again.") from error
    if not isinstance(content, dict):
        raise BrokenRelease(f"Release {release.name}: {name} holds no JSON object. Download it again.")
    return content
