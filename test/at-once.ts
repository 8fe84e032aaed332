/**
 * Milliseconds in which something happens that does not wait for a timer, however busy the machine is: silence
 * ends after 40 s, and a `ScriptedServer` keeps an idle connection open for minutes.
 */
export const AT_ONCE_MS = 20_000;
