import * as zlib from 'node:zlib';
import { loadModule } from '../load-library.js';
import type { Random } from '../random.js';
import { check, cutUp, expectSame, outcomes, type ParserKind } from './parser.js';
import { seedPost } from './seeds.js';

const MAX_BYTES = 1024 * 1024;
const GZIP_TOKENS = ['\x1f\x8b\x08\0\0\0\0\0\0\x03', '\0\0\0\0', '\x1f\x8b', '\x1f\x8b\x08\x1f'];

async function* arriving(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

export const gzip: ParserKind = {
  holds: 'all decoders that accept a file give the same content, of at most `maxBytes`',
  async open(library) {
    const { GzipDecoder } = await loadModule(library, 'gzip/inflate-stream');
    const { inflateJobFile } = await loadModule(library, 'jobs/check-job-file');
    const { inflateGzip } = await loadModule(library, 'gzip/inflate-whole');
    const { decodeBody } = await loadModule(library, 'http/request');
    const { gunzip } = await loadModule(library, 'operators/gunzip');
    const errors = await outcomes(library);
    const collected = (blocks: AsyncIterable<Buffer>) =>
      errors.ofAsync(async () => {
        const found: Buffer[] = [];
        for await (const block of blocks) found.push(Buffer.from(block));
        return Buffer.concat(found);
      });
    return {
      tokens: GZIP_TOKENS,
      seed(random) {
        const members = Array.from({ length: random.whole(1, 3) }, () => {
          const text = random.chance(0.9)
            ? Array.from({ length: random.whole(0, 5) }, () => seedPost(random)).join('\n')
            : Buffer.alloc(random.pick([100_000, 4_000_000]));
          return zlib.gzipSync(text, { level: random.pick([0, 1, 6]) });
        });
        return Buffer.concat([...members, Buffer.alloc(random.pick([0, 0, 1, 512]))]);
      },
      async attempt(input, random) {
        // Passes an empty file as one empty chunk. Without any chunk, `gunzip` would not see that
        // there is a file.
        const chunks = input.length === 0 ? [input] : cutUp(input, random);
        const file = new GzipDecoder({
          plain: 'refuse',
          maxBytes: MAX_BYTES,
          origin: 'posts.gz',
          step: random.pick([undefined, 1, 100]),
        });
        const pushed = errors.of(() => {
          const found: Buffer[] = [];
          try {
            for (const chunk of chunks)
              for (const blocks of file.push(chunk))
                found.push(...blocks.map(block => Buffer.from(block)));
            file.end();
          } finally {
            file.close();
          }
          return Buffer.concat(found);
        });
        const results = {
          file: pushed,
          stream: await collected(inflateJobFile(chunks, 'posts.gz')),
          body: await collected(decodeBody(arriving(chunks), 'http://127.0.0.1/')),
          operator: await collected(gunzip({ maxBytes: MAX_BYTES })(arriving(chunks))),
          whole: await errors.ofAsync(() => inflateGzip(input, MAX_BYTES)),
        };
        const limited = [results.file, results.operator, results.whole];
        for (const { value } of limited)
          check((value?.length ?? 0) <= MAX_BYTES, `${value?.length} bytes exceed maxBytes`);
        const contents = Object.entries(results).flatMap(([name, { value }]) =>
          value === undefined ? [] : [{ name, value }],
        );
        for (const { name, value } of contents)
          check(
            value.equals(contents[0]?.value as Buffer),
            `${name} gives other content than ${contents[0]?.name}`,
          );
        expectSame(
          results.operator.error === undefined,
          pushed.error === undefined,
          'The operator accepts it, unlike the decoder of one file:',
        );
        return pushed.error === undefined;
      },
    };
  },
};

/**
 * Zstd frames. Every version of Node can find the frames, but their content is checked only if Node
 * supports zstd.
 */
export const zstd: ParserKind = {
  holds: 'the same frames and content for any chunks, of at most `maxBytes`',
  async open(library) {
    const { ZstdDecoder, ZstdFrames } = await loadModule(library, 'gzip/zstd');
    const errors = await outcomes(library);
    // `ZstdFrames` throws untyped errors, which `ZstdDecoder` converts to typed errors.
    const framesOf = (chunks: readonly Buffer[]) => {
      const frames = new ZstdFrames();
      const found: string[] = [''];
      try {
        for (const chunk of chunks)
          for (const { bytes, ends } of frames.push(chunk)) {
            found.push(`${found.pop()}${bytes.toString('latin1')}`);
            if (ends) found.push('');
          }
        return { found, isComplete: frames.isComplete };
      } catch (error) {
        // The chunks determine how much is decoded before the damage is found, so the decoded
        // content is not compared.
        return { found: [], isComplete: false, error: String(error) };
      }
    };
    const contentOf = (chunks: readonly Buffer[]) =>
      errors.ofAsync(async () => {
        const file = new ZstdDecoder({ maxBytes: MAX_BYTES, origin: 'posts.zst' });
        const found: Buffer[] = [];
        try {
          for (const chunk of chunks)
            for await (const block of file.push(chunk)) found.push(Buffer.from(block));
          file.end();
        } finally {
          file.close();
        }
        return Buffer.concat(found);
      });
    return {
      tokens: ['\x28\xb5\x2f\xfd', '\x50\x2a\x4d\x18', '\0\0\0'],
      seed: random =>
        Buffer.concat(Array.from({ length: random.whole(1, 3) }, () => zstdFrame(random))),
      async attempt(input, random) {
        const whole = framesOf([input]);
        const chunks = cutUp(input, random);
        expectSame(framesOf(chunks), whole, 'Cut into chunks, its frames are');
        if ('zstdCompress' in zlib) {
          const content = await contentOf(chunks);
          check((content.value?.length ?? 0) <= MAX_BYTES, 'More than maxBytes');
          expectSame(
            (await contentOf([input])).value,
            content.value,
            'In one chunk, its content is',
          );
        }
        return whole.isComplete;
      },
    };
  },
};

function zstdFrame(random: Random): Buffer {
  if (random.chance(0.2)) return Buffer.from('502a4d1803000000616263', 'hex');
  const content = Buffer.from(seedPost(random).slice(0, random.whole(0, 255)));
  const size = content.length & 0xff;
  const block = content.subarray(0, size);
  return Buffer.concat([
    Buffer.from('28b52ffd', 'hex'),
    Buffer.of(0x20, size),
    // The header of the last block, whose content is not compressed.
    Buffer.of(((block.length << 3) | 1) & 0xff, (block.length << 3) >> 8, 0),
    block,
  ]);
}
