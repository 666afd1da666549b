// Threads: what is open (promises, debts, secrets, questions), and what was settled.
import { html } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Empty, Loaded, confirm, prompt } from "../../ui.js";
import { change } from "../../actions.js";
import { MemoryText } from "./memory_text.js";

/** @type {Record<string, string>} */
const HEADINGS = { open: "Open", dormant: "Not spoken of for long", resolved: "Settled", settled: "Settled" };

/** @param {{ story: string }} props */
export function Threads({ story }) {
  const threads = useLoad((signal) => get(storyPath(story, "threads"), { all: true }, signal), [story], `story:${story}`);
  const add = async () => {
    const text = await prompt({ title: "A new thread", label: "What is open? A promise, a debt, a secret, a question", action: "Add" });
    if (text) await change(story, "POST", ["threads"], { text }, { done: "The thread is open." });
  };
  return html`<div class="column">
    <${Loaded} of=${threads}>${(/** @type {any} */ data) => {
      const groups = ["open", "dormant", "resolved", "settled"].map((status) => [status, data.threads.filter((/** @type {any} */ one) => one.status === status)]).filter(([, rows]) => rows.length);
      return groups.length ? groups.map(([status, rows]) => html`<section key=${status}><h2>${HEADINGS[status]} <span class="count">${rows.length}</span></h2>
          ${rows.map((/** @type {any} */ one) => html`<${Thread} key=${one.id} story=${story} thread=${one} all=${data.threads} />`)}</section>`)
        : html`<${Empty} title="No threads yet"><p>A model notes promises, debts, secrets and questions while it folds. You can add your own.</p><//>`;
    }}<//><p><${Button} onClick=${add}>Add a thread<//></p></div>`;
}

/** @param {{ story: string, thread: any, all: any[] }} props */
function Thread({ story, thread, all }) {
  const done = thread.status === "resolved" || thread.status === "settled";
  const act = (/** @type {string} */ verb, /** @type {string} */ said, /** @type {any} */ body = {}) => () => change(story, "POST", ["threads", thread.id, verb], body, { done: said });
  const merge = async () => {
    const number = await prompt({ title: "The same as thread …", label: "Its number", action: "Merge", text: all.filter((one) => one.id !== thread.id).slice(0, 15).map((one) => `${one.number}: ${one.text.slice(0, 60)}`).join("\n") });
    const into = all.find((one) => String(one.number) === number?.replace(/\D/g, ""));
    if (into) await act("merge", "The two are one thread now.", { into: into.id })();
  };
  const remove = async () => {
    if (await confirm({ title: "Remove this thread?", text: thread.text, action: "Remove", danger: true })) await change(story, "DELETE", ["things", thread.thing]);
  };
  return html`<div class="thread">
    <${MemoryText} small story=${story} thing=${thread.thing} title=${`Thread ${thread.number}`} text=${thread.text} etag=${thread.etag} by=${thread.by} earlier=${thread.earlier}
      more=${[{ label: "Merge with another thread …", run: merge }, { label: "Remove", danger: true, run: remove }]} />
    <div class="line small"><span class="faint">opened at message ${thread.opened}${thread.touched !== null && thread.touched !== thread.opened && `, last spoken of at ${thread.touched}`}
        ${thread.resolved !== null && `, settled at ${thread.resolved}`}${thread.due && ` · due ${thread.due}`}${thread.owner && ` · owed by ${thread.owner}`}</span>
      <span class="tools">${done ? html`<${Button} kind="quiet" onClick=${act("reopen", "The thread is open again.")}>Open again<//>` : html`<${Button} kind="quiet" onClick=${act("resolve", "The thread is settled.")}>Settle<//>`}</span></div>
    ${thread.outcome && html`<p class="small">How it ended: ${thread.outcome}</p>`}
    ${thread.suggestions.map((/** @type {string} */ text) => html`<div class="suggestion" key=${text}><p class="small faint">A fold suggests:</p><p class="story-text" dir="auto">${text}</p>
      <div class="actions"><${Button} kind="main" onClick=${() => change(story, "PATCH", ["threads", thread.id], { text })}>Accept<//></div></div>`)}
  </div>`;
}
