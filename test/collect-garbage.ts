import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/**
 * Collects all garbage of this process. The V8 flag that this needs is set above, so Node needs no
 * command-line option.
 */
export const collectGarbage = runInNewContext('gc') as () => void;
