// Serves the page of this folder, with the graphql-sse client as the package brings it: nothing is bundled, nothing comes from a CDN.
// Usage: node examples/browser/serve.ts [PORT]
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const PACKAGE = new URL('.', import.meta.resolve('graphql-sse'));
const MODULES = ['client', 'common', 'parser', 'utils'].map((name) => `${name}.mjs`);

const FILES = new Map([
  ['/', new URL('index.html', import.meta.url)],
  ['/page.js', new URL('page.js', import.meta.url)],
  ...MODULES.map((name) => [`/graphql-sse/${name}`, new URL(name, PACKAGE)] as const),
]);

const server = createServer(async (request, response) => {
  const file = FILES.get(request.url ?? '');
  if (file === undefined) return void response.writeHead(404).end();
  const type = file.pathname.endsWith('.html') ? 'text/html' : 'text/javascript';
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(await readFile(file));
});
server.on('error', ({ message }) => {
  console.error(`${message}. Another port: node examples/browser/serve.ts PORT`);
  process.exitCode = 1;
});
server.listen(Number(process.argv[2] ?? 8001), '127.0.0.1', () => {
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`;
  console.log(`The page is at ${origin}/ and the service has to let it in: CORS_ORIGINS=${origin}`);
});
