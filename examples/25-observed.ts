// Sends spans and metrics of a search with the OpenTelemetry SDK to the collector at
// OTEL_EXPORTER_OTLP_ENDPOINT.
import { subscribe } from 'node:diagnostics_channel';
import { type Span, SpanStatusCode } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { account, dedupe, files, pipeline, type RequestMessage, type RunMessage, search } from 'millrace';
import { createService } from 'millrace/service';

const traces = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const metrics = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
});
const tracer = traces.getTracer('millrace');
const meter = metrics.getMeter('millrace');
const posts = meter.createCounter('millrace.posts');
const durations = meter.createHistogram('millrace.request.duration', { unit: 'ms' });

// All messages about one request are the same object.
const spans = new WeakMap<object, Span>();
subscribe('millrace:request:start', message => {
  const { method, url } = message as RequestMessage;
  spans.set(message as object, tracer.startSpan(`${method} ${new URL(url).pathname}`));
});
subscribe('millrace:request:end', message => {
  const { status, durationMs = 0 } = message as RequestMessage;
  spans
    .get(message as object)
    ?.setAttribute('http.response.status_code', status ?? 0)
    .end();
  durations.record(durationMs, { status });
});
subscribe('millrace:request:error', message => {
  const { error } = message as RequestMessage;
  spans
    .get(message as object)
    ?.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
    .end();
});
subscribe('millrace:run:end', message => posts.add((message as RunMessage).written ?? 0));

const service = createService();
const acme = account(await service.start());
await pipeline(
  search(acme, { product: '30day', query: 'coffee', limit: 1_000 }),
  dedupe(),
  files({ path: 'out/observed/{day}.jsonl' }),
  { onSummary: ({ written, requests }) => console.log(`${written} posts in ${requests} requests`) },
);
await service.stop();
await traces.shutdown();
await metrics.shutdown();
