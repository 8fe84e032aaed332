import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { wrongItem } from '../../src/flow/wrong-item.js';

describe('the error for an item that is not an activity', () => {
  it.each<[string, string, Uint8Array]>([
    ['a compressed file', 'gunzip(), jsonLines(), activities()', gzipSync('{"id":1}\n{"id":2}\n')],
    ['lines', 'jsonLines(), activities()', Buffer.from('{"id":1}\n{"id":2}\n')],
    ['lines with CRLF', 'jsonLines(), activities()', Buffer.from('{"id":1}\r\n{"id":2}\r\n')],
    ['a part of lines', 'jsonLines(), activities()', Buffer.from('"x"}\n{"id":2}')],
    ['one record', 'activities()', Buffer.from('{"id":1}')],
    ['one record on several lines', 'activities()', Buffer.from('{\n"user": {\n"id":1\n}\n}\n')],
  ])('names the stages that turn %s into activities', (_, stages, bytes) => {
    const error = wrongItem(bytes, { need: 'take() reads activities', reads: 'activities' });
    expect(error.message).toContain(
      `take() reads activities, but got bytes. Put ${stages} before it`,
    );
  });
});
