// How the model is asked in this story: prompt, card, persona, author's note, sampling.
import { html, useState } from "../../preact.js";
import { send, storyPath } from "../../api.js";
import { announce } from "../../store.js";
import { Button, Dialog, toast } from "../../ui.js";

/** @type {[string, [string, string, string, number?][]][]} */
const GROUPS = [
  ["The character", [
    ["name", "Name", "line"], ["description", "Description", "text", 5], ["personality", "Personality", "text", 2],
    ["scenario", "The scene", "text", 3], ["examples", "Examples of how they write", "text", 3],
  ]],
  ["You", [["user_name", "Your name", "line"], ["user_description", "Who you are", "text", 2]]],
  ["What the model is told", [
    ["system", "System prompt; empty for ours", "text", 4], ["note", "Author’s note: shown shortly before the model writes", "text", 2],
    ["note_depth", "Messages behind the note", "whole"], ["form", "Form", "form"],
  ]],
  ["Sampling", [
    ["temperature", "Temperature", "number"], ["top_p", "Top P", "number"], ["top_k", "Top K", "whole"], ["min_p", "Min P", "number"],
    ["frequency_penalty", "Frequency penalty", "number"], ["presence_penalty", "Presence penalty", "number"], ["repeat_penalty", "Repeat penalty", "number"],
    ["max_tokens", "Longest reply, in tokens", "whole"], ["seed", "Seed", "whole"], ["stop", "Stop before these words, one in a line", "lines", 2],
  ]],
];

/** @param {any} value */
const show = (value) => (Array.isArray(value) ? value.join("\n") : value === null || value === undefined ? "" : String(value));

/** @param {string} kind @param {string} text */
function read(kind, text) {
  if (kind === "number" || kind === "whole") return text.trim() === "" ? null : Number(text);
  if (kind === "lines") return text.split("\n").filter(Boolean);
  return text;
}

/** @param {{ story: string, setup: any, onClose: () => void }} props */
export function Setup({ story, setup, onClose }) {
  const [now, setNow] = useState(() => Object.fromEntries(Object.entries(setup).map(([key, value]) => [key, show(value)])));
  const [error, setError] = useState("");
  const write = (/** @type {string} */ key) => (/** @type {any} */ event) => setNow((/** @type {any} */ old) => ({ ...old, [key]: event.target.value }));
  const save = async () => {
    /** @type {Record<string, unknown>} */
    const changes = {};
    for (const [, fields] of GROUPS) for (const [key, , kind] of fields) if (now[key] !== show(setup[key])) changes[key] = read(kind, now[key] ?? "");
    try {
      if (Object.keys(changes).length) await send("PATCH", storyPath(story, "chat", "setup"), { setup: changes });
      announce(`story:${story}`);
      toast("Saved. It holds from the next reply on.");
      onClose();
    } catch (problem) { setError(String(/** @type {any} */ (problem)?.message ?? problem)); }
  };
  const field = (/** @type {[string, string, string, number?]} */ [key, label, kind, rows]) => html`<label class=${`field ${kind}`} key=${key}><span>${label}</span>
    ${kind === "form" ? html`<select value=${now[key]} onChange=${write(key)}>
        <option value="">as the kind of story wants it</option><option value="chat">a chat</option><option value="prose">prose</option></select>`
    : rows ? html`<textarea rows=${rows} dir="auto" value=${now[key]} onInput=${write(key)}></textarea>`
    : html`<input dir="auto" inputmode=${kind === "line" ? "text" : "decimal"} value=${now[key]} onInput=${write(key)} />`}</label>`;
  return html`<${Dialog} title="How the model is asked" wide onClose=${onClose}>
    <p class="faint small"><code>${"{{char}}"}</code> and <code>${"{{user}}"}</code> stand for the two names. What you leave empty is left to the server.</p>
    <form class="setup" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); save(); }}>
      ${GROUPS.map(([title, fields]) => html`<fieldset key=${title} class=${title === "Sampling" ? "small-fields" : ""}><legend>${title}</legend>${fields.map(field)}</fieldset>`)}
      <p class="error" role="alert">${error}</p>
      <div class="actions main-actions"><${Button} kind="quiet" onClick=${onClose}>Cancel<//><${Button} kind="main" type="submit" onClick=${save}>Save<//></div>
    </form>
  <//>`;
}
