/** Whether the tests run with their full counts: `npm run faults -- tests`. */
export const isSlowSuite = process.env.MILLRACE_SLOW !== undefined;

/** How often or how long a test tries something, in the normal suite and in the slow one. */
export function bySuite<Value extends number | string>(normal: Value, slow: Value): Value {
  return isSlowSuite ? slow : normal;
}
