// What a search in a story found, and the help of a model with it.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Dialog, Loaded, isOnlyAlike, sayFound } from "../../ui.js";

/** @param {{ story: string, words: string, onChoose: (hit: any) => void, onClose: () => void }} props */
export function SearchResults({ story, words, onChoose, onClose }) {
  const [helped, setHelped] = useState(false);
  const model = useLoad((signal) => get("/model", {}, signal), [], "model").data?.model;
  const found = useLoad((signal) => get(storyPath(story, "search"), { q: words, top: 20, with_model: helped || undefined }, signal), [story, words, helped]);
  return html`<${Dialog} title=${sayTitle(words, found.data?.hits)} wide onClose=${onClose}>
    ${model && html`<label class="model-help"><input type="checkbox" role="switch" checked=${helped} aria-describedby="model-help-cost" onChange=${(/** @type {any} */ event) => setHelped(event.target.checked)} />
      <span>Let my model help <span class="faint small" id="model-help-cost">It makes two calls: it says how the answer may be worded, and picks the passages that help.</span></span></label>`}
    <${Loaded} of=${found} what=${helped ? "Your model looks for what helps" : "Searching"}>${(/** @type {any} */ data) => html`
      ${data.pick && html`<p role="status">${sayHelp(data)}</p>`}
      ${data.hits.length > 0 ? html`<p class=${isOnlyAlike(data.hits) ? "" : "faint"} role="status">${sayFound(data.hits)}</p>` : html`<p class="faint">Other words may help: search looks for words, and for what they mean where that is set up.</p>`}
      <ol class="bare hits">${data.hits.map((/** @type {any} */ hit) => html`<li key=${`${hit.from_story ?? ""}/${hit.position}`}>
        <${Button} kind="quiet hit" onClick=${() => onChoose(hit)}>
          <span class="faint small">${hit.from_story ? `${hit.from_story}, ` : ""}${hit.position}${hit.speaker ? ` · ${hit.speaker}` : ""}</span>${hit.picked && html` <span class="badge now">picked</span>`}
          <span class="story-text" dir="auto">${hit.text.slice(0, 400)}</span><//></li>`)}</ol>`}<//><//>`;
}

/** @param {string} words @param {any[] | undefined} hits */
function sayTitle(words, hits) {
  if (!hits) return `Searching for “${words}”`;
  if (!hits.length) return "Nothing was found";
  return isOnlyAlike(hits) ? `Not found: “${words}”` : `Found for “${words}”`;
}

/** Say what a model did for a search, as the command line does. @param {any} data */
function sayHelp({ words, pick }) {
  const end = (/** @type {string} */ reason) => `${reason.replace(/\.$/, "")}.`;
  if (words.reason && words.reason === pick.reason) return `Your model could not help, so this is the search alone: ${end(words.reason)}`;
  const sought = words.reason ? `Your model gave no other words: ${end(words.reason)}` : `Looked for too: ${words.lines.map((/** @type {string} */ line) => `“${line.replace(/\.$/, "")}”`).join(", ")}.`;
  return `${sought} ${pick.reason ? `It picked none of the passages: ${end(pick.reason)}` : `It picked ${pick.picked} of ${pick.offered} passages, shown first.`}`;
}
