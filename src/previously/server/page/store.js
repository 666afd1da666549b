// Values that several parts of the page watch, and the hooks that read them.
import { useEffect, useState, useRef } from "./preact.js";
import { connection, isGone } from "./api.js";

/**
 * A value that can be watched.
 * @template T
 * @typedef {{ get: () => T, set: (value: T) => void, watch: (hear: (value: T) => void) => () => void }} Store
 */

/**
 * Return the value of a store, and draw anew when it changes.
 * @template T
 * @param {Store<T>} store
 * @returns {T}
 */
export function useStore(store) {
  const [value, setValue] = useState(store.get);
  useEffect(() => { setValue(store.get); return store.watch(setValue); }, [store]);
  return value;
}

/** @type {Map<string, Set<(detail?: any) => void>>} */
const listeners = new Map();

/**
 * Tell all who listen that something changed; `subject` is `story:NAME`, or `stories`.
 * @param {string} subject
 * @param {any} [detail]
 */
export function announce(subject, detail) {
  for (const hear of [...(listeners.get(subject) ?? [])]) hear(detail);
}

/** Tell all who show a story, or the list of them, that anything may have changed. */
export function announceAll() {
  for (const subject of [...listeners.keys()]) if (subject.startsWith("stor")) announce(subject);
}

/**
 * Call `hear` whenever something of this subject changed; return what ends that.
 * @param {string} subject
 * @param {(detail?: any) => void} hear
 * @returns {() => void}
 */
export function listen(subject, hear) {
  const known = listeners.get(subject) ?? new Set();
  listeners.set(subject, known);
  known.add(hear);
  return () => { known.delete(hear); };
}

/**
 * Load something, and again when an input changes, when `subject` was changed, and when the server is back.
 * While it is loaded anew, the data from before stays.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {readonly unknown[]} inputs
 * @param {string} [subject]
 * @returns {{ data: T | undefined, error: any, loading: boolean, reload: () => void }}
 */
export function useLoad(load, inputs, subject) {
  const [state, setState] = useState(/** @type {any} */ ({ data: undefined, error: null, loading: true }));
  const [turn, setTurn] = useState(0);
  const reload = () => setTurn((before) => before + 1);
  const key = JSON.stringify(inputs);
  const before = useRef(key);
  useEffect(() => {
    const stop = new AbortController();
    const fresh = before.current !== key;
    before.current = key;
    setState((/** @type {any} */ old) => ({ data: fresh ? undefined : old.data, error: null, loading: true }));
    load(stop.signal).then(
      (data) => stop.signal.aborted || setState({ data, error: null, loading: false }),
      (error) => stop.signal.aborted || setState((/** @type {any} */ old) =>
        ({ data: isGone(error) ? undefined : old.data, error, loading: false })),
    );
    return () => stop.abort();
  }, [key, turn]);
  useEffect(() => (subject ? listen(subject, reload) : undefined), [subject]);
  const wasAway = useRef(false);
  useEffect(() => connection.watch((now) => {
    if (now === "away") wasAway.current = true;
    else if (wasAway.current) { wasAway.current = false; reload(); }
  }), []);
  return { ...state, reload };
}

/**
 * Keep a small choice of the reader (a tab, a way to show things) in this browser.
 * @template T
 * @param {string} name
 * @param {T} initial
 * @returns {[T, (value: T) => void]}
 */
export function useKept(name, initial) {
  const [value, setValue] = useState(() => {
    try { return JSON.parse(localStorage.getItem(`previously:${name}`) ?? "null") ?? initial; } catch { return initial; }
  });
  return [value, (/** @type {T} */ next) => {
    setValue(next);
    try { localStorage.setItem(`previously:${name}`, JSON.stringify(next)); } catch { /* a private window keeps nothing */ }
  }];
}
