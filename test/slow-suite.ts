/** Whether the tests run with their full counts: `npm run faults -- tests`. */
export const isSlowSuite = process.env.MILLRACE_SLOW !== undefined;

/** Whether all examples and bundlers run, and the types of the package are compiled: in `.ci/run`, and in the slow suite. */
export const isWholeCheck = isSlowSuite || process.env.MILLRACE_CHECK !== undefined;

/** How often or how long a test tries something, in the normal suite and in the slow one. */
export function bySuite<Value extends number | string>(normal: Value, slow: Value): Value {
  return isSlowSuite ? slow : normal;
}
