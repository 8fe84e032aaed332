import { describe, expect, it } from 'vitest';
import type { Activity } from '../../../src/index.js';
import { createService } from '../../../src/service/index.js';
import { FORMATS, NOW, serve } from './serve-posts.js';

describe('a post of a service', () => {
  it('contains others in both formats', async () => {
    const { service } = await serve({ posts: [] });
    for (const format of FORMATS) {
      const local = createService({
        format,
        posts: [
          {
            text: 'see this',
            quoted: { text: 'a quoted text', author: 'quin' },
            postedAt: NOW,
          },
          { retweeted: { text: 'x'.repeat(200), author: 'long' }, postedAt: NOW },
          { text: 'y'.repeat(300), author: 'long', postedAt: NOW },
        ],
      });
      await local.start();
      const [quote, share, long] = local.posts.list() as [Activity, Activity, Activity];
      await local.stop();
      expect(quote.quoted?.text).toBe('a quoted text');
      expect(share.retweeted?.text).toBe('x'.repeat(200));
      expect(share.text).toHaveLength(140);
      expect(long.text).toBe('y'.repeat(300));
    }
    expect(() => service.posts.add({ quoted: '5', text: 'x' })).toThrow(/posts\.quoted/);
  });

  it('names a mentioned author by the id that another post gives them', async () => {
    const { service } = await serve({ posts: [] });
    const [, mention, own] = service.posts.add([
      { text: 'tea', author: { handle: 'Ann', id: '42' } },
      { text: 'hello @ann and @bob', author: 'bob' },
      { text: 'more tea', author: 'ann' },
    ]) as [Activity, Activity, Activity];
    const { entities } = JSON.parse(mention.raw.toString());
    const [ann, bob] = entities.user_mentions;
    expect(ann.id_str).toBe('42');
    expect(bob.id_str).toBe(mention.author.id);
    expect(own.author.id).toBe('42');
  });
});
