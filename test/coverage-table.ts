export interface FolderCoverage {
  readonly name: string;
  readonly lines: string;
  readonly branches: string;
}

const HEADING = '## Coverage\n';

export function withCoverage(page: string, folders: readonly FolderCoverage[]): string {
  const start = page.indexOf(HEADING);
  const before = start === -1 ? page : page.slice(0, start);
  const rows = folders.map(
    ({ name, lines, branches }) => `| \`${name}\` | ${lines} | ${branches} |`,
  );
  return `${before.trimEnd()}

${HEADING}
What all tests run of each folder, with the processes and threads that they start. \`npm run coverage\` writes this table.

| Folder | Lines | Branches |
|---|---|---|
${rows.join('\n')}
`;
}
