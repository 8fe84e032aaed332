const POSTS = 'json|jsonl|ndjson';
const COMPRESSED = 'gz|zst';

/** Files with one post a line, plain or compressed: `x.jsonl`, `x.json.gz`. Not `x.csv.gz`. */
export const STORED_POSTS = new RegExp(`\\.(${POSTS})(\\.(${COMPRESSED}))?$`, 'i');

/** The same, and compressed files of any content. Cursors of `localFiles` hold its text, and are refused once it changes. */
export const ARCHIVE = new RegExp(`\\.(${COMPRESSED}|${POSTS})$`, 'i');
