import { existsSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
import Database from 'libsql';
import type { PostgresServer } from './postgres-server.js';

export interface Contents {
  readonly ids: readonly string[];
  readonly saved: string | undefined;
}

const NOTHING: Contents = { ids: [], saved: undefined };

export function readSqlite(file: string): Contents {
  if (!existsSync(file)) return NOTHING;
  const db = new Database(file);
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE name = 'checkpoint'").all();
    if (tables.length === 0) return NOTHING;
    const ids = db.prepare('SELECT id FROM posts').all() as { id: string }[];
    const [row] = db.prepare('SELECT saved FROM checkpoint').all() as { saved: string }[];
    return { ids: ids.map(({ id }) => id), saved: row?.saved };
  } finally {
    db.close();
  }
}

export async function readDuckDb(file: string): Promise<Contents> {
  if (!existsSync(file)) return NOTHING;
  const instance = await DuckDBInstance.create(file);
  const db = await instance.connect();
  try {
    const tables = await db.runAndReadAll("FROM duckdb_tables() WHERE table_name = 'checkpoint'");
    if (tables.getRows().length === 0) return NOTHING;
    const ids = (await db.runAndReadAll('SELECT id::VARCHAR FROM posts')).getRows();
    const [row] = (await db.runAndReadAll('SELECT saved FROM checkpoint')).getRows();
    return { ids: ids.map(([id]) => String(id)), saved: row?.[0] as string | undefined };
  } finally {
    db.closeSync();
    instance.closeSync();
  }
}

export async function readPostgres(server: PostgresServer): Promise<Contents> {
  const [found] = await server.query<{ there: string | null }>(
    "SELECT to_regclass('checkpoints') AS there",
  );
  if (found?.there == null) return NOTHING;
  const ids = await server.query<{ id: string }>('SELECT id FROM posts');
  const [row] = await server.query<{ saved: string }>('SELECT saved FROM checkpoints');
  return { ids: ids.map(({ id }) => id), saved: row?.saved };
}
