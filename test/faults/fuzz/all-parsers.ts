import { addresses } from './addresses.js';
import { jobResponses, streamMessages } from './bodies.js';
import { callbacks } from './callbacks.js';
import { gzip, zstd } from './compressed.js';
import { cursors } from './cursors.js';
import { elements, lines } from './framing.js';
import { jobFolders, keptFiles, spool, tombstones } from './kept.js';
import type { ParserKind } from './parser.js';
import { exactJson, members, messages } from './posts.js';
import { geoRules, ruleTexts } from './rules.js';
import { authorization, forms, names, nextTokens, times } from './texts.js';
import { requests, responses } from './wires.js';

/** All parsers of external data, by their names in `npm run faults -- fuzz NAME`. */
export const PARSERS: ReadonlyMap<string, ParserKind> = new Map(
  Object.entries({
    lines,
    elements,
    members,
    messages,
    'exact-json': exactJson,
    gzip,
    zstd,
    rules: ruleTexts,
    'geo-rules': geoRules,
    times,
    names,
    'next-tokens': nextTokens,
    authorization,
    forms,
    requests,
    addresses,
    callbacks,
    responses,
    'job-responses': jobResponses,
    'stream-messages': streamMessages,
    cursors,
    'kept-files': keptFiles,
    tombstones,
    spool,
    'job-folders': jobFolders,
  }),
);
