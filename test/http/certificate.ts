import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
  /** The path of the certificate, for `NODE_EXTRA_CA_CERTS`. */
  readonly file: string;
  remove(): void;
}

/** @param names Names with their type, such as `DNS:search.example`. */
export function makeCertificate(names: readonly string[]): Certificate {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'millrace-certificate-'));
  const [keyFile, file] = [path.join(folder, 'key.pem'), path.join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-subj', '/CN=millrace test', '-addext', `subjectAltName=${names.join(',')}`],
      ...['-days', '2', '-keyout', keyFile, '-out', file],
    ],
    { stdio: 'pipe' },
  );
  return {
    key: readFileSync(keyFile, 'utf8'),
    cert: readFileSync(file, 'utf8'),
    file,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
