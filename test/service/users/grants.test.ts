import { appendFile, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { SECOND } from '../../../src/base/time.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { NOW } from '../local-service.js';
import { ANN, CALLBACK, type LocalOAuth, localOAuth, POSTS } from './local-oauth.js';

describe('the OAuth grants of users', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await temporaryFolder();
  });

  const start = (name: string) =>
    localOAuth(POSTS, { stateFolder: path.join(folder, name), limits: 'relaxed' });
  const totals = { tweet_ids: ['1'], engagement_types: ['replies'], groupings: {} };
  /**
   * Returns whether the token is valid. The body of the request is wrong, and only an authorized
   * caller gets a 400 for this.
   */
  const isGood = async ({ post }: LocalOAuth, token: object) =>
    (await post('/insights/engagement/totals', { ...token, json: totals })).status === 400;

  it('survive a restart, but are valid only for the application that got them', async () => {
    const first = await start('kept');
    const token = await first.signIn('ann');
    const file = path.join(folder, 'kept', 'oauth', 'grants.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await first.stop();
    const second = await start('kept');
    expect(await isGood(second, token)).toBe(true);
    expect(second.service.oauth.grantsOf(ANN)).toHaveLength(1);
    const [application] = second.service.oauth.applications;
    if (application !== undefined) await second.service.oauth.revoke(ANN, application);
    await second.stop();
    const third = await start('kept');
    expect(third.service.oauth.grantsOf(ANN)).toEqual([]);
    expect(await readFile(file, 'utf8')).toContain('"revoked":true');
  });

  it('cannot be used with a nonce from before the restart', async () => {
    const now = Math.floor(NOW / SECOND);
    const asks = (token: object) =>
      [now - 60, now, now + 60].map(second => ({
        ...token,
        json: totals,
        signed: { oauth_nonce: 'once', oauth_timestamp: String(second) },
      }));
    const first = await start('replayed');
    const token = await first.signIn('ann');
    const before = { form: { oauth_callback: CALLBACK }, signed: { oauth_nonce: 'once' } };
    expect((await first.post('/oauth/request_token', before)).status).toBe(200);
    for (const ask of asks(token))
      expect((await first.post('/insights/engagement/totals', ask)).status).not.toBe(401);
    await first.stop();
    // Simulates a kill in the middle of a line of the file.
    await appendFile(path.join(folder, 'replayed', 'oauth', 'nonces.jsonl'), '[17');
    for (let restarts = 0; restarts < 2; restarts++) {
      const again = await start('replayed');
      for (const ask of asks(token)) {
        const { status, errors } = await again.post('/insights/engagement/totals', ask);
        expect([status, errors]).toEqual([
          401,
          [expect.stringMatching(/oauth_nonce was used before$/)],
        ]);
      }
      expect((await again.post('/oauth/request_token', before)).status).toBe(401);
      expect(await isGood(again, token)).toBe(true);
      await again.stop();
    }
  });

  it('prevent the service from starting if they cannot be read', async () => {
    const { stop, signIn } = await start('broken');
    await signIn('ann');
    await stop();
    const file = path.join(folder, 'broken', 'oauth', 'grants.json');
    await writeFile(file, '{"grants":');
    await expect(start('broken')).rejects.toThrow(
      `Could not read what users have granted from ${file}`,
    );
  });

  it('are forgotten when a service without a state folder stops', async () => {
    const { service, signIn, requestToken } = await localOAuth(POSTS);
    await signIn('ann');
    const { token } = await requestToken();
    await service.stop();
    await service.start();
    expect(service.oauth.grantsOf()).toEqual([]);
    expect(service.oauth.pending(token)).toBe(undefined);
  });

  it('are loaded by a service that starts with listen()', async () => {
    const first = await start('listens');
    const token = await first.signIn('ann');
    await first.stop();
    await new Promise<void>(done => first.service.listen(0, '127.0.0.1', done));
    expect(await isGood(first, token)).toBe(true);
  });

  it('cause an error if they cannot be stored', async () => {
    const local = await start('full');
    const request = await local.requestToken();
    await rm(path.join(folder, 'full', 'oauth'), { recursive: true });
    await writeFile(path.join(folder, 'full', 'oauth'), 'a file in place of the folder');
    await expect(local.service.oauth.approve(request.token, ANN)).rejects.toThrow();
    expect(local.service.oauth.grantsOf(ANN)).toEqual([]);
    await rm(path.join(folder, 'full', 'oauth'));
    expect(local.service.oauth.pending(request.token)).toBeDefined();
    expect(await local.service.oauth.approve(request.token, ANN)).toHaveProperty('redirect');
  });
});
