/** Gathers the keys that are asked for until the caller's turn is over, then reads them at once, each once. */
export function createBatch<Key, Value>(
  read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let gathered: { readonly keys: Set<Key>; readonly answer: Promise<ReadonlyMap<Key, Value>> } | null = null;

  function gather() {
    const keys = new Set<Key>();
    const answer = Promise.resolve().then(() => {
      gathered = null;
      return read([...keys]);
    });
    return { keys, answer };
  }

  return async (key) => {
    gathered ??= gather();
    gathered.keys.add(key);
    return (await gathered.answer).get(key);
  };
}
