/** Imports a package that may not be installed. A bundler that could read its name would look for it, and stop. */
export function importNamed<Module>(name: string): Promise<Module> {
  return import(name) as Promise<Module>
}
