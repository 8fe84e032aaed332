import net from 'node:net';

/** Below the ports that the system gives to connections: one of these could take the port of a node that is down. */
const FIRST_PORT = 10_000;
const SLICES = 110;
const SLICE_PORTS = 200;

let ownSlice: Promise<number> | undefined;
let taken = 0;

/**
 * Ports that were free just now, and that no other process gets from this function, also while the node that has one is
 * down: a process has a slice of the ports for itself, by listening on the first.
 */
export async function freePorts(count: number): Promise<number[]> {
  ownSlice ??= takeSlice();
  const first = await ownSlice;
  const ports: number[] = [];
  while (ports.length < count) {
    const port = first + 1 + (taken++ % (SLICE_PORTS - 1));
    const server = net.createServer();
    if (!(await listens(server, port))) continue;
    await new Promise(resolve => server.close(resolve));
    ports.push(port);
  }
  return ports;
}

async function takeSlice(): Promise<number> {
  while (true) {
    const first = FIRST_PORT + SLICE_PORTS * Math.floor(Math.random() * SLICES);
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
