import net from 'node:net';

/**
 * The first port to use. All ports are below those that the system assigns to outgoing connections.
 * Otherwise, such a connection could take the port of a stopped node.
 */
const FIRST_PORT = 10_000;
const RANGES = 110;
const RANGE_PORTS = 200;

let ownRange: Promise<number> | undefined;
let taken = 0;

/**
 * Returns ports that are currently free. Each process reserves a range of ports by listening on the
 * first port of the range. Therefore, no other process gets the same ports, even while the node
 * that uses them is down.
 */
export async function freePorts(count: number): Promise<number[]> {
  ownRange ??= takeRange();
  const first = await ownRange;
  const ports: number[] = [];
  while (ports.length < count) {
    const port = first + 1 + (taken++ % (RANGE_PORTS - 1));
    const server = net.createServer();
    if (!(await listens(server, port))) continue;
    await new Promise(resolve => server.close(resolve));
    ports.push(port);
  }
  return ports;
}

async function takeRange(): Promise<number> {
  while (true) {
    const first = FIRST_PORT + RANGE_PORTS * Math.floor(Math.random() * RANGES);
    const server = net.createServer().unref();
    if (await listens(server, first)) return first;
  }
}

function listens(server: net.Server, port: number): Promise<boolean> {
  return new Promise(resolve => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
}
