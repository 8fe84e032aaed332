/**
 * Requests up to `ahead` results of a generator before they are read, the first ones at once. An async generator
 * queues overlapping calls of `next`, so its work is still done one call after the other.
 */
export function readAhead<T>(
  input: AsyncGenerator<T, void, undefined>,
  ahead: number,
): AsyncGenerator<T, void, undefined> {
  const coming: Promise<IteratorResult<T, void>>[] = [];
  const fill = () => {
    while (coming.length < ahead) {
      const result = input.next();
      // The failure is thrown when the result is read; until then it must not end the process.
      result.catch(() => {});
      coming.push(result);
    }
  };
  const read = async function* () {
    while (true) {
      const result = await coming.shift();
      if (result === undefined || result.done) return;
      fill();
      yield result.value;
    }
  };
  fill();
  return read();
}
