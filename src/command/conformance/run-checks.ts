import { ConnectionError, MillraceError, OptionError } from '../../base/errors.js';
import { redact } from '../../base/secret.js';
import type { Account } from '../../http/account.js';
import type { HttpResponse } from '../../http/http-message.js';
import { readText } from '../../http/read-json.js';
import { sendRequest } from '../../http/request.js';
import { serviceUrl } from '../../http/service-url.js';
import type { SettingName } from '../../http/settings.js';
import { parseExact } from '../../json/exact-ids.js';
import {
  CHECKED_ENDPOINTS,
  CHECKS,
  type Check,
  type CheckedEndpoint,
  type CheckFamily,
} from './check-table.js';
import { JSON_TYPE, type Mismatch, type Observed } from './expectations.js';

export interface ChosenChecks {
  readonly checks: readonly Check[];
  /** Families that are skipped, because the account lacks settings that their checks need. */
  readonly skipped: readonly {
    readonly family: CheckFamily;
    readonly settings: readonly string[];
  }[];
  readonly requests: number;
  /**
   * The number of search and counts requests that should succeed. The service may count them towards a cap.
   */
  readonly searches: number;
  /** The maximum number of posts in all responses together. */
  readonly posts: number;
}

export interface Difference extends Mismatch {
  readonly rule: string;
}

export interface CheckResult {
  readonly name: string;
  readonly family: CheckFamily;
  /** `skipped` means that the service has no data for this check. */
  readonly result: 'ok' | 'differs' | 'skipped';
  readonly differences: readonly Difference[];
}

/**
 * Selects the checks of these families. Skips a family if the account lacks settings for it.
 *
 * @param withRates Whether to include checks that exceed a rate limit on purpose.
 */
export function chooseChecks(
  account: Account,
  families: readonly CheckFamily[],
  { withRates = false }: { readonly withRates?: boolean } = {},
): ChosenChecks {
  const missing = new Map<CheckFamily, ReadonlySet<SettingName>>();
  for (const { family, base, path, needs } of Object.values<CheckedEndpoint>(CHECKED_ENDPOINTS)) {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as SettingName);
    const absent = [base, ...names, ...needs].filter(name => account.settings[name] === undefined);
    missing.set(family, new Set([...(missing.get(family) ?? []), ...absent]));
  }
  const lacks = (family: CheckFamily) => [...(missing.get(family) ?? [])];
  const checks = CHECKS.filter(({ endpoint, burst }) => {
    if (burst !== undefined && !withRates) return false;
    const { family } = CHECKED_ENDPOINTS[endpoint];
    return families.includes(family) && lacks(family).length === 0;
  });
  return {
    checks,
    skipped: families
      .filter(family => lacks(family).length > 0)
      .map(family => ({ family, settings: lacks(family) })),
    requests: checks.reduce((sum, { burst = 1 }) => sum + burst, 0),
    searches: checks.filter(
      ({ endpoint, status }) => CHECKED_ENDPOINTS[endpoint].limits === 'search' && status === 200,
    ).length,
    posts: checks.reduce((sum, { maxPosts = 0 }) => sum + maxPosts, 0),
  };
}

/**
 * Sends the requests of the checks, one after another and within the account's rate limits. Yields the result
 * of each check.
 *
 * @throws OptionError if the service refuses the login
 * @throws ConnectionError if the service cannot be reached
 */
export async function* runChecks(
  account: Account,
  checks: readonly Check[],
  { query, signal }: { readonly query: string; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<CheckResult> {
  const seen = new Map<string, Observed>();
  let isLoginKnown = false;
  for (const check of checks) {
    const { family } = CHECKED_ENDPOINTS[check.endpoint];
    const result = { name: check.name, family };
    const input = { now: account.clock.now(), query, seen };
    const parameters = check.parameters?.(input);
    if (check.parameters !== undefined && parameters === undefined) {
      yield { ...result, result: 'skipped', differences: [] };
      continue;
    }
    let differences: readonly Difference[];
    try {
      const observed = await observeBurst(account, check, parameters, signal);
      seen.set(check.name, observed);
      if ((check.login ?? 'right') === 'right') {
        if (!isLoginKnown && observed.status === 401 && check.status !== 401)
          throw wrongLogin(account, check, observed);
        isLoginKnown = true;
      }
      differences = differencesOf(check, observed, seen);
    } catch (error) {
      const isBroken = error instanceof MillraceError && !(error instanceof OptionError);
      // If the service cannot be reached at all, the checks end with an error. If only one response breaks
      // off, that is reported as a difference.
      if (!isBroken || seen.size === 0 || isUnreachable(error)) throw error;
      const { rule } = check;
      differences = [
        { what: 'response', expected: String(check.status), got: error.message, rule },
      ];
    }
    yield { ...result, result: differences.length === 0 ? 'ok' : 'differs', differences };
  }
}

function isUnreachable(error: MillraceError): boolean {
  return error instanceof ConnectionError && error.failure === 'refused';
}

function wrongLogin(account: Account, check: Check, { text }: Observed): OptionError {
  const { origin } = account.need(CHECKED_ENDPOINTS[check.endpoint].base, 'checks');
  return new OptionError(
    'password',
    `${origin} refuses the email and password of the account (401 for ${check.name}: ${excerptOf(text)}). Check MILLRACE_EMAIL and MILLRACE_PASSWORD; nothing else was checked`,
  );
}

function differencesOf(
  { status, rule, expects = [] }: Check,
  observed: Observed,
  seen: ReadonlyMap<string, Observed>,
): readonly Difference[] {
  if (observed.status !== status) {
    const got = `${observed.status}${observed.text === '' ? '' : ` ${excerptOf(observed.text)}`}`;
    return [{ what: 'status', expected: String(status), got, rule }];
  }
  return [JSON_TYPE, ...expects].flatMap(expectation => {
    const mismatch = expectation(observed, seen);
    return mismatch === undefined ? [] : [{ ...mismatch, rule: mismatch.rule ?? rule }];
  });
}

const MAX_SHOWN = 120;

function excerptOf(text: string): string {
  const line = redact(text).replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_SHOWN ? `${line.slice(0, MAX_SHOWN)}…` : line;
}

/**
 * All HTTP statuses. The client must not throw for any of them, because an unexpected status is a result of a
 * check, not an error.
 */
const ANY_STATUS = Array.from({ length: 500 }, (_, i) => 100 + i);
/** The maximum size of a response body, in bytes. Reading a larger body fails. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

type CheckParameters = ReturnType<NonNullable<Check['parameters']>>;

/**
 * Sends the request of a check and returns the response. If the check sends several requests at once, returns
 * the first response with the expected status, or the first response if none has it.
 */
async function observeBurst(
  account: Account,
  check: Check,
  parameters: CheckParameters,
  signal: AbortSignal | undefined,
): Promise<Observed> {
  const { burst = 1, status } = check;
  const all = await Promise.all(
    Array.from({ length: burst }, () => observe(account, check, parameters, signal)),
  );
  return all.find(observed => observed.status === status) ?? (all[0] as Observed);
}

async function observe(
  account: Account,
  check: Check,
  parameters: CheckParameters,
  signal: AbortSignal | undefined,
): Promise<Observed> {
  const endpoint: CheckedEndpoint = CHECKED_ENDPOINTS[check.endpoint];
  const { method = 'GET', login = 'right', rest = '' } = check;
  const url = serviceUrl(account, endpoint.base, endpoint.path, {
    purpose: 'checks',
    needs: endpoint.needs,
  });
  const [path = '', query = ''] = rest.split('?');
  url.pathname += path;
  url.search = query;
  if (method === 'GET')
    for (const [name, value] of Object.entries(parameters ?? {}))
      url.searchParams.set(name, String(value));
  const body = check.body ?? (method === 'POST' ? JSON.stringify(parameters ?? {}) : undefined);
  // A burst must exceed the rate limit, so its requests skip the limiter.
  const permit =
    check.burst === undefined
      ? await account.acquire(endpoint.limits, url, signal, endpoint.kind)
      : undefined;
  const response = await sendRequest(account, {
    method,
    url,
    signal,
    permit,
    expectedStatuses: ANY_STATUS,
    ...(body === undefined ? {} : { body }),
    headers: { ...(method === 'POST' && { 'content-type': 'application/json' }), ...check.headers },
    ...(login === 'right' ? {} : { authorize: () => otherLogin(account, login) }),
  });
  try {
    return await read(account, check, response);
  } finally {
    response.close();
  }
}

function otherLogin(account: Account, login: 'wrong' | 'none'): string | undefined {
  if (login === 'none') return undefined;
  const email = account.need('email', 'checks');
  return `Basic ${Buffer.from(`${email}:not-the-password`).toString('base64')}`;
}

async function read(account: Account, check: Check, response: HttpResponse): Promise<Observed> {
  const { status, headers } = response;
  // The service should have refused this request but has accepted it. The response may be a stream that
  // never ends, so the body is not read.
  const isEndless = status === 200 && check.status !== 200;
  const text = isEndless ? '' : await readText(response, MAX_BODY_BYTES);
  return { status, headers, text, json: jsonOf(text), now: account.clock.now() };
}

function jsonOf(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}
