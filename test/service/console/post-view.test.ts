import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Activity } from '../../../src/post/activity.js';
import { matchedTerms } from '../../../src/rules/match/matched-terms.js';
import { indented, postView } from '../../../src/service/console/post-view.js';
import { createService, type NewPost } from '../../../src/service/index.js';
import { HOSTILE, readable } from './browse.js';

function view(post: NewPost, rule?: string): string {
  const [activity] = createService().posts.add(post);
  if (activity === undefined) throw new Error('no post');
  return postView(activity, rule === undefined ? undefined : matchedTerms(rule, activity, 'search'))
    .text;
}

describe('a post in the console', () => {
  const ofSnow = () =>
    view({
      id: '1790000000000000001',
      text: 'Snow in Oslo',
      author: { handle: 'Ann', name: 'Ann Berg' },
      postedAt: '2024-01-31T12:00:00Z',
      likes: 3,
      retweets: 1,
    });

  it('starts with the author, the time and the text', () => {
    expect(readable(ofSnow())).toMatch(
      /^ *Ann Berg @Ann 2024-01-31 12:00:00 UTC Snow in Oslo 3 likes, 1 repost, en JSON \{ "created_at": /,
    );
  });

  it('contains its exact JSON in a collapsed section', () => {
    expect(readable(ofSnow())).toContain('"id": 1790000000000000001, ');
    expect(ofSnow()).toMatch(/<details><summary>JSON/);
  });

  const ofEntities = () =>
    view(
      { text: 'Snow in #Oslo with @bob: https://example.com/map and $TWTR, not #1' },
      '#oslo snow',
    );

  it('has links for mentions and URLs', () => {
    expect(ofEntities()).toContain(
      'with <span class="entity">@bob</span>: <a href="https://example.com/map"',
    );
  });

  it('highlights a cashtag, but not a number such as #1', () => {
    expect(ofEntities()).toContain('<span class="entity">$TWTR</span>, not #1</p>');
  });

  it('marks the terms that matched, even within a hashtag', () => {
    expect(ofEntities()).toContain(
      '<mark>Snow</mark> in <span class="entity"><mark>#Oslo</mark></span>',
    );
  });

  it('lists the terms that matched', () => {
    expect(readable(ofEntities())).toContain('Matched: #oslo , snow');
  });

  it('shows the quoted post', () => {
    const text = view({ text: 'Look', quoted: { text: 'A cat', author: 'bob' } });
    expect(text).toMatch(
      /<blockquote><p><strong><bdi>bob<\/bdi>.*<p class="text" dir="auto">A cat<\/p><\/blockquote>/,
    );
  });

  it('describes media without loading them', () => {
    const [activity] = createService().posts.add({ text: 'Look' });
    const { entities: _, ...post } = JSON.parse(String(activity?.raw));
    const media = [
      { type: 'photo', media_url_https: 'https://example.com/a.jpg' },
      { type: 'animated_gif' },
    ];
    const json = JSON.stringify({ ...post, entities: {}, extended_entities: { media } });
    const { text } = postView(new Activity(Buffer.from(json)));
    const linked = json.replace('"text":"Look"', '"text":"Look https://t.co/ab12"');
    expect(postView(new Activity(Buffer.from(linked))).text).toContain('dir="auto">Look</p>');
    expect(text).toContain(
      '<span class="medium">photo</span><span class="medium">animated gif</span>',
    );
    expect(text).not.toMatch(/<img|src=/);
  });

  it('keeps a link to a page at the end of its text, with and without media', () => {
    const [activity] = createService().posts.add({ text: 'Look https://t.co/ab12' });
    expect(postView(activity as Activity).text).toMatch(/>Look <a [^>]*>t\.co\/ab12<\/a><\/p>/);
    const media = '"extended_entities":{"media":[{"type":"photo"}]},"favorited"';
    const withMedia = String(activity?.raw).replace('"favorited"', media);
    const { text } = postView(new Activity(Buffer.from(withMedia)));
    expect(text).toMatch(/>Look <a [^>]*>t\.co\/ab12<\/a><\/p>/);
    expect(text).toContain('class="medium"');
  });

  it('escapes all HTML, and links only to web addresses', () => {
    const [activity] = createService().posts.add({
      text: `${HOSTILE} https://example.com/x`,
      author: { handle: 'ann', name: HOSTILE },
    });
    const raw = String(activity?.raw).replaceAll(
      /"expanded_url":"[^"]*"/g,
      '"expanded_url":"javascript:alert(1)"',
    );
    expect(raw).toContain('javascript:');
    const { text } = postView(new Activity(Buffer.from(raw)));
    expect(text).not.toMatch(/<script|<img|href="javascript/i);
    expect(readable(text)).toContain(HOSTILE.slice(0, 30));
  });
});

describe('the indented JSON of a post in the console', () => {
  it('differs from JSON.stringify only in white space', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 3), (json, space) => {
        const value: unknown = JSON.parse(json);
        expect(indented(JSON.stringify(value, undefined, space))).toBe(
          JSON.stringify(value, undefined, 2),
        );
      }),
    );
  });

  it('keeps long ids and escapes unchanged', () => {
    expect(indented('{"id":12345678901234567890,"a":"\\u00e9\\"{ , }"}')).toBe(
      '{\n  "id": 12345678901234567890,\n  "a": "\\u00e9\\"{ , }"\n}',
    );
  });
});
