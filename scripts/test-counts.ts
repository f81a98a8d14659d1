import { readFileSync } from 'node:fs';

// Prints "N passed, N failed" of a vitest JSON report, whose path is the argument. A file that could not even be loaded has no
// tests to count, and counts as one failure; so does a run that failed for another reason, such as an unhandled error.
type Report = {
  success: boolean;
  numPassedTests: number;
  numFailedTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
};

const report = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Report;
const unloaded = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.every((result) => result.status !== 'failed'),
).length;
const failed = report.numFailedTests + unloaded;
const counted = failed === 0 && !report.success ? 1 : failed;
process.stdout.write(`${report.numPassedTests} passed, ${counted} failed\n`);
process.exitCode = counted === 0 ? 0 : 1;
