#!/usr/bin/env node
// `npm run check`: compiles the types on one core, and checks style, the package and unused code on
// the others. All of these run to their end, so that one run shows every failure. The package is
// built and packed once, and MILLRACE_PACKED keeps it for the tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** Runs a shell command and prints its output when it ends. */
async function run(command) {
  const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      printed += text;
    });
  const [code] = await once(child, 'close');
  process.stdout.write(`> ${command}\n${printed}`);
  if (code !== 0) throw new Error(`${command}: exit code ${code}`);
  return printed.trim();
}

async function checkPackage() {
  await run('biome check --error-on-warnings .');
  await run('npm run --silent build');
  const folder = await mkdtemp(path.join(os.tmpdir(), 'millrace-packed-'));
  try {
    const name = await run(`npm pack --ignore-scripts --silent --pack-destination "${folder}"`);
    const packed = path.join(folder, name);
    await run(`publint --strict "${packed}"`);
    await run(`attw "${packed}" --profile esm-only`);
    if (process.env.MILLRACE_PACKED) await copyFile(packed, process.env.MILLRACE_PACKED);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  await run('knip');
}

// `tsc` without a path is TypeScript 6, which TypeDoc and tests need for its API. TypeScript 7 takes a
// third of the time.
const types = run('node node_modules/typescript-7/bin/tsc');
const ends = await Promise.allSettled([types, checkPackage()]);
for (const { reason } of ends)
  if (reason !== undefined) {
    process.stderr.write(`${reason.message}\n`);
    process.exitCode = 1;
  }
