import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { createService } from '../../src/service/index.js';
import { temporaryFolder } from '../temporary-folder.js';
import { COUNTS_PATH, idsOf, local, SEARCH_PATH, teaPosts } from './local-service.js';

describe('start() and stop() of the local service', () => {
  it('reject if the port is in use, and can be called again after a stop', async () => {
    const first = await local(teaPosts(1));
    const port = Number(new URL(first.baseUrl).port);
    await expect(local([], { port })).rejects.toMatchObject({
      code: 'ERR_OPTION',
      message: `Port ${port} is in use; choose another, or 0 for any free one`,
    });
    await expect(first.service.start()).rejects.toMatchObject({ code: 'ERR_OPTION' });
    await first.service.stop();
    await first.service.start(port);
    expect(idsOf((await first.search({ query: 'tea' })).page)).toHaveLength(1);
  });

  it('leave the state folder to another service if the start fails', async () => {
    const first = await local();
    const port = Number(new URL(first.baseUrl).port);
    const stateFolder = await temporaryFolder();
    const failed = createService({ stateFolder });
    await expect(failed.start(port)).rejects.toMatchObject({ code: 'ERR_OPTION' });
    const second = createService({ stateFolder });
    await second.start();
    await second.stop();
  });

  it.each([-1, 65_536, 1.5, Number.NaN])('reject for the port %j', async port => {
    await expect(local([], { port })).rejects.toMatchObject({ code: 'ERR_OPTION', option: 'port' });
  });

  it('close idle, stalled and half-sent connections', async () => {
    const { service, baseUrl, ask } = await local(teaPosts(1));
    await ask(`${SEARCH_PATH}?query=tea`); // leaves an idle connection
    service.faults.plant({ kind: 'stall', afterBytes: 5 });
    const stalled = ask(`${SEARCH_PATH}?query=tea`).then(
      () => 'answered',
      () => 'ended',
    );
    const socket = net.connect(Number(new URL(baseUrl).port), '127.0.0.1');
    await new Promise<void>(resolve => socket.once('connect', resolve));
    socket.on('error', () => {});
    const ended = new Promise(resolve => socket.once('close', resolve));
    socket.write(`POST ${COUNTS_PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{`);
    while (service.faults.list().length > 0) await new Promise(resolve => setTimeout(resolve, 5));
    await service.stop();
    expect(await stalled).toBe('ended');
    await ended;
    expect(service.listening).toBe(false);
    await service.stop(); // a second call has no effect
  });

  it('do not close an archive that the caller passed', async () => {
    const { service, archive } = await local();
    await service.stop();
    expect(archive.closed).toBe(0);
  });
});
