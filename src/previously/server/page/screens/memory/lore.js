// Lore as cards: what people, places and things are. A sentence can be tested: which entries would it call up?
import { html, useState } from "../../preact.js";
import { get, send, storyPath } from "../../api.js";
import { announce, useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded, Menu, TextEditor, confirm, counted, prompt, toast } from "../../ui.js";
import { change, undoLast } from "../../actions.js";
import { History, sayMaker } from "./history.js";
import { Sources } from "./sources.js";
import { Sentences } from "./memory_text.js";

const TYPES = ["character", "location", "item", "faction", "concept", "lore", "event", "rule", "document"];

/** @param {{ story: string }} props */
export function Lore({ story }) {
  const lore = useLoad((signal) => get(storyPath(story, "lore"), { all: true }, signal), [story], `story:${story}`);
  const [wanted, setWanted] = useState("");
  const [type, setType] = useState("");
  const [tested, setTested] = useState(/** @type {Map<string, any> | null} */ (null));
  const [adding, setAdding] = useState(false);
  return html`<div class="filters">
      <label class="field"><span>Find an entry</span><input type="search" data-search value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} placeholder="Name, key or word" /></label>
      <label class="field"><span>Kind</span><select value=${type} onChange=${(/** @type {any} */ event) => setType(event.target.value)}>
        <option value="">all kinds</option>${TYPES.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
      <${Button} onClick=${() => setAdding(true)}>Add an entry<//>
    </div>
    <${Tester} story=${story} onTest=${setTested} />
    <${Loaded} of=${lore} what="Reading the lore">${(/** @type {any} */ data) => {
      const entries = data.lore.filter((/** @type {any} */ one) => one.status !== "removed" && (!type || one.type === type)
        && (!wanted || `${one.name} ${one.keywords.join(" ")} ${one.content}`.toLowerCase().includes(wanted.toLowerCase())));
      const order = (/** @type {any} */ one) => (tested?.get(one.name)?.fired ? 0 : 1);
      if (tested) entries.sort((/** @type {any} */ a, /** @type {any} */ b) => order(a) - order(b));
      return entries.length ? html`<ul class="bare cards">${entries.map((/** @type {any} */ one) => html`<${Entry} key=${one.name + one.type} story=${story} entry=${one}
          names=${data.lore.map((/** @type {any} */ other) => other.name)} test=${tested?.get(one.name)} />`)}</ul>`
        : html`<${Empty} title=${data.lore.length ? "No entry is like this" : "There is no lore yet"}><p>${data.lore.length ? "Try another word." : "Entries say what people, places and things are. A model notes them while it folds, or you add them."}</p><//>`;
    }}<//>
    <${Books} story=${story} />
    ${adding && html`<${EntryForm} story=${story} onClose=${() => setAdding(false)} />`}`;
}

/** The books that are attached, and those that could be. @param {{ story: string }} props */
function Books({ story }) {
  const books = useLoad(async (signal) => {
    const [attached, all] = await Promise.all([get(storyPath(story, "books"), {}, signal), get("/books", {}, signal)]);
    return { attached: attached.books, others: all.books.filter((/** @type {any} */ one) => !attached.books.includes(one.book)), all: all.books };
  }, [story], `story:${story}`);
  const [chosen, setChosen] = useState("");
  const attach = async () => { await change(story, "PUT", ["books", chosen], {}, { undo: false }); setChosen(""); };
  return html`<section class="books" aria-labelledby="books-of-story"><h2 id="books-of-story">Books</h2>
    <${Loaded} of=${books} what="Looking for books">${(/** @type {any} */ data) => html`
      ${data.attached.length ? html`<ul class="bare">${data.attached.map((/** @type {string} */ name) => html`<li key=${name} class="inline"><b dir="auto">${name}</b>
          <span class="faint small">${entriesOf(data.all, name)}</span>
          <${Button} kind="link" aria-label=${`Detach ${name}`} onClick=${() => change(story, "DELETE", ["books", name], undefined, { undo: false })}>Detach<//></li>`)}</ul>`
      : html`<p class="faint">No book is attached to this story.</p>`}
      ${data.others.length > 0 && html`<div class="inline"><select aria-label="A book to attach" value=${chosen} onChange=${(/** @type {any} */ event) => setChosen(event.target.value)}>
        <option value="">Choose a book …</option>${data.others.map((/** @type {any} */ one) => html`<option key=${one.book} value=${one.book}>${one.book} (${one.entries})</option>`)}</select>
        <${Button} disabled=${!chosen} onClick=${attach}>Attach<//></div>`}
      ${!data.all.length && html`<p class="faint small">A book is a set of lore that several stories share: drop one of World Info on the list of stories.</p>`}`}<//>
  </section>`;
}

/** @param {any[]} books @param {string} name */
const entriesOf = (books, name) => { const one = books.find((each) => each.book === name); return one ? counted(one.entries, "entry", "entries") : "a shared memory"; };

/** Which entries a sentence calls up, and why the others stay away. @param {{ story: string, onTest: (found: Map<string, any> | null) => void }} props */
function Tester({ story, onTest }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const test = async () => {
    if (!text.trim()) { onTest(null); setSaid(""); return; }
    const answer = await send("POST", storyPath(story, "lore", "test"), { text });
    onTest(new Map(answer.entries.map((/** @type {any} */ one) => [one.name, one])));
    const fired = answer.entries.filter((/** @type {any} */ one) => one.fired).length;
    setSaid(`${fired} of ${answer.entries.length} entries would be shown to the model; each card says why, or why not.`);
  };
  return html`<form class="tester" onSubmit=${(/** @type {any} */ event) => event.preventDefault()}>
    <label class="field"><span>Test a sentence: which entries would it call up?</span>
      <span class="inline"><input value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} placeholder="She asked the harbour-master for his key." />
      <${Button} type="submit" onClick=${test}>Test<//>${said && html`<${Button} kind="quiet" onClick=${() => { setText(""); setSaid(""); onTest(null); }}>Clear<//>`}</span></label>
    <p class="small" role="status">${said}</p>
  </form>`;
}

/** @param {{ story: string, entry: any, names: string[], test?: any }} props */
function Entry({ story, entry, names, test }) {
  const [editing, setEditing] = useState(false);
  const [history, setHistory] = useState(false);
  const [sentence, setSentence] = useState("");
  const thing = `lore:${entry.name}`;
  const act = (/** @type {string} */ verb) => () => change(story, "POST", ["things", thing, verb], {});
  const merge = async () => {
    const into = await prompt({ title: `${entry.name} is the same as …`, label: "Name of the entry that stays", action: "Merge", text: `Others: ${names.filter((one) => one !== entry.name).slice(0, 12).join(", ")}` });
    if (into) await change(story, "POST", ["lore", entry.name, "merge"], { into });
  };
  const remove = async () => {
    if (await confirm({ title: `Remove ${entry.name}?`, text: "The model no longer sees it. You can undo this.", action: "Remove", danger: true })) await change(story, "DELETE", ["things", thing]);
  };
  const locked = entry.locked.length > 0;
  return html`<li class=${`card ${test ? (test.fired ? "fired" : "quiet-card") : ""}`} data-thing=${thing}>
    <header><h3 dir="auto">${entry.name}</h3>
      <${Menu} label=${`More for ${entry.name}`} items=${[
        { label: "Edit", run: () => setEditing(true) },
        { label: "History", run: () => setHistory(true) },
        locked ? { label: "Unlock", run: act("unlock") } : { label: "Lock: nothing but you changes it", run: act("lock") },
        { label: "Pin: always show it to the model", run: act("pin") },
        { label: "Merge with another entry …", run: merge },
        { label: "Remove", danger: true, run: remove },
      ]} /></header>
    <p class="faint small">${[entry.type, sayMaker(entry.by), entry.book && `from ${entry.book}`, locked && "locked", entry.status !== "live" && entry.status].filter(Boolean).join(" · ")}</p>
    ${test && html`<p class="small reason">${test.fired ? "✓ " : "– "}${test.reason}</p>`}
    <${Sentences} text=${entry.content} label=${`${entry.name}: sentences, each leads to its messages`} onAsk=${setSentence} />
    <p class="chips" aria-label="Keys">${entry.keywords.map((/** @type {string} */ key) => html`<span class="chip" key=${key} dir="auto">${key}</span>`)}</p>
    ${entry.status === "suggested" && html`<div class="actions">
      <${Button} kind="quiet" onClick=${() => change(story, "DELETE", ["things", thing])}>Dismiss<//><${Button} onClick=${() => setEditing(true)}>Edit<//>
      <${Button} kind="main" onClick=${() => change(story, "POST", ["lore", entry.name, "accept"], {})}>Accept<//></div>`}
    ${entry.suggestions.map((/** @type {string} */ text) => html`<${Suggestion} key=${text} story=${story} entry=${entry} text=${text} />`)}
    ${editing && html`<${EntryForm} story=${story} entry=${entry} onClose=${() => setEditing(false)} />`}
    ${history && html`<${History} story=${story} thing=${thing} title=${entry.name} texts=${[entry.content, ...[...entry.earlier].reverse()]}
      restore=${(/** @type {string} */ text) => change(story, "PATCH", ["lore", entry.name], { text })} onClose=${() => setHistory(false)} />`}
    ${sentence && html`<${Sources} story=${story} thing=${thing} sentence=${sentence} onClose=${() => setSentence("")} onCorrect=${() => { setSentence(""); setEditing(true); }} />`}
  </li>`;
}

/** What a fold would write in place of a person's words. @param {{ story: string, entry: any, text: string }} props */
export function Suggestion({ story, entry, text }) {
  const [editing, setEditing] = useState(false);
  const write = (/** @type {string} */ words, /** @type {string} */ done) => change(story, "PATCH", ["lore", entry.name], { text: words, type: entry.type }, { done });
  return html`<div class="suggestion"><p class="small faint">A fold suggests:</p><p class="story-text" dir="auto">${text}</p>
    <div class="actions">
      <${Button} kind="quiet" onClick=${() => write(entry.content, "Your words stay.")}>Dismiss<//>
      <${Button} onClick=${() => setEditing(true)}>Edit<//>
      <${Button} kind="main" onClick=${() => write(text, `${entry.name} says what was suggested.`)}>Accept<//>
    </div>
    ${editing && html`<${EntryForm} story=${story} entry=${{ ...entry, content: text }} onClose=${() => setEditing(false)} />`}
  </div>`;
}

/** @param {{ story: string, entry?: any, onClose: () => void }} props */
function EntryForm({ story, entry, onClose }) {
  const [name, setName] = useState(entry?.name ?? "");
  const [type, setType] = useState(entry?.type ?? "character");
  const [keys, setKeys] = useState((entry?.keywords ?? []).join(", "));
  const keywords = keys.split(",").map((/** @type {string} */ key) => key.trim()).filter(Boolean);
  const save = (/** @type {string} */ text, /** @type {{ key: string, version: string }} */ { key, version }) => (entry
    ? send("PATCH", storyPath(story, "lore", entry.name), { text, type, keywords }, { key, version, tries: 0 })
    : send("POST", storyPath(story, "lore"), { name: name.trim(), text, type, keywords }, { key, tries: 0 }));
  return html`<${Dialog} title=${entry ? `Edit ${entry.name}` : "A new entry"} onClose=${onClose}>
    ${!entry && html`<label class="field"><span>Name</span><input value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} autofocus /></label>`}
    <label class="field"><span>Kind</span><select value=${type} onChange=${(/** @type {any} */ event) => setType(event.target.value)}>${TYPES.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
    <label class="field"><span>Keys, with commas between them: words that call it up</span><input value=${keys} onInput=${(/** @type {any} */ event) => setKeys(event.target.value)} /></label>
    <${TextEditor} id=${`${story}/lore-form/${entry?.name ?? ""}`} text=${entry?.content ?? ""} version=${entry?.etag} label="What it is" rows=${5} save=${save}
      fresh=${entry && (async () => { const now = await get(storyPath(story, "things", `lore:${entry.name}`)); return { text: now.content ?? now.words, version: now.etag }; })}
      onDone=${(/** @type {boolean} */ saved) => {
        onClose();
        announce(`story:${story}`);
        if (saved) toast(entry ? `${entry.name} is as you say now.` : `${name} is in the lore.`, { action: "Undo", run: () => undoLast(story) });
      }} />
  <//>`;
}
