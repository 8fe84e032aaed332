import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';

export class Ids {
  readonly #ids: string[] = [];

  add(id: string): void {
    this.#ids.push(id);
  }

  async write(out: string): Promise<void> {
    const sum = createHash('sha256').update(this.#ids.join('\n')).digest('hex').slice(0, 16);
    await writeFile(
      path.join(out, 'ids.json'),
      JSON.stringify({ posts: this.#ids.length, ids: sum }),
    );
  }
}
