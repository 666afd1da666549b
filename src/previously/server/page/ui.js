// The parts that every screen is made of: buttons, dialogs, notices, tabs, states, the budget bar.
import { html, useState, useEffect, useLayoutEffect, useRef, useId } from "./preact.js";
import { makeStore, Away } from "./api.js";
import { useStore } from "./store.js";

export { TextEditor, keptDraft } from "./editor.js";
export { WordDiff } from "./diff.js";

// Words and numbers

/** @param {number} count @param {string} noun @param {string} [plural] */
export const counted = (count, noun, plural) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : plural ?? `${noun}s`}`;

/** Tell whether no message has a word of what was searched for, and nobody picked one. @param {any[]} hits */
export const isOnlyAlike = (hits) => hits.length > 0 && hits.every((hit) => hit.only_alike && !hit.picked);
/** Say what a search found, as the command line does. @param {any[]} hits */
export const sayFound = (hits) => (isOnlyAlike(hits) ? "No message has these words. Nearest in meaning:" : counted(hits.length, "passage"));

/** @param {string | null | undefined} at  a time in ISO form */
export function sayWhen(at) {
  if (!at) return "";
  const then = new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(at) ? at : `${at}Z`);
  if (Number.isNaN(then.getTime())) return at;
  const minutes = Math.round((Date.now() - then.getTime()) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${counted(minutes, "minute")} ago`;
  if (minutes < 60 * 24) return `${counted(Math.round(minutes / 60), "hour")} ago`;
  if (minutes < 60 * 24 * 14) return `${counted(Math.round(minutes / 1440), "day")} ago`;
  return then.toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" });
}

/** A moment, in words, with the exact one for whoever asks. @param {{ at?: string | null }} props */
export const When = ({ at }) => (at ? html`<time datetime=${at} title=${at}>${sayWhen(at)}</time>` : null);

const STARRED = /(\*\*\*[^*\n]+\*\*\*|\*\*[^*\n]+\*\*|\*[^*\n]+\*)/;

/** Words between asterisks lean, and are bold between two, as their writers mean them. @param {string} text */
export const emphasise = (text) => text.split(STARRED).map((piece, at) => {
  if (at % 2 === 0) return piece;
  if (piece.startsWith("***")) return html`<strong><em>${piece.slice(3, -3)}</em></strong>`;
  return piece.startsWith("**") ? html`<strong>${piece.slice(2, -2)}</strong>` : html`<em>${piece.slice(1, -1)}</em>`;
});

/** The same words without the asterisks, for passages that begin or end anywhere. @param {string} text */
export const withoutStars = (text) => text.replace(/\*+/g, "");

// Notices

/**
 * @typedef {{ id: number, text: string, kind: "note" | "bad", action?: string, run?: () => unknown }} Toast
 * @type {import("./store.js").Store<Toast[]>}
 */
const toasts = makeStore(/** @type {Toast[]} */ ([]));
let lastToast = 0;
const TOAST_MS = 8000; // long enough to read a sentence and to reach for Undo
const BAD_TOAST_MS = 15000;

/**
 * Say something at the edge of the page, with one thing to do about it if there is one.
 * @param {string} text
 * @param {{ kind?: "note" | "bad", action?: string, run?: () => unknown }} [options]
 */
export function toast(text, { kind = "note", action, run } = {}) {
  const made = { id: (lastToast += 1), text, kind, action, run };
  toasts.set([...toasts.get().filter((one) => one.text !== text).slice(-2), made]);
  setTimeout(() => dismissToast(made.id), kind === "bad" ? BAD_TOAST_MS : TOAST_MS);
}

/** @param {number} id */
const dismissToast = (id) => toasts.set(toasts.get().filter((one) => one.id !== id));

/** Say what went wrong, in its own sentence. @param {any} error */
export function sayError(error) {
  if (error?.name === "AbortError") return;
  toast(String(error?.message ?? error), { kind: "bad" });
}

/** The notices: one list that screen readers read out. */
export function Toasts() {
  const shown = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map((one) => html`<div class=${`toast ${one.kind}`} key=${one.id}>
      <span>${one.text}</span>
      ${one.action && html`<${Button} kind="link" onClick=${async () => { dismissToast(one.id); await one.run?.(); }}>${one.action}<//>`}
      <button class="icon" aria-label="Close this notice" onClick=${() => dismissToast(one.id)}>×</button>
    </div>`)}
  </div>`;
}

// Buttons and links

/**
 * A button. While what it does is under way it cannot be pressed again; what goes wrong is said.
 * @param {{ kind?: "plain" | "main" | "quiet" | "link" | "danger", onClick?: (event: any) => unknown, children?: any,
 *   disabled?: boolean, [name: string]: any }} props
 */
export function Button({ kind = "plain", onClick, children, disabled, class: extra = "", ...rest }) {
  const [busy, setBusy] = useState(false);
  const there = useRef(true);
  useEffect(() => () => { there.current = false; }, []);
  const press = async (/** @type {any} */ event) => {
    if (busy) return;
    try {
      const doing = onClick?.(event);
      if (doing instanceof Promise) { setBusy(true); await doing; }
    } catch (error) { sayError(error); } finally { if (there.current) setBusy(false); }
  };
  return html`<button type="button" class=${`button ${kind} ${extra}`} disabled=${disabled} aria-busy=${busy ? "true" : null}
    onClick=${press} ...${rest}>${children}</button>`;
}

/** A menu behind a small button: `items` are `{ label, run, danger }`. @param {{ label: string, items: any[], children?: any }} props */
export function Menu({ label, items, children }) {
  const details = useRef(/** @type {any} */ (null));
  const close = () => { if (details.current) details.current.open = false; };
  useEffect(() => {
    const away = (/** @type {any} */ event) => { if (details.current && !details.current.contains(event.target)) close(); };
    document.addEventListener("click", away);
    return () => document.removeEventListener("click", away);
  }, []);
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key !== "Escape") return;
    close();
    details.current.querySelector("summary").focus();
  };
  return html`<details class="menu" ref=${details} onKeyDown=${onKeyDown}>
    <summary class="icon" aria-label=${label} title=${label}>${children ?? "⋯"}</summary>
    <div class="menu-items">
      ${items.filter(Boolean).map((item) => html`<${Button} kind=${item.danger ? "danger quiet" : "quiet"} disabled=${item.disabled}
        onClick=${() => { close(); return item.run(); }}>${item.label}<//>`)}
    </div>
  </details>`;
}

// Dialogs

/**
 * A dialog over the page; Escape closes it, the keyboard stays in it.
 * @param {{ title: string, onClose: () => void, children?: any, wide?: boolean }} props
 */
export function Dialog({ title, onClose, children, wide }) {
  const element = useRef(/** @type {any} */ (null));
  const heading = useId();
  const [open, setOpen] = useState(false); // what is inside is drawn in an open dialog: it can be measured and focused
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = /** @type {any} */ (document.activeElement);
    dialog.showModal();
    dialog.focus();
    setOpen(true);
    return () => { dialog.close(); before?.focus?.(); }; // while it is open, nothing behind it takes the focus
  }, []);
  useEffect(() => {
    if (open && document.activeElement === element.current) element.current.querySelector("[autofocus], .dialog-body > :not(header) :is(input, textarea, select)")?.focus();
  }, [open]);
  return html`<dialog ref=${element} class=${wide ? "wide" : ""} aria-labelledby=${heading} tabindex="-1"
      onCancel=${(/** @type {any} */ event) => { event.preventDefault(); onClose(); }}
      onClick=${(/** @type {any} */ event) => { if (event.target === element.current) onClose(); }}>
    <div class="dialog-body">
      <header><h2 id=${heading}>${title}</h2>
        <button class="icon" aria-label="Close" onClick=${onClose}>×</button></header>
      ${open && children}
    </div>
  </dialog>`;
}

/** @type {import("./store.js").Store<any>} */
const asked = makeStore(/** @type {any} */ (null));

/**
 * Ask before something that cannot be taken back; true if the person says yes.
 * @param {{ title: string, text: any, action: string, danger?: boolean, wanted?: string }} question  `wanted`: words to type first
 * @returns {Promise<boolean>}
 */
export function confirm(question) {
  return new Promise((answer) => asked.set({ question, answer: (/** @type {boolean} */ yes) => { asked.set(null); answer(yes); } }));
}

/**
 * Ask for one line; null if the person thinks better of it.
 * @param {{ title: string, label: string, value?: string, action?: string, text?: any }} question
 * @returns {Promise<string | null>}
 */
export function prompt(question) {
  return new Promise((answer) => asked.set({
    question: { action: "Save", ...question, line: true },
    answer: (/** @type {string | null} */ text) => { asked.set(null); answer(text || null); },
  }));
}

// Whoever goes elsewhere has not said yes.
addEventListener("hashchange", () => { const current = asked.get(); current?.answer(current.question.line ? null : false); });

/** The place where `confirm` and `prompt` show. */
export function Questions() {
  const current = useStore(asked);
  return current && html`<${Question} key=${current.question.title} ...${current} />`;
}

/** @param {{ question: any, answer: (given: any) => void }} props */
function Question({ question, answer }) {
  const [line, setLine] = useState(question.value ?? "");
  const ready = question.line ? line.trim() : !question.wanted || line.trim() === question.wanted;
  const done = () => ready && answer(question.line ? line.trim() : true);
  return html`<${Dialog} title=${question.title} onClose=${() => answer(question.line ? null : false)}>
    <form onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); done(); }}>
      ${question.text && html`<p>${question.text}</p>`}
      ${(question.line || question.wanted) && html`<label class="field">
        <span>${question.label ?? html`Type <b>${question.wanted}</b> to go on`}</span>
        <input value=${line} onInput=${(/** @type {any} */ event) => setLine(event.target.value)} autofocus />
      </label>`}
      <div class="actions">
        <${Button} kind="quiet" onClick=${() => answer(question.line ? null : false)}>Cancel<//>
        <${Button} kind=${question.danger ? "danger" : "main"} disabled=${!ready} onClick=${done}>${question.action}<//>
      </div>
    </form>
  <//>`;
}

// Tabs

/** Scroll a row sideways until one of it is seen: on a phone not all fit. @param {Element | null} element */
export function showInRow(element) {
  const row = element?.parentElement;
  if (!row || !element) return;
  const [inner, outer] = [element.getBoundingClientRect(), row.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) row.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

/**
 * Tabs that show one of several panels of a screen.
 * `group` tells apart two rows of tabs on one screen.
 * @param {{ label: string, group?: string, tabs: { id: string, label: string, count?: number }[], at: string, onChange: (id: string) => void }} props
 */
export function Tabs({ label, group = "", tabs, at, onChange }) {
  const list = useRef(/** @type {any} */ (null));
  useEffect(() => showInRow(list.current.querySelector("[aria-selected=true]")), [at]);
  const move = (/** @type {any} */ event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
    if (!step) return;
    event.preventDefault();
    const index = (tabs.findIndex((tab) => tab.id === at) + step + tabs.length) % tabs.length;
    onChange(tabs[index].id);
    list.current.children[index].focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} ref=${list} onKeyDown=${move}>
    ${tabs.map((tab) => html`<button role="tab" key=${tab.id} id=${`tab-${group}${tab.id}`} aria-selected=${tab.id === at ? "true" : "false"}
      aria-controls=${tab.id === at ? `panel-${group}${tab.id}` : null} tabindex=${tab.id === at ? 0 : -1} onClick=${() => onChange(tab.id)}>
      ${tab.label}${tab.count ? html` <span class="count">${tab.count.toLocaleString("en")}</span>` : null}</button>`)}
  </div>`;
}

/** The panel of a tab. @param {{ id: string, group?: string, children?: any }} props */
export const Panel = ({ id, group = "", children }) =>
  html`<div role="tabpanel" id=${`panel-${group}${id}`} aria-labelledby=${`tab-${group}${id}`} class="panel">${children}</div>`;

// States

const PATIENCE_MS = 250; // what is there sooner needs no word about waiting

/** A word about waiting, after a moment. @param {{ what?: string }} props */
export function Loading({ what = "Loading" }) {
  const [late, setLate] = useState(false);
  useEffect(() => { const timer = setTimeout(() => setLate(true), PATIENCE_MS); return () => clearTimeout(timer); }, []);
  return html`<div class="state" role="status" aria-busy="true">${late && html`<span class="dots" aria-hidden="true"><i /><i /><i /></span><p>${what} …</p>`}</div>`;
}

/** Nothing is here yet, and what to do about it. @param {{ title: string, children?: any }} props */
export const Empty = ({ title, children }) =>
  html`<div class="state empty"><p class="ornament" aria-hidden="true">❦</p><h2>${title}</h2>${children && html`<div class="faint">${children}</div>`}</div>`;

/** The sentence of an error, without the command that it names for those at a terminal. @param {any} error */
const sayProblem = (error) => String(error?.message ?? error).replace(/; `previously [^`]*`[^;.]*/, "");

/** What went wrong, and another try. @param {{ error: any, retry?: () => void }} props */
export function Failure({ error, retry }) {
  if (error instanceof Away) return html`<div class="state" role="alert"><h2>The server is not there</h2><p class="faint">This shows by itself when it is back.</p></div>`;
  const missing = error?.status === 404;
  return html`<div class="state" role="alert"><h2>${missing ? "This is not here" : "That did not work"}</h2>
    <p>${sayProblem(error)}</p>${missing ? html`<p><a class="button" href="#/">See all stories</a></p>` : retry && html`<p><${Button} onClick=${retry}>Try again<//></p>`}</div>`;
}

/**
 * Show what `useLoad` gives: waiting, an error, or the thing itself.
 * @param {{ of: { data: any, error: any, loading: boolean, reload: () => void }, what?: string, children: (data: any) => any }} props
 */
export function Loaded({ of, what, children }) {
  if (of.data !== undefined) return children(of.data);
  return of.error ? html`<${Failure} error=${of.error} retry=${of.reload} />` : html`<${Loading} what=${what} />`;
}

// The budget of a view

/** Words for the parts of what a model sees. @type {Record<string, string>} */
export const SECTIONS = {
  furniture: "your client’s instructions", system: "instructions", pins: "pinned", backbone: "the whole story in short", chapters: "chapters",
  recap: "recap", wishes: "wishes", episodes: "episodes", brief: "brief", threads: "open threads", state: "how things stand",
  cast: "who knows what", lore: "lore", tail: "newest messages", recall: "found passages", free: "free",
};

/** @param {string} section */
export const sayPart = (section) => SECTIONS[section] ?? section;

/**
 * The budget as a bar with its key.
 * @param {{ sections: [string, number][], budget: number, label?: string }} props
 */
export function BudgetBar({ sections, budget, label = "How the budget is used" }) {
  const used = sections.reduce((sum, [, tokens]) => sum + tokens, 0);
  const parts = [...sections.filter(([, tokens]) => tokens > 0), ...(budget > used ? [/** @type {[string, number]} */ (["free", budget - used])] : [])];
  const whole = Math.max(1, used, budget);
  const share = (/** @type {number} */ tokens) => Math.round((100 * tokens) / whole);
  return html`<figure class="budget">
    <div class="bar" role="img" aria-label=${`${label}: ${parts.map(([name, tokens]) => `${sayPart(name)} ${share(tokens)} %`).join(", ")}`}>
      ${parts.map(([name, tokens]) => html`<span key=${name} class=${`part part-${name}`} style=${{ flexGrow: String(tokens) }}
        title=${`${sayPart(name)}: ${counted(tokens, "token")}`} />`)}
    </div>
    <figcaption><ul class="key">
      ${parts.map(([name, tokens]) => html`<li key=${name}><span class=${`patch part-${name}`} aria-hidden="true" />${sayPart(name)}
        <span class="faint">${tokens.toLocaleString("en")}</span></li>`)}
    </ul></figcaption>
  </figure>`;
}
