import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HOUR, MINUTE } from '../../../../src/base/time.js';
import { Sessions } from '../../../../src/service/console/html/sessions.js';
import { unchecked } from '../../../unchecked.js';

const asked = (cookie?: string, localPort = 80): IncomingMessage =>
  unchecked<IncomingMessage>({ headers: { cookie }, socket: { localPort } });

const cookieOf = (headers: Readonly<Record<string, string>>): string =>
  String(headers['Set-Cookie']?.split(';')[0]);

afterEach(() => {
  vi.useRealTimers();
});

describe('the browser sessions of the console', () => {
  it('last 12 hours of real time', () => {
    vi.useFakeTimers();
    const sessions = new Sessions<string>('test', '/');
    const cookie = cookieOf(sessions.signIn(asked(), 'ann'));
    expect(sessions.visitor(asked(cookie)).user).toBe('ann');
    vi.advanceTimersByTime(12 * HOUR - 1);
    expect(sessions.visitor(asked(cookie)).user).toBe('ann');
    vi.advanceTimersByTime(1);
    expect(sessions.visitor(asked(cookie)).user).toBe(undefined);
  });

  it('are removed, the oldest first, when there are too many', () => {
    const sessions = new Sessions<number>('test', '/');
    const cookies = Array.from({ length: 1_001 }, (_, i) => cookieOf(sessions.signIn(asked(), i)));
    expect(sessions.visitor(asked(cookies[0])).user).toBe(undefined);
    expect(sessions.visitor(asked(cookies[1])).user).toBe(1);
    expect(sessions.visitor(asked(cookies[1_000])).user).toBe(1_000);
  });

  it('end when the same browser signs in again', () => {
    const sessions = new Sessions<string>('test', '/');
    const first = cookieOf(sessions.signIn(asked(), 'ann'));
    const second = cookieOf(sessions.signIn(asked(first), 'ann'));
    expect(sessions.visitor(asked(second)).user).toBe('ann');
    expect(sessions.visitor(asked(first)).user).toBe(undefined);
  });

  it('are separate for services on different ports', () => {
    const sessions = new Sessions<string>('test', '/');
    const cookie = cookieOf(sessions.signIn(asked(undefined, 81), 'ann'));
    expect(sessions.visitor(asked(cookie, 81)).user).toBe('ann');
    expect(sessions.visitor(asked(cookie, 82)).user).toBe(undefined);
  });

  it('store nothing before a sign-in, but verify form tokens even then', () => {
    const sessions = new Sessions<string>('test', '/');
    const { csrf, headers } = sessions.visitor(asked());
    const cookie = cookieOf(headers);
    expect(sessions.visitor(asked(cookie))).toStrictEqual({ user: undefined, csrf, headers: {} });
    expect(sessions.isFormToken(asked(cookie), csrf)).toBe(true);
    expect(sessions.isFormToken(asked(cookie), `${csrf}x`)).toBe(false);
    expect(sessions.isFormToken(asked(cookie), null)).toBe(false);
    expect(sessions.isFormToken(asked(), csrf)).toBe(false);
    // Another process has a different key, so it rejects the token.
    expect(new Sessions('test', '/').isFormToken(asked(cookie), csrf)).toBe(false);
  });

  describe('with a message for a page', () => {
    const message = { tone: 'good', text: 'Done.' } as const;
    const withMessage = () => {
      const sessions = new Sessions<string>('test', '/');
      const request = asked(cookieOf(sessions.signIn(asked(), 'ann')));
      sessions.setMessage(request, '/jobs?page=2#job-1', message);
      return { sessions, request };
    };

    it('keep the message when that page is reloaded', () => {
      const { sessions, request } = withMessage();
      for (let i = 0; i < 2; i++)
        expect(sessions.message(request, '/jobs')).toMatchObject({ message, id: 'job-1' });
    });

    it('keep the message when a script or a HEAD request loads another page', () => {
      const { sessions, request } = withMessage();
      const head = { ...request, method: 'HEAD' } as IncomingMessage;
      expect(sessions.message(head, '/other')).toBe(undefined);
      const headers = { ...request.headers, 'sec-fetch-dest': 'empty' };
      const byScript = { ...request, headers } as IncomingMessage;
      expect(sessions.message(byScript, '/other')).toBe(undefined);
      expect(sessions.message(request, '/jobs')).toMatchObject({ message, id: 'job-1' });
    });

    it('drop the message after another page is shown', () => {
      const { sessions, request } = withMessage();
      expect(sessions.message(request, '/other')).toBe(undefined);
      expect(sessions.message(request, '/jobs')).toBe(undefined);
    });
  });

  it('keep a message for one minute', () => {
    vi.useFakeTimers();
    const sessions = new Sessions<string>('test', '/');
    const request = asked(cookieOf(sessions.signIn(asked(), 'ann')));
    sessions.setMessage(request, '/jobs', { tone: 'bad', text: 'No.' });
    vi.advanceTimersByTime(MINUTE - 1);
    expect(sessions.message(request, '/jobs')).toMatchObject({ message: { text: 'No.' }, id: '' });
    vi.advanceTimersByTime(1);
    expect(sessions.message(request, '/jobs')).toBe(undefined);
  });

  it.each(['test-80=', 'test-80=short', 'test-80=a=b', 'other=x', '=', ';;', 'test-80'])(
    'ignore the cookie %j',
    cookie => {
      const sessions = new Sessions<string>('test', '/');
      expect(sessions.visitor(asked(cookie)).headers).toHaveProperty('Set-Cookie');
    },
  );
});
