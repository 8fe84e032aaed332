/**
 * Milliseconds in which something happens that does not wait for a timer, on a busy machine too. An idle
 * connection is closed after 4,000 ms.
 */
export const AT_ONCE_MS = 3_000;
