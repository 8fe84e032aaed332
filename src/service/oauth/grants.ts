import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StorageError } from '../../errors.js';

/** The end user of a sign-in: an author of the archive (service.md 5 rule 3). */
export interface User {
  /** Digits. */
  readonly id: string;
  /** Without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** What a user has allowed an application, and the access token for it. */
export interface Grant {
  readonly user: User;
  /** Consumer key of the application. */
  readonly key: string;
  readonly token: string;
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly grantedAt: number;
  /** It is known still, and good for nothing. */
  readonly revoked?: boolean | undefined;
}

/** One grant for each user and application, valid until it is revoked; kept over restarts. */
export class Grants {
  readonly #file: string | undefined;
  #grants: ReadonlyMap<string, Grant> = new Map();
  #tokens: ReadonlyMap<string, Grant> = new Map();
  #opened: Promise<void> | undefined;
  /** Changes follow each other. */
  #changing: Promise<unknown> = Promise.resolve();

  /** @param stateFolder Without one, all is gone when the service stops. */
  constructor(stateFolder: string | undefined) {
    this.#file = stateFolder && join(stateFolder, 'oauth', 'grants.json');
  }

  /**
   * Reads what was kept; the second time nothing.
   *
   * @throws StorageError when it cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load();
    return this.#opened;
  }

  /** All is kept when it resolves, where there is a state folder; else it is gone. It can be opened again. */
  async close(): Promise<void> {
    await this.#changing.catch(() => {});
    this.#set(new Map());
    this.#opened = undefined;
  }

  all(): readonly Grant[] {
    return [...this.#grants.values()].filter(({ revoked }) => !revoked);
  }

  of(user: User, key: string): Grant | undefined {
    const grant = this.#grants.get(nameOf(user, key));
    return grant?.revoked ? undefined : grant;
  }

  /** Those that were revoked, too. */
  withToken(token: string): Grant | undefined {
    return this.#tokens.get(token);
  }

  /** The grant that there is, or a new one with a token of its own. */
  grant(user: User, key: string, grantedAt: number): Promise<Grant> {
    return this.#change(grants => {
      const known = grants.get(nameOf(user, key));
      if (known !== undefined && !known.revoked) return known;
      const grant: Grant = {
        user,
        key,
        token: `${user.id}-${randomBytes(27).toString('base64url')}`,
        secret: randomBytes(33).toString('base64url'),
        grantedAt,
      };
      grants.set(nameOf(user, key), grant);
      return grant;
    });
  }

  /** Says whether there was one. */
  revoke(user: Pick<User, 'id'>, key: string): Promise<boolean> {
    return this.#change(grants => {
      const grant = grants.get(nameOf(user, key));
      if (grant === undefined || grant.revoked) return false;
      grants.set(nameOf(user, key), { ...grant, revoked: true });
      return true;
    });
  }

  /** What is changed is there when it is kept, or not at all. */
  #change<Result>(change: (grants: Map<string, Grant>) => Result): Promise<Result> {
    const changed = this.#changing
      .catch(() => {}) // whoever asked for the one before knows
      .then(async () => {
        await this.open();
        const grants = new Map(this.#grants);
        const result = change(grants);
        await this.#save(grants);
        this.#set(grants);
        return result;
      });
    this.#changing = changed;
    return changed;
  }

  #set(grants: ReadonlyMap<string, Grant>): void {
    this.#grants = grants;
    this.#tokens = new Map([...grants.values()].map(grant => [grant.token, grant]));
  }

  async #load(): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    try {
      const { grants } = JSON.parse(await readFile(file, 'utf8')) as { grants: readonly Grant[] };
      this.#set(new Map(grants.map(grant => [nameOf(grant.user, grant.key), grant])));
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new StorageError(`Could not read what users have granted from ${file}: ${reason}`, {
        path: file,
        cause,
      });
    }
  }

  async #save(grants: ReadonlyMap<string, Grant>): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    // There are secrets in it.
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.part`, JSON.stringify({ grants: [...grants.values()] }), {
      mode: 0o600,
    });
    await rename(`${file}.part`, file);
  }
}

function nameOf(user: Pick<User, 'id'>, key: string): string {
  return `${user.id} ${key}`;
}
