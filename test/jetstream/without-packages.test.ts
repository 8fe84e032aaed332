import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { collect, pipeline } from 'millrace';
import { fromJetStream } from 'millrace/jetstream';
import { describe, expect, it, vi } from 'vitest';
import { connecting } from './connecting.js';

vi.mock('@nats-io/kv', () => {
  throw new Error("Cannot find package '@nats-io/kv'");
});

const source = path.resolve(import.meta.dirname, '../../src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(name =>
  name.endsWith('.ts'),
);

describe('the package of the NATS client', () => {
  it('is named in the error if it is not installed', async () => {
    const flow = fromJetStream({
      connection: connecting('127.0.0.1:1'),
      stream: 'posts',
      subject: 'posts',
    });
    await expect(pipeline(flow, collect())).rejects.toMatchObject({
      failure: 'packages',
      message:
        'fromJetStream needs the NATS client, which is not installed: npm install @nats-io/transport-node @nats-io/jetstream @nats-io/kv',
    });
  });

  it('is loaded only by the first connection', () => {
    const users = files.filter(file => {
      const text = readFileSync(path.join(source, file), 'utf8');
      const loads = text.replaceAll(/^import type\b[^;]*;/gm, '');
      return /(?:from|import\(|import)\s*'@nats-io\//.test(loads);
    });
    expect(users).toEqual([path.join('jetstream', 'packages.ts')]);
  });
});
