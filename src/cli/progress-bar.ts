import type { SingleBar } from 'cli-progress';

/** A bar for a terminal, not started yet; `format` is cli-progress's. */
export async function createProgressBar(stream: NodeJS.WritableStream, format: string): Promise<SingleBar> {
  // Loaded here, for few commands need it.
  const { default: progress } = await import('cli-progress');
  return new progress.SingleBar({
    stream,
    format: `{bar} ${format}`,
    barsize: 30,
    etaBuffer: 100,
    // Signals are dealt with in one place.
    gracefulExit: false,
  });
}
