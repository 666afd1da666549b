// How things stand now: who holds what, who is where; the players' wishes; and pinned words.
import { html, useState } from "../../preact.js";
import { get, send, storyPath } from "../../api.js";
import { announce, useLoad } from "../../store.js";
import { Button, Loaded, TextEditor, confirm, keptDraft, prompt, toast } from "../../ui.js";
import { change, undoLast } from "../../actions.js";
import { sayMaker } from "./history.js";
import { Sources } from "./sources.js";

/** @param {{ story: string }} props */
export function State({ story }) {
  const all = useLoad(async (signal) => {
    const [state, wishes, pins] = await Promise.all(["state", "wishes", "pins"].map((what) => get(storyPath(story, what), {}, signal)));
    return { state: state.state, wishes: wishes.wishes, pins: pins.pins };
  }, [story], `story:${story}`);
  const add = (/** @type {string} */ title, /** @type {string} */ label, /** @type {string} */ list) => async () => {
    const text = await prompt({ title, label, action: "Add" });
    if (text) await change(story, "POST", [list], { text }, { done: "It is noted." });
  };
  return html`<div class="column"><${Loaded} of=${all}>${(/** @type {any} */ data) => html`
    <section><h2>How things stand</h2>
      ${data.state.length ? html`<dl class="state-list">${group(data.state).map(([thing, rows]) => html`<div key=${thing}><dt dir="auto">${thing}</dt>
        ${rows.map((/** @type {any} */ row) => html`<dd key=${row.thing}><${Line} story=${story} address=${row.thing} row=${row} about=${row.aspect} /></dd>`)}</div>`)}</dl>`
      : html`<p class="faint">Nothing is noted yet: who holds what, who is where, who is hurt.</p>`}
      <p><${Button} onClick=${add("How something stands", "For example: Lantern / holder: Mira", "state")}>Add a line<//></p></section>
    <section><h2>Wishes</h2>
      <ul class="bare lines">${data.wishes.map((/** @type {any} */ row) => html`<li key=${row.thing}><${Line} story=${story} address=${row.thing} row=${row} /></li>`)}</ul>
      ${!data.wishes.length && html`<p class="faint">Nobody has asked for anything yet, such as shorter replies or no cliffhangers.</p>`}</section>
    <section><h2>Pinned</h2>
      <ul class="bare lines">${data.pins.map((/** @type {any} */ row) => html`<li key=${row.thing}><${Line} story=${story} address=${row.thing} row=${row} /></li>`)}</ul>
      ${!data.pins.length && html`<p class="faint">What you pin is shown to the model in every turn.</p>`}
      <p><${Button} onClick=${add("Pin your own words", "Words that the model sees in every turn", "pins")}>Pin something<//></p></section>`}<//></div>`;
}

/** Rows about one thing together. @param {any[]} rows */
function group(rows) {
  /** @type {Map<string, any[]>} */
  const groups = new Map();
  rows.forEach((row) => {
    const about = row.about || "Also";
    groups.set(about, [...(groups.get(about) ?? []), row]);
  });
  return [...groups];
}

/** @param {{ story: string, address: string, row: any, about?: string }} props */
function Line({ story, address, row, about }) {
  const draft = `${story}/${address}`;
  const [editing, setEditing] = useState(() => keptDraft(draft) !== null);
  const [asked, setAsked] = useState(false);
  const since = row.since ?? row.position;
  const remove = async () => {
    if (await confirm({ title: "Remove this?", text: row.text, action: "Remove", danger: true })) await change(story, "DELETE", ["things", address]);
  };
  if (editing) {
    return html`<${TextEditor} id=${draft} text=${row.text} version=${row.etag} label="In your words" rows=${1}
      save=${(/** @type {string} */ text, /** @type {any} */ { key, version }) => send("PUT", storyPath(story, "things", address), { text }, { key, version, tries: 0 })}
      fresh=${async () => { const now = await get(storyPath(story, "things", address)); return { text: now.words ?? now.text, version: now.etag }; }}
      onDone=${(/** @type {boolean} */ saved) => { setEditing(false); announce(`story:${story}`); if (saved) toast("It is as you say now.", { action: "Undo", run: () => undoLast(story) }); }} />`;
  }
  return html`<div class="line" data-thing=${address}>
    <span class="words"><button class="bare-button story-text" dir="auto" title="Where does this come from?" onClick=${() => setAsked(true)}>${about && html`<span class="faint">${about}: </span>`}${row.value ?? row.text}</button>
      <span class="small faint">${[row.by !== "model" && sayMaker(row.by), since !== null && since !== undefined && `message ${since}`].filter(Boolean).join(" · ")}</span></span>
    <span class="tools"><${Button} kind="quiet" aria-label=${`Edit: ${row.text}`} onClick=${() => setEditing(true)}>Edit<//><${Button} kind="quiet" aria-label=${`Remove: ${row.text}`} onClick=${remove}>Remove<//></span>
    ${asked && html`<${Sources} story=${story} thing=${address} sentence=${row.text} onClose=${() => setAsked(false)} onCorrect=${() => { setAsked(false); setEditing(true); }} />`}
  </div>`;
}
