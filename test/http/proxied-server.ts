import { ProxyServer } from './proxy-server.js';
import { ScriptedServer } from './scripted-server.js';

/** A host that is not of this machine, so that the proxy is asked for it. */
export const PROXIED_HOST = 'search.example';

/** A server, and a proxy whose tunnels lead to it. */
export async function proxiedServer() {
  const server = await new ScriptedServer().start();
  const proxy = await new ProxyServer(Number(new URL(server.url).port)).start();
  const stop = async () => {
    await proxy.stop();
    await server.stop();
  };
  return { server, proxy, stop };
}
