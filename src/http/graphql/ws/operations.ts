import { normalizedExecutor } from '@graphql-tools/executor';
import { type ExecutionArgs, type ExecutionResult, GraphQLError, type GraphQLSchema, getOperationAST } from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import type { Caller } from '#domain/account.ts';
import { requestsExceeded } from '#service/limit-requests.ts';
import type { Service } from '#service/service.ts';
import type { HttpObserver } from '../../observe.ts';
import { createContext } from '../context.ts';
import type { Prepare } from '../prepare.ts';
import type { PresentError } from '../present-error.ts';
import { type Channel, createChannel, type WatchService } from './channel.ts';
import type { Peer } from './peer.ts';
import { singleResult } from './single-result.ts';
import { createSubscriber } from './subscriber.ts';

/** What is known of whoever sends an operation. */
export type Sender = { readonly caller: Caller; readonly peer: Peer; readonly requestId: string };

/** An operation of a socket, checked. */
export type PreparedOperation = ExecutionArgs & { readonly id: string; readonly query: string; readonly sender: Sender };

export type Operations = {
  /** Checks a `subscribe` message; what is wrong with it ends the operation and not the socket. */
  prepare(id: string, payload: SubscribePayload, sender: Sender): PreparedOperation | readonly GraphQLError[];
  /** Both answer at once: what takes time happens while the answer is iterated, so that it can be left at any moment. */
  execute(operation: PreparedOperation): AsyncIterableIterator<ExecutionResult>;
  subscribe(operation: PreparedOperation): AsyncIterableIterator<ExecutionResult>;
  /** What the client is told of what an iterator of these was rejected with. */
  present(error: unknown, requestId: string): readonly GraphQLError[];
};

/** An operation that came to nothing, with every reason. */
class NotExecuted extends Error {
  override readonly name = 'NotExecuted';
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('The operation was not executed.');
    this.errors = errors;
  }
}

type Deps = {
  readonly service: Service;
  readonly schema: GraphQLSchema;
  readonly prepare: Prepare;
  readonly presentError: PresentError;
  readonly observer: HttpObserver;
};

export function createOperations({ service, schema, prepare, presentError, observer }: Deps): Operations {
  /** By what decides over an answer: rights, document, variables. */
  const channels = new Map<string, Channel>();

  async function run(
    operation: PreparedOperation,
    watching: WatchService = service,
  ): Promise<ExecutionResult | AsyncIterable<ExecutionResult>> {
    const { caller } = operation.sender;
    const contextValue = createContext({ caller, service: { ...service, ...watching }, tellStarts() {} });
    return (await normalizedExecutor({ ...operation, contextValue })) as ExecutionResult | AsyncIterable<ExecutionResult>;
  }

  /** As REST counts a request. Whoever joins an execution that runs asks nothing of the store that counts. */
  async function count({ keyId }: Caller): Promise<void> {
    const allowance = await service.limitRequests(keyId);
    if (allowance !== null && !allowance.admitted) throw requestsExceeded(allowance);
  }

  const presented = (result: ExecutionResult, requestId: string): ExecutionResult =>
    result.errors === undefined ? result : { ...result, errors: result.errors.map((error) => presentError(error, requestId)) };

  function open(key: string, operation: PreparedOperation): Channel {
    const { caller, requestId } = operation.sender;
    const channel: Channel = createChannel({
      service,
      async execute(watching) {
        await count(caller);
        const results = await run(operation, watching);
        if (Symbol.asyncIterator in results) return results;
        throw new NotExecuted(results.errors ?? []);
      },
      present: (result) => presented(result, requestId),
      onEmpty() {
        if (channels.get(key) === channel) channels.delete(key);
      },
    });
    channels.set(key, channel);
    return channel;
  }

  return {
    prepare(id, { query, operationName, variables }, sender) {
      const prepared = prepare(query);
      const operationNode = 'errors' in prepared ? null : prepared.operationOf(operationName ?? undefined);
      if (operationNode === null) observer.executed('unknown', 'refused');
      if ('errors' in prepared) return prepared.errors;
      if (operationNode === null) return [new GraphQLError('The document has no such operation, or more than one and no name is given.')];
      const variableValues = variables ?? {};
      const refusals = prepared.refusalsOf(operationNode, variableValues);
      if (refusals.length > 0) {
        observer.executed(operationNode.operation, 'refused');
        return refusals;
      }
      return { schema, document: prepared.document, operationName: operationName ?? null, variableValues, id, query, sender };
    },

    execute(operation) {
      const type = getOperationAST(operation.document, operation.operationName)?.operation ?? 'unknown';
      async function answer(): Promise<ExecutionResult> {
        await count(operation.sender.caller);
        const result = await run(operation);
        if (Symbol.asyncIterator in result) throw new TypeError('a query or mutation gave a stream');
        if (result.data === undefined) throw new NotExecuted(result.errors ?? []);
        return presented(result, operation.sender.requestId);
      }
      const answered = answer();
      answered.then(
        ({ errors }) => observer.executed(type, errors === undefined ? 'ok' : 'errors'),
        () => observer.executed(type, 'errors'),
      );
      return singleResult(answered);
    },

    subscribe(operation) {
      const { id, query, operationName, variableValues, sender } = operation;
      const { keyId, secretHash, scopes } = sender.caller;
      const key = JSON.stringify([keyId, secretHash, scopes, query, operationName, variableValues]);
      const running = channels.get(key);
      const channel = running ?? open(key, operation);
      channel.ready.then(
        () => observer.executed('subscription', 'ok'),
        () => observer.executed('subscription', 'errors'),
      );
      return createSubscriber({
        peer: sender.peer,
        id,
        channel,
        observer,
        readCrawl: (crawlId) => service.getCrawl(crawlId, sender.caller),
        isFirst: running === undefined,
      });
    },

    present(error, requestId) {
      const errors = error instanceof NotExecuted ? error.errors : [error];
      return errors.map((each) => presentError(each, requestId));
    },
  };
}
