import { describe, expect, it } from 'vitest';
import { clientFailure } from '../../src/jetstream/jet-stream-errors.js';

function apiError(description: string, status: number, code?: number): Error {
  const error = new Error(description);
  error.name = 'JetStreamApiError';
  return Object.assign(error, { status, code });
}

describe('a JetStream error', () => {
  // Found by `npm run faults -- jetstream`, partition, seed 7.
  it('is retryable if a former leader rejects a message without an error code', () => {
    expect(clientFailure(apiError('raft: not leader', 503))).toEqual({
      failure: 'outage',
      mayPass: true,
      text: 'raft: not leader',
    });
  });

  it.each([
    [10008, 503, 'outage', true],
    [10047, 500, 'full', true],
    [10059, 404, 'stream', false],
    [10013, 400, 'refused', false],
  ] as const)(
    'has the `failure` and the retryability that its error code %i implies',
    (code, status, failure, mayPass) => {
      expect(clientFailure(apiError('x', status, code))).toMatchObject({ failure, mayPass });
    },
  );

  it('contains the message of its cause', () => {
    const error = new Error('closed', { cause: new Error('read ECONNRESET') });
    expect(clientFailure(error).text).toBe('closed (read ECONNRESET)');
  });
});

describe('a failed NATS login', () => {
  const login = (message: string) =>
    Object.assign(new Error(message), { name: 'AuthorizationError' });

  it('is not retryable if the server rejected it', () => {
    expect(clientFailure(login('Authorization Violation'))).toMatchObject({
      failure: 'refused',
      mayPass: false,
    });
  });

  it('is retryable if it timed out', () => {
    expect(clientFailure(login('Authentication Timeout'))).toMatchObject({
      failure: 'outage',
      mayPass: true,
    });
  });
});
