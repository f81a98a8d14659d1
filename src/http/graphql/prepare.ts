import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Lexer,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
  visit,
} from 'graphql';
import type { GraphqlLimits } from './limits.ts';
import { type Measures, measure } from './measure.ts';

type Variables = Readonly<Record<string, unknown>>;

/** A document that can be executed. */
export type Prepared = {
  readonly document: DocumentNode;
  /** Null when the document has none of that name, or more than one and no name is given. */
  readonly operationOf: (name: string | undefined) => OperationDefinitionNode | null;
  /** What is wrong with executing it; empty when it is within the limits. Only the cost depends on the variables. */
  readonly refusalsOf: (operation: OperationDefinitionNode, variables: Variables) => readonly GraphQLError[];
};

/** What cannot be executed, and why; the document is null when the text is none. */
export type Invalid = { readonly document: DocumentNode | null; readonly errors: readonly GraphQLError[] };

/** Reads and validates a document. Documents that were seen before are remembered. */
export type Prepare = (query: string) => Prepared | Invalid;

type Deps = {
  readonly schema: GraphQLSchema;
  readonly limits: Pick<GraphqlLimits, 'maxTokens' | 'maxRepeats' | 'maxDepth' | 'maxAliases' | 'maxCost' | 'introspection'>;
};

/** All remembered documents together, in characters; a document takes some 50 times its length of memory. */
const MOST_KEPT = 500_000;

export function createPrepare({ schema, limits }: Deps): Prepare {
  const kept = new Map<string, ReturnType<Prepare>>();
  let keptLength = 0;
  const rules = limits.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];

  function read(query: string): ReturnType<Prepare> {
    let document: DocumentNode;
    try {
      document = parse(query, { maxTokens: limits.maxTokens });
    } catch (error) {
      const tokens = countTokens(query);
      if (tokens > limits.maxTokens) return unreadable(exceeded('The document has', tokens, 'tokens', limits.maxTokens));
      return unreadable(error instanceof GraphQLError ? error : new GraphQLError('The document cannot be read.'));
    }
    const [name, repeats] = mostRepeated(document);
    if (repeats > limits.maxRepeats)
      return { document, errors: [exceeded('The document has', repeats, `fields called ${name}`, limits.maxRepeats)] };
    const errors = validate(schema, document, rules, { maxErrors: 20, hideSuggestions: !limits.introspection });
    return errors.length > 0 ? { document, errors } : prepared(document);
  }

  function prepared(document: DocumentNode): Prepared {
    const known = new Map<OperationDefinitionNode, Measures>();
    function measuresOf(operation: OperationDefinitionNode, variables: Variables): Measures {
      const before = known.get(operation);
      if (before !== undefined && !before.byVariables) return before;
      const measures = measure(schema, document, operation, variables);
      known.set(operation, measures);
      return measures;
    }
    return {
      document,
      operationOf: (name) => getOperationAST(document, name) ?? null,
      refusalsOf(operation, variables) {
        const { depth, aliases, cost } = measuresOf(operation, variables);
        if (depth <= limits.maxDepth && aliases <= limits.maxAliases && cost <= limits.maxCost) return NONE;
        return [
          ...(depth > limits.maxDepth ? [exceeded('The operation is', depth, 'levels deep', limits.maxDepth)] : []),
          ...(aliases > limits.maxAliases ? [exceeded('The operation has', aliases, 'aliases', limits.maxAliases)] : []),
          ...(cost > limits.maxCost ? [exceeded('The operation costs', cost, 'points', limits.maxCost)] : []),
        ];
      },
    };
  }

  return (query) => {
    const before = kept.get(query);
    if (before !== undefined) return before;
    const result = read(query);
    if (query.length > MOST_KEPT / 10) return result;
    kept.set(query, result);
    keptLength += query.length;
    for (const oldest of kept.keys()) {
      if (keptLength <= MOST_KEPT) break;
      kept.delete(oldest);
      keptLength -= oldest.length;
    }
    return result;
  };
}

const unreadable = (error: GraphQLError): Invalid => ({ document: null, errors: [error] });

const NONE: readonly GraphQLError[] = [];

const exceeded = (subject: string, value: number, unit: string, most: number): GraphQLError =>
  new GraphQLError(`${subject} ${value} ${unit}; at most ${most} are allowed.`);

/** The name under which most fields of the document are told, and how many. */
function mostRepeated(document: DocumentNode): readonly [name: string, count: number] {
  const counts = new Map<string, number>();
  let most: readonly [string, number] = ['', 0];
  visit(document, {
    Field({ alias, name }) {
      const told = (alias ?? name).value;
      const count = (counts.get(told) ?? 0) + 1;
      counts.set(told, count);
      if (count > most[1]) most = [told, count];
    },
  });
  return most;
}

/** As far as the text consists of tokens. */
function countTokens(text: string): number {
  const lexer = new Lexer(new Source(text));
  let count = 0;
  try {
    while (lexer.advance().kind !== TokenKind.EOF) count++;
  } catch {
    // the rest is no GraphQL
  }
  return count;
}
