import { Writable } from 'node:stream';
import { Progress } from '../../src/flow/progress.js';

export class Screen extends Writable {
  readonly isTTY: boolean;
  columns = 400;
  text = '';

  constructor(isTTY = false) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  override _write(chunk: string, _: string, callback: () => void): void {
    this.text += chunk;
    callback();
  }
}

export function busy(): Progress {
  const progress = new Progress();
  progress.received = 12_345;
  progress.receivedBytes = 29_600_000;
  progress.written = 12_000;
  progress.writtenBytes = 999;
  progress.drop('dedupe', 300);
  progress.drop('filter', 45);
  progress.reached = Date.UTC(2024, 2, 5, 14, 7, 59);
  progress.fraction = 0.25;
  return progress;
}
