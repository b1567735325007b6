"""OpenTelemetry: a run is a trace, with the names of the conventions for generative AI.

These are in development. All of their names that are used stand in this file.
"""

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from time import time_ns
from typing import Any, ClassVar

from etude.connect.run_folder import Ending, Point, TrackedRun
from etude.connect.tracker import Tracker
from etude.events import CallFinished
from etude.records import Role
from etude.redaction import Redactor

_OPERATION, _PROVIDER, _MODEL = "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"
_INPUT, _OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
_CACHED = "gen_ai.usage.cache_read.input_tokens"
_RESULT, _WHAT, _VALUE = "gen_ai.evaluation.result", "gen_ai.evaluation.name", "gen_ai.evaluation.score.value"
_LABEL = "gen_ai.evaluation.score.label"
_ERROR, _OTHER = "error.type", "_OTHER"


class OpenTelemetry(Tracker):
    """Reports to whatever takes OTLP. The span of a run has the settings and the verdict. Within it are a span for
    each step, with what is known after it and the skill if one was accepted, and a span for each model request.
    No prompt and no answer is told. A resumed run is a trace of its own, of what is new.

    Args:
        tracer_provider: what makes the spans. By default the one that the program has set; where it has set none,
            spans are sent over HTTP to where the variables `OTEL_EXPORTER_OTLP_...` say.
    """

    name: ClassVar[str] = "opentelemetry"
    needs = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter")
    extra = "opentelemetry"
    hears_calls: ClassVar[bool] = True

    def __init__(self, tracer_provider: Any = None) -> None:
        self._given = tracer_provider
        if tracer_provider is not None:
            self.needs = ("opentelemetry.sdk.trace",)
        self._trace: Any = None
        self._provider: Any = None
        self._close: Callable[[], object] = bool
        self._tracer: Any = None
        self._run: Any = None
        self._within: Any = None
        self._models: Mapping[Role, str] = {}
        self._spent: Mapping[str, float] = {}
        self._since = 0

    def begin(self, run: TrackedRun) -> bool:
        self._trace = import_module("opentelemetry.trace")
        shared = self._given or _of_program(self._trace)
        self._provider = shared or _exporting()
        self._close = self._provider.shutdown if shared is None else self._provider.force_flush
        self._tracer = self._provider.get_tracer("etude")
        settings = {f"etude.config.{name}": value for name, value in run.flat.items()}
        known = {"etude.run.name": run.name, "etude.run.id": run.id, "etude.simulated": run.simulated}
        self._run = self._tracer.start_span(f"train {run.name}", attributes=settings | known)
        self._within = self._trace.set_span_in_context(self._run)
        self._models, self._spent, self._since = run.models, {}, time_ns()
        return True

    def call(self, call: CallFinished, at: int) -> None:
        provider, _, model = self._models.get(call.role, "").partition(":")
        attributes = {
            _OPERATION: "chat",
            _PROVIDER: provider,
            _MODEL: model,
            _INPUT: call.usage.input_tokens,
            _OUTPUT: call.usage.output_tokens,
            _CACHED: call.usage.cached_tokens,
            "etude.role": call.role,
        }
        began = at - round(call.seconds * 1e9)
        kind = self._trace.SpanKind.CLIENT
        span = self._tracer.start_span(f"chat {model}", self._within, kind, attributes, start_time=began)
        if call.error:
            span.set_attribute(_ERROR, _OTHER)
            span.set_status(self._trace.StatusCode.ERROR, Redactor(os.environ).redact(call.error))
        span.end(at)

    def point(self, point: Point) -> None:
        if not point.action:
            self._spent = point.values
            return
        attributes: dict[str, Any] = {"etude.target_calls": point.target_calls, "etude.action": point.action}
        attributes |= {_named(name): value for name, value in {**self._spent, **point.values}.items()}
        title = f"{point.origin.replace('_', ' ')} {point.step}"
        span = self._tracer.start_span(title, self._within, attributes=attributes, start_time=self._since)
        for name, value in point.values.items():
            kind, _, what = name.partition("/")
            if kind == "score":
                span.add_event(_RESULT, {_WHAT: what, _VALUE: value})
        if point.skill:
            span.set_attribute("etude.skill.text", point.skill)
        self._since = time_ns()
        span.end(self._since)

    def end(self, ending: Ending) -> None:
        self._run.set_attributes({_named(name): value for name, value in ending.values.items()})
        self._run.set_attributes({"etude.state": ending.state, "etude.verdict": ending.verdict})
        if ending.verdict:
            gain = {_VALUE: ending.values["final/test_gain"]} if "final/test_gain" in ending.values else {}
            self._run.add_event(_RESULT, {_WHAT: "test gain", _LABEL: ending.verdict, **gain})
        if ending.state == "failed":
            self._run.set_status(self._trace.StatusCode.ERROR)
        self._run.end()
        self._close()


def _named(name: str) -> str:
    return f"etude.{name.replace('/', '.')}"


def _of_program(trace: Any) -> Any:
    """What the program has set to make spans; None where it has set nothing."""
    found = trace.get_tracer_provider()
    return found if isinstance(found, import_module("opentelemetry.sdk.trace").TracerProvider) else None


def _exporting() -> Any:
    """What makes spans and sends them away."""
    sdk, export = import_module("opentelemetry.sdk.trace"), import_module("opentelemetry.sdk.trace.export")
    otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    resources = import_module("opentelemetry.sdk.resources")
    name = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "etude"}
    provider = sdk.TracerProvider(shutdown_on_exit=False, resource=resources.Resource.create(name))
    provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return provider
