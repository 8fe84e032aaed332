import http from 'node:http';

export class CountingProxy {
  creations = 0;
  readonly #server: http.Server;

  private constructor(target: string) {
    this.#server = http.createServer((request, response) => {
      if (request.method === 'POST' && request.url?.endsWith('/jobs.json')) this.creations++;
      const onward = http.request(
        new URL(request.url ?? '', target),
        { method: request.method, headers: { ...request.headers, host: new URL(target).host } },
        answer => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.on('error', () => response.destroy());
          answer.pipe(response);
        },
      );
      onward.on('error', () => response.destroy());
      request.pipe(onward);
    });
  }

  static async open(target: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(target);
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const { port } = this.#server.address() as { port: number };
    return `http://127.0.0.1:${port}`;
  }

  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
