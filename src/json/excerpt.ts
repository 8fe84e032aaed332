/** The first 80 characters of a document for an error message, as a JSON string. */
export function excerpt(document: Uint8Array | string): string {
  const text =
    typeof document === 'string' ? document : Buffer.from(document.subarray(0, 320)).toString();
  return JSON.stringify(text.slice(0, 80));
}
