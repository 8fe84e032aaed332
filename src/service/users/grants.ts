import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { StateFile } from '../state-file.js';

/** An end user: an author of the archive. */
export interface User {
  /** Digits. */
  readonly id: string;
  /** Without `@`. */
  readonly handle: string;
  readonly name: string;
}

/** A user's consent to an application, with its access token. */
export interface Grant {
  readonly user: User;
  /** The consumer key of the application. */
  readonly key: string;
  readonly token: string;
  readonly secret: string;
  /** Epoch milliseconds. */
  readonly grantedAt: number;
  /** A revoked token stays known but gives no access. */
  readonly revoked?: boolean | undefined;
}

/** One grant per user and application, valid until revoked and stored over restarts. */
export class Grants {
  readonly #file: StateFile<StoredGrants> | undefined;
  #grants: ReadonlyMap<string, Grant> = new Map();
  #tokens: ReadonlyMap<string, Grant> = new Map();
  #opened: Promise<void> | undefined;
  /** Serializes changes. */
  readonly #serial = pLimit(1);

  /** @param stateFolder If undefined, grants end when the service stops. */
  constructor(stateFolder: string | undefined) {
    if (stateFolder === undefined) return;
    const file = join(stateFolder, 'oauth', 'grants.json');
    this.#file = new StateFile(file, 'what users have granted', { secret: true });
  }

  /**
   * Loads the stored grants. Later calls return the same promise, unless it failed.
   *
   * @throws StorageError if they cannot be read.
   */
  open(): Promise<void> {
    this.#opened ??= this.#load().catch(error => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  /** Resolves once all changes are stored, if there is a state folder. The grants can be opened again. */
  async close(): Promise<void> {
    await this.#serial(() => {});
    this.#set(new Map());
    this.#opened = undefined;
  }

  all(): readonly Grant[] {
    return [...this.#grants.values()].filter(({ revoked }) => !revoked);
  }

  of(user: User, key: string): Grant | undefined {
    const grant = this.#grants.get(keyOf(user, key));
    return grant?.revoked ? undefined : grant;
  }

  /** Also finds revoked grants. */
  withToken(token: string): Grant | undefined {
    return this.#tokens.get(token);
  }

  /** The existing grant, or a new one with a new token. */
  grant(user: User, key: string, grantedAt: number): Promise<Grant> {
    return this.#change(grants => {
      const known = grants.get(keyOf(user, key));
      if (known !== undefined && !known.revoked) return known;
      const grant: Grant = {
        user,
        key,
        token: `${user.id}-${randomBytes(27).toString('base64url')}`,
        secret: randomBytes(33).toString('base64url'),
        grantedAt,
      };
      grants.set(keyOf(user, key), grant);
      return grant;
    });
  }

  /** Returns whether it existed. */
  revoke(user: Pick<User, 'id'>, key: string): Promise<boolean> {
    return this.#change(grants => {
      const grant = grants.get(keyOf(user, key));
      if (grant === undefined || grant.revoked) return false;
      grants.set(keyOf(user, key), { ...grant, revoked: true });
      return true;
    });
  }

  /** A change is visible once it is stored; if the write fails, nothing changes. */
  #change<Result>(change: (grants: Map<string, Grant>) => Result): Promise<Result> {
    return this.#serial(async () => {
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
      this.#set(new Map(grants.map(grant => [keyOf(grant.user, grant.key), grant])));
    });
  }
}

interface StoredGrants {
  readonly grants: readonly Grant[];
}

function keyOf(user: Pick<User, 'id'>, key: string): string {
  return `${user.id} ${key}`;
}
