// Settings of a story: each with where it comes from and what it would change here before it is saved; the prompts; the model.
import { html, useState } from "../preact.js";
import { get, send, storyPath } from "../api.js";
import { change } from "../actions.js";
import { useLoad } from "../store.js";
import { Button, Dialog, Failure, Loaded, Loading, Panel, Tabs, TextEditor, counted, sayPart, toast } from "../ui.js";
import { ModelChoice } from "./model.js";
import { go, linkTo } from "../router.js";

/** What most people look for, first; everything else follows by name. */
const FIRST = ["preset", "window_tokens", "answer_tokens", "tail_messages", "recap_words", "chapter_messages", "backbone_words", "recall_percent",
  "lore", "lore_percent", "cast", "folding", "review", "calls_per_day"];

/** @param {unknown} value */
const show = (value) => (value === true ? "yes" : value === false ? "no" : String(value ?? ""));

/** Where a value comes from. @param {string} from */
const sayFrom = (from) => (from === "story" ? "this story" : from);

/** @param {string} text */
const plain = (text) => text.replace(/`/g, "").replace(/_/g, " ");

/** A setting’s name as words: `tail_messages` is "Tail messages". @param {string} name */
const sayName = (name) => plain(name).replace(/^./, (letter) => letter.toUpperCase());

/** What a change of settings would do, before it is done. @param {{ trial: any }} props */
function Effect({ trial }) {
  const { now, then } = trial;
  const names = [...new Set([...Object.keys(now.sections), ...Object.keys(then.sections)])].filter((name) => (now.sections[name] ?? 0) !== (then.sections[name] ?? 0));
  const folds = (/** @type {any} */ side) => (side.folds ? counted(side.folds, "fold") + (side.calls ? `, ${counted(side.calls, "call")}` : "") : "none");
  return html`<table><caption class="visually-hidden">What would change in this story</caption>
    <thead><tr><th>In this story</th><th>Now</th><th>Then</th></tr></thead>
    <tbody>
      <tr><th>What the model sees</th><td>${counted(now.tokens, "token")} of ${now.budget_tokens.toLocaleString("en")}</td><td>${counted(then.tokens, "token")} of ${then.budget_tokens.toLocaleString("en")}</td></tr>
      ${names.map((name) => html`<tr key=${name}><th>${sayPart(name)}</th><td>${counted(now.sections[name] ?? 0, "token")}</td><td>${counted(then.sections[name] ?? 0, "token")}</td></tr>`)}
      <tr><th>Memory to be written</th><td>${folds(now)}</td><td>${folds(then)}</td></tr>
    </tbody></table>
    ${!names.length && now.folds === then.folds && html`<p class="faint">Nothing changes in what the model sees now.</p>`}`;
}

/** One setting in a dialog: its meaning, its value, its effect. @param {{ story: string, name: string, setting: any, own: boolean, onClose: () => void }} props */
function Change({ story, name, setting, own, onClose }) {
  const [value, setValue] = useState(show(setting.value));
  const [trial, setTrial] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  const words = typeof setting.value === "boolean" ? (value === "yes" ? "true" : "false") : value;
  const preview = async () => {
    setError("");
    try { setTrial(await send("POST", storyPath(story, "settings", "preview"), { set: [`${name}=${words}`] })); } catch (problem) { setTrial(null); setError(String(/** @type {any} */ (problem).message)); }
  };
  const save = async (/** @type {string} */ assignment, /** @type {string} */ done) => {
    try { await change(story, "PATCH", ["settings"], { set: [assignment] }, { done, undo: false }); onClose(); } catch (problem) { setError(String(/** @type {any} */ (problem).message)); }
  };
  const onInput = (/** @type {any} */ event) => { setValue(event.target.value); setTrial(null); setError(""); };
  return html`<${Dialog} title=${sayName(name)} onClose=${onClose}>
    <form onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); preview(); }}>
      ${setting.meaning && html`<p>${plain(setting.meaning)}</p>`}
      <p class="faint small">Now ${show(setting.value) || "empty"}, from ${sayFrom(setting.from)}. The default is ${show(setting.default) || "empty"}.</p>
      <label class="field"><span>New value</span>${typeof setting.value === "boolean" ? html`<select value=${value} onChange=${onInput}><option>yes</option><option>no</option></select>`
        : setting.choices ? html`<select value=${value} onChange=${onInput}>${setting.choices.map((/** @type {string} */ choice) => html`<option key=${choice}>${choice}</option>`)}</select>`
          : html`<input value=${value} onInput=${onInput} autofocus />`}</label>
      <p class="error" role="alert">${error}</p>
      <div aria-live="polite">${trial && html`<${Effect} trial=${trial} />`}</div>
      <div class="actions">
        ${own && html`<${Button} kind="quiet" onClick=${() => save(`${name}=`, "The setting of this story is taken back.")}>Take it back<//>`}
        <${Button} type="submit" disabled=${value === show(setting.value)}>What would change?<//>
        <${Button} kind="main" disabled=${value === show(setting.value)} onClick=${() => save(`${name}=${words}`, `${plain(name)} is ${value} now.`)}>Save<//>
      </div>
    </form>
  <//>`;
}

/** @param {{ story: string }} props */
function Values({ story }) {
  const settings = useLoad((signal) => get(storyPath(story, "settings"), {}, signal), [story], `story:${story}`);
  const [open, setOpen] = useState("");
  const [all, setAll] = useState(false);
  return html`<${Loaded} of=${settings} what="Reading the settings">${(/** @type {any} */ data) => {
    const names = Object.keys(data.settings);
    const shown = [...FIRST.filter((name) => names.includes(name)), ...(all ? names.filter((name) => !FIRST.includes(name)).sort() : [])];
    return html`<p class="faint">What you change here counts for this story alone. You can see what it would do before you save it.</p>
      <div class="scroll"><table class="settings"><thead><tr><th>Setting</th><th>Value</th><th>From</th><th><span class="visually-hidden">Change</span></th></tr></thead><tbody>
        ${shown.map((name) => html`<tr key=${name}><th scope="row">${sayName(name)}${data.settings[name].meaning && html`<span class="meaning faint small">${plain(data.settings[name].meaning)}</span>`}</th>
          <td>${show(data.settings[name].value) || html`<span class="faint">none</span>`}</td><td class="faint">${sayFrom(data.settings[name].from)}</td>
          <td class="row-end"><${Button} kind="quiet" aria-label=${`Change ${plain(name)}`} onClick=${() => setOpen(name)}>Change<//></td></tr>`)}
      </tbody></table></div>
      <p><${Button} kind="link" onClick=${() => setAll(!all)}>${all ? "Show the usual ones" : `Show all ${names.length}`}<//></p>
      ${open && html`<${Change} story=${story} name=${open} setting=${data.settings[open]} own=${open in data.own} onClose=${() => setOpen("")} />`}`;
  }}<//>`;
}

/** What each prompt is for. @type {Record<string, string>} */
const PROMPTS = {
  update: "Asks for what is new: recap, episode, threads, state, who was there, lore", chapter: "Asks for a chapter’s title and its short form when it closes",
  amend: "Asks to set a text right after a message was changed", scene: "Asks for the note of one scene", combine: "Asks to join the notes of scenes",
  seek: "Asks how a passage that is searched for may be worded",
  ask: "Asks for the answer to a question about the story", cast: "Asks what one character knows", brief: "Asks for the brief of an agent’s work", analysis: "Asks for the librarian’s analysis of a fragment",
};

/** @param {{ story: string }} props */
function Prompts({ story }) {
  const prompts = useLoad((signal) => get("/prompts", {}, signal), [], "prompts");
  const [open, setOpen] = useState("");
  return html`<${Loaded} of=${prompts} what="Reading the prompts">${(/** @type {any} */ data) => html`
    <p>These are the words that your model is asked with. ${data.editable ? html`Yours stand in place of ours from the next question on; they are files in <code>${data.directory}</code>.`
      : "Whoever runs this server can change them."}</p>
    <ul class="bare lines">${data.prompts.map((/** @type {any} */ prompt) => html`<li key=${prompt.prompt}><div class="line"><b>${prompt.prompt}</b>
      ${prompt.own && html`<span class="badge">yours</span>`}<span class="faint">${PROMPTS[prompt.prompt] ?? ""}</span>
      <span class="tools"><${Button} kind="quiet" aria-label=${`Open the prompt ${prompt.prompt}`} onClick=${() => setOpen(prompt.prompt)}>Open<//></span></div></li>`)}</ul>
    <${NextQuestion} story=${story} />
    ${open && html`<${Prompt} prompt=${data.prompts.find((/** @type {any} */ one) => one.prompt === open)} editable=${data.editable} reload=${prompts.reload} onClose=${() => setOpen("")} />`}`}<//>`;
}

/** One prompt, to read or to change. @param {{ prompt: any, editable: boolean, reload: () => void, onClose: () => void }} props */
function Prompt({ prompt, editable, reload, onClose }) {
  const save = async (/** @type {string} */ text, /** @type {{ key: string }} */ { key }) => {
    await send("PUT", `/prompts/${prompt.prompt}`, { text }, { key });
    reload();
    toast("Your prompt counts from the next question on.");
  };
  const remove = async () => { await send("DELETE", `/prompts/${prompt.prompt}`); reload(); toast("The prompt is ours again."); onClose(); };
  return html`<${Dialog} title=${`Prompt: ${prompt.prompt}`} wide=${true} onClose=${onClose}>
    <p class="faint small">Each of these must stay in it, once or more: ${prompt.placeholders.map((/** @type {string} */ name) => html`<code key=${name}>${`{{${name}}}`}</code> `)}</p>
    ${editable ? html`<${TextEditor} id=${`prompt:${prompt.prompt}`} label=${`The prompt ${prompt.prompt}`} text=${prompt.text} rows=${24} plain=${true} save=${save} onDone=${onClose} />`
      : html`<pre class="prompt">${prompt.text}</pre>`}
    ${editable && prompt.own && html`<p><${Button} kind="danger quiet" onClick=${remove}>Take ours again<//></p>`}
  <//>`;
}

/** The next question, word for word. @param {{ story: string }} props */
function NextQuestion({ story }) {
  const [wanted, setWanted] = useState(false);
  const question = useLoad((signal) => (wanted ? get(storyPath(story, "next-question"), {}, signal) : Promise.resolve(null)), [story, wanted], `story:${story}`);
  if (!wanted) return html`<h2>What your model would be asked next</h2><p><${Button} onClick=${() => setWanted(true)}>Show it<//></p>`;
  if (question.error) return html`<${Failure} error=${question.error} retry=${question.reload} />`;
  if (!question.data) return html`<${Loading} what="Putting the question together" />`;
  const { data } = question;
  if (!data.prompt) return html`<h2>What your model would be asked next</h2><p class="faint">Nothing: this story has too few messages to ask about.</p>`;
  return html`<h2>What your model would be asked next</h2>
    <p>${data.due ? `About messages ${data.span[0]} to ${data.span[1]}` : "Nothing is due now. The first question about this story was"}, with the prompt <b>${data.prompt}</b>, ${counted(data.tokens, "token")}.</p>
    <h3>Instructions</h3><pre class="prompt">${data.system}</pre><h3>What it is given</h3><pre class="prompt">${data.user}</pre>`;
}

const TABS = [{ id: "values", label: "Settings" }, { id: "prompts", label: "Prompts" }, { id: "model", label: "Model" }];

/** @param {{ story: string, query: Record<string, string> }} props */
export default function Settings({ story, query }) {
  const at = TABS.some((tab) => tab.id === query.tab) ? query.tab : "values";
  return html`<h1>Settings</h1>
    <${Tabs} label="Settings" tabs=${TABS} at=${at} onChange=${(/** @type {string} */ tab) => go(linkTo("settings", story, { tab }), { replace: true })} />
    <${Panel} id=${at}>${at === "values" ? html`<${Values} story=${story} />` : at === "prompts" ? html`<${Prompts} story=${story} />` : html`<${ModelChoice} />`}<//>`;
}
