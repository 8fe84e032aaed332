import type { Format } from 'millrace';

/**
 * A summary of a variant's output. The summaries of all variants must agree before any time is
 * reported.
 */
export type Digest = Readonly<Record<string, string | number>>;

/**
 * One way to do the work of a benchmark: Millrace, another tool, or a bound that no implementation
 * can beat.
 */
export interface Variant {
  readonly name: string;
  /**
   * The name of the variant's module, in the folder of the benchmark. Its export `run` does the
   * work in a separate process.
   */
  readonly module: string;
  /**
   * What the variant requires. If the machine does not have it, the variant is skipped with a
   * message.
   */
  readonly needs?: Need;
  /** Whether a quick run skips the variant with a message, because the variant takes too long. */
  readonly slow?: boolean;
  /** Whether the variant writes to a disk. All other variants write to memory, if possible. */
  readonly disk?: boolean;
  /** Whether the variant is a bound that no implementation can beat, instead of a competitor. */
  readonly limit?: boolean;
  /**
   * Whether the variant's output must equal the outputs of the other variants.
   * @default true, except for a bound
   */
  readonly compared?: boolean;
  /** Whether the variant uses Millrace. The first variant always does. */
  readonly ours?: boolean;
}

export interface Need {
  readonly kind: 'command' | 'package';
  readonly name: string;
  readonly hint: string;
}

export interface Question {
  readonly name: string;
  /** The folder with the modules of the variants. @default the name of the benchmark */
  readonly folder?: string;
  readonly title: string;
  prepare(options: { readonly quick: boolean }): Promise<Input>;
  readonly variants: readonly Variant[];
  digest?(folder: string): Promise<Digest>;
  /** A line below the title of the benchmark's chart. It explains bars that are easily misread. */
  readonly chartNote?: string;
  /**
   * Returns the charts of the benchmark. Needed only if a chart of the speed of all variants is not
   * suitable.
   */
  charts?(answer: Answer): readonly Chart[];
}

export interface Input {
  readonly files: readonly string[];
  readonly bytes: number;
  readonly posts: number;
  readonly format?: Format | undefined;
  readonly note: string;
  /**
   * A smaller input, which is processed before the clock starts. Used for programs that normally
   * run for a long time.
   */
  readonly warmUp?: Pick<Work, 'files' | 'posts'> | undefined;
  readonly close?: (() => Promise<void>) | undefined;
}

export interface Work {
  readonly files: readonly string[];
  readonly out: string;
  readonly posts: number;
  /** The format of the posts. @default 'original' */
  readonly format?: Format | undefined;
  /**
   * Whether the output of this run is compared with the outputs of the other variants. Its time is
   * then not measured.
   */
  readonly compared: boolean;
  readonly warmUp?: Input['warmUp'];
}

export interface Sample {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** How much of `cpuSeconds` the main thread took. Only Linux provides it. */
  readonly mainSeconds?: number | undefined;
  readonly peakMegabytes: number;
  /**
   * The highest number of files that were open at the same time, sampled four times a second. Only
   * Linux provides it.
   */
  readonly openFiles?: number | undefined;
}

/**
 * A benchmark that does not compare whole programs. It does its own measurements and returns a
 * report.
 */
export interface Study {
  readonly name: string;
  readonly title: string;
  run(options: { readonly quick: boolean; readonly places: Places }): Report | Promise<Report>;
}

export interface Places {
  /** A folder in memory, or the folder that is given with `--out`. */
  readonly scratch: string;
  readonly disk: string;
  readonly inMemory: boolean;
}

export interface Report {
  readonly markdown: string;
  readonly charts: readonly Chart[];
}

export interface Measured {
  readonly variant: Variant;
  readonly samples: readonly Sample[];
}

export interface Answer {
  readonly input: Input;
  readonly measured: readonly Measured[];
  readonly skipped: readonly string[];
}

export interface Chart {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
  readonly note?: string | undefined;
  readonly logarithmic?: boolean | undefined;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /**
   * The name of the panel that contains the bar. A panel shows its bars together, below its name.
   */
  readonly panel?: string | undefined;
  readonly kind: 'ours' | 'peer' | 'limit';
  /** All measurements. The bar shows their median, and a line shows their spread. */
  readonly values: readonly number[];
}
