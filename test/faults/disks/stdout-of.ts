import { outputOf, spawn } from '../../child-processes.js';

/** What a process prints. If it fails, or a signal ends it, its last line says where. */
export async function stdoutOf(command: string, given: readonly string[]): Promise<string> {
  const child = spawn(command, given, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // strace does not see what goes through io_uring.
    env: { ...process.env, UV_USE_IO_URING: '0' },
  });
  const { code, signal, stdout, stderr } = await outputOf(child);
  if (code === 0) return stdout;
  const reason = signal ?? /^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.slice(0, 500);
  throw new Error(`${stdout.trimEnd().split('\n').at(-1) || command}: ${reason}`);
}
