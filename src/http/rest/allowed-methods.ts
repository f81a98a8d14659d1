import { Refusal } from '#domain/errors.ts';

type Route = { readonly method: string; readonly path: string };

/** Whether `path` fits a template such as `/v1/crawls/{id}`. */
function fits(template: string, path: string): boolean {
  const wanted = template.split('/');
  const parts = path.split('/');
  return wanted.length === parts.length && wanted.every((part, at) => part === parts[at] || (part.startsWith('{') && parts[at] !== ''));
}

/** What `path` may be asked with, HEAD wherever GET is; empty when no route has it. */
function allowedMethods(routes: readonly Route[], path: string): string[] {
  const methods = routes.filter((route) => fits(route.path, path)).map((route) => route.method.toUpperCase());
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}

/** What is wrong with a request that no route has taken. */
export function refusalOf(routes: readonly Route[], method: string, path: string, nothing = 'There is nothing at this address.'): Refusal {
  const allow = allowedMethods(routes, path);
  if (allow.length === 0) return new Refusal('not_found', nothing);
  return new Refusal('method_not_allowed', `${method} is not known here.`, { allow });
}
