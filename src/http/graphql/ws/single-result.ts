import type { ExecutionResult } from 'graphql';

const DONE: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * The one result of a query or mutation as an iterator: it can be left before the result is there, so that graphql-ws has nothing under
 * way under an id that the client uses again.
 */
export function singleResult(result: Promise<ExecutionResult>): AsyncIterableIterator<ExecutionResult, undefined> {
  let isOver = false;
  const left = Promise.withResolvers<IteratorReturnResult<undefined>>();
  result.catch(() => {}); // when it was left before
  const iterator: AsyncIterableIterator<ExecutionResult, undefined> = {
    next() {
      if (isOver) return Promise.resolve(DONE);
      isOver = true;
      return Promise.race([left.promise, result.then((value) => ({ value, done: false as const }))]);
    },
    async return() {
      isOver = true;
      left.resolve(DONE);
      return DONE;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}
