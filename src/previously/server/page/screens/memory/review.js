// What waits for a person: texts to approve, contradictions, gaps, suggestions, and texts whose messages changed.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Empty, Loaded, WordDiff, When, prompt } from "../../ui.js";
import { change } from "../../actions.js";
import { linkTo } from "../../router.js";
import { Suggestion } from "./lore.js";
import { sayMaker } from "./history.js";
import { Source } from "./sources.js";

/** @type {Record<string, string>} */
const GAPS = { missing_analysis: "this message has not been read yet", empty_summary_update: "nothing was noted of this message" };

/** @param {{ story: string }} props */
export function Review({ story }) {
  const all = useLoad(async (signal) => {
    const read = (/** @type {string} */ what, /** @type {any} */ query = {}) => get(storyPath(story, what), query, signal);
    const [pending, analyses, gaps, lore, outdated] = await Promise.all([read("pending"), read("analyses"), read("gaps"), read("lore", { all: true }), read("outdated")]);
    return { pending: pending.versions, analyses: analyses.analyses, gaps: gaps.gaps, lore: lore.lore, stale: outdated.stale, flagged: outdated.flagged };
  }, [story], `story:${story}`);
  return html`<div class="column"><${Loaded} of=${all} what="Looking for what waits">${(/** @type {any} */ data) => {
    const contradictions = data.analyses.flatMap((/** @type {any} */ one) => one.contradictions.filter((/** @type {string} */ text) => !one.dismissed.includes(text)).map((/** @type {string} */ text) => ({ position: one.position, text })));
    const suggested = data.lore.filter((/** @type {any} */ one) => one.status === "suggested");
    const rewritten = data.lore.filter((/** @type {any} */ one) => one.suggestions.length);
    if (!data.pending.length && !contradictions.length && !data.gaps.length && !suggested.length && !rewritten.length && !data.stale.length && !data.flagged.length) {
      return html`<${Empty} title="Nothing waits for you"><p>Texts to approve, contradictions and suggestions appear here.</p><//>`;
    }
    return html`
      ${data.pending.length > 0 && html`<section><h2>Waiting for your approval <span class="count">${data.pending.length}</span></h2>${data.pending.map((/** @type {any} */ one) => html`<${Pending} key=${one.id} story=${story} version=${one} />`)}</section>`}
      ${contradictions.length > 0 && html`<section><h2>Contradictions <span class="count">${contradictions.length}</span></h2>${contradictions.map((/** @type {any} */ one) => html`<${Contradiction} key=${one.position + one.text} story=${story} one=${one} />`)}</section>`}
      ${suggested.length > 0 && html`<section><h2>Suggested entries <span class="count">${suggested.length}</span></h2>${suggested.map((/** @type {any} */ one) => html`<div class="suggestion" key=${one.name}><h3 dir="auto">${one.name}</h3><p class="story-text" dir="auto">${one.content}</p>
        <div class="actions"><${Button} kind="quiet" onClick=${() => change(story, "DELETE", ["things", `lore:${one.name}`])}>Dismiss<//><a class="button" href=${linkTo("memory", story, { tab: "lore" })}>Edit</a>
        <${Button} kind="main" onClick=${() => change(story, "POST", ["lore", one.name, "accept"], {})}>Accept<//></div></div>`)}</section>`}
      ${rewritten.length > 0 && html`<section><h2>Suggested words</h2>${rewritten.map((/** @type {any} */ one) => html`<div key=${one.name}><h3 dir="auto">${one.name}</h3><p class="small faint">You wrote: ${one.content}</p>
        ${one.suggestions.map((/** @type {string} */ text) => html`<${Suggestion} key=${text} story=${story} entry=${one} text=${text} />`)}</div>`)}</section>`}
      ${data.gaps.length > 0 && html`<section><h2>Gaps <span class="count">${data.gaps.length}</span></h2><p class="faint">The summary stops here until they are filled.</p><ul class="bare lines">${data.gaps.map((/** @type {any} */ one) => html`<li key=${one.position}><div class="line"><span>Message ${one.position}: ${GAPS[one.reason] ?? one.reason}</span>
        <span class="tools"><${Button} onClick=${() => change(story, "POST", ["analyze"], { position: one.position }, { undo: false, done: `Message ${one.position} was read.` })}>Read it now<//></span></div></li>`)}</ul></section>`}
      ${(data.stale.length > 0 || data.flagged.length > 0) && html`<section><h2>Out of date</h2><p class="faint">Messages they were made from have changed. The next fold sets texts of the model right; those by hand are yours to check.</p>
        <ul>${data.stale.map((/** @type {any} */ one) => html`<li key=${String(one)}>${typeof one === "string" ? one : one.thing ?? one.what}</li>`)}${data.flagged.map((/** @type {any} */ one) => html`<li key=${String(one)}>${typeof one === "string" ? one : one.thing ?? one.what} (by hand)</li>`)}</ul></section>`}`;
  }}<//></div>`;
}

/** A text that waits for approval, against the one it would replace. @param {{ story: string, version: any }} props */
function Pending({ story, version }) {
  const reject = async () => {
    const reason = await prompt({ title: "Reject this text", label: "Why? The next try is told.", action: "Reject" });
    if (reason !== null) await change(story, "POST", ["versions", version.id, "reject"], { reason });
  };
  return html`<article class="suggestion"><header class="small"><b>${version.kind}</b> <span class="faint">${version.span && `messages ${version.span[0]}–${version.span[1]} · `}${sayMaker(version.made_by)} · <${When} at=${version.at} /></span></header>
    ${version.before_text ? html`<${WordDiff} before=${version.before_text} after=${version.text ?? ""} />` : html`<p class="story-text" dir="auto">${version.text}</p>`}
    <div class="actions"><${Button} kind="quiet" onClick=${reject}>Reject …<//><${Button} kind="main" onClick=${() => change(story, "POST", ["versions", version.id, "approve"], {})}>Approve<//></div></article>`;
}

/** @param {{ story: string, one: any }} props */
function Contradiction({ story, one }) {
  const dismiss = () => change(story, "POST", ["analyses", one.position, "dismiss"], { text: one.text });
  const [open, setOpen] = useState(false);
  const message = useLoad((signal) => (open ? get(storyPath(story, "messages", one.position), {}, signal) : Promise.resolve(null)), [story, one.position, open]);
  return html`<article class="suggestion"><p class="story-text" dir="auto">${one.text}</p>
    <div class="actions"><span class="hint faint">message ${one.position}</span><${Button} kind="quiet" onClick=${dismiss}>Dismiss<//><${Button} kind="quiet" onClick=${() => setOpen(!open)}>${open ? "Hide the message" : "Show the message"}<//>
    <${Button} onClick=${() => change(story, "POST", ["analyze"], { position: one.position, again: true }, { undo: false, done: "The message was read again." })}>Read it again<//></div>
    ${open && message.data && html`<${Source} story=${story} message=${message.data} like=${one.text} />`}</article>`;
}
