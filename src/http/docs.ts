import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { notFound } from '#domain/errors.ts';
import { fileReply, type Reply } from './reply.ts';

/** Everything from here, and nothing from elsewhere; Swagger UI writes style attributes and draws its icons from data URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>crawlgate API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" type="image/png" href="docs/favicon-32x32.png" sizes="32x32">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** No validator badge: that one would ask a server on the Internet. */
const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
});
`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';
/** The files of the package that the page needs. */
const PACKAGE_FILES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': JAVASCRIPT,
  'favicon-32x32.png': 'image/png',
};

export const DOCS_PATH = '/docs';
export const OPENAPI_PATH = '/openapi.json';

export const answerDocsPage = (): Reply => ({
  status: 200,
  headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache', 'Content-Security-Policy': CONTENT_SECURITY_POLICY },
  body: PAGE,
});

/** The files of the page are named relative to its address, which has no slash at its end. */
export const answerDocsFolder = (): Reply => ({ status: 302, headers: { 'Cache-Control': 'no-cache', Location: '../docs' }, body: null });

/** A file of the page. Throws `not_found` for any other name. */
export async function answerDocsFile(name: string): Promise<Reply> {
  if (name === 'start.js') return fileReply(JAVASCRIPT, START);
  const type = Object.hasOwn(PACKAGE_FILES, name) ? PACKAGE_FILES[name] : undefined;
  if (type === undefined) throw notFound();
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return fileReply(type, await readFile(join(folder, name)));
}
