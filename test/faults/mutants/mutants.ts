import type { Mutant } from './mutant.js';
import { OUTPUT_MUTANTS } from './output-mutants.js';
import { SOURCE_MUTANTS } from './source-mutants.js';

export const MUTANTS: readonly Mutant[] = [...OUTPUT_MUTANTS, ...SOURCE_MUTANTS];
