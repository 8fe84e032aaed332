import type { Json } from '../../../src/json/type-guards.js';
import {
  type Addresses,
  createService,
  type Service,
  type ServiceOptions,
} from '../../../src/service/index.js';
import { newArchive, plainArchive } from './archive.js';
import { fetchBody } from './bare-client.js';
import { type BareToken, postSigned, tokenIn } from './bare-oauth.js';
import { FaultProxy } from './fault-proxy.js';
import { minuteOf, NOW, WINDOWS } from './windows.js';

export interface WorldOptions {
  /** Whether jobs and replays deliver posts twice. */
  readonly repeats?: boolean | undefined;
  /** Whether posts have a size of some hundred KiB. */
  readonly large?: boolean | undefined;
  /**
   * Whether posts are only a few words long and are generated quickly. For tests of kills and of
   * this code itself.
   */
  readonly plain?: boolean | undefined;
  /** Whether clients go through a proxy that can change records and cut bytes anywhere. */
  readonly proxied?: boolean | undefined;
  readonly service?: Partial<ServiceOptions> | undefined;
}

export class World {
  readonly service: Service;
  /** The addresses of the service itself, for the test's own client. */
  readonly addresses: Addresses;
  readonly proxy: FaultProxy | undefined;
  #token: BareToken | undefined;

  private constructor(service: Service, addresses: Addresses, proxy: FaultProxy | undefined) {
    this.service = service;
    this.addresses = addresses;
    this.proxy = proxy;
  }

  static async open({
    repeats,
    large,
    plain,
    proxied,
    service: options,
  }: WorldOptions = {}): Promise<World> {
    const service = createService({
      limits: 'relaxed',
      archive: plain
        ? plainArchive()
        : newArchive({ repeats: repeats ?? false, large: large ?? false }),
      seed: 'faults',
      duplicatesAtPageEdges: true,
      jobDwellMs: 0,
      heartbeatMs: 30,
      ...options,
    });
    service.clock.freeze();
    service.clock.set(NOW);
    const addresses = await service.start();
    const proxy = proxied ? await FaultProxy.open(addresses.baseUrl) : undefined;
    return new World(service, addresses, proxy);
  }

  get clientAddresses(): Readonly<Record<string, Json>> {
    const texts = Object.entries(this.addresses).filter(([, value]) => typeof value === 'string');
    const told = Object.fromEntries(
      texts.map(([name, value]) => [
        name,
        this.proxy === undefined
          ? value
          : (value as string).replace(this.addresses.baseUrl, this.proxy.url),
      ]),
    );
    const token = this.#token;
    return token === undefined
      ? told
      : { ...told, accessToken: token.token, accessTokenSecret: token.secret };
  }

  /** Signs the user in. From then on, `clientAddresses` contains the returned access token. */
  async signIn(user: { id: string; handle: string; name: string }): Promise<BareToken> {
    const { service, addresses } = this;
    const step = async (name: string, body: Record<string, string>, token?: BareToken) => {
      const url = `${addresses.oauthUrl}/oauth/${name}`;
      return tokenIn(await postSigned(addresses, url, { now: service.clock.now(), token, body }));
    };
    const request = await step('request_token', { oauth_callback: 'oob' });
    const approval = await service.oauth.approve(request.token, user);
    if (!('pin' in approval)) throw new Error('There is no PIN');
    this.#token = await step('access_token', { oauth_verifier: approval.pin }, request);
    return this.#token;
  }

  async deliverJob(title = 'coffee'): Promise<string> {
    const { service, addresses } = this;
    const base = `${addresses.historicalUrl}/historical/rulestream/accounts/${addresses.account}/publishers/${addresses.publisher}/jobs`;
    const request = {
      publisher: addresses.publisher,
      dataFormat: 'original',
      title,
      fromDate: minuteOf(WINDOWS.job.from),
      toDate: minuteOf(WINDOWS.job.to),
      rules: [{ value: 'coffee', tag: 'c' }],
    };
    const body = JSON.stringify(request);
    const created = await fetchBody(addresses, `${base}.json`, { method: 'POST', body });
    const uuid = /\/jobs\/([^/"]+)\.json"/.exec(created)?.[1];
    if (uuid === undefined) throw new Error(`No job in ${created}`);
    const until = async (status: string) => {
      for (let tries = 0; tries < 1_000; tries++) {
        await service.settled();
        const job = await fetchBody(addresses, `${base}/${uuid}.json`);
        if (job.includes(`"status":"${status}"`)) return;
        service.clock.advance(1_000);
      }
      throw new Error(`The job never was ${status}`);
    };
    await until('quoted');
    const accept = JSON.stringify({ status: 'accept' });
    await fetchBody(addresses, `${base}/${uuid}.json`, { method: 'PUT', body: accept });
    await until('delivered');
    service.clock.set(NOW);
    return uuid;
  }

  async close(): Promise<void> {
    await this.proxy?.close();
    await this.service.stop();
  }
}
