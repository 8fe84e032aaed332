import { type InfoMessage, parseInStreamMessage } from '../activity/in-stream-message.js';
import { DataError } from '../errors.js';

const LF = 0x0a;
const SPACES: readonly (number | undefined)[] = [0x20, 0x09, 0x0d];
/** A file without line ends must not fill the memory. */
const LONGEST_LINE = 64 * 1024 * 1024;

/** Counts the posts of a job file as its inflated bytes come, cut anywhere, and finds its last line. */
export class PostCount {
  posts = 0;
  /** The `info` line, where there is one. */
  info: InfoMessage | undefined;
  readonly #origin: string;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #line = 1;

  constructor(origin: string) {
    this.#origin = origin;
  }

  push(block: Buffer): void {
    let start = 0;
    for (let end = block.indexOf(LF); end !== -1; start = end + 1, end = block.indexOf(LF, start)) {
      this.#take(block.subarray(start, end));
      this.#line++;
    }
    if (start === block.length) return;
    this.#pieces.push(block.subarray(start));
    this.#pieceBytes += block.length - start;
    if (this.#pieceBytes > LONGEST_LINE)
      throw this.#damaged(`A line is longer than ${LONGEST_LINE} bytes`);
  }

  /** @throws DataError when the file says of itself that it has another number of posts. */
  end(): void {
    this.#take(Buffer.alloc(0));
    const said = this.info?.activityCount;
    if (said !== undefined && said !== this.posts)
      throw this.#damaged(`The file has ${this.posts} posts, and says that it has ${said}`);
  }

  #take(last: Buffer): void {
    let line = last;
    if (this.#pieces.length > 0) {
      line = Buffer.concat([...this.#pieces, last]);
      this.#pieces = [];
      this.#pieceBytes = 0;
    }
    let start = 0;
    let end = line.length;
    while (start < end && SPACES.includes(line[start])) start++;
    while (end > start && SPACES.includes(line[end - 1])) end--;
    if (start === end) return;
    if (line[start] !== 0x7b || line[end - 1] !== 0x7d)
      throw this.#damaged('A line is cut short, or is no JSON object');
    const message = this.#messageIn(line.subarray(start, end));
    if (message === undefined) this.posts++;
    else if (message.kind === 'info') this.info = message;
  }

  #messageIn(line: Buffer) {
    try {
      return parseInStreamMessage(line);
    } catch (cause) {
      throw this.#damaged('A line is no JSON', cause);
    }
  }

  /** Damage may have come on the way, so it is worth another try. */
  #damaged(message: string, cause?: unknown): DataError {
    const place = { origin: this.#origin, line: this.#line };
    return new DataError(message, { cause, place, retryable: true });
  }
}
