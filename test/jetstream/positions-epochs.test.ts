import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADERS } from '../../src/jetstream/message.js';
import { Epochs } from '../../src/jetstream/positions.js';

interface Sent {
  readonly publisher: string;
  readonly subject: string;
  readonly epoch: number;
}

const sent = fc.array(
  fc.record({
    publisher: fc.constantFrom('', 'one', 'two'),
    subject: fc.constantFrom('posts.0', 'posts.1'),
    epoch: fc.integer({ min: 1, max: 5 }),
  }),
);

const admits = (epochs: Epochs, { publisher, subject, epoch }: Sent) =>
  epochs.admits(subject, {
    get: name => ({ [HEADERS.publisher]: publisher, [HEADERS.epoch]: String(epoch) })[name] ?? '',
  });

describe('Epochs, which detects publishers that were replaced,', () => {
  it('accepts a message unless a message with a later epoch came before it from the same publisher on the same subject', () => {
    fc.assert(
      fc.property(sent, messages => {
        const epochs = new Epochs();
        for (const [index, message] of messages.entries()) {
          const isLate = messages
            .slice(0, index)
            .some(
              ({ publisher, subject, epoch }) =>
                publisher === message.publisher &&
                subject === message.subject &&
                epoch > message.epoch,
            );
          expect(admits(epochs, message)).toBe(message.publisher === '' || !isLate);
        }
      }),
    );
  });

  it.each(['', 'x', '-1', '1.5', '1e400', '99999999999999999999'])(
    'rejects the epoch %j',
    epoch => {
      const headers = new Map<string, string>([
        [HEADERS.publisher, 'one'],
        [HEADERS.epoch, epoch],
      ]);
      const get = (name: string) => headers.get(name) ?? '';
      expect(() => new Epochs().admits('posts.0', { get })).toThrow('Millrace-Epoch');
    },
  );

  it('accepts the same messages after it is restored from a cursor', () => {
    fc.assert(
      fc.property(sent, fc.nat(20), (messages, at) => {
        const whole = new Epochs();
        const all = messages.map(message => admits(whole, message));
        const first = new Epochs();
        const before = messages.slice(0, at).map(message => admits(first, message));
        const second = new Epochs(JSON.parse(JSON.stringify(first)));
        const after = messages.slice(at).map(message => admits(second, message));
        expect([...before, ...after]).toEqual(all);
      }),
    );
  });
});
