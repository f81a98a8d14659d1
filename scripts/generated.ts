import { rulesMarkdown } from '../src/analysis/docs.ts';
import { configDocs } from '../src/cli/config-docs.ts';
import { schemaText } from '../src/http/graphql/schema/schema.ts';
import { errorsMarkdown } from '../src/http/problem-texts.ts';
import { openApiText } from '../src/http/rest/openapi.ts';
import { metricsMarkdown } from '../src/metrics/docs.ts';
import { alertsMarkdown } from './alert-docs.ts';

/** Every file that is printed from code, or from another file, by its path in the repository, and what it must contain. */
export const GENERATED: Readonly<Record<string, () => string>> = {
  'docs/alerts.md': alertsMarkdown,
  'docs/config.md': configDocs,
  'docs/errors.md': errorsMarkdown,
  'docs/metrics.md': metricsMarkdown,
  'docs/rules.md': rulesMarkdown,
  'openapi.json': () => openApiText('http://127.0.0.1:4000'),
  'schema.graphql': schemaText,
};
