// Bringing a chat in: drop a file anywhere on the screen, see what is in it, and only then keep it.
import { html, useEffect, useRef, useState } from "../../preact.js";
import { get, send, storyPath } from "../../api.js";
import { announce } from "../../store.js";
import { Button, Dialog, Loading, counted, emphasise, toast } from "../../ui.js";
import { go, linkTo } from "../../router.js";
import { STORY_SCREENS } from "../../screens.js";

/** A button that takes files, and the whole window as a place to drop them. */
export function ImportChat() {
  const input = useRef(/** @type {any} */ (null));
  const [over, setOver] = useState(false);
  const [file, setFile] = useState(/** @type {File | null} */ (null));
  useEffect(() => {
    let depth = 0; // a drag enters each element it passes over
    const carries = (/** @type {any} */ event) => event.dataTransfer?.types?.includes("Files");
    const enter = (/** @type {any} */ event) => { if (carries(event)) { depth += 1; setOver(true); } };
    const leave = (/** @type {any} */ event) => { if (carries(event)) { depth -= 1; if (depth <= 0) setOver(false); } };
    const allow = (/** @type {any} */ event) => { if (carries(event)) event.preventDefault(); };
    const drop = (/** @type {any} */ event) => { if (carries(event)) { event.preventDefault(); depth = 0; setOver(false); setFile(event.dataTransfer.files[0] ?? null); } };
    const handlers = /** @type {[string, any][]} */ ([["dragenter", enter], ["dragleave", leave], ["dragover", allow], ["drop", drop]]);
    for (const [name, handle] of handlers) addEventListener(name, handle);
    return () => { for (const [name, handle] of handlers) removeEventListener(name, handle); };
  }, []);
  return html`<${Button} onClick=${() => input.current.click()}>Import a chat …<//>
    <input type="file" ref=${input} class="visually-hidden" tabindex="-1" aria-label="A file to import" onChange=${(/** @type {any} */ event) => { setFile(event.target.files[0] ?? null); event.target.value = ""; }} />
    ${over && html`<div class="drop" aria-hidden="true"><p>Drop the chat here</p></div>`}
    ${file && html`<${Preview} key=${file.name + file.lastModified} file=${file} onClose=${() => setFile(null)} />`}`;
}

/** Words for the formats whose names say little. @type {Record<string, string>} */
const FORMATS = {
  sillytavern: "a chat of SillyTavern", text: "plain text", jsonl: "one message per line", openai: "messages for OpenAI’s API", anthropic: "messages for Anthropic’s API",
  responses: "items of OpenAI’s Responses API", card: "a character card", chatgpt: "chats of ChatGPT", claude: "chats of Claude", "claude-code": "a transcript of Claude Code",
  codex: "a session of Codex", opencode: "a session of opencode", "swe-agent": "a run of SWE-agent", markdown: "a novel in Markdown", docx: "a novel from Word", epub: "an e-book",
  errata: "a story of Errata", "scene-memory": "notes of scenes", previously: "a story of Previously",
};

/** @param {any} one */
const sayBook = (one) => `The book ${one.book}: ${one.status}, ${counted(one.entries, "entry", "entries")}.`;

/** What is in a file, before anything is kept. @param {{ file: File, onClose: () => void }} props */
function Preview({ file, onClose }) {
  const [preview, setPreview] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  const [name, setName] = useState("");
  const read = async (/** @type {string} */ story) => {
    try {
      const found = await send("POST", "/imports", undefined, { file, query: { name: file.name, story } });
      setPreview(found);
      setError("");
      if (found.stories.length === 1) setName(found.stories[0].story);
    } catch (problem) { setError(String(/** @type {any} */ (problem).message)); }
  };
  useEffect(() => { read(""); }, []);
  const books = preview?.books ?? [];
  const [goal, setGoal] = useState(""); // the story that a book is attached to, if any
  const [stories, setStories] = useState(/** @type {string[]} */ ([]));
  useEffect(() => { if (books.length) get("/stories", { limit: 500 }).then((all) => setStories(all.stories.map((/** @type {any} */ one) => one.story)), () => {}); }, [books.length]);
  const keepBooks = async () => {
    await send("POST", `/imports/${preview.id}`, {});
    for (const one of goal ? books : []) await send("PUT", storyPath(goal, "books", one.book));
    onClose();
    toast(`${books.map(sayBook).join(" ")}${goal ? ` It is attached to ${goal}.` : ""}`);
    if (goal) { announce(`story:${goal}`); go(linkTo("memory", goal, { tab: "lore" })); }
  };
  const letGo = () => { if (preview) send("DELETE", `/imports/${preview.id}`).catch(() => {}); onClose(); };
  const keep = async () => {
    if (books.length) { await keepBooks(); return; }
    let now = preview;
    if (now.stories.length === 1 && name.trim() !== now.stories[0].story) {
      now = await send("POST", "/imports", undefined, { file, query: { name: file.name, story: name.trim() } });
      send("DELETE", `/imports/${preview.id}`).catch(() => {});
      setPreview(now);
      if (now.stories.some((/** @type {any} */ one) => one.exists)) return; // what becomes of that story is shown before it happens
    }
    const { stories: taken } = await send("POST", `/imports/${now.id}`, {});
    onClose();
    announce("stories");
    toast(`${taken.length === 1 ? taken[0].story : counted(taken.length, "story", "stories")}: imported.`);
    if (taken.length === 1 && STORY_SCREENS.length) go(linkTo(STORY_SCREENS[0].path.split("/")[2], taken[0].story));
  };
  return html`<${Dialog} title=${`Import ${file.name}`} wide onClose=${letGo}>
    ${error ? html`<p class="error" role="alert">${error}</p>` : !preview ? html`<${Loading} what="Reading the file" />` : preview.stories.map((/** @type {any} */ one) => html`<section key=${one.story} class="preview">
      ${preview.stories.length === 1 ? html`<label class="field"><span>Name of the story</span><input value=${name} onInput=${(/** @type {any} */ event) => setName(event.target.value)} /></label>` : html`<h3 dir="auto">${one.story}</h3>`}
      <p>${[one.messages !== undefined && counted(one.messages, "message"), one.branches?.length > 0 && counted(one.branches.length, "branch", "branches"), one.format && `read as ${FORMATS[one.format] ?? one.format}`,
        ...Object.entries(one.skipped ?? {}).map(([why, count]) => `left out: ${count} (${why})`)].filter(Boolean).join(" · ")}</p>
      ${one.whole && html`<p>A whole story, with its memory and its history.</p>`}
      ${one.exists && html`<p role="alert">${one.whole ? html`<b>A story of this name is here already.</b> If it is this one, nothing is changed. If it is another, give this one another name.`
    : html`<b>This story is here already.</b> It is brought up to date: ${one.added ?? 0} new, ${one.updated ?? 0} changed, ${one.removed ?? 0} gone, ${one.unchanged ?? 0} as they are.`}</p>`}
      ${[...(one.first ?? []), ...(one.messages > (one.first ?? []).length + (one.last ?? []).length && !one.whole ? [null] : []), ...(one.last ?? [])].map((message, index) => (message === null ? html`<p class="faint small" key="gap">…</p>`
        : html`<div class="source" key=${index}><b class="small" dir="auto">${message.speaker || message.role}</b><div class="story-text" dir="auto">${emphasise(message.text.length > 300 ? `${message.text.slice(0, 300)} …` : message.text)}</div></div>`))}
    </section>`)}
    ${!error && books.map((/** @type {any} */ one) => html`<p key=${one.book}>${one.status === "updated" ? "A book of lore that is here already. It takes the place of the one that is kept" : "A book of lore, no chat"}: <b dir="auto">${one.book}</b>, ${counted(one.entries, "entry", "entries")}.</p>`)}
    ${!error && books.length > 0 && stories.length > 0 && html`<label class="field"><span>Attach it to a story</span><select value=${goal} onChange=${(/** @type {any} */ event) => setGoal(event.target.value)}>
      <option value="">no story: only keep it</option>${stories.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>`}
    <div class="actions main-actions"><${Button} kind="quiet" onClick=${letGo}>Cancel<//><${Button} kind="main" disabled=${!preview || Boolean(error) || (preview.stories.length === 1 && !name.trim())} onClick=${keep}>Import<//></div>
  <//>`;
}
