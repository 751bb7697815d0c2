// Calls to the REST API of this server. The session is an HttpOnly cookie, which scripts cannot read.

const HEADERS = { "X-Remloom": "1", Accept: "application/json" };
const listeners = new Set();

// What a request was refused with: `detail` says what was wrong, `remedy` what would be right.
export class Problem extends Error {
  constructor(status, { title = "", detail = "", remedy = "", error = "" } = {}) {
    super(detail || title || `The server answered ${status}.`);
    Object.assign(this, { status, remedy, name: error || title || "Problem" });
  }
}

// Call `listener` when the session has ended.
export function onSignedOut(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const get = (path, values) => request("GET", path + queryOf(values));
export const post = (path, values = {}) => request("POST", path, { json: values });
export const remove = (path, values) => request("DELETE", path + queryOf(values));
export const segment = encodeURIComponent;

// Send files; `told` gets how many texts of them are done, and of how many.
export function upload(path, files, told) {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  return follow(path, { body: form }, told);
}

// Do a long operation: `told` gets what it reports on its way, and the promise its value.
export const stream = (path, values, told) => follow(path, { json: values }, told);

async function follow(path, content, told = () => {}) {
  const response = await send("POST", path, { ...content, headers: { Accept: "text/event-stream" } });
  if (!(response.headers.get("content-type") || "").includes("text/event-stream")) {
    return valueOf(response);
  }
  let result = null;
  for await (const { event, data } of eventsOf(response.body)) {
    if (event === "progress") told(...[].concat(JSON.parse(data)));
    if (event === "result") result = { value: JSON.parse(data) };
    if (event === "error") {
      const problem = JSON.parse(data);
      throw new Problem(problem.status, problem);
    }
  }
  if (!result) throw new Problem(0, { detail: "The connection ended before the result came." });
  return result.value;
}

async function request(method, path, options = {}) {
  return valueOf(await send(method, path, options));
}

async function send(method, path, { json, body, headers = {} } = {}) {
  const all = { ...HEADERS, ...headers };
  if (json !== undefined) all["Content-Type"] = "application/json";
  const sent = json === undefined ? body : JSON.stringify(json);
  let response;
  try {
    response = await fetch(path, { method, headers: all, body: sent, credentials: "same-origin" });
  } catch {
    throw new Problem(0, {
      detail: "The server cannot be reached.",
      remedy: "Look whether `remloom serve` is running, then try again.",
    });
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && path !== "/v1/session") listeners.forEach((listener) => listener());
  throw new Problem(response.status, problem);
}

async function valueOf(response) {
  if (response.status === 204) return null;
  // a page of a proxy, to sign in or to wait, is no value
  const isJson = (response.headers.get("content-type") || "").includes("json");
  if (response.status !== 200 || response.redirected || !isJson) {
    throw new Problem(response.status, { detail: "Something else than Remloom answered." });
  }
  return response.json();
}

function queryOf(values = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of [].concat(value)) {
      if (one !== undefined && one !== "") query.append(name, one);
    }
  }
  return query.size ? `?${query}` : "";
}

// Give the events of a stream of server-sent events as they come.
async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r\n", "\n");
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) yield eventOf(block);
  }
}

function eventOf(block) {
  const found = { event: "message", data: "" };
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) found.event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  found.data = data.join("\n");
  return found;
}
