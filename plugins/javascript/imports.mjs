// Stands after the text of harness.mjs, and of kernel.mjs, in the files that sandboxes have:
// how code that lies in a file finds what it imports.

// importFrom imports the module that a file names. The URL of it may be changed before. What import does not find,
// since an extension is missing, require may find.
async function importFrom(file, name, attributes, change = (url) => url) {
  try {
    return await importURL(change(await resolve(file, name)), attributes);
  } catch (error) {
    if (error?.code !== "ERR_MODULE_NOT_FOUND" && error?.code !== "ERR_UNSUPPORTED_DIR_IMPORT") throw error;
    const other = asRequired(file, name);
    if (other !== null) return await importURL(change(other), attributes);
    const here = `imported from ${fileURLToPath(import.meta.url)}`;
    for (const key of ["stack", "message"]) error[key] = error[key].replace(here, `imported from ${file}`);
    throw error;
  }
}

function importURL(url, attributes) {
  const json = /^file:[^?#]*\.json([?#]|$)/.test(url) ? { type: "json" } : {};
  return import(url, { with: { ...json, ...attributes } });
}

// asRequired returns the URL of a file that require finds by a name with no extension, or null.
function asRequired(file, name) {
  if (path.extname(name) !== "" || /^[a-z]+:/i.test(name)) return null;
  try {
    const found = createRequire(file).resolve(name);
    return isBuiltin(found) ? null : pathToFileURL(found).href;
  } catch {
    return null;
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
