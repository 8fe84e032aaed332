import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

export const hasNatsServer = spawnSync('nats-server', ['--version']).status === 0;

export interface Servers {
  readonly urls: string[];
  stop(): Promise<void>;
}

export async function startServers(count: 1 | 3, scratch: string): Promise<Servers> {
  const folder = await mkdtemp(path.join(scratch, 'nats-'));
  const ports = await freePorts(2 * count);
  const routes = ports.slice(count).map(port => `"nats://127.0.0.1:${port}"`);
  const nodes: ChildProcess[] = [];
  for (let node = 0; node < count; node++) {
    const config = path.join(folder, `${node}.conf`);
    await mkdir(path.join(folder, String(node)));
    const lines = [
      `server_name: n${node}`,
      `listen: 127.0.0.1:${ports[node]}`,
      `jetstream { store_dir: ${JSON.stringify(path.join(folder, String(node)))}, max_file_store: 20GB }`,
      count === 1
        ? ''
        : `cluster { name: bench, listen: 127.0.0.1:${ports[count + node]}, routes: [${routes.join(', ')}] }`,
    ];
    await writeFile(config, lines.join('\n'));
    nodes.push(spawn('nats-server', ['-c', config], { stdio: 'ignore' }));
  }
  const stop = async () => {
    for (const node of nodes) {
      if (node.exitCode !== null || node.signalCode !== null) continue;
      node.kill('SIGKILL');
      await once(node, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  const urls = ports.slice(0, count).map(port => `nats://127.0.0.1:${port}`);
  try {
    await untilReady(urls);
  } catch (error) {
    await stop();
    throw error;
  }
  return { urls, stop };
}

/**
 * Waits until the servers respond. A cluster responds only after it has elected a leader for its
 * streams.
 */
async function untilReady(servers: string[]): Promise<void> {
  for (const end = Date.now() + 60_000; ; await wait(50)) {
    try {
      const connection = await connect({ servers, reconnect: false });
      try {
        const manager = await jetstreamManager(connection);
        await manager.getAccountInfo();
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  return Promise.all(
    servers.map(async server => {
      if (!server.listening) await once(server, 'listening');
      const { port } = server.address() as net.AddressInfo;
      server.close();
      await once(server, 'close');
      return port;
    }),
  );
}
