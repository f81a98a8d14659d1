/** The most records that one step of a removal takes: it holds up other writes for a few milliseconds. */
export const STEP = 500;
/** Of crawls, which stand in more than ten indexes each. */
export const CRAWLS_STEP = 50;
