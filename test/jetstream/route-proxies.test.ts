import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, it } from 'vitest';
import { isNightly } from '../suite.js';
import { hasNatsServer, startCluster } from './nats-server.js';
import { type Cut, RouteProxies } from './route-proxies.js';

describe.skipIf(!hasNatsServer || !isNightly)('proxies between the nodes of a cluster', () => {
  it.each<Cut>(['silent', 'reset'])(
    'isolate the leader so that the other nodes elect a new one, and reconnect it (%s)',
    async cut => {
      await using proxies = new RouteProxies();
      await using cluster = await startCluster({ routePort: proxies.routePort });
      const connection = await connect({ servers: cluster.urls });
      const manager = await jetstreamManager(connection);
      await manager.streams.add({ name: 'kept', subjects: ['kept'], num_replicas: 3 });
      await jetstream(connection).publish('kept', 'before');
      await connection.close();
      const leader = await cluster.leaderOf('kept');
      const others = cluster.nodes.filter(node => node !== leader);
      proxies.cutOff(cluster.nodes.indexOf(leader), cut);

      const other = await connect({ servers: others.map(({ url }) => url) });
      // The election of a new leader takes some seconds.
      await expect
        .poll(() => jetstream(other).publish('kept', 'during', { msgID: 'during' }).catch(String))
        .toMatchObject({ stream: 'kept' });
      const alone = await connect({ servers: leader.url });
      const refused = jetstream(alone, { timeout: 500 }).publish('kept', 'alone', { msgID: '1' });
      await expect(refused).rejects.toThrow();
      proxies.heal();
      await expect
        .poll(
          async () =>
            (await cluster.leaderOf('kept')) &&
            jetstream(alone).publish('kept', 'after', { msgID: '2' }).catch(String),
        )
        .toMatchObject({ stream: 'kept' });
      await Promise.all([alone.close(), other.close()]);
      expect(proxies.bytes).toBeGreaterThan(0);
    },
  );
});
