import { MINUTE } from '../../base/time.js';
import { checkAccountAccess } from '../http/check-access.js';
import { HttpProblem, messageErrorBody } from '../http/http-problem.js';
import { checkGzip, type LiveResponse, streamConnection } from '../http/live-response.js';
import { checkRate, connectionsExceeded } from '../http/quotas.js';
import { type Handler, type Route, routesOf } from '../http/router.js';
import type { ServiceContext } from '../service-context.js';
import { PARTITIONS, type PrintedEvent } from './generated-events.js';

/** The documented path, and the path that older clients use. */
const PATTERNS = [
  '/accounts/:account/publishers/:publisher/streams/compliance/:label.json',
  '/stream/compliance/accounts/:account/publishers/:publisher/:label.json',
];

/**
 * Returns the routes of the compliance stream. The checks are, in order:
 * 1. the credentials: 401;
 * 2. account, publisher and label: 404;
 * 3. the rate of connection requests, including failed ones: 429;
 * 4. gzip, then the partition: 406.
 */
export function complianceRoutes(context: ServiceContext): readonly Route[] {
  const { settings, quotas } = context;
  const { account, publisher, complianceLabel: label } = settings;
  const connects = [quotas.window('complianceConnectRate')];
  const table = Object.fromEntries(PATTERNS.map(pattern => [pattern, { GET: connect }]));
  return routesOf({ endpoint: 'compliance', errorBody: messageErrorBody }, table, incoming => {
    checkAccountAccess(incoming, settings, { account, publisher, label });
    checkRate(connects, connectionsExceeded);
    checkGzip(incoming);
    return context;
  });
}

const connect: Handler<ServiceContext> = (incoming, context) => {
  const { url } = incoming;
  const { clock, compliance, faults, settings } = context;
  const partition = requestedPartition(url.searchParams);
  const feed = async (live: LiveResponse, signal: AbortSignal) => {
    const send = (event: PrintedEvent) => {
      if (partition === undefined || event.partition === partition)
        live.push(Buffer.from(event.json));
    };
    const stop = compliance.listen(send);
    signal.addEventListener('abort', stop);
    const flood = faults.matchStream('flood', 'compliance', url.pathname + url.search);
    if (flood === undefined) return;
    const now = clock.now();
    const window = { from: now - (flood.minutes ?? 60) * MINUTE, to: now };
    for (const event of await compliance.within(window, signal)) send(event);
  };
  const stream = streamConnection(incoming, context, settings.complianceLabel, feed);
  return { status: 200, body: [], live: stream };
};

function requestedPartition(parameters: URLSearchParams): number | undefined {
  const text = parameters.get('partition');
  if (text === null) return undefined;
  const partition = /^\d$/.test(text) ? Number(text) : 0;
  if (partition < 1 || partition > PARTITIONS)
    throw new HttpProblem(
      406,
      `Invalid value for query parameter 'partition'. It must be 1 to ${PARTITIONS}.`,
    );
  return partition;
}
