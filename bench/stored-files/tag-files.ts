import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';

type Rules = readonly { readonly tag: string | null }[];

/**
 * The members of a post in either format. Only `original` has `id_str`. In `activity_streams`, the
 * rules are in `gnip`.
 */
export interface Post {
  readonly id: string;
  readonly id_str?: string;
  readonly matching_rules?: Rules;
  readonly gnip?: { readonly matching_rules?: Rules };
}

export class TagFiles {
  readonly #out: string;
  readonly #seen = new Set<string>();
  readonly #streams = new Map<string, WriteStream>();

  constructor(out: string) {
    this.#out = out;
  }

  async write(post: Post, line: string): Promise<void> {
    const id = post.id_str ?? post.id;
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const rules = post.matching_rules ?? post.gnip?.matching_rules ?? [];
    const tags = new Set(rules.map(rule => rule.tag).filter(tag => tag !== null));
    for (const tag of tags.size > 0 ? tags : ['untagged']) {
      const stream = this.#stream(tag);
      if (!stream.write(`${line}\n`)) await once(stream, 'drain');
    }
  }

  async end(): Promise<void> {
    await Promise.all(
      [...this.#streams.values()].map(async stream => {
        stream.end();
        await once(stream, 'close');
      }),
    );
  }

  #stream(tag: string): WriteStream {
    let stream = this.#streams.get(tag);
    if (stream === undefined) {
      stream = createWriteStream(`${this.#out}/${encodeURIComponent(tag)}.jsonl`);
      this.#streams.set(tag, stream);
    }
    return stream;
  }
}
