"""Trackers against the packages themselves, offline: what each has stored is read back and compared with the run.

`scripts/test --slow` installs the packages. The fast tests have OpenTelemetry without its exporter.
"""

import gzip
import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from etude.connect import Tracker
from etude.testing import TrackerContract
from etude.testing.tracker import ServiceContent
from etude_annexes.trackers.mlflow import MLflow
from etude_annexes.trackers.opentelemetry import OpenTelemetry
from etude_annexes.trackers.trackio import Trackio
from etude_annexes.trackers.wandb import Wandb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),  # the packages have warnings of their own
]


def gathered(points: list[dict[str, Any]], calls: str, names: tuple[str, ...]) -> dict[str, list[tuple[int, float]]]:
    """Curves from rows."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in points:
        for name in names:
            if name in row:
                curves.setdefault(name, []).append((row[calls], row[name]))
    return curves


def flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{before}{name}.") if isinstance(value, dict) else {f"{before}{name}": value}
    return found


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def trackio_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where Trackio keeps everything: it reads the variable when it is imported."""
    folder = tmp_path_factory.mktemp("trackio")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKIO_DIR", str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        pytest.importorskip("trackio", reason="trackio is not installed")
        yield folder


class TestTrackio(TrackerContract):
    @pytest.fixture(autouse=True)
    def place(self, trackio_folder: Path, tmp_path: Path) -> None:
        self.folder, self.project = trackio_folder, tmp_path.name

    def make_tracker(self) -> Tracker:
        return Trackio(self.project)

    def kept(self) -> ServiceContent:
        from trackio import Api
        from trackio.cas import blob_path
        from trackio.sqlite_storage import SQLiteStorage

        (run,) = Api().runs(self.project)
        (artifact,) = SQLiteStorage.list_artifacts(self.project)
        manifests = [
            SQLiteStorage.get_artifact_manifest(self.project, artifact["name"], f"v{number}")
            for number in range(len(artifact["versions"]))
        ]
        files = [entry for found in manifests for entry in found["manifest"]]
        return ServiceContent(
            config=flat(run.config),
            curves=gathered(SQLiteStorage.get_logs(self.project, run.name), "step", tuple(self.curves)),
            skills=[blob_path(self.project, entry["digest"]).read_text() for entry in files],
            verdict=run.alerts()[0]["title"].removeprefix("verdict: "),
            everything=everything_in(self.folder),
        )


class TestWandb(TrackerContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = tmp_path
        for name in ("DIR", "DATA_DIR", "CACHE_DIR", "CONFIG_DIR"):
            monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "service"))
        monkeypatch.setenv("WANDB_MODE", "offline")
        monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
        pytest.importorskip("wandb", reason="wandb is not installed").teardown()

    def make_tracker(self) -> Tracker:
        return Wandb("tests")

    def kept(self) -> ServiceContent:
        """Of the last process: a run that was resumed without a connection is told again as a whole."""
        file = max((self.folder / "service").rglob("*.wandb"), key=lambda path: path.stat().st_mtime_ns)
        rows: list[dict[str, Any]] = []
        config: dict[str, Any] = {}
        summary: dict[str, Any] = {}
        skills: list[str] = []
        for record in records(file):
            match record.WhichOneof("record_type"):
                case "run":
                    config |= values(record.run.config.update)
                case "history":
                    rows.append(values(record.history.item))
                case "summary":
                    summary |= values(record.summary.update)
                case "artifact":
                    skills += [Path(each.local_path).read_text() for each in record.artifact.manifest.contents]
                case _:
                    pass
        curves = gathered(rows, "target_calls", tuple(self.curves))
        return ServiceContent(
            flat(config), curves, skills, summary["verdict"], everything_in(self.folder / "service")
        )


def records(path: Path) -> Iterator[Any]:
    """The records of a file that wandb leaves for `wandb sync`: blocks of 32 KB, as LevelDB writes logs."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, found = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        found += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            yield Record.FromString(found)
            found = b""


def values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


class TestMLflow(TrackerContract):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        for package in ("mlflow", "sqlalchemy", "alembic"):
            pytest.importorskip(package, reason=f"{package} is not installed")
        self.folder = tmp_path / "service"
        self.folder.mkdir()
        monkeypatch.chdir(self.folder)  # artifacts go next to it
        self.uri = f"sqlite:///{self.folder}/mlflow.db"

    def make_tracker(self) -> Tracker:
        return MLflow("tests", self.uri)

    def kept(self) -> ServiceContent:
        from mlflow import MlflowClient

        client = MlflowClient(self.uri)
        (run,) = client.search_runs([client.get_experiment_by_name("tests").experiment_id])
        id = run.info.run_id
        steps = [file.path for file in client.list_artifacts(id, "skills")]
        return ServiceContent(
            config={name: int(text) if text.isdecimal() else text for name, text in run.data.params.items()},
            curves={
                name: [(each.step, each.value) for each in client.get_metric_history(id, name)]
                for name in self.curves
            },
            skills=[Path(client.download_artifacts(id, f"{path}/SKILL.md")).read_text() for path in sorted(steps)],
            verdict=run.data.tags["verdict"],
            everything=everything_in(self.folder),
        )


class TestOpenTelemetryOverHTTP(TrackerContract):
    """As it sends spans where the program has set nothing to make them."""

    tells_earlier = False

    @pytest.fixture(autouse=True)
    def collector(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        service = pytest.importorskip(
            "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="the exporter is not installed"
        )
        pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the exporter is not installed")
        spans: list[Any] = []
        self.spans = spans

        class Collector(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
                request = service.ExportTraceServiceRequest.FromString(body)
                spans.extend(
                    span for one in request.resource_spans for each in one.scope_spans for span in each.spans
                )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        with HTTPServer(("127.0.0.1", 0), Collector) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
            yield
            server.shutdown()
            thread.join()

    def make_tracker(self) -> Tracker:
        return OpenTelemetry()

    def kept(self) -> ServiceContent:
        found = sorted(self.spans, key=lambda span: span.end_time_unix_nano)
        run = told(found[-1])
        steps = [told(span) for span in found if "etude.action" in told(span)]
        rows = [{name.removeprefix("etude.").replace(".", "/"): step[name] for name in step} for step in steps]
        return ServiceContent(
            config={name.removeprefix("etude.config."): value for name, value in run.items()},
            curves=gathered(rows, "target_calls", tuple(self.curves)),
            skills=[step["etude.skill.text"] for step in steps if "etude.skill.text" in step],
            verdict=run["etude.verdict"],
            everything=str(self.spans),
        )


def told(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}
