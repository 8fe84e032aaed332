import { arabic } from './ar.js';
import { german } from './de.js';
import { english } from './en.js';
import { spanish } from './es.js';
import { french } from './fr.js';
import { indonesian } from './id.js';
import { japanese } from './ja.js';
import { korean } from './ko.js';
import type { SampleLanguage } from './language.js';
import { portuguese } from './pt.js';
import { russian } from './ru.js';
import { turkish } from './tr.js';

/** Only ever append: the order is part of what a seed gives. */
export const LANGUAGES: readonly SampleLanguage[] = [
  english,
  japanese,
  spanish,
  portuguese,
  arabic,
  turkish,
  french,
  indonesian,
  korean,
  german,
  russian,
];
