// One text of memory: its sentences lead to their messages; it can be edited, locked, pinned, and brought back.
import { html, useMemo, useRef, useState } from "../../preact.js";
import { get, send, storyPath } from "../../api.js";
import { announce } from "../../store.js";
import { Button, Menu, TextEditor, confirm, emphasise, keptDraft, toast } from "../../ui.js";
import { change, undoLast } from "../../actions.js";
import { History, sayMaker } from "./history.js";
import { Sources } from "./sources.js";

/** What only folds write; what can be locked; what has versions. */
const BY_FOLDS = ["episode", "scene", "brief"];
const LOCKABLE = ["recap", "backbone", "chapter"];
const VERSIONED = ["recap", "backbone", "chapter", "episode", "brief"];

/** Return the sentences of a text, with the white space after each. @param {string} text @returns {string[]} */
export function splitSentences(text) {
  const Segmenter = /** @type {any} */ (Intl).Segmenter;
  const pieces = text.split(/(\n+)/);
  if (!Segmenter) return pieces.filter(Boolean);
  const segmenter = new Segmenter(undefined, { granularity: "sentence" });
  return pieces.flatMap((piece) => (/^\n+$/.test(piece) ? [piece] : Array.from(segmenter.segment(piece), (/** @type {any} */ one) => one.segment)));
}

/**
 * A text whose sentences can be asked where they come from: with the mouse, or with the arrow keys and Enter.
 * @param {{ text: string, label: string, onAsk: (sentence: string) => void }} props
 */
export function Sentences({ text, label, onAsk }) {
  const sentences = useMemo(() => splitSentences(text), [text]);
  const [at, setAt] = useState(0);
  const block = useRef(/** @type {any} */ (null));
  const words = sentences.map((one, index) => (one.trim() ? index : -1)).filter((index) => index >= 0);
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onAsk(sentences[at].trim()); return; }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
    if (!step) return;
    event.preventDefault();
    const next = words[Math.min(words.length - 1, Math.max(0, words.indexOf(at) + step))];
    setAt(next);
    block.current.querySelector(`[data-at="${next}"]`)?.focus();
  };
  return html`<div class="story-text sentences" dir="auto" ref=${block} onKeyDown=${onKeyDown} role="group" aria-label=${label}>
    ${sentences.map((one, index) => (one.trim()
      ? html`<span role="button" class="sentence" data-at=${index} tabindex=${(words.includes(at) ? at : words[0]) === index ? 0 : -1} title="Where does this come from?"
          onFocus=${() => setAt(index)} onClick=${() => onAsk(one.trim())}>${emphasise(one)}</span>` : one))}
  </div>`;
}

/**
 * @typedef {object} TextProps
 * @property {string} story
 * @property {string} thing  `recap`, `chapter:2`, …
 * @property {string} title
 * @property {string} text
 * @property {string} [etag]
 * @property {[number, number] | null} [span]
 * @property {string | null} [by]
 * @property {boolean} [stale]
 * @property {boolean} [locked]
 * @property {any} [children]  above the text
 * @property {any[]} [more]  further items of the menu
 * @property {(text: string, options: { key: string, version: string }) => Promise<unknown>} [save]
 * @property {boolean} [small]
 * @property {string[]} [earlier]  earlier words, the oldest first, of what has no versions
 * @property {boolean} [removable]
 */

/** @param {TextProps} props */
export function MemoryText({ story, thing, title, text, etag = "", span, by, stale, locked, children, more = [], save, small, removable, earlier }) {
  const kind = thing.split(":")[0];
  const draft = `${story}/${thing}`;
  const [editing, setEditing] = useState(() => keptDraft(draft) !== null);
  const [sentence, setSentence] = useState("");
  const [history, setHistory] = useState(false);
  const [wrong, setWrong] = useState("");
  const path = storyPath(story, "things", thing);
  const store = save ?? ((words, { key, version }) => send("PUT", path, { text: words }, { key, version, tries: 0 }));
  const Heading = small ? "h3" : "h2";
  const act = (/** @type {string} */ verb) => () => change(story, "POST", ["things", thing, verb], {});
  const remove = async () => {
    if (await confirm({ title: `Remove ${title}?`, text: "It is no longer shown to the model. You can undo this.", action: "Remove", danger: true })) {
      await change(story, "DELETE", ["things", thing]);
    }
  };
  return html`<section class="memory-text" aria-label=${title} data-thing=${thing}>
    <header><${Heading} dir="auto">${title}</${Heading}>
      <span class="about faint small">${[sayMaker(by), span && (span[0] === span[1] ? `message ${span[0]}` : `messages ${span[0]}–${span[1]}`)].filter(Boolean).join(" · ")}
        ${stale && html` <span class="badge warn" title="A message that it was made from has changed since">out of date</span>`}
        ${locked && html` <span class="badge" title="Nothing but you changes it">locked</span>`}</span>
      <span class="tools">
        ${!editing && !BY_FOLDS.includes(kind) && html`<${Button} kind="quiet" onClick=${() => setEditing(true)} aria-label=${`Edit ${title}`}>Edit<//>`}
        <${Menu} label=${`More for ${title}`} items=${[
          (VERSIONED.includes(kind) || (earlier?.length ?? 0) > 0) && { label: "History", run: () => setHistory(true) },
          LOCKABLE.includes(kind) && (locked || by === "hand" || by === "person") ? { label: "Unlock: folds may change it again", run: act("unlock") } : LOCKABLE.includes(kind) && { label: "Lock: nothing but you changes it", run: act("lock") },
          { label: "Pin: always show it to the model", run: act("pin") },
          ...more,
          removable && { label: "Remove", danger: true, run: remove },
        ]} />
      </span>
    </header>
    ${children}
    ${editing
      ? html`<${TextEditor} id=${draft} text=${text} version=${etag} label=${`${title}, in your words`} save=${store} select=${wrong}
          fresh=${async () => { const now = await get(path); return { text: now.words ?? now.text ?? now.content ?? now.recap ?? "", version: now.etag }; }}
          onDone=${(/** @type {boolean} */ saved) => {
            setEditing(false);
            setWrong("");
            announce(`story:${story}`);
            if (saved) toast(`${title} is as you say now.`, { action: "Undo", run: () => undoLast(story) });
          }} />`
      : html`<${Sentences} text=${text} label=${`${title}: sentences, each leads to its messages`} onAsk=${setSentence} />`}
    ${sentence && html`<${Sources} story=${story} thing=${thing} sentence=${sentence} onClose=${() => setSentence("")}
      onCorrect=${editing || BY_FOLDS.includes(kind) ? undefined : () => { setWrong(sentence); setSentence(""); setEditing(true); }} />`}
    ${history && html`<${History} story=${story} thing=${thing} title=${title} texts=${earlier && [text, ...[...earlier].reverse()]}
      restore=${earlier && ((/** @type {string} */ words) => change(story, "PUT", ["things", thing], { text: words }))} onClose=${() => setHistory(false)} />`}
  </section>`;
}
