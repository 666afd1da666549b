// What the model saw at any turn: the exact messages, what each part cost and why it was there, what was left out.
import { html, useState } from "../preact.js";
import { get, storyPath } from "../api.js";
import { useLoad } from "../store.js";
import { BudgetBar, Button, Empty, Loaded, Panel, Tabs, WordDiff, counted, sayPart } from "../ui.js";
import { go, linkTo } from "../router.js";
import { useKeys } from "../keys.js";

/** @param {{ story: string, query: Record<string, string> }} props */
export default function Saw({ story, query }) {
  const at = query.turn ?? "now";
  const other = query.with ?? "";
  const reader = query.reader ?? "chat";
  const messages = useLoad((signal) => get(storyPath(story, "messages"), { limit: 100 }, signal), [story], `story:${story}`);
  const cast = useLoad((signal) => get(storyPath(story, "cast"), {}, signal), [story], `story:${story}`);
  /** @type {any[]} */
  const replies = (messages.data?.messages ?? []).filter((/** @type {any} */ one) => one.role === "assistant");
  const show = (/** @type {Record<string, string>} */ next) => go(linkTo("saw", story, { turn: at, with: other, reader: reader === "chat" ? "" : reader, ...next }), { replace: true });
  const turns = [...replies.map((one) => String(one.position)), "now"];
  const step = (/** @type {number} */ by) => { if (messages.data) show({ turn: turns[Math.max(0, Math.min(turns.length - 1, turns.indexOf(at) + by))] ?? "now" }); };
  useKeys([{ keys: "[", says: "An earlier turn", run: () => step(-1) }, { keys: "]", says: "A later turn", run: () => step(1) }]);
  const picker = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ name, /** @type {boolean} */ none) => html`<label class="field"><span>${label}</span>
    <select value=${value} onChange=${(/** @type {any} */ event) => show({ [name]: event.target.value })}>
      ${none && html`<option value="">nothing: one turn alone</option>`}<option value="now">now, for the next answer</option>
      ${[...replies].reverse().map((one) => html`<option key=${one.position} value=${String(one.position)}>message ${one.position}: ${one.speaker ? `${one.speaker}, ` : ""}${one.text.slice(0, 50)}</option>`)}
      ${value && value !== "now" && !replies.some((one) => String(one.position) === value) && html`<option value=${value}>message ${value}</option>`}
    </select></label>`;
  return html`<h1>What the model saw</h1>
    <div class="filters">
      ${picker("At which turn", at, "turn", false)}${picker("Side by side with", other, "with", true)}
      <label class="field"><span>Seen by</span><select value=${reader} onChange=${(/** @type {any} */ event) => show({ reader: event.target.value === "chat" ? "" : event.target.value })}>
        <option value="chat">the chat’s model</option><option value="narrator">the narrator</option>${(cast.data?.cast ?? []).map((/** @type {any} */ one) => html`<option key=${one.name} value=${`character:${one.name}`}>${one.name}</option>`)}</select></label>
      <span class="inline steps"><${Button} onClick=${() => step(-1)} aria-label="An earlier turn" disabled=${turns.indexOf(at) <= 0}>←<//><${Button} onClick=${() => step(1)} aria-label="A later turn" disabled=${turns.indexOf(at) === turns.length - 1}>→<//></span>
    </div>
    <div class=${other ? "side-by-side" : ""}><${Turn} story=${story} at=${at} reader=${reader} />${other && html`<${Turn} story=${story} at=${other} reader=${reader} />`}</div>
    ${other && html`<${Compared} story=${story} first=${at} second=${other} reader=${reader} />`}`;
}

/** @param {string} story @param {string} at @param {string} reader @param {AbortSignal} signal */
const readView = (story, at, reader, signal) => (at === "now" ? get(storyPath(story, "view"), { reader }, signal) : get(storyPath(story, "messages", at, "saw"), { reader }, signal));

/** @param {any} message */
const textOf = (message) => (typeof message.content === "string" ? message.content
  : Array.isArray(message.content) ? message.content.map((/** @type {any} */ part) => part.text ?? `[${part.type}]`).join("\n") : message.tool_calls ? JSON.stringify(message.tool_calls, null, 1) : "");

/** @type {Record<string, string>} */
const ROLES = { system: "Instructions and memory", user: "User", assistant: "Model", tool: "Tool" };

/** @param {{ story: string, at: string, reader: string }} props */
function Turn({ story, at, reader }) {
  const view = useLoad((signal) => readView(story, at, reader, signal), [story, at, reader], `story:${story}`);
  const [tab, setTab] = useState("text");
  return html`<section class="turn" aria-label=${at === "now" ? "Now" : `Message ${at}`}><h2>${at === "now" ? "Now" : `For message ${at}`}</h2>
    ${view.error?.body?.code === "bad_input" ? html`<${Empty} title="What it saw here is not known"><p>Nobody asked for this answer through Previously, or the story was changed before it since. From now on it is kept for each turn.</p><//>` : html`<${Loaded} of=${view} what="Making the view">${(/** @type {any} */ data) => html`
      ${!data.messages.length && html`<p class="faint">There is nothing to show to the model yet.</p>`}
      <p>${data.tokens.toLocaleString("en")} of ${counted(data.budget_tokens, "token")}.${data.as_shown === false ? " What it was made of has changed since: this is as near to it as can be." : ""}</p>
      <${BudgetBar} sections=${Object.entries(data.report.sections)} budget=${data.budget_tokens} />
      <${Tabs} label="Show" group=${`${at}-`} at=${tab} onChange=${setTab} tabs=${[{ id: "text", label: "The exact text" }, { id: "why", label: "Why each part", count: data.items.length }, { id: "out", label: "Left out", count: data.left_out.length }]} />
      <${Panel} id=${tab} group=${`${at}-`}>${tab === "text" && html`<ol class="bare view-messages">${data.messages.map((/** @type {any} */ message, /** @type {number} */ index) => html`<li key=${index} class=${`view-message ${message.role}`}>
        <p class="small faint">${ROLES[message.role] ?? message.role}${message.name ? ` · ${message.name}` : ""}</p><div class="story-text" dir="auto">${textOf(message)}</div></li>`)}</ol>`}
      ${tab === "why" && html`<div class="scroll" tabindex="0" role="region" aria-label="Why each part is there"><table class="stacked"><thead><tr><th scope="col">Part</th><th scope="col">Messages</th><th scope="col" class="number">Tokens</th><th scope="col">Why</th></tr></thead><tbody>
        ${gather(data.items).map((/** @type {any} */ item, /** @type {number} */ index) => html`<tr key=${index}><td><span class=${`patch part-${item.section}`} aria-hidden="true" />${sayPart(item.section)}</td><td data-label="messages ">${item.spans}</td><td class="number" data-label="tokens ">${item.tokens.toLocaleString("en")}</td><td class="wide-cell">${item.reason}</td></tr>`)}</tbody></table></div>`}
      ${tab === "out" && (data.left_out.length ? html`<ul class="bare lines">${data.left_out.map((/** @type {any} */ item, /** @type {number} */ index) => html`<li key=${index}><b dir="auto">${item.what}</b> <span class="faint">${item.reason}</span></li>`)}</ul>` : html`<${Empty} title="Nothing was left out" />`)}<//>`}<//>`}
  </section>`;
}

/** Take items of one part and one reason together. @param {any[]} items */
function gather(items) {
  /** @type {any[]} */
  const rows = [];
  for (const item of items) {
    const said = item.reason.replace("shown since this epoch began", "shown since the memory above was last renewed").replace("recipe", "record");
    const reason = item.score === null || item.score === undefined ? said : `${said} (score ${item.score.toFixed(2)})`;
    const before = rows.at(-1);
    if (before?.section === item.section && before.reason === reason) { before.tokens += item.tokens; before.sources.push(...item.sources); }
    else rows.push({ section: item.section, reason, tokens: item.tokens, sources: [...item.sources] });
  }
  return rows.map((row) => ({ ...row, spans: saySpans(row.sources) }));
}

/** @param {[number, number][]} spans */
function saySpans(spans) {
  /** @type {[number, number][]} */
  const joined = [];
  for (const [first, last] of [...spans].sort((a, b) => a[0] - b[0])) {
    const before = joined.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`)).join(", ") || "–";
}

/** What differs between the memory of two turns, word by word. @param {{ story: string, first: string, second: string, reader: string }} props */
function Compared({ story, first, second, reader }) {
  const both = useLoad(async (signal) => Promise.all([second, first].map((at) => readView(story, at, reader, signal))), [story, first, second, reader], `story:${story}`);
  const front = (/** @type {any} */ view) => view.messages.filter((/** @type {any} */ one) => one.role === "system").map(textOf).join("\n\n");
  if (both.error) return null; // the turn itself says what is wrong
  return html`<section><h2>Instructions and memory, word by word</h2><p class="faint">From ${second === "now" ? "now" : `message ${second}`} to ${first === "now" ? "now" : `message ${first}`}.</p>
    <${Loaded} of=${both}>${(/** @type {any} */ [before, after]) => html`<${WordDiff} before=${front(before)} after=${front(after)} />`}<//></section>`;
}
