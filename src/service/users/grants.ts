import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { StateFile } from '../state-file.js';

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
  readonly #file: StateFile<Kept> | undefined;
  #grants: ReadonlyMap<string, Grant> = new Map();
  #tokens: ReadonlyMap<string, Grant> = new Map();
  #opened: Promise<void> | undefined;
  /** Changes follow each other. */
  readonly #inTurn = pLimit(1);

  /** @param stateFolder Without one, all is gone when the service stops. */
  constructor(stateFolder: string | undefined) {
    if (stateFolder === undefined) return;
    const file = join(stateFolder, 'oauth', 'grants.json');
    this.#file = new StateFile(file, 'what users have granted', { secret: true });
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
    await this.#inTurn(() => {});
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
    return this.#inTurn(async () => {
      await this.open();
      const grants = new Map(this.#grants);
      const result = change(grants);
      await this.#file?.write({ grants: [...grants.values()] });
      this.#set(grants);
      return result;
    });
  }

  #set(grants: ReadonlyMap<string, Grant>): void {
    this.#grants = grants;
    this.#tokens = new Map([...grants.values()].map(grant => [grant.token, grant]));
  }

  async #load(): Promise<void> {
    await this.#file?.read(({ grants }) => {
      this.#set(new Map(grants.map(grant => [nameOf(grant.user, grant.key), grant])));
    });
  }
}

interface Kept {
  readonly grants: readonly Grant[];
}

function nameOf(user: Pick<User, 'id'>, key: string): string {
  return `${user.id} ${key}`;
}
