import { hash } from 'node:crypto';

/** Stands for a text of any length where texts are compared: a state over 10,000 pages must not hold theirs. */
export const keyOfText = (text: string): string => hash('sha256', text, 'base64url');
