import { ProxyServer } from './proxy-server.js';
import { ScriptedServer } from './scripted-server.js';

/** This host is not the local machine, so requests to it go through a proxy. */
export const PROXIED_HOST = 'search.example';

export async function proxiedServer() {
  const server = await new ScriptedServer().start();
  const proxy = await new ProxyServer(Number(new URL(server.url).port)).start();
  const stop = async () => {
    await proxy.stop();
    await server.stop();
  };
  return { server, proxy, stop };
}
