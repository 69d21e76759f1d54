// Stands after the text of harness.mjs, and of kernel.mjs, in the files that sandboxes have:
// how code that lies in a file finds what it imports.

async function importFrom(file, name, attributes) {
  const target = await resolve(file, name);
  const json = /^file:[^?#]*\.json$/.test(target) ? { type: "json" } : {};
  try {
    return await import(target, { with: { ...json, ...attributes } });
  } catch (error) {
    if (error?.code === "ERR_MODULE_NOT_FOUND") {
      const here = `imported from ${fileURLToPath(import.meta.url)}`;
      for (const key of ["stack", "message"]) error[key] = error[key].replace(here, `imported from ${file}`);
    }
    throw error;
  }
}

async function resolve(file, name) {
  const base = pathToFileURL(file).href;
  if (isBuiltin(name)) return name;
  if (/^(\.{0,2}\/|[a-z]+:)/i.test(name)) return new URL(name, base).href;
  try {
    return await import.meta.resolve(name, base);
  } catch (error) {
    return await elsewhere(name, base, error);
  }
}

// elsewhere looks in NODE_PATH, which import does not.
async function elsewhere(name, base, error) {
  for (const dir of (process.env.NODE_PATH ?? "").split(":").filter((dir) => dir.endsWith("/node_modules"))) {
    try {
      return await import.meta.resolve(name, pathToFileURL(path.join(dir, "../main.js")).href);
    } catch {
      // the next one may have it
    }
  }
  try {
    return pathToFileURL(createRequire(base).resolve(name)).href;
  } catch {
    throw error;
  }
}
