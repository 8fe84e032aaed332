/** The name of a cell of a pipeline under a fault, as `--cell` takes it: `search/kill-9-at-random`. */
export function cellName(row: string, fault: string): string {
  return `${row}/${fault}`.replaceAll(/,? -?/g, '-');
}
