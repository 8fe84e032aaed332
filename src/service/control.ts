import { OptionError } from '../errors.js';
import { DAY, HOUR, MINUTE, parseTimestamp, SECOND } from '../time.js';
import { type Answer, jsonAnswer } from './answer.js';
import type { Fault } from './fault-kinds.js';
import { Refusal, searchErrorBody } from './refusal.js';
import { parseJsonObject, readBody } from './request-body.js';
import type { Exchange, Route } from './router.js';
import type { ServiceContext } from './service.js';
import type { Compliance } from './streams/compliance.js';

const MAX_BODY_BYTES = 64 * 1024;
/** Milliseconds of real time that an answer waits for what is due by the clock once it was moved. */
const PATIENCE_MS = 2_000;

/**
 * The control path: what a test does to a service in another process. GET shows, POST changes,
 * DELETE clears. It has no credentials; it answers to this machine only.
 */
export function controlRoutes(
  { clock, faults, settled }: ServiceContext,
  compliance: Compliance,
): readonly Route[] {
  const clockAnswer = () =>
    jsonAnswer(200, { now: new Date(clock.now()).toISOString(), frozen: clock.frozen });

  const moveClock = async (exchange: Exchange) => {
    const { set, advance, frozen, ...rest } = await readObject(exchange);
    const [stray] = Object.keys(rest);
    if (stray !== undefined) throw new Refusal(422, `The clock has no '${stray}'`);
    const instant = set === undefined ? undefined : instantOf(set);
    const span = advance === undefined ? undefined : spanOf(advance);
    if (frozen !== undefined && typeof frozen !== 'boolean')
      throw new Refusal(422, "Expected 'frozen' to be true or false");
    if (frozen === true) clock.freeze();
    if (instant !== undefined) clock.set(instant);
    if (span !== undefined) clock.advance(span);
    if (frozen === false) clock.resume();
  };

  const plantFault = async (exchange: Exchange) => {
    try {
      return jsonAnswer(201, faults.plant((await readObject(exchange)) as unknown as Fault));
    } catch (error) {
      if (error instanceof OptionError) throw new Refusal(422, error.message);
      throw error;
    }
  };

  const injectEvent = async ({ request }: Exchange) => {
    // As text: ids may be too long for numbers.
    const event = (await readBody(request, MAX_BODY_BYTES)).toString();
    try {
      compliance.inject(event);
    } catch (error) {
      if (error instanceof OptionError) throw new Refusal(422, error.message);
      throw error;
    }
    return jsonAnswer(201, {});
  };

  const route = (
    pattern: string,
    methods: Readonly<Record<string, (exchange: Exchange) => Answer | Promise<Answer>>>,
  ): Route => ({
    endpoint: 'control',
    methods: Object.keys(methods),
    pattern,
    errorBody: searchErrorBody,
    handle(exchange) {
      checkIsLocal(exchange);
      return (methods[exchange.method] as (exchange: Exchange) => Answer)(exchange);
    },
  });

  return [
    route('/_control/clock', {
      GET: clockAnswer,
      async POST(exchange) {
        await moveClock(exchange);
        await settled(PATIENCE_MS);
        return clockAnswer();
      },
      DELETE() {
        clock.reset();
        return clockAnswer();
      },
    }),
    route('/_control/faults', {
      GET: () => jsonAnswer(200, { faults: faults.list() }),
      POST: plantFault,
      DELETE: () => jsonAnswer(200, { cleared: faults.clear() }),
    }),
    route('/_control/compliance', { POST: injectEvent }),
    route('/_control/faults/:id', {
      DELETE({ path }) {
        const cleared = faults.clear(Number(path.id));
        if (cleared === 0) throw new Refusal(404, `Not Found: no fault with id ${path.id}`);
        return jsonAnswer(200, { cleared });
      },
    }),
  ];
}

/**
 * Only this machine, and no web page that happens to be open on it: a page of another site sends
 * its own `Origin`, and one whose name was made to point here sends that name as `Host`.
 */
function checkIsLocal({ request }: Exchange): void {
  const from = request.socket.remoteAddress ?? '';
  const host = (request.headers.host ?? '').replace(/:\d+$/, '');
  const isLocal = /^(::ffff:)?127\./.test(from) || from === '::1';
  const hostIsLocal = /^(127(\.\d+){3}|localhost|\[::1\])$/i.test(host);
  if (!isLocal || !hostIsLocal || request.headers.origin !== undefined)
    throw new Refusal(403, 'Forbidden: the control path answers to programs of this machine only');
}

async function readObject({ request }: Exchange): Promise<Record<string, unknown>> {
  const body = parseJsonObject(await readBody(request, MAX_BODY_BYTES));
  if (body === undefined) throw new Refusal(400, 'Expected a JSON object');
  return body;
}

/** Epoch milliseconds, `YYYYMMDDHHMM`, or an ISO 8601 time. */
function instantOf(value: unknown): number {
  const ms = typeof value === 'string' ? (parseTimestamp(value) ?? Date.parse(value)) : value;
  if (typeof ms !== 'number' || Number.isNaN(new Date(ms).getTime()))
    throw new Refusal(
      422,
      "Expected 'set' to be epoch milliseconds, YYYYMMDDHHMM or an ISO 8601 time",
    );
  return ms;
}

const UNITS: Record<string, number> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/** Milliseconds, or a number with a unit: `30s`, `31m`, `2h`, `15d`. */
function spanOf(value: unknown): number {
  const [, amount, unit = 'ms'] = /^(-?\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(String(value)) ?? [];
  const ms = Number(amount) * (UNITS[unit] as number);
  if (!Number.isFinite(ms) || Math.abs(ms) > 100 * 365 * DAY)
    throw new Refusal(422, "Expected 'advance' to be milliseconds or a time such as 30s, 31m, 15d");
  return ms;
}
