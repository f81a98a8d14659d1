import { normalizedExecutor } from '@graphql-tools/executor';
import {
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import type { Caller } from '#domain/account.ts';
import { requestsExceeded } from '#service/limit-requests.ts';
import type { Service } from '#service/service.ts';
import type { HttpObserver } from '../../observe.ts';
import { createTakeSlot } from '../../stream-slots.ts';
import { createContext } from '../context.ts';
import type { GraphqlLimits } from '../limits.ts';
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

/** What a channel takes beside its text, in characters. */
const CHANNEL_SIZE = 1_000;

type Variables = Readonly<Record<string, unknown>>;

/** Only the variables that the operation declares: others decide nothing, and would be kept for as long as it runs. */
const declared = ({ variableDefinitions = [] }: OperationDefinitionNode, variables: Variables): Record<string, unknown> =>
  Object.fromEntries(
    variableDefinitions
      .map(({ variable }) => variable.name.value)
      .filter((name) => Object.hasOwn(variables, name))
      .map((name) => [name, variables[name]]),
  );

type Deps = {
  readonly service: Service;
  readonly schema: GraphQLSchema;
  readonly prepare: Prepare;
  readonly presentError: PresentError;
  readonly limits: Pick<GraphqlLimits, 'maxSubscriptionLength' | 'maxSubscriptionSize' | 'maxSubscriptionSizePerKey'>;
  readonly observer: HttpObserver;
};

export function createOperations({ service, schema, prepare, presentError, limits, observer }: Deps): Operations {
  /** By what decides over an answer: rights, document, variables. */
  const channels = new Map<string, Channel>();
  const takeRoom = createTakeSlot({
    what: 'characters of different subscriptions',
    perKey: limits.maxSubscriptionSizePerKey,
    perProcess: limits.maxSubscriptionSize,
  });

  async function run(
    operation: PreparedOperation,
    watching: WatchService = service,
  ): Promise<ExecutionResult | AsyncIterable<ExecutionResult>> {
    const { caller } = operation.sender;
    const contextValue = createContext({ caller, service: { ...service, ...watching }, tellStarts() {} });
    return (await normalizedExecutor({ ...operation, contextValue })) as ExecutionResult | AsyncIterable<ExecutionResult>;
  }

  /**
   * As REST counts a request and looks the key up. Whoever joins an execution that runs is not counted, since it asks nothing of the
   * store that costs, but its key is looked up too: one that was revoked a moment ago gets no frame that was made for it before.
   */
  async function admit(caller: Caller): Promise<void> {
    const allowance = await service.limitRequests(caller.keyId);
    if (allowance !== null && !allowance.admitted) throw requestsExceeded(allowance);
    await service.confirmKey(caller);
  }

  const presented = (result: ExecutionResult, requestId: string): ExecutionResult =>
    result.errors === undefined ? result : { ...result, errors: result.errors.map((error) => presentError(error, requestId)) };

  function open(key: string, operation: PreparedOperation): Channel {
    const { caller, requestId } = operation.sender;
    const giveBack = takeRoom(caller.keyId, key.length + CHANNEL_SIZE);
    const channel: Channel = createChannel({
      service,
      async execute(watching) {
        await admit(caller);
        const results = await run(operation, watching);
        if (Symbol.asyncIterator in results) return results;
        throw new NotExecuted(results.errors ?? []);
      },
      present: (result) => presented(result, requestId),
      onEmpty() {
        giveBack();
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
      const { maxSubscriptionLength: most } = limits;
      const variableValues = declared(operationNode, variables ?? {});
      const refusals =
        operationNode.operation === OperationTypeNode.SUBSCRIPTION && query.length > most
          ? [new GraphQLError(`The subscription is ${query.length} characters long; at most ${most} are allowed.`)]
          : prepared.refusalsOf(operationNode, variableValues);
      if (refusals.length > 0) {
        observer.executed(operationNode.operation, 'refused');
        return refusals;
      }
      const { document } = prepared;
      const text = document.loc?.source.body ?? query; // the same, but kept once for all who ask it
      return { schema, document, operationName: operationName ?? null, variableValues, id, query: text, sender };
    },

    execute(operation) {
      const type = getOperationAST(operation.document, operation.operationName)?.operation ?? 'unknown';
      async function answer(): Promise<ExecutionResult> {
        await admit(operation.sender.caller);
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
      let channel: Channel;
      try {
        channel = running ?? open(key, operation);
      } catch (error) {
        observer.executed('subscription', 'errors');
        return singleResult(Promise.reject(error));
      }
      channel.ready.then(
        () => observer.executed('subscription', 'ok'),
        () => observer.executed('subscription', 'errors'),
      );
      return createSubscriber({
        peer: sender.peer,
        id,
        channel,
        observer,
        confirm: () => service.confirmKey(sender.caller),
        readCrawl: (crawlId) => service.readWatched(crawlId, sender.caller),
        isFirst: running === undefined,
      });
    },

    present(error, requestId) {
      const errors = error instanceof NotExecuted ? error.errors : [error];
      return errors.map((each) => presentError(each, requestId));
    },
  };
}
