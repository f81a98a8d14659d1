/** What one request, one document and one socket may ask for. */
export type GraphqlLimits = {
  /** Of a request's body and of a WebSocket message, in bytes. */
  readonly maxBodyBytes: number;
  readonly maxTokens: number;
  /** Fields of one name in a document: validation compares each with each. */
  readonly maxRepeats: number;
  /** Levels of fields, introspection left out (it has its own bound in the specified rules). */
  readonly maxDepth: number;
  readonly maxAliases: number;
  /** A field with a selection costs 1; what is below a connection counts as many times as items are asked for. */
  readonly maxCost: number;
  readonly introspection: boolean;
  /** WebSockets of this process, and of one API key. */
  readonly maxSockets: number;
  readonly maxSocketsPerKey: number;
  /** Operations under way at once on one socket. */
  readonly maxOperationsPerSocket: number;
  /** Of the document of a subscription on a WebSocket, which is kept for as long as it runs, in characters. */
  readonly maxSubscriptionLength: number;
  /**
   * Different subscriptions under way on WebSockets, of this process and of one API key, in characters: query, variables, and 1,000 for
   * each. Those that are the same are one.
   */
  readonly maxSubscriptionSize: number;
  readonly maxSubscriptionSizePerKey: number;
  /** Subscriptions by server-sent events, of this process and of one API key. */
  readonly maxStreams: number;
  readonly maxStreamsPerKey: number;
};

export const DEFAULT_LIMITS: GraphqlLimits = {
  maxBodyBytes: 100 * 1024,
  maxTokens: 2_000,
  maxRepeats: 50,
  maxDepth: 10,
  maxAliases: 50,
  maxCost: 2_000,
  introspection: true,
  maxSockets: 20_000,
  maxSocketsPerKey: 5_000,
  maxOperationsPerSocket: 100,
  maxSubscriptionLength: 10_000,
  maxSubscriptionSize: 50_000_000,
  maxSubscriptionSizePerKey: 10_000_000,
  maxStreams: 10_000,
  maxStreamsPerKey: 1_000,
};
