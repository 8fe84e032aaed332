/** What is wrong with the name of a stream, a bucket or a publisher. */
export function nameProblem(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}$/.test(value)
    ? undefined
    : 'must be 1 to 64 letters, digits, `-` and `_`';
}

/** What is wrong with the prefix of subjects. */
export function prefixProblem(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w-]{1,64}(\.[\w-]{1,64}){0,7}$/.test(value)
    ? undefined
    : 'must be words of letters, digits, `-` and `_` with dots between them, such as posts or acme.posts';
}
