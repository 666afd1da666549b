// Folds in progress, and each that failed: its cause in one sentence, another try, another model.
import { html, useEffect, useState } from "../../preact.js";
import { Away, follow, get, send, storyPath } from "../../api.js";
import { announce, listen, useLoad } from "../../store.js";
import { linkTo } from "../../router.js";
import { Button, counted, prompt, sayError, toast } from "../../ui.js";

/** @type {Record<string, string>} */
const KINDS = { recap: "The recap", episode: "An episode", note: "The notes", chapter: "A chapter", backbone: "The whole story in short", brief: "The brief", scene: "A scene", analysis: "The reading", cast: "What a character knows", lore: "Lore" };

const MOST_CAUSES = 3; // further ones say the same in other words: a model that cannot, cannot often

/**
 * Say what failed, texts of one kind that failed for one reason in one sentence. Before the reason stands why it was due.
 * @param {any[]} failures @returns {string[]}
 */
export function sayFailures(failures) {
  /** @type {Map<string, { count: number, first: number, last: number, one: any }>} */
  const groups = new Map();
  for (const one of failures) {
    const cause = one.status === "provisional" ? one.cause.replace(/^[^;]*; /, "") : one.cause;
    const [first, last] = one.span ?? [0, 0];
    const name = `${one.kind} ${one.status} ${cause} ${one.model}`;
    const known = groups.get(name);
    groups.set(name, { count: (known?.count ?? 0) + 1, first: Math.min(first, known?.first ?? first), last: Math.max(last, known?.last ?? last), one: { ...one, cause } });
  }
  return [...groups.values()].map(({ count, first, last, one }) => {
    const what = `${KINDS[one.kind] ?? one.kind} of messages ${first}–${last}${count > 1 ? ` (${count} texts)` : ""}`;
    return `${what} ${one.status === "provisional" ? "is quoted, not written:" : "was not written:"} ${one.cause}${one.model ? ` (${one.model})` : ""}`;
  });
}

/** Begin to fold what is due; whoever shows the story's health shows how it goes on. @param {string} story @param {any} [wish] */
export async function foldNow(story, wish = {}) {
  await send("POST", storyPath(story, "fold"), wish);
  announce(`fold:${story}`);
}

/** @param {{ story: string, folding: boolean }} props */
export function Health({ story, folding }) {
  const [running, setRunning] = useState(folding);
  const [done, setDone] = useState({ done: 0, total: 0 });
  const health = useLoad((signal) => get(storyPath(story, "health"), {}, signal), [story], `story:${story}`);
  useEffect(() => setRunning(folding), [folding]);
  useEffect(() => listen(`fold:${story}`, () => setRunning(true)), [story]);
  useEffect(() => { if (health.data?.folding === "running") setRunning(true); }, [health.data]);
  useEffect(() => {
    if (!running) return undefined;
    const stop = new AbortController();
    setDone({ done: 0, total: 0 });
    follow("GET", storyPath(story, "fold", "events"), { signal: stop.signal }, (name, data) => {
      if (name === "fold") setDone({ done: data?.done ?? 0, total: data?.total ?? 0 });
      if (name === "end") {
        setRunning(false);
        announce(`story:${story}`);
        announce("stories");
        if (data?.state === "failed") toast(data.cause ?? "The fold failed.", { kind: "bad" });
        else if (data?.state === "done") toast(data.report?.folds?.length ? `${counted(data.report.folds.length, "fold")} done.` : "There was nothing to fold.");
      }
    }).then(() => setRunning(false), (error) => { setRunning(false); if (!(error instanceof Away) && !stop.signal.aborted) sayError(error); });
    return () => stop.abort();
  }, [running, story]);
  const fold = (/** @type {any} */ wish) => foldNow(story, wish);
  const other = async () => {
    const model = await prompt({ title: "Fold with another model", label: "Name of a model at the same server", action: "Fold" });
    if (model) await fold({ model });
  };
  if (running) {
    return html`<p class="fold-progress" role="status"><span class="dots" aria-hidden="true"><i /><i /><i /></span> Folding old messages into memory${done.total > 0 && `: ${done.done} of ${done.total}`} …
      <${Button} kind="link" onClick=${async () => { await send("DELETE", storyPath(story, "fold")); setRunning(false); }}>Stop<//></p>`;
  }
  if (!health.data) return null;
  const { failures = [], waiting = 0, cause, notices = [] } = health.data;
  const failed = sayFailures(failures);
  return html`${notices.map((/** @type {string} */ notice) => html`<p class="notice small" key=${notice} role="note">${notice}</p>`)}
    ${failures.length > 0 && html`<div class="failure" role="group" aria-label="A fold that failed">
      ${failed.slice(0, MOST_CAUSES).map((line) => html`<p key=${line}>${line}</p>`)}
      ${failed.length > MOST_CAUSES && html`<p><a href=${linkTo("memory", story, { tab: "log" })}>And ${failed.length - MOST_CAUSES} more, in the log</a></p>`}
      <p><${Button} onClick=${() => fold({})}>Try again<//> <${Button} kind="quiet" onClick=${other}>Another model …<//></p></div>`}
    ${cause && !failures.length && html`<div class="failure" role="group" aria-label="A fold that failed"><p>The last fold failed: ${cause}</p><p><${Button} onClick=${() => fold({})}>Try again<//> <${Button} kind="quiet" onClick=${other}>Another model …<//></p></div>`}
    ${waiting > 0 && html`<p class="small"><a href=${linkTo("memory", story, { tab: "review" })}>${counted(waiting, "text waits", "texts wait")} for your approval</a></p>`}`;
}
