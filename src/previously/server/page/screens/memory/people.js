// Who knows what: a table of facts and characters, and what each of them holds.
import { html, useState } from "../../preact.js";
import { get, send, storyPath } from "../../api.js";
import { announce, useKept, useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded, Menu, Panel, Tabs, TextEditor, counted, prompt, toast } from "../../ui.js";
import { change, undoLast } from "../../actions.js";
import { Sources } from "./sources.js";

/** @type {Record<string, string>} */
const SOURCES = { witnessed: "was there", told: "was told", hand: "by hand", given: "by hand" };

/** @param {{ story: string }} props */
export function People({ story }) {
  const cast = useLoad((signal) => get(storyPath(story, "cast"), { all: true }, signal), [story], `story:${story}`);
  const [way, setWay] = useKept("people", "table");
  return html`<${Loaded} of=${cast} what="Reading who knows what">${(/** @type {any} */ data) => (data.cast.length ? html`
    <${Tabs} label="Show" at=${way} onChange=${setWay} tabs=${[{ id: "table", label: "Who knows what" }, { id: "people", label: "One by one" }]} />
    <${Panel} id=${way}>${way === "table" ? html`<${Matrix} story=${story} cast=${data.cast} />` : html`<ul class="bare cards">${data.cast.map((/** @type {any} */ one) => html`<${Person} key=${one.name} story=${story} person=${one} all=${data.cast} />`)}</ul>`}<//>`
    : html`<${Empty} title="Nobody is known yet"><p>A model notes who was there and what each learnt, while it folds. You can also tell it: see Presence.</p><//>`)}<//>`;
}

const MOST_ROWS = 100; // about three screens; a story of thousands of messages has many hundreds of facts

/**
 * All that is kept of everybody's knowledge: of their key facts alone, a gap would not mean that they do not know.
 * @param {{ story: string, cast: any[] }} props
 */
function Matrix({ story, cast }) {
  const [wanted, setWanted] = useState("");
  const [whole, setWhole] = useState(false);
  const [sentence, setSentence] = useState("");
  /** @type {Map<string, Map<string, any>>} */
  const facts = new Map();
  for (const person of cast) {
    for (const fact of person.all_facts) {
      const known = facts.get(fact.text) ?? new Map();
      known.set(person.name, fact);
      facts.set(fact.text, known);
    }
  }
  const people = cast.filter((one) => one.all_facts.length || one.summary);
  const rows = [...facts].filter(([text]) => !wanted || text.toLowerCase().includes(wanted.toLowerCase()));
  const newest = (/** @type {Map<string, any>} */ known) => Math.max(...[...known.values()].map((fact) => fact.since ?? -1));
  rows.sort((a, b) => newest(b[1]) - newest(a[1]));
  return html`
    <div class="filters"><label class="field"><span>Find a fact</span><input type="search" data-search value=${wanted} onInput=${(/** @type {any} */ event) => setWanted(event.target.value)} placeholder="A word or a name" /></label>
      <ul class="key legend"><li><span class="dot full" aria-hidden="true" />was there</li><li><span class="dot half" aria-hidden="true" />was told</li><li><span class="dot none" aria-hidden="true" />does not know</li></ul></div>
    <div class="scroll matrix" tabindex="0" role="region" aria-label="Who knows what"><table>
      <thead><tr><th scope="col">Fact</th>${people.map((one) => html`<th scope="col" key=${one.name} dir="auto"><span>${one.name}</span></th>`)}</tr></thead>
      <tbody>${rows.slice(0, whole ? undefined : MOST_ROWS).map(([text, known]) => html`<tr key=${text}>
        <th scope="row" dir="auto"><button class="bare-button" title="Where does this come from?" onClick=${() => setSentence(text)}><${Fact} text=${text} /></button></th>
        ${people.map((one) => { const fact = known.get(one.name); return html`<td key=${one.name}>${fact
          ? html`<span class=${`dot ${fact.source === "told" ? "half" : "full"}`} title=${`${one.name} ${SOURCES[fact.source] ?? fact.source}, message ${fact.since}`}><span class="visually-hidden">${SOURCES[fact.source] ?? fact.source}</span></span>`
          : html`<span class="dot none"><span class="visually-hidden">does not know</span></span>`}</td>`; })}
      </tr>`)}</tbody></table></div>
    ${!whole && rows.length > MOST_ROWS && html`<p><${Button} onClick=${() => setWhole(true)}>${`Show all ${counted(rows.length, "fact")}`}<//></p>`}
    ${sentence && html`<${Sources} story=${story} thing="" sentence=${sentence} onClose=${() => setSentence("")} />`}`;
}

/** A fact; of one about how a thing stands ("Lamp / place: the tower") the thing stands out. @param {{ text: string }} props */
function Fact({ text }) {
  const [, thing, rest] = /^([^/:]+) \/ (.+)$/s.exec(text) ?? [];
  return thing ? html`<b>${thing}</b>, ${rest}` : text;
}

/** @param {{ story: string, person: any, all: any[] }} props */
function Person({ story, person, all }) {
  const [editing, setEditing] = useState(false);
  const merge = async () => {
    const into = await prompt({ title: `${person.name} is the same person as …`, label: "Name that stays", action: "Merge", text: `Others: ${all.map((one) => one.name).filter((one) => one !== person.name).join(", ")}` });
    if (into) await change(story, "POST", ["cast", person.name, "merge"], { into }, { done: `${person.name} and ${into} are one person now.` });
  };
  return html`<li class="card" data-thing=${`cast:${person.name}`}><header><h3 dir="auto">${person.name}</h3>
      <${Menu} label=${`More for ${person.name}`} items=${[{ label: "Edit what they know", run: () => setEditing(true) }, { label: "The same as another …", run: merge }]} /></header>
    ${person.stale && html`<p><span class="badge warn">out of date</span></p>`}
    ${person.summary && html`<p class="story-text" dir="auto">${person.summary}</p>`}
    <ul class="facts">${person.facts.map((/** @type {any} */ fact) => html`<li key=${fact.text} dir="auto"><${Fact} text=${fact.text} /> <span class="faint small">${SOURCES[fact.source] ?? fact.source}${fact.since !== null && fact.since !== undefined && `, message ${fact.since}`}</span></li>`)}</ul>
    ${editing && html`<${Dialog} title=${`What ${person.name} knows`} onClose=${() => setEditing(false)}>
      <p class="faint small">The first lines, up to an empty one, are a summary; below it stands one fact on each line.</p>
      <${TextEditor} id=${`${story}/cast:${person.name}`} rows=${8} label="Summary and facts" text=${[person.summary, person.facts.map((/** @type {any} */ fact) => fact.text).join("\n")].join("\n\n").trimStart()}
        save=${(/** @type {string} */ text, /** @type {any} */ { key }) => { const { summary, facts } = readKnowledge(text); return send("PUT", storyPath(story, "cast", person.name), { summary, facts }, { key, tries: 0 }); }}
        onDone=${(/** @type {boolean} */ saved) => { setEditing(false); announce(`story:${story}`); if (saved) toast(`${person.name} knows what you say now.`, { action: "Undo", run: () => undoLast(story) }); }} />
    <//>`}
  </li>`;
}

/** Return summary and facts from what a person wrote. @param {string} text */
export function readKnowledge(text) {
  const [first, ...rest] = text.split(/\n\s*\n/);
  const lines = (/** @type {string} */ block) => block.split("\n").map((line) => line.replace(/^\s*[-•*]\s*/, "").trim()).filter(Boolean);
  return rest.length ? { summary: first.trim(), facts: rest.flatMap(lines) } : { summary: "", facts: lines(first) };
}
