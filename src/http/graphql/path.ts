export const GRAPHQL_PATH = '/graphql';

/** Whether a request's target is GraphQL itself, and not a file of its page. */
export const isGraphqlTarget = (target: string): boolean => target === GRAPHQL_PATH || target.startsWith(`${GRAPHQL_PATH}?`);
