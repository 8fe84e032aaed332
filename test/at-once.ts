/**
 * The time limit in milliseconds for things that must not wait for a timer, even on a busy machine.
 * Such a wait would take longer: connections may be silent for 40 s before they fail, and a
 * `ScriptedServer` keeps idle connections open for minutes.
 */
export const AT_ONCE_MS = 20_000;
