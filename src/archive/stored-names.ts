const POSTS = 'json|jsonl|ndjson';
const COMPRESSED = 'gz|zst';

/** Files with one post a line, plain or compressed: `x.jsonl`, `x.json.gz`. Not `x.csv.gz`. */
export const STORED_POSTS = new RegExp(`\\.(${POSTS})(\\.(${COMPRESSED}))?$`, 'i');

/**
 * The same, and compressed files of any content. Its text is in the identity of `localFiles`: if it changes, cursors of
 * before are refused.
 */
export const STORED_FILES = new RegExp(`\\.(${COMPRESSED}|${POSTS})$`, 'i');
