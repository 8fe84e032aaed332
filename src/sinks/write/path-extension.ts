/** What each sink writes, and the extensions of paths that say something else. */
const SINKS: Readonly<
  Record<string, { readonly writes: string; readonly refuses: readonly string[] }>
> = {
  files: { writes: 'lines', refuses: ['parquet', 'csv'] },
  csv: { writes: 'CSV', refuses: ['parquet', 'jsonl', 'ndjson', 'json'] },
  parquet: { writes: 'Parquet', refuses: ['csv', 'jsonl', 'ndjson', 'json'] },
};

/**
 * What is wrong with the extension of a path for a sink, as a message continues after the name of the option. An
 * extension of compression is ignored: `posts.csv.gz` is CSV.
 *
 * @param makesLines Whether a function of the caller makes the lines: these may be CSV or JSON, but never Parquet.
 */
export function extensionProblem(
  sink: string,
  path: string,
  makesLines = false,
): string | undefined {
  const extension = /\.([a-z]+)(?:\.gz|\.zst)?$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  const { writes, refuses } = SINKS[sink] ?? { writes: '', refuses: [] };
  if (!refuses.includes(extension) || (makesLines && extension !== 'parquet')) return undefined;
  const meant = extension in SINKS ? extension : 'files';
  return `must not end in .${extension}: ${sink}() writes ${writes}. Use ${meant}(), or another extension`;
}
