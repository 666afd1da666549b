// Everything that folds and people wrote, the newest first: what it was, what it cost, and the way back.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded, When } from "../../ui.js";
import { change } from "../../actions.js";
import { sayMaker, sayStatus } from "./history.js";

const PAGE = 50;

/** @type {Record<string, string>} */
const KINDS = { recap: "Recap", episode: "Episode", note: "Notes", chapter: "Chapter", short: "Chapter in short", backbone: "Whole story in short", brief: "Brief", scene: "Scene", analysis: "Analysis", cast: "What somebody knows", lore: "Lore", question: "Question" };
/** @param {string} kind */
const sayKind = (kind) => KINDS[kind] ?? kind;

/** @param {string} reason */
const sayReason = (reason) => reason.replace(/^([\d,]+) tokens\b/, "enough was new: $1 tokens").replace(/^no room for it in the view\b/, "the model’s window was full");

/** The words of a version; what somebody knows is kept as data. @param {string} kind @param {string} text */
function readWords(kind, text) {
  if (kind !== "cast") return text;
  try {
    const { summary = "", facts = [] } = JSON.parse(text);
    return [summary, ...facts.map((/** @type {any} */ fact) => `• ${fact.text ?? fact}`)].filter(Boolean).join("\n") || "Nothing.";
  } catch { return text; }
}

/** @param {{ story: string }} props */
export function Log({ story }) {
  const [most, setMost] = useState(PAGE);
  const log = useLoad((signal) => get(storyPath(story, "versions"), { limit: most }, signal), [story, most], `story:${story}`);
  const [shown, setShown] = useState(/** @type {any} */ (null));
  return html`<${Loaded} of=${log}>${(/** @type {any} */ data) => (data.versions.length ? html`<div class="scroll" tabindex="0" role="region" aria-label="Log"><table class="stacked">
      <thead><tr><th scope="col">What</th><th scope="col">Messages</th><th scope="col">By</th><th scope="col">Why</th><th scope="col" class="number">Tokens read / written</th><th scope="col">When</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${data.versions.map((/** @type {any} */ one) => html`<tr key=${one.id}><td>${sayKind(one.kind)} <span class="faint small">${one.id}</span>${one.status !== "committed" && html` <span class="badge warn">${sayStatus(one.status)}</span>`}</td>
        <td data-label="messages ">${one.span[0]}–${one.span[1]}</td><td data-label="by ">${one.model || sayMaker(one.made_by).replace(/^by /, "")}</td><td class="wide-cell">${sayReason(one.reason)}</td><td class="number" data-label="tokens ">${one.input_tokens || one.output_tokens ? `${one.input_tokens.toLocaleString("en")} / ${one.output_tokens.toLocaleString("en")}` : html`<span class="faint" title="It came with the text before it, in one answer">–</span>`}</td><td><${When} at=${one.at} /></td>
        <td><${Button} kind="quiet" aria-label=${`Show version ${one.id}`} onClick=${() => setShown(one)}>Show<//></td></tr>`)}</tbody></table></div>
      ${data.next && html`<p class="row-end"><${Button} onClick=${() => setMost(Math.min(500, most + PAGE))}>More<//></p>`}
      ${shown && html`<${Version} story=${story} version=${shown} onClose=${() => setShown(null)} />`}` : html`<${Empty} title="Nothing is written yet"><p>Each text of memory is listed here, with its reason and its cost.</p><//>`)}<//>`;
}

/** @param {{ story: string, version: any, onClose: () => void }} props */
function Version({ story, version, onClose }) {
  const whole = useLoad((signal) => get(storyPath(story, "things", `version:${version.id}`), {}, signal), [story, version.id]);
  const act = (/** @type {string} */ verb) => async () => { await change(story, "POST", ["versions", version.id, verb], {}); onClose(); };
  return html`<${Dialog} title=${`${sayKind(version.kind)}, version ${version.id}`} wide onClose=${onClose}>
    <p class="faint small">Messages ${version.span[0]}–${version.span[1]} · ${version.model || sayMaker(version.made_by)} · ${sayStatus(version.status)} · ${sayReason(version.reason)}</p>
    <${Loaded} of=${whole}>${(/** @type {any} */ data) => html`<div class="story-text" dir="auto">${readWords(version.kind, data.words ?? data.text)}</div>`}<//>
    <div class="actions"><${Button} kind="quiet" onClick=${act("undo")}>Take it back<//><${Button} onClick=${act("restore")}>Restore it<//></div>
  <//>`;
}
