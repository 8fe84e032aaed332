import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Work } from '../question.js';

export class Received {
  readonly #sum = createHash('sha256');
  readonly #work: Work;
  #posts = 0;

  constructor(work: Work) {
    this.#work = work;
  }

  add(message: string | Buffer): void {
    this.#posts++;
    if (this.#work.compared) this.#sum.update(message);
  }

  async end(): Promise<void> {
    if (this.#posts !== this.#work.posts)
      throw new Error(`${this.#posts} posts came, not ${this.#work.posts}`);
    const digest = { posts: this.#posts, bytes: this.#sum.digest('hex') };
    await writeFile(path.join(this.#work.out, 'received.json'), JSON.stringify(digest));
  }
}

export function into(received: Received): (lines: AsyncIterable<string>) => Promise<void> {
  return async lines => {
    for await (const line of lines)
      if (line !== '' && !line.startsWith('{"info":')) received.add(line);
  };
}
