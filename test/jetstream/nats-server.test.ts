import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isNightly } from '../suite.js';
import { hasNatsServer, startCluster, startNode } from './nats-server.js';
import { RouteProxies } from './route-proxies.js';

describe.skipIf(!hasNatsServer)('the NATS cluster of the tests', () => {
  it('keeps the messages of a stream when a server is killed', async () => {
    await using node = await startNode();
    const before = await connect({ servers: node.url });
    const manager = await jetstreamManager(before);
    await manager.streams.add({ name: 'kept', subjects: ['kept'] });
    await jetstream(before).publish('kept', 'one');
    await before.close();
    await node.kill();
    expect(node.isRunning).toBe(false);
    await node.start();
    const after = await connect({ servers: node.url });
    const { state } = await (await jetstreamManager(after)).streams.info('kept');
    expect(state.messages).toBe(1);
    await after.close();
  });

  it.skipIf(!isNightly)('creates a stream on all servers, even if one connects late', async () => {
    await using proxies = new RouteProxies();
    const routePort = async (from: number, to: number, port: number) => {
      const proxy = await proxies.routePort(from, to, port);
      proxies.cutOff(2, 'reset');
      return proxy;
    };
    const healed = setTimeout(() => proxies.heal(), 15_000);
    onTestFinished(() => clearTimeout(healed));
    await using cluster = await startCluster({ routePort });
    const connection = await connect({ servers: cluster.urls });
    const manager = await jetstreamManager(connection);
    const made = await manager.streams.add({ name: 'kept', subjects: ['kept'], num_replicas: 3 });
    expect(made.cluster?.replicas).toHaveLength(2);
    await connection.close();
  });

  it('elects another leader when its leader is killed', async () => {
    await using cluster = await startCluster();
    const connection = await connect({ servers: cluster.urls });
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'kept', subjects: ['kept'], num_replicas: 3 });
    const leader = await cluster.leaderOf('kept');
    await leader.kill();
    expect(await cluster.leaderOf('kept')).not.toBe(leader);
    await cluster.start();
    expect(cluster.nodes.map(({ isRunning }) => isRunning)).toEqual([true, true, true]);
    await connection.close();
  });
});
