import SchemaBuilder from '@pothos/core';
import RelayPlugin from '@pothos/plugin-relay';
import type { EpochMs } from '#domain/ids.ts';
import type { GraphqlContext } from '../context.ts';

type Types = {
  Context: GraphqlContext;
  DefaultFieldNullability: false;
  DefaultEdgesNullability: false;
  DefaultNodeNullability: false;
  Scalars: {
    DateTime: { Input: never; Output: EpochMs };
    ID: { Input: string; Output: string };
  };
};

export type Builder = PothosSchemaTypes.SchemaBuilder<PothosSchemaTypes.ExtendDefaultTypes<Types>>;

/** Fields are non-null unless they say otherwise. */
export function createBuilder(): Builder {
  const builder: Builder = new SchemaBuilder<Types>({
    plugins: [RelayPlugin],
    defaultFieldNullability: false,
    relay: {
      nodeQueryOptions: false,
      nodesQueryOptions: false,
      cursorType: 'String',
      nodeFieldOptions: { nullable: false, description: 'The item.' },
      edgesFieldOptions: { nullable: false, description: 'The items of this part of the list, in its order.' },
      cursorFieldOptions: {
        description:
          'The place of the item in this list: pass it to the same field as `after`, or `before` where there is one, with the same filter.',
      },
      pageInfoFieldOptions: { description: 'Where this part of the list lies.' },
      pageInfoTypeOptions: { description: 'Where a part of a list lies.' },
      hasNextPageFieldOptions: { description: 'Whether the list goes on after the last item.' },
      hasPreviousPageFieldOptions: { description: 'Whether there is something before the first item.' },
      startCursorFieldOptions: { description: 'The place of the first item; null when there is none.' },
      endCursorFieldOptions: { description: 'The place of the last item; null when there is none.' },
      firstArgOptions: { description: 'This many from the start of the list, or after `after`; above 200 it becomes 200.' },
      afterArgOptions: { description: 'Only what comes after this place.' },
      lastArgOptions: { description: 'This many from the end of the list, or before `before`; above 200 it becomes 200.' },
      beforeArgOptions: { description: 'Only what comes before this place; goes with `last`.' },
    },
  });
  builder.scalarType('DateTime', {
    description: 'A time in UTC, such as `2026-11-21T03:05:26.537Z`.',
    serialize: (at) => new Date(at).toISOString(),
    parseValue() {
      throw new TypeError('no argument is a time');
    },
  });
  return builder;
}
