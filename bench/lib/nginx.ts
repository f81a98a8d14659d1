import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../scripts/cluster/free-port.ts';

/** Debian's python3-doc: 500-odd pages, each with hundreds of links to the others. */
export const PYTHON_DOC = '/usr/share/doc/python3-doc/html';

const configOf = (directory: string, root: string, port: number): string => `
daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log stderr crit;
events { worker_connections 512; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  charset utf-8;
  types { text/html html; text/css css; text/plain txt; text/javascript js; image/png png; image/svg+xml svg; application/pdf pdf; }
  default_type application/octet-stream;
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  server { listen 127.0.0.1:${port}; root ${root}; }
}
`;

/** Serves `root` with a nginx of its own while `use` runs; gives it the address, with a slash at its end. */
export async function withNginx<T>(root: string, directory: string, use: (address: string) => Promise<T>): Promise<T> {
  await access(root);
  const home = join(directory, 'nginx');
  await mkdir(home);
  const port = await freePort();
  const config = join(home, 'nginx.conf');
  await writeFile(config, configOf(home, root, port));
  const child = spawn('nginx', ['-p', home, '-c', config, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = once(child, 'exit');
  const address = `http://127.0.0.1:${port}/`;
  try {
    await answers(address, () => child.exitCode === null);
    return await use(address);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function answers(address: string, alive: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline && alive(); await delay(20)) {
    const answer = await fetch(address, { method: 'HEAD' }).catch(() => null);
    if (answer !== null) return;
  }
  throw new Error('nginx did not start');
}
