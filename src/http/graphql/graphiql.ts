import type { IncomingMessage } from 'node:http';
import { notFound } from '#domain/errors.ts';
import type { Exchange } from '../exchange.ts';
import { fileReply, type Reply } from '../reply.ts';

/** Everything from here, and nothing from elsewhere; the editor writes style attributes and brings its fonts and icons as data. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self' data:",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Its files are named relative to itself, so that it works below any base address. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>crawlgate GraphQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="graphql/graphiql.css">
<style>body { margin: 0 } #root { height: 100vh }</style>
</head>
<body class="no-focus-outline">
<noscript>This page needs JavaScript.</noscript>
<div id="root"></div>
<script src="graphql/start.js"></script>
<script src="graphql/graphiql.js"></script>
<script src="graphql/render.js"></script>
</body>
</html>
`;

const START = `self.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (moduleId, label) => \`graphql/\${label}.worker.js\`,
};
`;

const QUERY = `# Put your API key into the headers below, in place of <key>.

query Crawls {
  crawls(first: 10) {
    edges { node { id host state urlsCrawled findingsCount startedAt } }
    pageInfo { hasNextPage endCursor }
  }
}

subscription Watch {
  crawlUpdated { id host state phase urlsCrawled urlsQueued version }
}
`;

const RENDER = `YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), ${JSON.stringify({
  title: 'crawlgate',
  defaultQuery: QUERY,
  headers: '{\n  "Authorization": "Bearer <key>"\n}',
  shouldPersistHeaders: false,
  isHeadersEditorEnabled: true,
  defaultEditorToolsVisibility: 'headers',
  subscriptionsProtocol: 'SSE',
})});
`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The package is nine megabytes of text in one module: it is loaded when somebody opens the page, and not before. */
const load = () => import('@graphql-yoga/render-graphiql/graphiql');

type Package = Awaited<ReturnType<typeof load>>;
const PACKAGE_FILES: Readonly<Record<string, { readonly type: string; readonly textOf: (files: Package) => string }>> = {
  'graphiql.js': { type: JAVASCRIPT, textOf: ({ js }) => js },
  'graphiql.css': { type: 'text/css; charset=utf-8', textOf: ({ css }) => css },
  'editorWorkerService.worker.js': { type: JAVASCRIPT, textOf: ({ editorWorkerService }) => editorWorkerService },
  'json.worker.js': { type: JAVASCRIPT, textOf: ({ jsonWorker }) => jsonWorker },
  'graphql.worker.js': { type: JAVASCRIPT, textOf: ({ graphqlWorker }) => graphqlWorker },
};
const OWN_FILES: Readonly<Record<string, string>> = { 'start.js': START, 'render.js': RENDER };

/** A browser opens the address, instead of asking something. */
export const wantsPage = ({ method, url = '', headers }: IncomingMessage): boolean =>
  method === 'GET' && headers.accept?.includes('text/html') === true && !/[?&]query=/.test(url);

export function answerGraphiqlPage({ response, headers }: Exchange): void {
  response.writeHead(200, {
    ...headers,
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-cache',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'Content-Length': Buffer.byteLength(PAGE),
  });
  response.end(PAGE);
}

/** A file of the page. Throws `not_found` for any other name. */
export async function answerGraphiqlFile(name: string): Promise<Reply> {
  if (Object.hasOwn(OWN_FILES, name)) return fileReply(JAVASCRIPT, OWN_FILES[name] ?? '');
  const entry = Object.hasOwn(PACKAGE_FILES, name) ? PACKAGE_FILES[name] : undefined;
  if (entry === undefined) throw notFound();
  return fileReply(entry.type, entry.textOf(await load()));
}
