import { expect, test } from 'vitest';
import {
  characterTable,
  classOf,
  foldOf,
  SINGLE,
  SURROGATE,
  WORD,
} from '../../../src/rules/post/characters.js';

test('characterTable has the class and the folded form of each code unit', () => {
  const kept = characterTable('kept');
  const stripped = characterTable('stripped');
  for (let unit = 0; unit < 0x10000; unit++) {
    const character = String.fromCharCode(unit);
    const found = kept.classes[unit];
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    // The table does not call `classOf` for Han and Hangul, which are the largest groups.
    const expected = isSurrogate
      ? SURROGATE
      : /[\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]/.test(character)
        ? SINGLE
        : classOf(character);
    if (found !== expected) expect({ unit, found }).toEqual({ unit, found: expected });
    if (found !== WORD) continue;
    const folds = [kept.folds[unit], stripped.folds[unit]];
    const folded = [foldOf(character, 'kept'), foldOf(character, 'stripped')];
    if (folds[0] !== folded[0] || folds[1] !== folded[1])
      expect({ unit, folds }).toEqual({ unit, folds: folded });
  }
});
