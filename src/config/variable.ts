/** A row of the table. */
export type Variable<Value> = {
  readonly name: string;
  /** What is accepted, as it stands in the docs and in the refusal of a wrong value. */
  readonly accepts: string;
  /** In the words of the docs; read like any other value unless `unset` says what stands for an absent one. */
  readonly default: string;
  readonly unit?: string;
  readonly meaning: string;
  /** The value is never shown: neither in a message nor in a log. */
  readonly secret?: true;
  /** Throws `Wrong`. */
  readonly read: (text: string) => Value;
  readonly unset?: Value;
};

export const variable = <Value>(definition: Variable<Value>): Variable<Value> => definition;
