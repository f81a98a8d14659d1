type Route = { readonly method: string; readonly path: string };

/** Whether `path` fits a template such as `/v1/crawls/{id}`. */
function fits(template: string, path: string): boolean {
  const wanted = template.split('/');
  const parts = path.split('/');
  return wanted.length === parts.length && wanted.every((part, at) => part === parts[at] || (part.startsWith('{') && parts[at] !== ''));
}

/** What `path` may be asked with, HEAD wherever GET is; empty when no route has it. */
export function allowedMethods(routes: readonly Route[], path: string): string[] {
  const methods = routes.filter((route) => fits(route.path, path)).map((route) => route.method.toUpperCase());
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}
