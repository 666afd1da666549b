// The client of `/api/v1`: the only place of the page that asks the server.
//
// A refusal is a `Problem` with a sentence for people. No answer at all is an `Away`: then the page says so and asks
// until the server is back. A change carries a key, so that one sent twice happens once.

export const BASE = "/api/v1";

/** The server refused: `message` is a sentence for people, `status` the number, `body` all that it said. */
export class Problem extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body?.detail || body?.title || `The server answered ${status}.`);
    this.status = status;
    this.body = body ?? {};
  }
}

/** The server cannot be reached: nothing is known of what became of the request. */
export class Away extends Error {
  constructor() { super("The server cannot be reached. What you wrote is kept here; it is tried again."); }
}

/** @param {unknown} error */
export const isConflict = (error) => error instanceof Problem && error.status === 412;
/** @param {unknown} error */
export const isGone = (error) => error instanceof Problem && (error.status === 404 || error.status === 401);

/**
 * @template T
 * @param {T} value
 * @returns {import("./store.js").Store<T>}
 */
export function makeStore(value) {
  /** @type {Set<(value: T) => void>} */
  const watchers = new Set();
  return {
    get: () => value,
    set: (next) => { if (next !== value) { value = next; for (const hear of [...watchers]) hear(next); } },
    watch: (hear) => { watchers.add(hear); return () => { watchers.delete(hear); }; },
  };
}

/** `here`, or `away` while the server does not answer. @type {import("./store.js").Store<"here" | "away">} */
export const connection = makeStore(/** @type {"here" | "away"} */ ("here"));
/** True when the server asks for a key that this browser has not given. */
export const keyWanted = makeStore(false);

/** Ask whether the server is there, where that is in doubt: if it is not, the page says so and asks until it is. */
export async function checkServer() {
  try { await fetch("/healthz", { cache: "no-store" }); } catch { noteAway(); }
}

const PROBE_MS = 1000; // soon enough that a restart is hardly noticed, seldom enough to cost nothing
let probing = false;

function noteAway() {
  connection.set("away");
  if (probing) return;
  probing = true;
  const probe = async () => {
    try {
      const answer = await fetch("/healthz", { cache: "no-store" });
      if (answer.ok) { probing = false; connection.set("here"); return; }
    } catch { /* still away */ }
    setTimeout(probe, PROBE_MS);
  };
  setTimeout(probe, PROBE_MS);
}

/** Return a key for one change; the same change sent again carries the same key. */
export function makeKey() {
  // Not randomUUID: browsers have it only on loopback and over TLS.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The path of a story's things: `storyPath("A tale", "memories", "recap")`.
 * @param {string} name
 * @param {...(string | number)} rest
 */
export function storyPath(name, ...rest) {
  return ["/stories", name, ...rest].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
}

/**
 * @typedef {object} Options
 * @property {Record<string, unknown>} [query]  left out where undefined, null or ""
 * @property {unknown} [body]
 * @property {Blob} [file]  sent as it is, in place of a body
 * @property {string} [version]  the ETag that the change is based on (`If-Match`)
 * @property {string} [key]  the idempotency key; made if none is given
 * @property {AbortSignal} [signal]
 * @property {string} [accept]
 */

/**
 * Ask, and return the response; `Problem` or `Away` otherwise.
 * @param {string} method
 * @param {string} path  below `/api/v1`
 * @param {Options} [options]
 * @returns {Promise<Response>}
 */
export async function ask(method, path, options = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "") query.append(name, String(each));
    }
  }
  /** @type {Record<string, string>} */
  const headers = { accept: options.accept ?? "application/json" };
  if (options.version) headers["if-match"] = options.version.startsWith('"') ? options.version : `"${options.version}"`;
  if (method !== "GET") headers["idempotency-key"] = options.key ?? makeKey();
  const hasBody = method === "POST" || method === "PUT" || method === "PATCH";
  if (hasBody) headers["content-type"] = options.file ? "application/octet-stream" : "application/json";
  let answer;
  try {
    answer = await fetch(`${BASE}${path}${query.size ? `?${query}` : ""}`, {
      method, headers, signal: options.signal ?? null, credentials: "same-origin", cache: "no-store",
      ...(hasBody ? { body: options.file ?? JSON.stringify(options.body ?? {}) } : {}),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    noteAway();
    throw new Away();
  }
  connection.set("here");
  if (answer.ok) return answer;
  if (answer.status === 401) keyWanted.set(true);
  throw new Problem(answer.status, await answer.json().catch(() => null));
}

/** Answers that were asked for before anybody wanted them, by address. @type {Map<string, Promise<any>>} */
const early = new Map();

/** Ask for something that will be wanted as soon as the page is drawn. @param {string} path @param {Record<string, unknown>} [query] */
export function askEarly(path, query) {
  const asked = JSON.stringify([path, query]);
  const answer = get(path, query);
  answer.catch(() => early.delete(asked)); // whoever wants it asks by themselves, and hears why
  early.set(asked, answer);
  setTimeout(() => early.delete(asked), EARLY_MS);
}
const EARLY_MS = 5000; // later it is no first load any more, and stories may have changed

/**
 * Read something.
 * @param {string} path
 * @param {Record<string, unknown>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, query, signal) {
  const asked = JSON.stringify([path, query]);
  const answer = early.get(asked);
  if (answer) { early.delete(asked); return answer; }
  return (await ask("GET", path, { query, signal })).json();
}

const PAUSES_MS = [300, 1000, 2500]; // three tries more in four seconds: longer, and a person wants to know

/**
 * Change something: sent again with the same key while there is no answer, so that it happens once.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Options & { tries?: number }} [options]
 * @returns {Promise<any>}
 */
export async function send(method, path, body, options = {}) {
  const whole = { ...options, body, key: options.key ?? makeKey() };
  for (let at = 0; ; at += 1) {
    try {
      const answer = await ask(method, path, whole);
      const text = await answer.text();
      return text ? JSON.parse(text) : null;
    } catch (error) {
      if (!(error instanceof Away) || at >= (options.tries ?? PAUSES_MS.length)) throw error;
      await new Promise((wake) => setTimeout(wake, PAUSES_MS[at]));
    }
  }
}

/**
 * Follow server-sent events until the stream ends; `hear` gets the name of each event and its data.
 * @param {string} method
 * @param {string} path
 * @param {Options} options
 * @param {(name: string, data: any) => void} hear
 */
export async function follow(method, path, options, hear) {
  const answer = await ask(method, path, { ...options, accept: "text/event-stream" });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    let piece;
    try { piece = await reader.read(); } catch (error) {
      if (options.signal?.aborted) return;
      noteAway();
      throw new Away();
    }
    rest += decoder.decode(piece.value, { stream: !piece.done });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      let name = "message";
      const lines = [];
      for (const line of block.split(/\r?\n/)) {
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) lines.push(line.slice(5).replace(/^ /, ""));
      }
      if (lines.length) {
        const text = lines.join("\n");
        let data;
        try { data = JSON.parse(text); } catch { data = text; }
        hear(name, data);
      }
    }
    if (piece.done) return;
  }
}
