import { isFinal, type Snapshot } from '#domain/snapshot.ts';
import type { Topic } from './bus.ts';

export const nameOf = (topic: Topic): string => (topic.kind === 'queued' ? 'queued' : `${topic.kind}:${topic.id}`);

/** The names of the topics that hear of the snapshot. */
export function topicsOf(snapshot: Snapshot): string[] {
  const topics = [nameOf({ kind: 'crawl', id: snapshot.id }), nameOf({ kind: 'organization', id: snapshot.organizationId })];
  if (snapshot.phase === 'queued' && !isFinal(snapshot)) topics.push(nameOf({ kind: 'queued' }));
  return topics;
}
