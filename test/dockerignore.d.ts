declare module '@balena/dockerignore' {
  type Ignore = { add(patterns: string): Ignore; filter(paths: readonly string[]): string[] };
  export default function dockerignore(): Ignore;
}
