/**
 * A time limit in milliseconds for things that must happen without waiting for a timer, even on a
 * busy machine. Connections are silent for 40 s before they fail, and a `ScriptedServer` keeps idle
 * ones open for minutes.
 */
export const AT_ONCE_MS = 20_000;
