import { pageRule } from '../rule.ts';

export const httpNoResponse = pageRule({
  id: 'http.no_response',
  severity: 'high',
  title: 'Page gives no response',
  why: 'The server could not be reached or did not answer in time, so visitors see an error of their browser.',
  fix: 'Check that the server answers at this address: its name, its certificate, and how long it takes.',
  check: ({ status, reason }) => (status === 'failed' ? [{ reason }] : []),
});
