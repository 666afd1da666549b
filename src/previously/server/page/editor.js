// A text that is edited in place. What is not saved yet is kept in this tab, with the key that its save carries, so
// that neither a reload nor a server that goes away loses a word or saves it twice.
import { html, useState, useEffect, useLayoutEffect, useRef, useId } from "./preact.js";
import { Away, connection, isConflict, makeKey } from "./api.js";
import { useStore } from "./store.js";
import { Button } from "./ui.js";
import { WordDiff } from "./diff.js";

/**
 * @typedef {object} Draft
 * @property {string} text
 * @property {string} version  the version that it was begun from
 * @property {string} key  of the save that is under way or failed; "" before the first
 * @property {string[]} tried  texts that were sent without an answer: the server may have them
 */

const PREFIX = "previously:draft:";

/** Return the unsaved text of this name, null if there is none. @param {string} id @returns {Draft | null} */
export function keptDraft(id) {
  try { return JSON.parse(sessionStorage.getItem(PREFIX + id) ?? "null"); } catch { return null; }
}

/** @param {string} id @param {Draft | null} draft */
function keepDraft(id, draft) {
  try {
    if (draft) sessionStorage.setItem(PREFIX + id, JSON.stringify(draft));
    else sessionStorage.removeItem(PREFIX + id);
  } catch { /* no room: the text is still in the box */ }
}

/**
 * A box for a text, with Save and Cancel. `select`: words that are marked at first.
 *
 * `save(text, { key, version })` saves it; a 412 leads to a choice between both texts, for which `fresh()` returns
 * what is there now.
 * @param {{ id: string, text: string, version?: string, label: string, rows?: number, action?: string, plain?: boolean,
 *   placeholder?: string, select?: string, save: (text: string, options: { key: string, version: string }) => Promise<unknown>,
 *   fresh?: () => Promise<{ text: string, version: string }>, onDone: (saved: boolean) => void, children?: any }} props
 */
export function TextEditor({ id, text, version = "", label, rows = 3, action = "Save", plain, placeholder, select, save, fresh, onDone, children }) {
  const kept = useRef(keptDraft(id));
  const [now, setNow] = useState(kept.current?.text ?? text);
  const draft = useRef(/** @type {Draft} */ (kept.current ?? { text, version, key: "", tried: [] }));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const [theirs, setTheirs] = useState(/** @type {{ text: string, version: string } | null} */ (null));
  const box = useRef(/** @type {any} */ (null));
  const boxId = useId();
  const there = useStore(connection);
  const waiting = useRef(false);

  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [now, theirs]);
  useEffect(() => {
    const at = select ? now.indexOf(select) : -1;
    if (at >= 0) box.current?.setSelectionRange(at, at + /** @type {string} */ (select).length);
    box.current?.focus({ preventScroll: at < 0 });
    if (at >= 0) return;
    if (box.current.scrollHeight > box.current.clientHeight + 4) box.current.setSelectionRange(0, 0); // of a long text one sees the beginning
    box.current.scrollIntoView({ block: "nearest" });
  }, []);
  useEffect(() => { if (there === "here" && waiting.current) store(); }, [there]);

  const write = (/** @type {string} */ next) => {
    setNow(next);
    // Another text is another change: the key of the last try is not for it.
    draft.current = { ...draft.current, text: next, key: "" };
    keepDraft(id, next === text && !draft.current.tried.length ? null : draft.current);
  };

  const finish = (/** @type {boolean} */ saved) => { waiting.current = false; keepDraft(id, null); onDone(saved); };

  async function store() {
    const mine = draft.current;
    if (busy || !mine.text.trim()) return;
    waiting.current = false;
    mine.key ||= makeKey();
    if (!mine.tried.includes(mine.text)) mine.tried = [...mine.tried, mine.text];
    keepDraft(id, mine);
    setBusy(true);
    setError("");
    try {
      await save(mine.text, { key: mine.key, version: mine.version });
      finish(true);
      return;
    } catch (problem) {
      if (problem instanceof Away) { waiting.current = true; setError("The server cannot be reached. Your text is kept here and is saved as soon as it is back."); }
      else if (isConflict(problem) && fresh) await meet(mine);
      else { mine.key = ""; mine.tried = mine.tried.filter((one) => one !== mine.text); keepDraft(id, mine); setError(String(/** @type {any} */ (problem)?.message ?? problem)); }
    }
    setBusy(false);
  }

  /** Somebody changed the text meanwhile: unless that was our own earlier try, show both. @param {Draft} mine */
  async function meet(mine) {
    try {
      const other = await /** @type {any} */ (fresh)();
      if (other.text === mine.text) { finish(true); return; }
      draft.current = { ...mine, version: other.version, key: "" };
      keepDraft(id, draft.current);
      if (mine.tried.includes(other.text)) { setBusy(false); setTimeout(store); } else setTheirs(other);
    } catch (problem) { setError(String(/** @type {any} */ (problem)?.message ?? problem)); }
  }

  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); store(); }
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); if (now === text) finish(false); }
  };

  if (theirs) {
    return html`<section class="editor conflict" aria-label="Two texts">
      <p role="alert"><b>Somebody else changed this while you wrote.</b> Choose which text stays; the other remains in its history.</p>
      <div class="both">
        <div><h3>Theirs</h3><div class="story-text">${theirs.text}</div></div>
        <div><h3>Yours</h3><div class="story-text">${now}</div></div>
      </div>
      <details><summary>Word by word, from theirs to yours</summary><${WordDiff} before=${theirs.text} after=${now} /></details>
      <div class="actions">
        <${Button} kind="quiet" onClick=${() => finish(false)}>Keep theirs<//>
        <${Button} onClick=${() => setTheirs(null)}>Edit mine further<//>
        <${Button} kind="main" onClick=${() => { setTheirs(null); return store(); }}>Keep mine<//>
      </div>
    </section>`;
  }
  return html`<div class="editor">
    <label class="quiet-label" for=${boxId}>${label}</label>
    ${kept.current && kept.current.text !== text && html`<p class="faint" role="status">Your unsaved text from before is here again.</p>`}
    <textarea id=${boxId} ref=${box} rows=${rows} class=${plain ? "" : "story-text"} value=${now} placeholder=${placeholder} dir="auto"
      onInput=${(/** @type {any} */ event) => write(event.target.value)} onKeyDown=${onKeyDown} aria-describedby=${`${boxId}-error`}></textarea>
    ${children}
    <p id=${`${boxId}-error`} class="error" role="alert">${error}</p>
    <div class="actions">
      <span class="faint hint">Ctrl+Enter saves</span>
      <${Button} kind="quiet" onClick=${() => finish(false)}>${now === text ? "Close" : "Throw my text away"}<//>
      <${Button} kind="main" disabled=${busy || !now.trim()} onClick=${store}>${busy ? "Saving …" : action}<//>
    </div>
  </div>`;
}
