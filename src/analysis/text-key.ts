import { hash } from 'node:crypto';

/** A text up to this length takes no more memory than its hash, and less time. */
const MAX_LENGTH = 64;

/** Stands for a text of any length where texts are compared: a state over 10,000 pages must not hold theirs. */
export const keyOfText = (text: string): string => (text.length <= MAX_LENGTH ? text : hash('sha256', text));
