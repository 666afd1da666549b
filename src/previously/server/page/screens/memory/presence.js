// Presence: who was there at which messages, as a strip that can be corrected. Who was not there does not know.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded } from "../../ui.js";
import { change } from "../../actions.js";

/** @type {Record<string, string>} */
const ORIGINS = { noted: "noted by the model", given: "given by the client", hand: "set by hand", spoke: "spoke there", speakers: "spoke there", everybody: "everybody" };
/** @param {string} source */
const sayOrigin = (source) => ORIGINS[source] ?? source;

/** @param {{ story: string }} props */
export function Presence({ story }) {
  const presence = useLoad((signal) => get(storyPath(story, "presence"), {}, signal), [story], `story:${story}`);
  const [corrected, setCorrected] = useState(/** @type {any} */ (null));
  return html`<${Loaded} of=${presence} what="Reading who was there">${(/** @type {any} */ answer) => {
    const data = { ...answer, stretches: nameOnce(answer) };
    if (!data.stretches.length) return html`<${Empty} title="Nothing is known yet"><p>Who was there is noted while the story is folded; until then, those who speak count as present.</p><//>`;
    return html`<${Strip} data=${data} onChoose=${setCorrected} />
      <${Now} story=${story} data=${data} />
      <h2>Stretch by stretch</h2><p class="faint small">Press a band above, or <i>Correct</i>, to say who was there.</p>
      <ul class="bare lines">${data.stretches.map((/** @type {any} */ one) => html`<li key=${one.span[0]}><div class="line">
        <span>${one.span[0] === one.span[1] ? `Message ${one.span[0]}` : `Messages ${one.span[0]}–${one.span[1]}`}: <span dir="auto">${sayNames(one.names)}</span></span>
        <span class="small faint">${sayOrigin(one.source)}</span>
        <span class="tools"><${Button} kind="quiet" aria-label=${`Correct messages ${one.span[0]} to ${one.span[1]}`} onClick=${() => setCorrected(one)}>Correct<//></span></div></li>`)}</ul>
      ${corrected && html`<${Correction} key=${corrected.span[0]} story=${story} stretch=${corrected} people=${namesOf(data)} onClose=${() => setCorrected(null)} />`}`;
  }}<//>`;
}

/** @param {string[] | null} names */
const sayNames = (names) => (names === null ? "everybody" : names.length ? names.join(", ") : "nobody");

/**
 * Return the stretches with each person under one name: "Ines" is "Ines Quillan" where nobody else is called so.
 * @param {any} data
 */
function nameOnce(data) {
  const names = [...new Set([...(data.present ?? []), ...(data.absent ?? []), ...data.stretches.flatMap((/** @type {any} */ one) => one.names ?? [])])];
  const words = (/** @type {string} */ name) => name.toLowerCase().split(/\s+/);
  const whole = new Map(names.map((name) => {
    const longer = names.filter((other) => other !== name && words(name).every((word) => words(other).includes(word)));
    return [name, longer.length === 1 ? longer[0] : name];
  }));
  return data.stretches.map((/** @type {any} */ one) => ({ ...one, names: one.names && [...new Set(one.names.map((/** @type {string} */ name) => whole.get(name) ?? name))] }));
}

/** @param {any} data @returns {string[]} */
function namesOf(data) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const one of data.stretches) for (const name of one.names ?? []) counts.set(name, (counts.get(name) ?? 0) + one.span[1] - one.span[0] + 1);
  for (const name of [...(data.present ?? []), ...(data.absent ?? [])]) if (!counts.has(name)) counts.set(name, 0);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

const MOST_ROWS = 16; // as many bands as fit on a screen; the list below has everybody

/** @param {{ data: any, onChoose: (stretch: any) => void }} props */
function Strip({ data, onChoose }) {
  const { stretches } = data;
  const people = namesOf({ stretches }).slice(0, MOST_ROWS);
  const end = Math.max(...data.stretches.map((/** @type {any} */ one) => one.span[1])) + 1;
  return html`<div class="strip" role="group" aria-label="Who was there, from the first message to the newest">
    ${people.map((name) => html`<div class="strip-row" key=${name}><span class="strip-name" dir="auto">${name}</span>
      <div class="strip-line">${stretches.filter((/** @type {any} */ one) => one.names === null || one.names.includes(name)).map((/** @type {any} */ one) => html`<button key=${one.span[0]} class=${`band ${one.source}`}
        style=${{ left: `${(100 * one.span[0]) / end}%`, width: `${(100 * (one.span[1] - one.span[0] + 1)) / end}%` }} tabindex="-1"
        aria-label=${`${name}, messages ${one.span[0]} to ${one.span[1]}, ${sayOrigin(one.source)}`} title=${`Messages ${one.span[0]}–${one.span[1]}: ${sayNames(one.names)} (${sayOrigin(one.source)})`} onClick=${() => onChoose(one)} />`)}</div></div>`)}
    <div class="strip-row faint small" aria-hidden="true"><span class="strip-name" /><div class="strip-scale"><span>0</span><span>${Math.round(end / 2)}</span><span>${end - 1}</span></div></div>
  </div>`;
}

/** Who is there now, and who comes and goes. @param {{ story: string, data: any }} props */
function Now({ story, data }) {
  const say = (/** @type {string} */ verb, /** @type {string} */ name, /** @type {string} */ done) => () => change(story, "POST", ["presence", verb], { name }, { done });
  return html`<section><h2>Who is there now</h2><p class="faint small">Say who leaves and who comes back; it counts from the next message on.</p><p class="chips">
    ${data.present.map((/** @type {string} */ name) => html`<span class="chip" key=${name} dir="auto">${name} <${Button} kind="link" aria-label=${`${name} leaves`} onClick=${say("leave", name, `${name} is away from here on.`)}>leaves<//></span>`)}
    ${data.absent.map((/** @type {string} */ name) => html`<span class="chip away" key=${name} dir="auto">${name} <${Button} kind="link" aria-label=${`${name} enters`} onClick=${say("enter", name, `${name} is there from now on.`)}>enters<//></span>`)}</p></section>`;
}

/** @param {{ story: string, stretch: any, people: string[], onClose: () => void }} props */
function Correction({ story, stretch, people, onClose }) {
  const [first, setFirst] = useState(String(stretch.span[0]));
  const [last, setLast] = useState(String(stretch.span[1]));
  const [everybody, setEverybody] = useState(stretch.names === null);
  const [names, setNames] = useState(/** @type {string[]} */ (stretch.names ?? []));
  const [other, setOther] = useState("");
  const said = other.trim() ? [...names, other.trim()] : names;
  const save = async () => {
    await change(story, "PUT", ["presence"], { first: Number(first), last: Number(last), names: everybody ? null : said }, { done: "Corrected. What rested on it is written anew at the next fold." });
    onClose();
  };
  const unset = async () => { await change(story, "DELETE", ["presence", stretch.span[0]], undefined, { done: "What was set by hand here is gone." }); onClose(); };
  return html`<${Dialog} title="Who was there?" onClose=${onClose}>
    <div class="inline"><label class="field"><span>From message</span><input type="number" min="0" value=${first} onInput=${(/** @type {any} */ event) => setFirst(event.target.value)} /></label>
      <label class="field"><span>to message</span><input type="number" min="0" value=${last} onInput=${(/** @type {any} */ event) => setLast(event.target.value)} /></label></div>
    <p><label><input type="checkbox" checked=${everybody} onChange=${(/** @type {any} */ event) => setEverybody(event.target.checked)} /> Everybody knows of this</label></p>
    ${!everybody && html`<fieldset class="people"><legend class="small faint">Present</legend>${people.map((name) => html`<label key=${name}><input type="checkbox" checked=${names.includes(name)}
      onChange=${(/** @type {any} */ event) => setNames(event.target.checked ? [...names, name] : names.filter((one) => one !== name))} /> <span dir="auto">${name}</span></label>`)}</fieldset>
      <label class="field"><span>Somebody else</span><input value=${other} onInput=${(/** @type {any} */ event) => setOther(event.target.value)} /></label>`}
    <div class="actions">${stretch.source === "hand" && html`<${Button} kind="quiet" onClick=${unset}>Take back what was set by hand<//>`}<${Button} kind="quiet" onClick=${onClose}>Cancel<//><${Button} kind="main" onClick=${save}>Save<//></div>
  <//>`;
}
