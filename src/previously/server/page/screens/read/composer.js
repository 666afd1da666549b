// The box in which one writes on. What stands in it survives a reload and a server that goes away.
import { html, useState, useEffect, useLayoutEffect, useRef, useId } from "../../preact.js";
import { makeKey } from "../../api.js";
import { linkTo } from "../../router.js";
import { Button, sayError } from "../../ui.js";

/** @param {string} story */
const nameOf = (story) => `previously:write:${story}`;

/** @param {string} story @returns {{ text: string, direction: string, speaker: string, key: string }} */
function readDraft(story) {
  const empty = { text: "", direction: "", speaker: "", key: "" };
  try { return { ...empty, ...JSON.parse(localStorage.getItem(nameOf(story)) ?? "{}") }; } catch { return empty; }
}

/** @typedef {import("./reply.js").Wanted} Wanted */
/** @typedef {import("./reply.js").End} End */

/**
 * @param {{ story: string, form: string, model: string, user: string, live: any, problem: string, heard: { key: string, end: End },
 *   onAdd: (role: string, text: string, speaker: string, key: string) => Promise<unknown>, onWrite: (wanted: Wanted) => Promise<End>,
 *   onStop: () => Promise<unknown>, onRetry: () => Promise<[Wanted, End]> }} props  `heard`: how a request from before a reload ended since
 */
export function Composer({ story, form, model, user, live, problem, heard, onAdd, onWrite, onStop, onRetry }) {
  const [draft, setDraft] = useState(() => readDraft(story));
  const newest = useRef(draft); // while a reply comes, one may write on
  const [open, setOpen] = useState(Boolean(draft.direction));
  const box = useRef(/** @type {any} */ (null));
  const adding = useRef(false); // a press of the button is a click and the form's own submit
  const id = useId();
  const prose = form === "prose" && Boolean(model);
  const keep = (/** @type {any} */ next) => {
    newest.current = next;
    setDraft(next);
    try { localStorage.setItem(nameOf(story), JSON.stringify(next)); } catch { /* the words are still in the box */ }
  };
  // Other words are another message: the key of the last try is not for them.
  const write = (/** @type {any} */ some) => keep({ ...draft, ...some, key: "" });
  useEffect(() => { newest.current = readDraft(story); setDraft(newest.current); }, [story]);
  /** Take out of the box what was said, and the direction where all went well. @param {Wanted} wanted @param {End} end */
  const settle = (wanted, end) => {
    if (!end.said) return;
    const { text, direction, ...rest } = newest.current;
    const followed = end.whole && direction === wanted.direction;
    keep({ ...rest, text: text === wanted.text ? "" : text, direction: followed ? "" : direction, key: "" });
    if (followed) setOpen(false);
  };
  const retry = async () => settle(...await onRetry());
  useEffect(() => { if (heard.key && heard.key === newest.current.key) settle(newest.current, heard.end); }, [heard, story]);
  useLayoutEffect(() => {
    if (!box.current) return;
    box.current.style.height = "auto";
    box.current.style.height = `${Math.min(box.current.scrollHeight + 2, innerHeight * 0.4)}px`;
  }, [draft.text, draft.direction, prose]);
  const submit = async () => {
    if (live || (!model && !draft.text.trim())) return;
    const sent = { ...draft, key: draft.key || makeKey() };
    keep(sent);
    if (!model) {
      if (adding.current) return;
      adding.current = true;
      const speaker = sent.speaker.trim();
      try {
        await onAdd(speaker && speaker !== user ? "assistant" : "user", sent.text, speaker || user, sent.key);
        keep({ ...sent, text: "", key: "" });
      } catch (error) { sayError(error); } finally { adding.current = false; }
      box.current?.focus();
      return;
    }
    const wanted = { text: prose ? "" : sent.text, direction: sent.direction, key: sent.key };
    settle(wanted, await onWrite(wanted));
    box.current?.focus();
  };
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
    if (event.key === "Escape") event.target.blur();
  };
  // While the model writes, what was sent stands in the story already.
  const value = live && draft.key ? "" : prose ? draft.direction : draft.text;
  const label = prose ? "What should happen in the next passage" : "Say something";
  return html`<form class="composer" aria-label="Write on" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); submit(); }}>
    ${problem && html`<p class="error" role="alert">${problem} <${Button} kind="link" onClick=${retry}>Try again<//></p>`}
    ${!model && html`<p class="faint small">No model is named, so nobody answers here: name one under <a href=${linkTo("settings", story, { tab: "model" })}>Settings → Model</a>. What you write is added to the story as it stands.</p>`}
    <label class="visually-hidden" for=${id}>${label}</label>
    <textarea id=${id} ref=${box} rows="1" data-composer dir="auto" class="story-text" value=${value} placeholder=${prose ? `${label}, or nothing at all` : label}
      onInput=${(/** @type {any} */ event) => write(prose ? { direction: event.target.value } : { text: event.target.value })} onKeyDown=${onKeyDown}></textarea>
    ${!prose && model && open && html`<label class="field direction"><span>A direction for the next reply: told to the model, no part of the story</span>
      <input dir="auto" value=${draft.direction} onInput=${(/** @type {any} */ event) => write({ direction: event.target.value })} onKeyDown=${onKeyDown} /></label>`}
    <div class="actions">
      <span class="hint faint">${model ? html`${model} answers. Ctrl+Enter sends` : ""}</span>
      ${!model && html`<input class="speaker" dir="auto" aria-label="Who says it" placeholder=${user || "You"} value=${draft.speaker} onInput=${(/** @type {any} */ event) => write({ speaker: event.target.value })} onKeyDown=${onKeyDown} />`}
      ${!prose && model && html`<${Button} kind="quiet" aria-expanded=${open ? "true" : "false"} onClick=${() => setOpen(!open)}>Direction<//>`}
      ${live ? html`<${Button} kind="main" onClick=${onStop}>Stop<//>`
    : html`<${Button} kind="main" type="submit" disabled=${!model && !draft.text.trim()} onClick=${submit}>${!model ? "Add" : prose || !draft.text.trim() ? "Write on" : "Send"}<//>`}
    </div>
  </form>`;
}
