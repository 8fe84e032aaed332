import { once } from 'node:events';
import net from 'node:net';
import { unchecked } from '../../unchecked.js';
import { loadModule } from '../load-library.js';
import { check, outcomes, type ParserKind } from './parser.js';

/**
 * The test closes a connection that is silent for this long, because an incomplete request gets no
 * response.
 */
const IDLE_MS = 40;

export const requests: ParserKind = {
  holds:
    'an answer that is no error of the service, or the end of the connection; the next request is answered',
  async open(library) {
    const { createService } = await loadModule(library, 'service/index');
    let failure: unknown;
    const service = createService({
      limits: 'relaxed',
      onError(error) {
        failure = error;
      },
    });
    const addresses = await service.start();
    const port = Number(new URL(addresses.baseUrl).port);
    const { account, email, password, label, streamLabel, consumerKey } = addresses;
    const basic = `Authorization: Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`;
    const oauth = `Authorization: OAuth oauth_consumer_key="${consumerKey}", oauth_nonce="n", oauth_signature="x", oauth_signature_method="HMAC-SHA1", oauth_timestamp="1", oauth_callback="oob"`;
    const search = `/search/30day/accounts/${account}/${label}`;
    const rules = JSON.stringify({ rules: [{ value: 'rain', tag: 'x' }] });
    const job = JSON.stringify({
      publisher: 'twitter',
      streamType: 'track_v2',
      dataFormat: 'original',
      title: 'x',
      fromDate: '201301010000',
      toDate: '201301010601',
      rules: [{ value: 'rain' }],
    });
    const form = 'application/x-www-form-urlencoded';
    const requestOf = (
      method: string,
      path: string,
      body = '',
      login = basic,
      type = 'application/json',
    ) =>
      `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${login}\r\nContent-Type: ${type}\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const seeds = [
      requestOf('GET', `${search}.json?query=rain&maxResults=10&fromDate=202001010000`),
      requestOf('POST', `${search}.json`, JSON.stringify({ query: 'rain', maxResults: 10 })),
      requestOf('POST', `${search}/counts.json`, JSON.stringify({ query: 'rain', bucket: 'day' })),
      requestOf('GET', `/historical/track/accounts/${account}/publishers/twitter/jobs.json`),
      requestOf(
        'POST',
        `/historical/powertrack/accounts/${account}/publishers/twitter/jobs.json`,
        job,
      ),
      requestOf('GET', `/accounts/${account}/usage.json?bucket=day`),
      requestOf(
        'POST',
        `/rules/powertrack/accounts/${account}/publishers/twitter/${streamLabel}.json`,
        rules,
      ),
      requestOf('POST', '/oauth/request_token', '', oauth, form),
      requestOf('POST', '/insights/engagement/totals', '{"tweet_ids":["1"]}', oauth),
      requestOf('GET', '/console?page=2', '', 'Cookie: millrace-console-1=x'),
      requestOf('GET', '/status'),
      requestOf(
        'POST',
        '/console/sign-in',
        'email=a&password=b&next=%2Fconsole&csrf=x',
        'Cookie: a=b',
        form,
      ),
      requestOf('GET', '/oauth/authenticate?oauth_token=x'),
      requestOf('POST', '/_control/clock', '{"advance":1}'),
      requestOf('POST', '/_control/faults', '{"kind":"delay","ms":0,"times":1}'),
      requestOf('POST', '/_control/compliance', '{"delete":{"tweet":{"id":5,"author_id":6}}}'),
      requestOf('DELETE', '/_control/faults/1'),
      requestOf(
        'GET',
        '/snapshots/a/track_v2/original/b/2013/01/01/c/2013/01/01/00/00_activities.json.gz?Expires=1&Signature=x',
      ),
    ];
    const answerOf = (bytes: Buffer, idleMs = IDLE_MS): Promise<string> =>
      new Promise(resolve => {
        const socket = net.connect({ port, host: '127.0.0.1' });
        let text = '';
        const end = () => {
          socket.destroy();
          resolve(text);
        };
        socket.setTimeout(idleMs, end);
        socket.on('data', chunk => {
          if (text.length < 10_000) text += chunk.toString('latin1');
        });
        socket.on('error', end);
        socket.on('close', end);
        socket.write(bytes);
      });
    let tried = 0;
    return {
      tokens: [
        ...[
          'GET ',
          'POST ',
          ' HTTP/1.1\r\n',
          'Host: evil.example\r\n',
          'Host: \r\n',
          'Transfer-Encoding: chunked\r\n',
        ],
        ...[
          'Content-Length: 5\r\n',
          'Content-Encoding: gzip\r\n',
          'Expect: 100-continue\r\n',
          '/../',
          '%2e%2e/',
        ],
        ...[
          '%',
          '%ff',
          '//',
          '?',
          '&query=',
          '*',
          'http://evil.example/',
          '\0',
          '%00',
          '#',
          'Upgrade: websocket\r\n',
        ],
        ...['"query":', '"next":"AAAA"', '"fromDate":"', '{"a":', '__proto__', '999999999999'],
      ],
      seed: random => Buffer.from(random.pick(seeds)),
      async attempt(input) {
        // An earlier input may have planted a status, which would hide other responses, or moved
        // the clock.
        service.faults.clear();
        service.clock.reset();
        failure = undefined;
        const answer = await answerOf(input);
        if (failure !== undefined)
          throw new Error(
            `The service failed: ${failure instanceof Error ? failure.stack : String(failure)}`,
          );
        const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? [];
        check(answer === '' || status !== undefined, `Not an answer: ${answer.slice(0, 100)}`);
        check(status !== '500', `An error of the service: ${answer}`);
        if (++tried % 50 === 0) {
          const next = await answerOf(Buffer.from(requestOf('GET', '/status')), 15_000);
          check(
            next.startsWith('HTTP/1.1 200'),
            `The next request is not answered: ${next.slice(0, 100)}`,
          );
        }
        return status?.startsWith('2') === true;
      },
      async close() {
        await service.stop();
      },
    };
  },
};

export const responses: ParserKind = {
  holds:
    'a result or a typed error, for a search, counts, usage, rules, jobs and both tokens of a sign-in; tokens are texts',
  async open(library) {
    const millrace = await loadModule(library, 'index');
    const errors = await outcomes(library);
    let response: Buffer = Buffer.alloc(0);
    const server = net.createServer(socket => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(response));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const acme = millrace.account(
      {
        account: 'acme',
        label: 'prod',
        streamLabel: 'prod',
        publisher: 'twitter',
        email: 'a@b',
        password: 'SECRETWORD',
        baseUrl: url,
        historicalUrl: url,
        accountApiUrl: url,
        rulesUrl: url,
        replayStreamUrl: url,
        oauthUrl: url,
        consumerKey: 'key',
        consumerSecret: 'SECRETWORD',
        retry: { attempts: 1, connects: 1 },
        limits: Object.fromEntries(
          ['search', 'usage', 'jobReads', 'replayRules'].map(family => [family, []]),
        ),
      },
      {},
    );
    const { Secret } = await loadModule(library, 'base/secret');
    const requestToken = { token: 'SECRETWORD-1', secret: new Secret('SECRETWORD-2') };
    /**
     * The calls, each with a text by which its responses are recognised. Each call gets responses
     * of its own kind, so that most inputs reach the parser that they are meant for.
     */
    const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
      [
        '"results"',
        () => collected(millrace.search(acme, { product: '30day', query: 'rain', limit: 10 })),
      ],
      [
        'timePeriod',
        () =>
          collected(
            millrace.counts(acme, unchecked({ product: '30day', query: 'rain', pages: 1 })),
          ),
      ],
      ['publishers', () => millrace.usage.report(acme)],
      ['jobs', () => millrace.jobs.list(acme)],
      ['rules', () => collected(millrace.replayRules.list(acme))],
      [
        'oauth_callback_confirmed',
        async () => {
          const { token, secret } = await millrace.users.requestToken(acme, { callback: 'oob' });
          checkTexts([token, secret.reveal()]);
        },
      ],
      [
        'user_id',
        async () => {
          const signedIn = await millrace.users.accessToken(acme, {
            token: requestToken,
            verifier: 'SECRETWORD-3',
          });
          const { token, secret, userId, screenName } = signedIn;
          checkTexts([token.reveal(), secret.reveal(), userId, screenName]);
        },
      ],
    ];
    const ok = (body: string, headers = '') =>
      `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const span = { activities: 1, fromDate: '201801010000', toDate: '201802010000' };
    const seeds = [
      ok(
        '{"results":[{"id_str":"1","created_at":"Sat Jan 06 20:00:00 +0000 2018"}],"requestParameters":{"maxResults":10}}',
      ),
      ok(
        '{"results":[{"timePeriod":"201801010000","count":5}],"totalCount":5,"requestParameters":{"bucket":"day"}}',
      ),
      ok(
        JSON.stringify({
          account: { name: 'acme', status: 'ok' },
          bucket: 'month',
          fromDate: span.fromDate,
          toDate: span.toDate,
          publishers: [{ name: 'x', type: 'y', used: [span], projected: span, products: [] }],
        }),
      ),
      ok('{"jobs":[],"delivered":{"jobCount":0,"jobDaysRun":0,"activityCount":0}}'),
      ok('{"rules":[{"value":"rain","tag":null,"id":7,"id_str":"7"}],"sent":"x"}'),
      ok('oauth_token=SECRETWORD&oauth_token_secret=SECRETWORD%2B&oauth_callback_confirmed=true'),
      ok('oauth_token=12-a&oauth_token_secret=SECRETWORD&user_id=9007199254740993&screen_name=ada'),
      'HTTP/1.1 401 Unauthorized\r\nContent-Length: 63\r\n\r\n{"errors":["oauth_token SECRETWORD is not valid: user_id 5"]}  ',
      'HTTP/1.1 422 Unprocessable\r\nContent-Length: 40\r\nRetry-After: 1\r\n\r\n{"error":{"message":"SECRETWORD","sent":1}',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{"results":[]}\r\n0\r\n\r\n',
    ];
    return {
      tokens: [
        ...[
          'HTTP/1.1 ',
          '\r\n\r\n',
          'Content-Length: 3\r\n',
          'Content-Encoding: gzip\r\n',
          'Transfer-Encoding: chunked\r\n',
        ],
        ...[
          'Location: http://evil.example/\r\n',
          'Retry-After: 99999999999\r\n',
          'Date: x\r\n',
          '100 Continue',
          '101 ',
          '204',
          '304',
        ],
        ...[
          '"results":[',
          '"next":"',
          '"requestParameters":',
          '\x1b[2J',
          '\u009b2J',
          '{',
          ']',
          'SECRETWORD',
          '0\r\n\r\n',
          ...['oauth_token=', 'oauth_token_secret=', 'user_id=', '&', '%', '%ff', '%26', '+'],
        ],
      ],
      seed: random => Buffer.from(random.pick(seeds)),
      async attempt(input, random) {
        response = input;
        const made = calls.filter(([part]) => input.includes(part));
        const [, call] = random.pick(made.length > 0 && random.chance(0.8) ? made : calls);
        const signal = AbortSignal.timeout(15_000);
        const { error } = await errors.ofAsync(() =>
          Promise.race([
            call(),
            new Promise<never>((_, reject) =>
              signal.addEventListener('abort', () => reject(new Error('No end within 15 s')), {
                once: true,
              }),
            ),
          ]),
        );
        check(!error?.includes('SECRETWORD'), `An error shows the password: ${error}`);
        check(
          !/[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(error ?? ''),
          `An error has control characters: ${JSON.stringify(error)}`,
        );
        return error === undefined;
      },
      async close() {
        await acme[Symbol.asyncDispose]();
        server.close();
      },
    };
  },
};

function checkTexts(texts: readonly unknown[]): void {
  for (const text of texts)
    check(typeof text === 'string' && text !== '', `A token with ${JSON.stringify(text)}`);
}

async function collected(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) if (++count > 1_000) break;
  return count;
}
