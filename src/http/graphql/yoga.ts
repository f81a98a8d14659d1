import { normalizedExecutor } from '@graphql-tools/executor';
import { type DocumentNode, GraphQLError, type GraphQLSchema, getOperationAST } from 'graphql';
import { createYoga, isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Timers } from '#domain/timers.ts';
import { boundAnswer } from '../bound-answer.ts';
import type { Exchange } from '../exchange.ts';
import type { GraphqlType, HttpObserver } from '../observe.ts';
import { createTakeSlot } from '../stream-slots.ts';
import type { GraphqlContext } from './context.ts';
import type { GraphqlLimits } from './limits.ts';
import type { Prepare } from './prepare.ts';
import type { PresentError } from './present-error.ts';

/** What Yoga is given of a request: who asks is known, and the body has been read. */
export type YogaContext = { readonly exchange: Exchange; readonly createContext: () => GraphqlContext };

/** Answers a request by GraphQL over HTTP, subscriptions by server-sent events. Its body, if it has one, is read already. */
export type AnswerByYoga = (exchange: Exchange, body: string | null, createContext: () => GraphqlContext) => Promise<void>;

type Deps = {
  readonly schema: GraphQLSchema;
  readonly prepare: Prepare;
  readonly presentError: PresentError;
  readonly timers: Timers;
  readonly observer: HttpObserver;
  readonly limits: Pick<GraphqlLimits, 'maxStreams' | 'maxStreamsPerKey'>;
};

export function createAnswerByYoga(deps: Deps): AnswerByYoga {
  const yoga = createYoga<YogaContext>({
    schema: deps.schema,
    graphqlEndpoint: '/graphql',
    healthCheckEndpoint: ' ', // no address ends so: without it any address that ends in /health would be answered
    plugins: [createPipeline(deps)],
    context: ({ createContext }) => createContext(),
    maskedErrors: false, // the pipeline presents every error, knowing the request that it belongs to
    maxRequestBodySize: false, // bounded before; by Yoga it costs a third of the speed
    parserAndValidationCache: false, // `prepare` remembers
    multipart: false,
    batching: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    logging: false,
  });
  return async (exchange, body, createContext) => {
    // Yoga takes a body that was read before from here, but would wait for an empty one
    if (body !== null) Object.assign(exchange.request, { body: body === '' ? ' ' : body });
    await yoga(exchange.request, exchange.response, { exchange, createContext });
  };
}

/** Yoga's mark of the status; of a body that is no JSON it says by `originalError` that it is 400 whatever answer is accepted. */
function httpOf(error: unknown): unknown {
  const { http, originalError } = error instanceof GraphQLError ? error.extensions : {};
  return originalError === undefined ? http : { status: 400 };
}

/** By GET and as a form, Yoga reads `variables` and `extensions` as JSON without a word on what to tell when they are none. */
async function readParameters<Parameters>(read: () => Parameters): Promise<Awaited<Parameters>> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GraphQLError('The variables and extensions must be JSON.', { extensions: { http: { status: 400 } } });
  }
}

const typeOf = ({ document, operationName }: { document: DocumentNode; operationName?: string | null | undefined }): GraphqlType =>
  getOperationAST(document, operationName)?.operation ?? 'unknown';

/** The rules of this service inside Yoga; the plain way (see `plain-query.ts`) applies the same ones. */
function createPipeline(deps: Deps): Plugin<YogaContext & GraphqlContext, YogaContext> {
  const { prepare, presentError, timers, limits, observer } = deps;
  const takeSlot = createTakeSlot({ what: 'GraphQL event streams', perKey: limits.maxStreamsPerKey, perProcess: limits.maxStreams });

  /** With what Yoga takes the status of the answer from, and leaves out of it. */
  function present(error: unknown, requestId: string): GraphQLError {
    const told = presentError(error, requestId);
    const http = httpOf(error) ?? (told.path === undefined && told.extensions.code === 'internal_error' ? { status: 500 } : undefined);
    if (http !== undefined) told.extensions.http = http;
    return told;
  }

  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (requestParser !== undefined) setRequestParser(async (request) => readParameters(() => requestParser(request)));
    },
    onParse({ params, setParsedDocument, setParseFn }) {
      const prepared = prepare(params.source.toString());
      if (prepared.document !== null) setParsedDocument(prepared.document);
      else
        setParseFn(() => {
          observer.executed('unknown', 'refused');
          throw 'errors' in prepared ? prepared.errors[0] : new TypeError('unreadable without an error');
        });
    },
    onValidate({ context, setResult }) {
      const { query = '', operationName, variables } = context.params;
      const prepared = prepare(query);
      if ('errors' in prepared) {
        observer.executed('unknown', 'refused');
        return setResult([...prepared.errors]);
      }
      const operation = prepared.operationOf(operationName);
      const refusals = operation === null ? [] : prepared.refusalsOf(operation, variables ?? {});
      if (operation !== null && refusals.length > 0) observer.executed(operation.operation, 'refused');
      setResult([...refusals]);
    },
    onExecute({ setExecuteFn, args }) {
      setExecuteFn(normalizedExecutor);
      return {
        onExecuteDone({ result }) {
          observer.executed(typeOf(args), !('errors' in result) || result.errors === undefined ? 'ok' : 'errors');
        },
      };
    },
    onSubscribe({ setSubscribeFn, context }) {
      setSubscribeFn(normalizedExecutor);
      const { id, response, headers } = context.exchange;
      const giveBack = takeSlot(context.caller.keyId);
      observer.opened('graphql_sse');
      response.once('close', () => {
        giveBack();
        observer.closed('graphql_sse');
      });
      context.exchange.isStream = true;
      boundAnswer(response, timers);
      headers['X-Accel-Buffering'] = 'no'; // nginx would else gather what it gets
      return {
        onSubscribeResult({ result: stream }) {
          observer.executed('subscription', isAsyncIterable(stream) ? 'ok' : 'errors');
          // Yoga leaves it running when the client takes no stream, and when it has gone before it is asked for the first value
          if (isAsyncIterable(stream)) response.once('close', () => void stream[Symbol.asyncIterator]().return?.());
          return {
            onNext({ result, setResult }) {
              observer.updates.graphql_sse++;
              if (result.errors !== undefined) setResult({ ...result, errors: result.errors.map((error) => present(error, id)) });
            },
          };
        },
        onSubscribeError({ error, setError }) {
          setError(present(error, id));
        },
      };
    },
    onResultProcess({ result, setResult, serverContext }) {
      if (!('errors' in result) || result.errors === undefined) return;
      const { id } = serverContext.exchange;
      setResult({ ...result, errors: result.errors.map((error) => present(error, id)) });
    },
    onResponse({ response, serverContext }) {
      for (const [name, value] of Object.entries(serverContext.exchange.headers)) response.headers.set(name, value);
    },
  };
}
