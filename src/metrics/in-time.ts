/** What `answer` resolves to; null when it has not within `ms`, or rejects. Never rejects. */
export async function inTime<Value>(answer: Promise<Value>, ms: number): Promise<Value | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([answer, late.promise]);
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}
