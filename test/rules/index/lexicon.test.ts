import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lexicon } from '../../../src/rules/index/lexicon.js';
import { hashText } from '../../../src/rules/post/tokeniser.js';
import { bySuite } from '../../suite.js';

const term = fc.oneof(
  fc.tuple(fc.constantFrom('', '#', 'from:', 'bio:'), fc.stringMatching(/^[a-d]{1,3}$/)),
  fc.tuple(fc.constant(''), fc.stringMatching(/^[雪é]{1,2}$/)),
);

function kindOf(term: string): string {
  return /^(?:#|from:|bio:)/.exec(term)?.[0] ?? '';
}

describe('the term numbers of a rule index', () => {
  it('exist for exactly the terms that rules use', () => {
    const step = fc.tuple(fc.boolean(), term);
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 300 }),
        fc.array(term, { maxLength: 20 }),
        (steps, asked) => {
          const lexicon = new Lexicon();
          const watched = lexicon.watch('from:a');
          const model = new Map<string, { id: number; uses: number }>();
          for (const [adds, [kind, text]] of steps) {
            const held = model.get(kind + text);
            if (adds) {
              const id = lexicon.intern(kind + text);
              expect(id).toBe(held?.id ?? id);
              expect(
                [...model.values()].filter(other => other !== held).some(other => other.id === id),
              ).toBe(false);
              model.set(kind + text, { id, uses: (held?.uses ?? 0) + 1 });
            } else if (held !== undefined) {
              expect(lexicon.release(held.id)).toBe(held.uses === 1);
              if (held.uses === 1) model.delete(kind + text);
              else model.set(kind + text, { id: held.id, uses: held.uses - 1 });
            }
          }
          expect(lexicon.size).toBe(model.size);
          for (const [kind, text] of [...asked, ...steps.map(([, entry]) => entry)]) {
            const id = model.get(kind + text)?.id ?? -1;
            const before = lexicon.kind(kind);
            const units = Uint16Array.from(`xy${text}`, character => character.charCodeAt(0));
            expect(lexicon.numberOf(kind + text)).toBe(id);
            expect(lexicon.find(before, text)).toBe(id);
            const hash = hashText(before.hash, text);
            expect(lexicon.findUnits(before, hash, units, 2, units.length)).toBe(id);
            const alike = [...model.keys()].filter(other => kindOf(other) === kind);
            expect(before.terms).toBe(alike.length);
            expect(lexicon.watch(kind + text).id).toBe(id);
            expect(watched.id).toBe(model.get('from:a')?.id ?? -1);
          }
          const shared = lexicon.share();
          // A record has 2 integers for its header, and one integer for every two UTF-16 units.
          const sizes = [...model.keys()].map(({ length }) => 2 + Math.ceil(length / 2));
          expect(shared.records).toHaveLength(sizes.reduce((sum, size) => sum + size, 0));
          const copy = Lexicon.of(shared);
          for (const [kind, text] of [...asked, ...steps.map(([, entry]) => entry)]) {
            const id = model.get(kind + text)?.id ?? -1;
            expect(copy.numberOf(kind + text)).toBe(id);
            expect(copy.find(copy.kind(kind), text)).toBe(id);
            if (id !== -1) expect(copy.term(id)).toBe(kind + text);
            const hash = Int32Array.of(hashText(copy.kind(kind).hash, text));
            if (id !== -1) expect(copy.mayHoldAny(hash, 1)).toBe(true);
          }
        },
      ),
      { numRuns: bySuite(17, 800) },
    );
  });

  it('are reused after half of 100,000 terms are released', () => {
    const lexicon = new Lexicon();
    const ids = Array.from({ length: 100_000 }, (_, i) => lexicon.intern(`term${i}`));
    for (let i = 0; i < ids.length; i += 2) lexicon.release(ids[i] as number);
    expect(lexicon.size).toBe(50_000);
    for (let i = 0; i < ids.length; i++)
      expect(lexicon.numberOf(`term${i}`)).toBe(i % 2 === 0 ? -1 : ids[i]);
    const again = Array.from({ length: 50_000 }, (_, i) => lexicon.intern(`new${i}`));
    expect(Math.max(...again)).toBeLessThan(100_000);
  });
});
