// The keys of the page. A screen names its own with `useKeys`; `?` lists all that work now.
import { html, useEffect, useRef } from "./preact.js";
import { makeStore } from "./api.js";
import { useStore } from "./store.js";
import { Dialog } from "./ui.js";

/** @typedef {{ keys: string, says: string, run: (event: KeyboardEvent) => void }} Key  `keys`: `?`, `/`, or two in a row: `g m` */

/** @type {Set<{ current: Key[] }>} */
const groups = new Set();
/** Whether the list of keys is shown. */
export const keysShown = makeStore(false);
addEventListener("hashchange", () => keysShown.set(false)); // Back leaves nothing behind over another screen
const CHORD_MS = 1500; // the time for the second of two keys
let first = "";
let firstAt = 0;

/**
 * Let keys work while this component is shown.
 * @param {Key[]} keys
 */
export function useKeys(keys) {
  const held = useRef(keys);
  held.current = keys;
  useEffect(() => { groups.add(held); return () => { groups.delete(held); }; }, []);
}

/** @param {any} target */
const isTyping = (target) => target?.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target?.tagName ?? "");

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const chord = first && Date.now() - firstAt < CHORD_MS ? `${first} ${event.key}` : "";
  const known = [...groups].reverse().flatMap((group) => group.current);
  const match = known.find((one) => one.keys === chord) ?? known.find((one) => one.keys === event.key);
  first = event.key;
  firstAt = Date.now();
  if (!match) return;
  first = "";
  event.preventDefault();
  match.run(event);
});

/** The list of keys that work now. */
export function KeysHelp() {
  const shown = useStore(keysShown);
  if (!shown) return null;
  const known = [...groups].flatMap((group) => group.current);
  return html`<${Dialog} title="Keys" onClose=${() => keysShown.set(false)}>
    <dl class="keys">
      ${known.map((one) => html`<div key=${one.keys}><dt>${one.keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${one.says}</dd></div>`)}
      <div><dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>Save the text you are writing</dd></div>
      <div><dt><kbd>Esc</kbd></dt><dd>Close what is open</dd></div>
      <div><dt><kbd>Tab</kbd></dt><dd>Go to the next button or field</dd></div>
    </dl>
  <//>`;
}
