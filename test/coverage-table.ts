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
The lines and branches of each folder that \`npm run test:all\` executes, also in the processes and threads that tests start. \`npm run coverage\` updates this table.

| Folder | Lines | Branches |
|---|---|---|
${rows.join('\n')}
`;
}
