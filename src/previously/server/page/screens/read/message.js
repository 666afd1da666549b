// One message on the page: its words, its swipes, and what can be done with it.
import { html, useRef, useState } from "../../preact.js";
import { keptDraft, Menu, TextEditor, toast, When, prompt, Button } from "../../ui.js";
import { change } from "../../actions.js";
import { isConflict, send, storyPath, get } from "../../api.js";
import { announce } from "../../store.js";
import { linkTo, go } from "../../router.js";
import { Words } from "./words.js";

/**
 * @param {{ story: string, message: any, newest: boolean, busy: boolean, form: string, chapter: any, total: number,
 *   marked: boolean, onReply: (way: string) => void }} props
 */
export function StoryMessage({ story, message, newest, busy, form, chapter, total, marked, onReply }) {
  const { position, role, speaker, hidden } = message;
  const draftId = `message:${story}:${message.origin}`;
  const [editing, setEditing] = useState(() => keptDraft(draftId) !== null);
  const who = speaker || (role === "user" ? "You" : role === "assistant" ? "Reply" : role);
  const path = ["messages", position];
  // The message that is meant, also by what was begun before it moved or was changed.
  const seen = useRef(message);
  const meant = useRef(message.id);
  if (seen.current !== message) { seen.current = message; meant.current = message.id; }
  // Where another message stands at its place by now, nothing is changed, and the story is looked at anew.
  const changeIt = async (/** @type {string} */ method, /** @type {string[]} */ below = [], /** @type {any} */ body = undefined, /** @type {any} */ options = {}) => {
    try { return await change(story, method, ["messages", seen.current.position, ...below], body, { ...options, query: { id: meant.current } }); } catch (error) {
      if (isConflict(error)) announce(`story:${story}`);
      throw error;
    }
  };
  const readAgain = async () => {
    const now = await get(storyPath(story, "messages", seen.current.position)).catch(() => null);
    if (!now || ![now.id, now.replaces].some((id) => id === meant.current || id === message.origin)) throw new Error("The messages moved meanwhile. Your text is kept here: save it again.");
    meant.current = now.id;
    return { text: now.text, version: `"${now.etag}"` };
  };
  const choose = async (/** @type {number} */ number) => {
    if (number >= (message.swipes ?? 1)) { onReply("again"); return; }
    await send("POST", storyPath(story, ...path, "swipes", number, "choose"));
    announce(`story:${story}`);
  };
  const branch = async () => {
    const name = await prompt({ title: "Branch from here", label: "Name of the branch", text: `It holds the story up to message ${position}. You go on from there; this branch stays as it is.`, action: "Begin it" });
    if (!name) return;
    await send("POST", storyPath(story, "branches"), { branch: name, at: position });
    await send("POST", storyPath(story, "branches", name, "switch"));
    announce(`story:${story}`);
    toast(`You are on the branch ${name} now.`);
  };
  const rename = async () => {
    const name = await prompt({ title: "Who says this?", label: "Name of the speaker", value: speaker ?? "", text: "Memory that was made of these words is made anew.", action: "Change" });
    if (name && name !== speaker) await changeIt("PUT", [], { speaker: name });
  };
  const items = [
    { label: "Edit", run: () => setEditing(true) },
    { label: "Change the speaker …", run: rename },
    { label: hidden ? "Show it to the model again" : "Hide it from the model", run: () => changeIt("POST", [hidden ? "unhide" : "hide"]) },
    { label: "Branch from here", run: branch },
    { label: "What the model saw", run: () => go(linkTo("saw", story, { turn: position })) },
    { label: "Copy the words", run: async () => { await navigator.clipboard.writeText(message.text); toast("Copied."); } },
    { label: "Delete", danger: true, run: () => changeIt("DELETE") },
  ];
  const swipes = message.swipes ?? 1;
  const swipe = message.swipe ?? 0;
  const isReply = role === "assistant";
  return html`<article class=${`message ${role} ${hidden ? "hidden" : ""} ${marked ? "marked" : ""}`} data-position=${position} tabindex="-1"
      aria-posinset=${position + 1} aria-setsize=${total} aria-label=${`Message ${position}, ${who}`}>
    ${chapter && html`<${ChapterHead} chapter=${chapter} />`}
    <header class="message-head">
      ${form === "chat" && html`<b class="who" dir="auto">${who}</b>`}
      <span class="faint small where">${position}${message.at && html` · <${When} at=${message.at} />`}${hidden && " · hidden from the model"}${message.partial && " · broken off"}</span>
      <${Menu} label=${`More for message ${position}`} items=${items} />
    </header>
    ${editing
    ? html`<${TextEditor} id=${draftId} text=${message.text} version=${`"${message.etag}"`} label=${`The words of message ${position}`}
        save=${(/** @type {string} */ text, /** @type {any} */ options) => changeIt("PUT", [], { text }, options)} fresh=${readAgain}
        onDone=${() => setEditing(false)} />`
    : html`<div class="story-text" dir="auto"><${Words} text=${message.text} prose=${form === "prose"} /></div>`}
    ${(swipes > 1 || (newest && isReply)) && !editing && html`<footer class="message-foot">
      <span class="swipes" role="group" aria-label="Other replies at this place">
        <button class="icon" aria-label="The reply before" disabled=${busy || swipe === 0} onClick=${() => choose(swipe - 1)}>‹</button>
        <span aria-live="polite">${swipe + 1} / ${swipes}</span>
        <button class="icon" aria-label=${swipe + 1 < swipes ? "The next reply" : "Another reply"} disabled=${busy || (!newest && swipe + 1 >= swipes)} onClick=${() => choose(swipe + 1)}>›</button>
      </span>
      ${newest && isReply && html`<${Button} kind="quiet" disabled=${busy} onClick=${() => onReply("again")}>Regenerate<//>
        <${Button} kind="quiet" disabled=${busy} onClick=${() => onReply("longer")}>Continue<//>`}
    </footer>`}
  </article>`;
}

/** The beginning of a chapter, in the margin where there is one. @param {{ chapter: any }} props */
const ChapterHead = ({ chapter }) => html`<aside class="chapter" aria-label=${`Chapter ${chapter.chapter}`}>
  <p class="chapter-number">Chapter ${chapter.chapter}</p>
  <h2 dir="auto">${chapter.title || "Untitled"}</h2>
  ${(chapter.short || chapter.recap) && html`<details><summary>What happens</summary><p class="small" dir="auto">${chapter.short || chapter.recap}</p></details>`}
</aside>`;
