import type { Format } from 'millrace';

/** A summary of a variant's output. All outputs must agree before any time is reported. */
export type Digest = Readonly<Record<string, string | number>>;

/** One way to solve a task: Millrace, another tool, or a bound that no implementation can beat. */
export interface Variant {
  readonly name: string;
  /** The module next to the question. Its export `run` does the work in a separate process. */
  readonly module: string;
  /**
   * A requirement of the variant. If the machine does not meet it, the variant is skipped with a
   * message.
   */
  readonly needs?: Need;
  /** Whether a quick run skips the variant, with a message, because it takes too long. */
  readonly slow?: boolean;
  /** Whether it writes to a disk. Other variants write to memory if possible. */
  readonly disk?: boolean;
  /** Whether it is a bound instead of a competitor. */
  readonly limit?: boolean;
  /**
   * Whether its output must equal the others'.
   * @default true, but false for a bound
   */
  readonly compared?: boolean;
  /** Whether it is Millrace itself. The first variant always is. */
  readonly ours?: boolean;
}

export interface Need {
  readonly kind: 'command' | 'package';
  readonly name: string;
  /** The command that installs the needed command or package. */
  readonly hint: string;
}

export interface Question {
  readonly name: string;
  /** The folder of its variants. @default the name of the question */
  readonly folder?: string;
  readonly title: string;
  /** Creates the input once. Every variant gets the result. */
  prepare(options: { readonly quick: boolean }): Promise<Input>;
  readonly variants: readonly Variant[];
  /** Returns a digest of what a variant wrote to its output folder. */
  digest?(folder: string): Promise<Digest>;
  /** A line below the title of its chart, which explains bars that are easily misread. */
  readonly chartNote?: string;
  /** Returns the charts, if they should not show the speed of all variants. */
  charts?(answer: Answer): readonly Chart[];
}

export interface Input {
  readonly files: readonly string[];
  /** The number of decompressed bytes, for rates. */
  readonly bytes: number;
  readonly posts: number;
  /** The format of the posts. @default 'original' */
  readonly format?: Format | undefined;
  readonly note: string;
  /** A smaller input to run before the clock starts, for programs that normally run for long. */
  readonly warmUp?: Pick<Work, 'files' | 'posts'> | undefined;
  /** Stops what was started for the input, such as a server in a separate process. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** The argument of a variant's `run`. */
export interface Work {
  readonly files: readonly string[];
  readonly out: string;
  /** The number of posts in `files`. */
  readonly posts: number;
  /** The format of the posts. @default 'original' */
  readonly format?: Format | undefined;
  /** Whether the output of this run is compared. Its time is then not measured. */
  readonly compared: boolean;
  readonly warmUp?: Input['warmUp'];
}

/** One run of a variant, measured by the child process itself. */
export interface Sample {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** The part of this on the main thread. Only Linux provides it. */
  readonly mainSeconds?: number | undefined;
  readonly peakMegabytes: number;
  /** The highest number of open files, sampled four times a second. Only Linux provides it. */
  readonly openFiles?: number | undefined;
}

/**
 * A benchmark that does not compare whole programs. It measures on its own and returns a report.
 */
export interface Study {
  readonly name: string;
  readonly title: string;
  run(options: { readonly quick: boolean; readonly places: Places }): Report | Promise<Report>;
}

/** The folders for the output of variants. */
export interface Places {
  /** A folder in memory, or the one given with `--out`. */
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
  /** The skipped variants with the reasons. */
  readonly skipped: readonly string[];
}

/** A bar chart of the results of a question. */
export interface Chart {
  /** The name of the file, `charts/NAME.svg`. */
  readonly name: string;
  readonly title: string;
  /** The unit of the values, such as `MB/s` or `ms`. */
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** A line below the title. */
  readonly note?: string | undefined;
  /** Whether the axis is logarithmic, for values that differ greatly. */
  readonly logarithmic?: boolean | undefined;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /** The panel of the bar. Bars of the same panel are shown together under its name. */
  readonly panel?: string | undefined;
  readonly kind: 'ours' | 'peer' | 'limit';
  /** All measurements. The bar shows their median, and a line shows their spread. */
  readonly values: readonly number[];
}
