import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataError } from '../../src/base/errors.js';
import { keyNearEnd, LazyObject } from '../../src/json/lazy-object.js';
import { jsonLike, jsonObject, key } from '../post/arbitrary-json.js';
import { arbitraryPost } from '../post/arbitrary-post.js';
import { printJson, style, type Value } from '../post/print-json.js';
import { bySuite } from '../suite.js';

const asked = fc.array(
  key.filter(name => /^[ -~]*$/.test(name)),
  { maxLength: 6 },
);

function viewed(document: Buffer, object: LazyObject, name: string) {
  const span = object.span(name);
  const nested = object.object(name);
  return {
    string: object.string(name),
    integer: object.integer(name),
    value: span && JSON.parse(document.subarray(...span).toString()),
    nested: nested && 'an object',
    lastDigits: object.lastDigits(name),
  };
}

function parsed(members: { readonly [key: string]: Value }, name: string) {
  const value = Object.hasOwn(members, name) ? members[name] : undefined;
  const string = typeof value === 'string' ? value : undefined;
  return {
    string,
    integer: typeof value === 'bigint' ? String(value) : undefined,
    value: value === undefined ? undefined : JSON.parse(printJson(value)),
    nested: isMembers(value) ? 'an object' : undefined,
    lastDigits: /(?:^|:)(\d+)$/.exec(string ?? '')?.[1],
  };
}

function isMembers(value: Value | undefined): value is { readonly [key: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

describe('LazyObject', () => {
  it('returns the same members as JSON.parse, however the JSON is formatted', () => {
    fc.assert(
      fc.property(jsonObject, style, asked, fc.boolean(), (members, look, names, seek) => {
        const document = Buffer.from(printJson(members, look));
        const object = LazyObject.of(document);
        for (const name of [...names, ...Object.keys(members).filter(isAscii)]) {
          if (seek) object?.seekFromEnd(name);
          expect(object && viewed(document, object, name)).toEqual(parsed(members, name));
        }
      }),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('returns the same nested members as JSON.parse', () => {
    fc.assert(
      fc.property(jsonObject, style, (members, look) => {
        const document = Buffer.from(printJson(members, look));
        const compare = (object: LazyObject | undefined, of: { readonly [key: string]: Value }) => {
          for (const [name, value] of Object.entries(of)) {
            if (!isAscii(name)) continue;
            expect(object && viewed(document, object, name)).toEqual(parsed(of, name));
            if (isMembers(value)) compare(object?.object(name), value);
          }
        };
        compare(LazyObject.of(document), members);
      }),
    );
  });

  it('finds the position of the first of several equal keys, and of the closing brace', () => {
    fc.assert(
      fc.property(jsonObject, style, asked, (members, look, names) => {
        const text = printJson(members, look);
        const document = Buffer.from(text);
        const object = LazyObject.of(document);
        const order = Object.keys(JSON.parse(text));
        // JavaScript objects list keys that look like array indices before all other keys. If there
        // is such a key, the order cannot be compared.
        const expected = order.find(name => names.includes(name));
        const found = object?.firstOf(names);
        expect(found === undefined).toBe(expected === undefined);
        if (!order.some(name => /^\d+$/.test(name))) expect(found).toBe(expected);
        expect(object?.closing).toEqual({
          at: document.lastIndexOf('}'),
          empty: order.length === 0,
        });
      }),
    );
  });

  it('returns the same values as JSON.parse for posts of both formats', () => {
    const names = ['id', 'id_str', 'matching_rules', 'gnip', 'retweeted_status', 'text', 'body'];
    fc.assert(
      fc.property(
        arbitraryPost,
        fc.subarray(names),
        fc.boolean(),
        ({ json, bytes }, some, seek) => {
          const object = LazyObject.of(bytes);
          const post: Record<string, unknown> = JSON.parse(json);
          for (const name of some) {
            if (seek) object?.seekFromEnd(name);
            const span = object?.span(name);
            expect(span && JSON.parse(bytes.subarray(...span).toString())).toEqual(post[name]);
          }
        },
      ),
    );
  });

  it('finds a key near the end only if it belongs to the document itself, not to a nested object', () => {
    const documents = [
      '{"a":{"x":1,"k":2}}',
      '{"k":1,"a":{"x":1,"k":2}}',
      '{"a":{"x":1,"k":2},"b":"}"}',
      '{"a":[{"x":1,"k":2}],"b":1}',
      '{"x":1,"k":2,"b":",\\"k\\":3}"}',
      '{"x":",","k":2 , "b" : [ "]}" ] } ',
    ];
    for (const document of documents) {
      const object = LazyObject.of(Buffer.from(document));
      object?.seekFromEnd('k');
      expect(object?.integer('k')).toBe(JSON.parse(document).k?.toString());
    }
  });

  it('is undefined for documents that are not objects', () => {
    for (const document of ['', ' ', '[]', '"{}"', '12', 'null', 'x'])
      expect(LazyObject.of(Buffer.from(document))).toBeUndefined();
  });

  it('throws nothing but a DataError, for any bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          jsonLike.map(text => Buffer.from(`{${text}`)),
          fc.uint8Array().map(Buffer.from),
        ),
        document => {
          try {
            const object = LazyObject.of(Buffer.from(document));
            object?.seekFromEnd('id');
            object?.string('id');
            object?.integer('id');
            object?.closing;
          } catch (error) {
            expect(error).toBeInstanceOf(DataError);
          }
        },
      ),
      { numRuns: bySuite(38, 2_000) },
    );
  });

  it('never returns a truncated value', () => {
    const document = Buffer.from('{"a":{"b":"}"},"id_str":"12345","n":[1,{"c":2}],"id":12}');
    for (let end = 1; end < document.length; end++) {
      for (const name of ['a', 'id_str', 'n', 'id']) {
        const object = LazyObject.of(document.subarray(0, end));
        try {
          const [start, stop] = object?.span(name) ?? [0, 0];
          const value = document.toString('utf8', start, stop);
          expect(JSON.parse(value)).toEqual(JSON.parse(document.toString())[name]);
        } catch (error) {
          expect(error).toBeInstanceOf(DataError);
        }
      }
    }
  });

  it('names the position of invalid JSON, and shows the start of the document', () => {
    const object = LazyObject.of(Buffer.from('{"a":1;"id":2}'));
    expect(() => object?.integer('id')).toThrow(
      'Not JSON: expected a comma or a closing brace; it starts with "{\\"a\\":1;\\"id\\":2}" (byte 6)',
    );
  });
});

function isAscii(name: string): boolean {
  return /^[\0-\x7f]*$/.test(name);
}

describe('keyNearEnd', () => {
  it('finds no key outside the range when the range is shorter than the searched part', () => {
    const document = Buffer.from('{"x":1,"k":2,"y":{"z":3,"k":4}}');
    const [first, last] = [document.indexOf('"k"'), document.lastIndexOf('"k"')];
    expect(keyNearEnd(document, 'k', first + 1, last)).toBe(-1);
    expect(keyNearEnd(document, 'k', 0, last)).toBe(first);
    expect(keyNearEnd(document, 'k')).toBe(last);
  });
});
