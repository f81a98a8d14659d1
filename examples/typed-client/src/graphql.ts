import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './graphql-env.d.ts';

/** Parses an operation, and knows from schema.graphql what its variables and its result are. */
export const graphql = initGraphQLTada<{ introspection: introspection; scalars: { DateTime: string } }>();
