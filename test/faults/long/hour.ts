import { once } from 'node:events';
import path from 'node:path';
import type { Account, AccountOptions, MillraceError } from 'millrace';
import type { Addresses, Fault, PlantedFault, ServiceOptions } from 'millrace/service';
import { fork } from '../../child-processes.js';
import { fetchBody } from '../matrix/bare-client.js';
import type { Millrace } from '../matrix/pipeline.js';
import { minuteOf, NOW } from '../matrix/windows.js';
import type { Random } from '../random.js';
import { FastClock } from './fast-clock.js';
import type { FromService, HourSetting, ToService } from './hour-service-child.js';

/**
 * A service that enforces all rate limits. It runs in a separate process with a fast clock. The
 * waits of the account are shortened by the speed of this clock.
 */
export class Hour {
  readonly clock: FastClock;
  readonly account: Account;
  /** The number of requests that the service has refused because of a rate limit. */
  tooMany = 0;
  readonly #child: ReturnType<typeof fork>;
  /** The addresses of a service with the same archive but no limits, for the test itself. */
  readonly #twin: Addresses;
  #planted = 0;

  private constructor(
    clock: FastClock,
    child: ReturnType<typeof fork>,
    { addresses, twin }: Extract<FromService, { addresses: Addresses }>,
    millrace: Millrace,
  ) {
    this.clock = clock;
    this.#child = child;
    this.#twin = twin;
    clock.onState = state => this.#ask({ clock: state });
    this.account = millrace.account(
      {
        ...addresses,
        timing: clock,
        serviceTime: () => clock.now(),
        // This timeout is in real time, like the service's heartbeats.
        timeouts: { silenceMs: 4_000 },
        onRetry: ({ error }: { readonly error: MillraceError }) => {
          if ('status' in error && error.status === 429) this.tooMany++;
        },
      } as AccountOptions,
      {},
    );
  }

  static async open(
    millrace: Millrace,
    random: Random,
    speeds: ConstructorParameters<typeof FastClock>[1],
    options: Partial<ServiceOptions>,
  ): Promise<Hour> {
    const clock = new FastClock(NOW, speeds, random);
    const setting: HourSetting = {
      options: { seed: 'long', heartbeatMs: 500, ...options },
      clock: clock.state,
    };
    const script = path.join(import.meta.dirname, 'hour-service-child.js');
    const child = fork(script, [JSON.stringify(setting)]);
    const [started] = (await once(child, 'message')) as [FromService];
    if (!('addresses' in started)) throw new Error('The service did not start');
    return new Hour(clock, child, started, millrace);
  }

  plant(fault: Fault): void {
    this.#planted++;
    this.#tell({ plant: fault });
  }

  countConnections(endpoint: 'compliance' | 'replay'): void {
    // A delay of 0 ms only counts the connections.
    this.#tell({ plant: { kind: 'delay', ms: 0, endpoint, times: 'always' } });
  }

  /**
   * Clears all faults. Resolves to the number of faults that took effect, and the number of
   * connections to each counted endpoint.
   */
  async clear(): Promise<{ readonly hits: number; readonly connections: readonly number[] }> {
    const answer = await this.#ask({ clear: true });
    const left: readonly PlantedFault[] = 'left' in answer ? answer.left : [];
    const counters = left.filter(({ kind }) => kind === 'delay');
    return {
      hits: this.#planted - (left.length - counters.length),
      connections: counters.map(({ hits }) => hits),
    };
  }

  async fetchReplay(
    type: 'compliance' | 'firehose',
    from: number,
    end: number,
  ): Promise<readonly string[]> {
    const { account, publisher, streamLabel, replayStreamUrl } = this.#twin;
    const url = `${replayStreamUrl}/replay/${type}/accounts/${account}/publishers/${publisher}/${streamLabel}.json`;
    const dates = `fromDate=${minuteOf(from)}&toDate=${minuteOf(end)}`;
    const text = await fetchBody(this.#twin, `${url}?${dates}`);
    return text.split('\r\n').filter(line => line !== '' && !line.startsWith('{"info"'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.account.close();
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #tell(message: ToService): void {
    this.#child.send(message);
  }

  /** Sends a message and waits for the answer. Only one message at a time can be sent. */
  async #ask(message: ToService): Promise<FromService> {
    const answered = once(this.#child, 'message') as Promise<[FromService]>;
    this.#tell(message);
    return (await answered)[0];
  }
}
