// A site of eight pages with a few faults, to try crawlgate on without bothering anybody. Usage: npm run demo-site [-- PORT]
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

/** A page takes this long, so that there is something to watch. */
const DELAY_MS = 400;

const link = (href: string) => `<p><a href="${href}">${href}</a></p>`;
const page = (title: string, ...hrefs: string[]) =>
  `<!doctype html><html lang="en"><title>${title}</title><h1>${title}</h1>${hrefs.map(link).join('')}</html>`;

const PAGES: Readonly<Record<string, string>> = {
  '/': page('Tea shop', '/green', '/black', '/about', '/private/stock', 'https://example.com/'),
  '/green': page('Our teas', '/', '/sencha'),
  '/black': page('Our teas', '/', '/assam'),
  '/about': page('', '/'),
  '/assam': page('Assam', '/black'),
  '/sencha': page('Sencha', '/green', '/old-menu'),
  '/private/stock': page('Stock'),
  '/robots.txt': 'User-agent: *\nDisallow: /private/\n',
};

const server = createServer(async (request, response) => {
  await setTimeout(DELAY_MS);
  const body = PAGES[request.url ?? '/'];
  const type = request.url === '/robots.txt' ? 'text/plain' : 'text/html; charset=utf-8';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type });
  response.end(body ?? page('Nothing here'));
});
server.on('error', ({ message }) => {
  console.error(`${message}. Another port: npm run demo-site -- PORT`);
  process.exitCode = 1;
});
server.listen(Number(process.argv[2] ?? 8000), '127.0.0.1', () => {
  const address = server.address();
  console.log(`The demo site is at http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/`);
});
