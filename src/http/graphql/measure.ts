import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { DEFAULT_LIMIT, MOST_LIMIT } from '#service/list.ts';

/** How much an operation asks for. `byVariables`: with other variables the cost may be another. */
export type Measures = { readonly depth: number; readonly aliases: number; readonly cost: number; readonly byVariables: boolean };

type Variables = Readonly<Record<string, unknown>>;

/**
 * Measures an operation of a valid document (so that its fragments have no cycles). Each fragment is measured once, so that the work
 * grows with the text, however often the fragments use each other.
 */
export function measure(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Variables): Measures {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const measured = new Map<string, Measures>();
  const defaults = new Map(operation.variableDefinitions?.map(({ variable, defaultValue }) => [variable.name.value, defaultValue]));

  function ofSelection({ selections }: SelectionSetNode, type: GraphQLCompositeType | undefined): Measures {
    let [depth, aliases, cost, byVariables] = [0, 0, 0, false];
    for (const selection of selections) {
      const each =
        selection.kind === Kind.FIELD
          ? ofField(selection, type)
          : selection.kind === Kind.INLINE_FRAGMENT
            ? ofSelection(selection.selectionSet, typeOf(selection.typeCondition?.name.value) ?? type)
            : ofFragment(selection.name.value);
      depth = Math.max(depth, each.depth);
      aliases += each.aliases;
      cost += each.cost;
      byVariables ||= each.byVariables;
    }
    return { depth, aliases, cost, byVariables };
  }

  function ofFragment(name: string): Measures {
    const known = measured.get(name);
    if (known !== undefined) return known;
    const fragment = fragments.get(name);
    const result =
      fragment === undefined
        ? { depth: 0, aliases: 0, cost: 0, byVariables: false }
        : ofSelection(fragment.selectionSet, typeOf(fragment.typeCondition.name.value));
    measured.set(name, result);
    return result;
  }

  function ofField(field: FieldNode, parent: GraphQLCompositeType | undefined): Measures {
    const alias = field.alias === undefined ? 0 : 1;
    if (field.selectionSet === undefined) return { depth: 1, aliases: alias, cost: 0, byVariables: false };
    if (field.name.value.startsWith('__')) {
      // its depth is bound by the specified rules; the names under which it is told again and again are not
      const { aliases, cost } = ofSelection(field.selectionSet, undefined);
      return { depth: 1, aliases: alias + aliases, cost: 1 + cost, byVariables: false };
    }
    const definition = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[field.name.value] : undefined;
    const type = definition === undefined ? undefined : getNamedType(definition.type);
    const inner = ofSelection(field.selectionSet, isCompositeType(type) ? type : undefined);
    const size = type?.name.endsWith('Connection') === true ? pageSize(field) : { items: 1, byVariables: false };
    return {
      depth: 1 + inner.depth,
      aliases: alias + inner.aliases,
      cost: 1 + size.items * inner.cost,
      byVariables: size.byVariables || inner.byVariables,
    };
  }

  function pageSize({ arguments: given = [] }: FieldNode): { items: number; byVariables: boolean } {
    const sizes = given.filter(({ name }) => name.value === 'first' || name.value === 'last').map(({ value }) => value);
    const numbers = sizes.map(numberOf).filter((number) => number !== null);
    const items = numbers.length === 0 ? DEFAULT_LIMIT : Math.max(...numbers);
    return { items: Math.min(Math.max(items, 0), MOST_LIMIT), byVariables: sizes.some(({ kind }) => kind === Kind.VARIABLE) };
  }

  /** Null when nothing is given; what is no number is refused later, and meanwhile counts as the most. */
  function numberOf(node: ValueNode): number | null {
    if (node.kind === Kind.INT) return Number(node.value);
    if (node.kind === Kind.NULL) return null;
    if (node.kind !== Kind.VARIABLE) return MOST_LIMIT;
    const name = node.name.value;
    if (Object.hasOwn(variables, name)) {
      const value = variables[name];
      return value === null || value === undefined ? null : typeof value === 'number' ? value : MOST_LIMIT;
    }
    const standard = defaults.get(name);
    return standard === undefined ? null : numberOf(standard);
  }

  function typeOf(name: string | undefined): GraphQLCompositeType | undefined {
    const type = name === undefined ? undefined : schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }

  return ofSelection(operation.selectionSet, schema.getRootType(operation.operation) ?? undefined);
}
