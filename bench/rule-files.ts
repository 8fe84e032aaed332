import { rulesCorpus } from './corpus.js';
import type { Question } from './question.js';
import { idsByTag } from './stored-files.js';

export const ruleFiles: Question = {
  name: 'rule-files',
  title: 'Stored files: match 250,000 rules, route by their tags, write',
  async prepare({ quick }) {
    const { files, bytes, posts, gzipBytes } = await rulesCorpus({ files: quick ? 24 : 144 });
    return {
      files,
      bytes,
      posts,
      note:
        `${files.length} gzip files, ${posts.toLocaleString('en')} posts, ${(bytes / 1e6).toFixed(0)} MB of JSON ` +
        `(${(bytes / gzipBytes).toFixed(1)} : 1). The rules are those of the question on rules; one in ten has a ` +
        'tag, one of ten. They are compiled before the clock starts; their memory is part of the peak.',
    };
  },
  variants: [
    { name: 'millrace', module: 'millrace' },
    { name: 'millrace, without worker threads', module: 'main-thread', ours: true },
    { name: 'millrace, a matcher whose rules may change', module: 'matcher', ours: true },
    { name: 'inflate, JSON.parse, write all, two threads', module: 'limit', limit: true },
  ],
  digest: idsByTag,
};
