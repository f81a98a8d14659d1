// A site of eight pages with a few faults, to try crawlgate on without bothering anybody. Usage: npm run demo-site [-- PORT]
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

/** A page takes this long, so that there is something to watch. */
const DELAY_MS = 400;

const link = (href: string) => `<p><a href="${href}">${href}</a></p>`;
const FOOTER = `<p>Our shop has been at the old harbour for forty years. We taste each harvest before we buy it, pack it by hand, and send it
on the day of your order. Come by for a cup when you are in town: the kettle is on from ten to six, on Sundays from noon.</p>`;
const page = (title: string, about: string, ...hrefs: string[]) =>
  `<!doctype html><html lang="en"><title>${title}</title>${about && `<meta name="description" content="${about}">`}
<h1>${title}</h1><p>${about}</p>${hrefs.map(link).join('')}${FOOTER}</html>`;

const PAGES: Readonly<Record<string, string>> = {
  '/': page('Tea shop', 'Green and black tea from small gardens.', '/green', '/black', '/about', '/private/stock', 'https://example.com/'),
  '/green': page('Our teas', 'Green teas, light and fresh.', '/', '/sencha'),
  '/black': page('Our teas', 'Black teas, strong and malty.', '/', '/assam'),
  '/about': page('', 'Who we are, and where to find us.', '/'),
  '/assam': page('Assam', 'Assam, a strong black tea.', '/black').replace('<p>', '<img src="/assam.jpg"><p>'),
  '/sencha': page('Sencha', '', '/green', '/old-menu'),
  '/private/stock': page('Stock', 'What we have.'),
  '/robots.txt': 'User-agent: *\nDisallow: /private/\n',
};

const server = createServer(async (request, response) => {
  await setTimeout(DELAY_MS);
  const body = PAGES[request.url ?? '/'];
  const type = request.url === '/robots.txt' ? 'text/plain' : 'text/html; charset=utf-8';
  response.writeHead(body === undefined ? 404 : 200, { 'content-type': type });
  response.end(body ?? page('Nothing here', ''));
});
server.on('error', ({ message }) => {
  console.error(`${message}. Another port: npm run demo-site -- PORT`);
  process.exitCode = 1;
});
server.listen(Number(process.argv[2] ?? 8000), '127.0.0.1', () => {
  const address = server.address();
  console.log(`The demo site is at http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/`);
});
