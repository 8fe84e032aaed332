import { gzipSync } from 'node:zlib';
import type { Received, Reply, ScriptedServer } from './scripted-server.js';

interface Held {
  readonly value: string;
  readonly tag: string | null;
  readonly id: bigint;
}

export class RulesStream {
  readonly rules = new Map<string, Held>();
  /** Rules whose value contains this string are rejected as invalid. */
  readonly bad = 'has:vidoes';
  connections = 0;
  hasValidation = true;
  /** The body to send for a delete, instead of the outcome of each rule. */
  deletedBody: string | undefined;
  #nextId = 9_007_199_254_740_993n;

  constructor(server: ScriptedServer) {
    server.otherwise = this.answer;
  }

  hold(value: string, tag: string | null = null): string {
    const rule = { value, tag, id: this.#nextId };
    this.#nextId += 2n;
    this.rules.set(value, rule);
    return String(rule.id);
  }

  readonly answer: Reply = (response, request) => {
    const [status, body] = this.#handle(request);
    response.writeHead(status, { 'content-encoding': 'gzip' });
    response.end(gzipSync(body));
  };

  #handle({ method, url, body }: Received): [number, string] {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const given = body === '' ? {} : JSON.parse(body);
    const ids = [...body.matchAll(/(?<=[[,])\d+(?=[,\]])/g)].map(([digits]) => BigInt(digits));
    const values: { value: string; tag?: string }[] = given.rules ?? [];
    const operation = searchParams.get('_method') ?? method;
    if (pathname.endsWith('/validation.json'))
      return this.hasValidation ? this.#validate(values) : [404, ''];
    if (operation === 'GET') return [200, this.#list([...this.rules.values()])];
    if (operation === 'get')
      return [200, this.#list([...this.rules.values()].filter(({ id }) => ids.includes(id)))];
    if (this.connections > 0)
      return [406, `{"error":{"message":"There is 1 active connection.","sent":"x"}}`];
    if (operation === 'delete') return this.#delete(values, ids);
    return this.#add(values);
  }

  #validate(values: readonly { value: string }[]): [number, string] {
    const detail = values.map(({ value }) =>
      value.includes(this.bad)
        ? { rule: { value, tag: null }, valid: false, message: `Unknown value (at position 1)\n` }
        : { rule: { value, tag: null }, valid: true },
    );
    return [200, JSON.stringify({ detail: detail.toSorted((a, b) => +b.valid - +a.valid) })];
  }

  #add(values: readonly { value: string; tag?: string }[]): [number, string] {
    const refused = values.some(({ value }) => value.includes(this.bad));
    const detail = values.map(({ value, tag = null }) => {
      const rule = JSON.stringify({ value, tag });
      if (value.includes(this.bad))
        return `{"rule":${rule},"created":false,"message":"Unknown value\\n"}`;
      if (refused) return `{"rule":${rule},"created":false}`;
      if (this.rules.has(value))
        return `{"rule":${rule},"created":false,"message":"A rule with this value already exists"}`;
      return `{"rule":${rule.slice(0, -1)},"id":${this.hold(value, tag)}},"created":true}`;
    });
    return [refused ? 422 : 201, `{"summary":{},"detail":[${detail.join(',')}],"sent":"x"}`];
  }

  #delete(values: readonly { value: string }[], ids: readonly bigint[]): [number, string] {
    const misses: string[] = [];
    for (const { value } of values)
      if (!this.rules.delete(value))
        misses.push(
          `{"rule":${JSON.stringify({ value, tag: null })},"deleted":false,"message":"Rule does not exist"}`,
        );
    for (const id of ids) {
      const held = [...this.rules.values()].find(rule => rule.id === id);
      if (held === undefined)
        misses.push(`{"rule":{"id":${id}},"deleted":false,"message":"Rule does not exist"}`);
      else this.rules.delete(held.value);
    }
    return [200, this.deletedBody ?? `{"summary":{},"detail":[${misses.join(',')}],"sent":"x"}`];
  }

  #list(rules: readonly Held[]): string {
    const printed = rules.map(
      ({ value, tag, id }) => `${JSON.stringify({ value, tag }).slice(0, -1)},"id":${id}}`,
    );
    return `{"rules":[${printed.join(',')}],"sent":"2016-06-01T15:52:37.341Z"}`;
  }
}
