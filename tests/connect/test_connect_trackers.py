"""Trackers over real runs: a tracker of one's own, and OpenTelemetry with spans in memory."""

from pathlib import Path
from typing import Any, ClassVar

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tracked_run import train

from etude.connect import Ending, Point, TrackedRun, Tracker
from etude.errors import BudgetStop
from etude.events import CallFinished
from etude.store.projections.log import Log
from etude.testing import TrackerContract
from etude.testing.tracker import ServiceContent
from etude_annexes.trackers.opentelemetry import OpenTelemetry


class Memory:
    """A service that keeps runs in memory."""

    def __init__(self) -> None:
        self.runs: dict[str, list[Any]] = {}
        self.last = ""


class Remembering(Tracker):
    name: ClassVar[str] = "remembering"

    def __init__(self, service: Memory) -> None:
        self._service = service

    def begin(self, run: TrackedRun) -> bool:
        known = run.id in self._service.runs
        self._service.last = run.id
        self._service.runs.setdefault(run.id, [run])
        return known

    def point(self, point: Point) -> None:
        self._service.runs[self._service.last].append(point)

    def end(self, ending: Ending) -> None:
        self._service.runs[self._service.last].append(ending)


class TestATrackerOfOnesOwn(TrackerContract):
    service: Memory

    def make_tracker(self) -> Tracker:
        if not hasattr(self, "service"):
            self.service = Memory()
        return Remembering(self.service)

    def kept(self) -> ServiceContent:
        told = self.service.runs[self.service.last]
        points = [each for each in told if isinstance(each, Point)]
        curves: dict[str, list[tuple[int, float]]] = {}
        for point in points:
            for name, value in point.values.items():
                curves.setdefault(name, []).append((point.target_calls, value))
        return ServiceContent(
            config=told[0].flat,
            curves=curves,
            skills=[point.skill for point in points if point.skill],
            verdict=[each for each in told if isinstance(each, Ending)][-1].verdict,
            everything=repr(told),
        )


class TestOpenTelemetry(TrackerContract):
    tells_earlier = False
    provider: TracerProvider

    def make_tracker(self) -> Tracker:
        if not hasattr(self, "provider"):
            self.exporter, self.provider = InMemorySpanExporter(), TracerProvider()
            self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        return OpenTelemetry(self.provider)

    def kept(self) -> ServiceContent:
        spans = self.exporter.get_finished_spans()
        run = attributes_of(spans[-1])
        steps = [attributes_of(span) for span in spans if "etude.action" in attributes_of(span)]
        curves = {
            name: [(step["etude.target_calls"], step[attribute]) for step in steps if attribute in step]
            for name in self.curves
            for attribute in [f"etude.{name.replace('/', '.')}"]
        }
        return ServiceContent(
            config={name.removeprefix("etude.config."): value for name, value in run.items()},
            curves=curves,
            skills=[step["etude.skill.text"] for step in steps if "etude.skill.text" in step],
            verdict=run["etude.verdict"],
            everything="".join(span.to_json() for span in spans),
        )


def attributes_of(span: Any) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_each_model_request_is_a_span_of_the_conventions(tmp_path: Path) -> None:
    contract = TestOpenTelemetry()
    tracker = contract.make_tracker()
    summary = train(tmp_path, tracker)
    spans = contract.exporter.get_finished_spans()
    calls = [span for span in spans if span.kind is SpanKind.CLIENT]
    assert len(calls) == summary.cost.target_calls + summary.cost.optimizer_calls
    assert {span.name for span in calls} == {"chat target", "chat optimizer"}
    assert {span.parent and span.parent.span_id for span in calls} == {spans[-1].context.span_id}
    assert {attributes_of(span)["gen_ai.provider.name"] for span in calls} == {"simulated"}
    used = sum(attributes_of(span)["gen_ai.usage.input_tokens"] for span in calls)
    assert used == sum(usage.input_tokens for usage in summary.cost.tokens.values())
    (result,) = [event for event in spans[-1].events if event.name == "gen_ai.evaluation.result"]
    assert dict(result.attributes or {})["gen_ai.evaluation.score.label"] == summary.said


def test_a_failed_request_is_a_span_with_an_error_and_no_key() -> None:
    contract = TestOpenTelemetry()
    tracker = contract.make_tracker()
    assert isinstance(tracker, OpenTelemetry)
    tracker.begin(TrackedRun("01234567", "run", {}, {"target": "openai:gpt-5.5"}, simulated=False))
    error = "401 for Bearer abcdefghijklmnop1234567890"
    tracker.call(CallFinished(role="target", error=error, seconds=2.0), 10_000_000_000)
    tracker.end(Ending("failed"))
    call, run = contract.exporter.get_finished_spans()
    assert (call.start_time, call.end_time) == (8_000_000_000, 10_000_000_000)
    assert (call.name, attributes_of(call)["gen_ai.provider.name"]) == ("chat gpt-5.5", "openai")
    assert attributes_of(call)["error.type"] == "_OTHER"
    assert "abcdefghij" not in call.to_json()
    assert {call.status.status_code, run.status.status_code} == {StatusCode.ERROR}


def test_what_a_tracker_is_told_is_what_the_page_shows_also_of_a_resumed_run(tmp_path: Path) -> None:
    service, epochs = Memory(), {"epochs": 3}
    with pytest.raises(BudgetStop):
        train(tmp_path, Remembering(service), train=epochs, limits={"calls": 22})
    train(tmp_path, Remembering(service), train=epochs)
    told = [each for each in service.runs[service.last] if isinstance(each, Point) and each.action]
    log = Log(tmp_path / "run")
    log.read()
    shown = log.story.turns
    assert len(shown) > 1
    assert [(each.target_calls, each.step, each.action) for each in told] == [
        (each.target_calls, each.step, each.action) for each in shown
    ]
    for name, field in {"score/validation": "current", "tasks/solved": "solved"}.items():
        assert [each.values.get(name) for each in told] == [getattr(each, field) for each in shown]
    assert [each.values["score/training"] for each in told] == [each.solved / each.tasks for each in shown]
