"""Releases of the hub, from a small server that answers as the hub does."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tiny_release import write_tiny_release

torch = pytest.importorskip("torch")

from clef_model.errors import BrokenRelease  # noqa: E402
from clef_model.loading import load_release, read_planner  # noqa: E402
from clef_model.release_folder import PINNED  # noqa: E402

REPOSITORY = "Cloudflare/clef-flash"
COMMIT = PINNED[REPOSITORY]
LATEST = "a" * 40


class FakeHub(BaseHTTPRequestHandler):
    """The hub's routes for one repository; `asked` are the paths it was asked for."""

    folder: Path
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        revision = COMMIT if COMMIT in path else LATEST
        if REPOSITORY not in path:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        if not any(known in path for known in (COMMIT, LATEST, "/main")):
            return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        if path == f"/api/models/{REPOSITORY}/revision/main":
            return self.send(200, json.dumps({"id": REPOSITORY, "sha": LATEST, "siblings": []}).encode())
        if "/tree/" in path:
            return self.send(200, json.dumps([self.entry(file) for file in sorted(self.folder.iterdir())]).encode())
        file = self.folder / Path(path).name
        return self.send(200, file.read_bytes(), {"X-Repo-Commit": revision, "ETag": f'"{etag(file)}"'})

    do_HEAD = do_GET

    def entry(self, file: Path) -> dict[str, Any]:
        return {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": etag(file)}

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


def etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny_release(tmp_path_factory.mktemp("hub") / "tiny", shards=2)
    (folder / "joint_schema_model.py").write_text("raise SystemExit")
    (folder / "README.md").write_text("about")
    return folder


@pytest.fixture
def hub(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A hub with one repository and an empty cache; the list of what it was asked for."""
    handler = type("Handler", (FakeHub,), {"folder": tiny, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    yield handler.asked  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_a_known_repository_is_loaded_at_its_pinned_revision(hub: list[str]) -> None:
    heard: list[tuple[float, str]] = []
    decider = load_release(REPOSITORY, device="cpu", progress=lambda share, stage: heard.append((share, stage)))
    assert (decider.status.name, decider.status.revision) == (REPOSITORY, COMMIT)
    assert all(COMMIT in path for path in hub if REPOSITORY in path)
    assert not any(path.endswith((".py", ".md")) for path in hub)
    assert any(stage.startswith(f"downloading {REPOSITORY}: ") for _, stage in heard)
    assert [share for share, _ in heard] == sorted(share for share, _ in heard)


def test_planning_fetches_the_small_files_only(hub: list[str]) -> None:
    planner = read_planner(REPOSITORY)
    assert (planner.status.name, planner.status.revision) == (REPOSITORY, COMMIT)
    assert any("tokenizer.json" in path for path in hub)
    assert not any("safetensors" in path for path in hub)


def test_what_was_downloaded_is_used_without_a_network(hub: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    read_planner(REPOSITORY)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert read_planner(REPOSITORY).status.revision == COMMIT


def test_another_revision_is_named_by_its_commit(hub: list[str]) -> None:
    assert read_planner(REPOSITORY, revision="main").status.revision == LATEST


def test_an_unknown_repository(hub: list[str]) -> None:
    with pytest.raises(BrokenRelease) as caught:
        read_planner("nobody/nothing")
    assert str(caught.value) == (
        "Release nobody/nothing: the hub has no such repository, or it is private. Check the id, or set HF_TOKEN."
    )


def test_an_unknown_revision(hub: list[str]) -> None:
    with pytest.raises(BrokenRelease) as caught:
        read_planner(REPOSITORY, revision="v9")
    assert str(caught.value) == (
        "Release Cloudflare/clef-flash: the hub has no revision 'v9' of it. Leave the revision out, or copy one from "
        "the hub."
    )
