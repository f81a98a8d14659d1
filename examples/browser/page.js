import { createClient } from 'graphql-sse';

const START = 'mutation ($input: StartCrawlInput!) { startCrawl(input: $input) { crawl { id } } }';
const UPDATED = `subscription ($id: ID!) {
  crawlUpdated(id: $id) { state phase urlsCrawled urlsDiscovered findingsCount error }
}`;

const [form, button, progress, output, alert] = ['form', 'button', 'progress', 'output', '[role=alert]'].map((name) =>
  document.querySelector(name),
);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const { service, key, url } = Object.fromEntries(new FormData(form));
  const address = new URL('/graphql', service).href;
  const headers = { authorization: `Bearer ${key}` };
  button.disabled = true;
  alert.textContent = '';
  try {
    const id = await startCrawl(address, headers, url);
    for await (const crawl of updatesOf(address, headers, id)) show(crawl);
  } catch (error) {
    alert.textContent = error.message;
  } finally {
    button.disabled = false;
  }
});

/** By fetch, since graphql-sse would repeat a request that was refused, such as one with a wrong key. */
async function startCrawl(address, headers, url) {
  const body = JSON.stringify({ query: START, variables: { input: { url } } });
  const response = await fetch(address, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }).catch(() => {
    throw new Error(`${address} cannot be reached from here. Does it run, with CORS_ORIGINS=${location.origin}?`);
  });
  const { data, errors } = await response.json();
  if (errors) throw refusal(errors);
  return data.startCrawl.crawl.id;
}

/** Each newer state of a crawl, at last its final one. graphql-sse connects again when the connection is lost. */
async function* updatesOf(url, headers, id) {
  const client = createClient({ url, headers });
  for (;;) {
    for await (const { data, errors } of client.iterate({ query: UPDATED, variables: { id } })) {
      const { code, retryAfterSeconds } = errors?.[0].extensions ?? {};
      if (code === 'unavailable') await new Promise((resolve) => setTimeout(resolve, retryAfterSeconds * 1000));
      else if (errors) throw refusal(errors);
      else {
        yield data.crawlUpdated;
        if (data.crawlUpdated.state !== 'RUNNING') return;
      }
    }
  }
}

/** What is wrong with an input stands in `extensions.errors`, a sentence for each place. */
function refusal(errors) {
  const sentences = errors.flatMap(({ message, extensions }) => [message, ...(extensions?.errors ?? []).map(({ detail }) => detail)]);
  return new Error(sentences.join(' '));
}

function show({ state, phase, urlsCrawled, urlsDiscovered, findingsCount, error }) {
  progress.hidden = false;
  progress.max = Math.max(urlsDiscovered, 1);
  progress.value = state === 'RUNNING' ? urlsCrawled : progress.max;
  output.textContent = `${state} ${phase}: ${urlsCrawled} of ${urlsDiscovered} pages, ${findingsCount ?? 'no'} findings. ${error ?? ''}`;
}
