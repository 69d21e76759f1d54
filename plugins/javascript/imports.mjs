// A part of harness.mjs and of kernel.mjs in sandboxes, as its text is joined to theirs: it resolves
// the imports of code in a file.

// importFrom imports the module that a file names. change may replace its URL. A name without an
// extension, which import does not find, is looked up as require does.
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
  if (/^file:[^?#]*\.m?js([?#]|$)/.test(url) && !url.includes("/node_modules/")) lookElsewhere();
  const json = /^file:[^?#]*\.json([?#]|$)/.test(url) ? { type: "json" } : {};
  return import(url, { with: { ...json, ...attributes } });
}

// asRequired returns the URL of the file that require finds by a name without an extension, or null.
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
  for (const parent of packageParents()) {
    try {
      return await import.meta.resolve(name, parent);
    } catch {
      // the next directory may have it
    }
  }
  try {
    return pathToFileURL(createRequire(base).resolve(name)).href;
  } catch {
    throw error;
  }
}

// packageParents returns the URLs from which import finds the packages in NODE_PATH.
function packageParents() {
  return (process.env.NODE_PATH ?? "").split(":").filter((dir) => dir.endsWith("/node_modules") && hasPackages(dir))
    .map((dir) => pathToFileURL(path.join(dir, "../main.js")).href);
}

function hasPackages(dir) {
  try {
    return fs.readdirSync(dir).length > 0;
  } catch {
    return false;
  }
}

// lookElsewhere makes ES modules in files find the present packages of NODE_PATH, if Node supports it.
// Node starts a slow thread for it, so it waits for the first package.
function lookElsewhere() {
  const parents = packageParents();
  if (parents.join() === resolver.parents.join() || !Module.register) return;
  resolver.port ??= startResolver();
  resolver.port.postMessage(parents);
  resolver.parents = parents;
}

const resolver = { port: null, parents: [] }; // the thread's port, and the list that it got last

function startResolver() {
  const hook = `import { receiveMessageOnPort } from "node:worker_threads";
  let [port, parents] = [null, []];
  export function initialize(given) {
    port = given;
  }
  export async function resolve(name, context, next) {
    try {
      return await next(name, context);
    } catch (error) {
      if (error.code !== "ERR_MODULE_NOT_FOUND" || /^(\\.{0,2}\\/|[a-z]+:)/i.test(name)) throw error;
      for (let told; (told = receiveMessageOnPort(port)); ) parents = told.message;
      for (const parentURL of parents) {
        try {
          return await next(name, { ...context, parentURL });
        } catch {}
      }
      throw error;
    }
  }`;
  const { MessageChannel } = createRequire(import.meta.url)("node:worker_threads"); // loaded only with the thread
  const { port1, port2 } = new MessageChannel();
  Module.register("data:text/javascript," + encodeURIComponent(hook), { data: port2, transferList: [port2] });
  // The thread writes to these. By Node's default, writeSync fails if one is full.
  for (const stream of [process.stdout, process.stderr]) stream._handle?.setBlocking?.(true);
  return port1;
}
