import type { Format } from 'millrace';

/** What one finished variant says about what it put out, to be compared before any time is believed. */
export type Digest = Readonly<Record<string, string | number>>;

/** One way to answer a question: ours, a peer's, or a limit that no one can pass. */
export interface Variant {
  readonly name: string;
  /** Module beside the question whose export `run` does the work in a process of its own. */
  readonly module: string;
  /** What has to be on the machine; the variant is left out, with a line, where it is not. */
  readonly needs?: Need;
  /** Takes too long for a quick run, which leaves it out, with a line. */
  readonly slow?: boolean;
  /** Writes to a disk, where the others write to memory if the machine lets them. */
  readonly disk?: boolean;
  /** Not a competitor: a bound. */
  readonly limit?: boolean;
  /**
   * Whether its output has to be that of the others.
   * @default true, but for a bound
   */
  readonly compared?: boolean;
  /** Ours, which the first variant always is. */
  readonly ours?: boolean;
}

export interface Need {
  readonly kind: 'command' | 'package';
  readonly name: string;
  /** How to install it. */
  readonly hint: string;
}

export interface Question {
  readonly name: string;
  /** The folder of its variants. @default its name */
  readonly folder?: string;
  readonly title: string;
  /** Makes the input, once; resolves to what every variant gets. */
  prepare(options: { readonly quick: boolean }): Promise<Input>;
  readonly variants: readonly Variant[];
  /** What a variant left behind in its output folder, as a digest. */
  digest?(folder: string): Promise<Digest>;
  /** A line below the title of its chart, about bars that are easily misread. */
  readonly chartNote?: string;
  /** What to draw, where it is not the speed of all variants. */
  charts?(answer: Answer): readonly Chart[];
}

export interface Input {
  readonly files: readonly string[];
  /** Decompressed bytes, for rates. */
  readonly bytes: number;
  readonly posts: number;
  /** Of the posts. @default 'original' */
  readonly format?: Format | undefined;
  readonly note: string;
  /** Less of the same, to be run before the clock starts, where what starts is to live long. */
  readonly warmUp?: Pick<Work, 'files' | 'posts'> | undefined;
  /** Ends what was started for it, such as a server in a process of its own. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** What a variant's `run` is called with. */
export interface Work {
  readonly files: readonly string[];
  readonly out: string;
  /** How many there are in `files`. */
  readonly posts: number;
  /** Of the posts. @default 'original' */
  readonly format?: Format | undefined;
  /** Whether this run is the one whose output is compared, and whose time is not taken. */
  readonly compared: boolean;
  readonly warmUp?: Input['warmUp'];
}

/** One run of one variant, as the child process measured itself. */
export interface Sample {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Of these, the main thread's; where the system tells, which Linux does. */
  readonly mainSeconds?: number | undefined;
  readonly peakMegabytes: number;
}

/** A question that does not race whole programs: it measures by itself, and returns a report. */
export interface Study {
  readonly name: string;
  readonly title: string;
  run(options: { readonly quick: boolean; readonly places: Places }): Report | Promise<Report>;
}

/** Where variants put their output. */
export interface Places {
  /** A folder in memory, or what `--out` named. */
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
  /** Variants left out, and why. */
  readonly skipped: readonly string[];
}

/** Bars to be drawn: what one question came to. */
export interface Chart {
  /** Of its file, `charts/NAME.svg`. */
  readonly name: string;
  readonly title: string;
  /** What the values are: `MB/s`, `ms`. */
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** A line below the title. */
  readonly note?: string | undefined;
  /** For values that differ by more than a line of text can show. */
  readonly logarithmic?: boolean | undefined;
  readonly bars: readonly Bar[];
}

export interface Bar {
  readonly name: string;
  /** Bars of the same panel stand together under its name. */
  readonly panel?: string | undefined;
  readonly kind: 'ours' | 'peer' | 'limit';
  /** Every measurement: the bar is their median, the line over it their spread. */
  readonly values: readonly number[];
}
