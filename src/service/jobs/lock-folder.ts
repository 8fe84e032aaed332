import { createHash } from 'node:crypto';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StorageError } from '../../errors.js';

/**
 * Keeps other services of this machine from a folder until it is let go, or the process ends in any
 * way: whoever listens at the folder's own socket has it.
 *
 * @throws StorageError when another service has it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const name = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 32);
  const socket =
    process.platform === 'win32'
      ? `\\\\?\\pipe\\millrace-${name}`
      : join(tmpdir(), `millrace-${name}.sock`);
  for (;;) {
    const server = createServer(connection => connection.destroy()).unref();
    if (await listens(server, socket)) return () => new Promise(done => server.close(() => done()));
    if (await answers(socket))
      throw new StorageError(
        `Another service keeps its jobs in ${folder}; stop it, or choose another state folder`,
        { path: folder },
      );
    // Its owner was killed.
    await rm(socket, { force: true });
  }
}

function listens(server: Server, socket: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(socket, () => resolve(true));
  });
}

function answers(socket: string): Promise<boolean> {
  return new Promise(resolve => {
    const connection = connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', () => resolve(false));
  });
}
