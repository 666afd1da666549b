// The story itself: read as a chat or as prose, searched, and written on with the model.
import { html, useState, useEffect, useRef } from "../preact.js";
import { BASE, get, send, storyPath } from "../api.js";
import { announce, useKept, useLoad } from "../store.js";
import { Button, Empty, Failure, Loading, Menu, prompt, sayError, toast } from "../ui.js";
import { change } from "../actions.js";
import { useKeys } from "../keys.js";
import { go, linkTo } from "../router.js";
import { usePath } from "./read/path.js";
import { LongList } from "./read/list.js";
import { StoryMessage } from "./read/message.js";
import { useReply } from "./read/reply.js";
import { Composer } from "./read/composer.js";
import { Setup } from "./read/setup.js";
import { SearchResults } from "./read/search.js";
import { Words } from "./read/words.js";

const EXPORTS = [["jsonl", "Whole story"], ["markdown", "Book (Markdown)"], ["epub", "Book (EPUB)"], ["directory", "Files to edit (ZIP)"], ["sillytavern-chat", "SillyTavern chat"], ["openai", "OpenAI messages"], ["world-info", "Lore (World Info)"]];

/** @param {{ story: string, query: Record<string, string> }} props */
export default function Read({ story, query }) {
  const path = usePath(story);
  const reply = useReply(story, path);
  const chat = useLoad((signal) => get(storyPath(story, "chat"), {}, signal), [story], `story:${story}`);
  const chapters = useLoad((signal) => get(storyPath(story, "chapters"), {}, signal), [story], `story:${story}`);
  const branches = useLoad((signal) => get(storyPath(story, "branches"), {}, signal), [story], `story:${story}`);
  const [chosen, setForm] = useKept(`form:${story}`, "");
  const [setupOpen, setSetupOpen] = useState(false);
  const [target, setTarget] = useState(/** @type {any} */ (null));
  const [seen, setSeen] = useState(-1); // nothing yet: the list begins at its end
  const turn = useRef(0);
  const form = chosen || (chat.data?.form ?? "chat");
  const jump = (/** @type {number} */ position) => { if (Number.isFinite(position)) setTarget({ position, turn: (turn.current += 1) }); };
  const known = path.total >= 0;
  useEffect(() => { if (known && query.at !== undefined && query.at !== "") jump(Number(query.at)); }, [query.at, known]);

  const live = reply.live;
  const shown = live?.way === "again" ? Math.min(path.total, live.before) : path.total;
  // What was said is shown until it stands in the story.
  const isTold = (/** @type {string} */ said) => {
    for (let at = live?.before ?? 0; at < path.total; at += 1) if (path.at(at)?.role === "user" && path.at(at).text.trim() === said.trim()) return true;
    return false;
  };
  const newest = path.at(path.total - 1);
  const again = (/** @type {string} */ way) => { if (!live) reply.write({ way }); };
  const swipe = (/** @type {number} */ step) => {
    const number = (newest?.swipe ?? 0) + step;
    if (!newest || live || number < 0) return;
    if (number >= (newest.swipes ?? 1)) again("again");
    else send("POST", storyPath(story, "messages", newest.position, "swipes", number, "choose")).then(() => announce(`story:${story}`), sayError);
  };
  const add = async (/** @type {string} */ role, /** @type {string} */ text, /** @type {string} */ speaker, /** @type {string} */ key) => {
    await change(story, "POST", ["messages"], { role, text, ...(speaker ? { speaker } : {}) }, { key });
    announce("stories");
  };
  const move = (/** @type {number} */ step) => {
    const rows = [...document.querySelectorAll(".message[data-position]")];
    const at = rows.findIndex((row) => row === document.activeElement);
    const next = at >= 0 ? rows[at + step] : rows.find((row) => row.getBoundingClientRect().top >= 80);
    /** @type {any} */ (next)?.focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  };
  useKeys([
    { keys: "n", says: "Write on", run: () => /** @type {any} */ (document.querySelector("[data-composer]"))?.focus() },
    { keys: "j", says: "The next message", run: () => move(1) },
    { keys: "k", says: "The message before", run: () => move(-1) },
    { keys: "r", says: "Another reply", run: () => again("again") },
    { keys: "c", says: "Continue the reply", run: () => again("longer") },
    { keys: "s", says: "Stop the reply", run: () => { if (live) reply.stop(); } },
    { keys: "[", says: "The reply before, at the newest place", run: () => swipe(-1) },
    { keys: "]", says: "The next reply, at the newest place", run: () => swipe(1) },
    { keys: "p", says: "Prose or chat", run: () => setForm(form === "prose" ? "chat" : "prose") },
    { keys: "g g", says: "The first message", run: () => jump(0) },
    { keys: "G", says: "The newest message", run: () => jump(path.total - 1) },
  ]);

  const begins = new Map((chapters.data?.chapters ?? []).filter((/** @type {any} */ one) => one.span).map((/** @type {any} */ one) => [one.span[0], one]));
  const at = seen < 0 ? path.total - 1 : seen;
  const current = (chapters.data?.chapters ?? []).find((/** @type {any} */ one) => one.span && one.span[0] <= at && at <= one.span[1]) ?? null;
  const row = (/** @type {number} */ at) => {
    const message = path.at(at);
    return message
      ? html`<${StoryMessage} key=${`message ${message.origin}`} story=${story} message=${message} newest=${at === shown - 1} busy=${Boolean(live)} form=${form} total=${path.total}
          chapter=${begins.get(at)} marked=${target?.position === at} onReply=${again} />`
      : html`<div class="message waiting" key=${`place ${at}`} data-position=${at} aria-hidden="true" />`;
  };
  if (!known) return path.error ? html`<${Failure} error=${path.error} retry=${path.refresh} />` : html`<${Loading} what="Opening the story" />`;
  return html`<div class=${`reading ${form}`}>
    <h1 class="visually-hidden">${story}</h1>
    <${Tools} story=${story} path=${path} form=${form} setForm=${setForm} branches=${branches.data} jump=${jump} chapter=${current}
      chapters=${chapters.data?.chapters ?? []} openSetup=${() => setSetupOpen(true)} />
    ${path.total === 0 && !live && html`<${Empty} title="Nothing is told yet"><p>${chat.data?.model ? "Say something below, or give a direction, and the story begins." : "Add a message below, or import a chat on the list of stories."}</p><//>`}
    ${shown > 0 && html`<${LongList} total=${shown} want=${path.want} target=${target} row=${row} label="The story" onSeen=${setSeen} />`}
    ${live && live.said && !isTold(live.said) && html`<article class="message user provisional"><header class="message-head"><b class="who">${chat.data?.setup.user_name || "You"}</b></header>
      <div class="story-text" dir="auto"><${Words} text=${live.said} /></div></article>`}
    ${live && html`<article class=${`message assistant live ${live.way}`} aria-busy="true" aria-label="The reply that is being written">
      <header class="message-head"><b class="who">${chat.data?.setup.name || "Reply"}</b><span class="faint small">is writing</span></header>
      <div class="story-text" dir="auto"><${Words} text=${live.text} /><span class="caret" aria-hidden="true">▍</span></div></article>`}
    <p class="visually-hidden" aria-live="polite">${reply.spoken}</p>
    <${Composer} story=${story} form=${form} model=${chat.data?.model ?? ""} user=${chat.data?.setup.user_name ?? ""} onAdd=${add} live=${live} problem=${reply.problem} heard=${reply.heard}
      onWrite=${reply.write} onStop=${reply.stop} onRetry=${reply.retry} />
    ${setupOpen && chat.data && html`<${Setup} story=${story} setup=${chat.data.setup} onClose=${() => setSetupOpen(false)} />`}
  </div>`;
}

/** The row above the story: search, chapters, branches, form, setup, files. @param {any} props */
function Tools({ story, path, form, setForm, branches, jump, chapter, chapters, openSetup }) {
  const [query, setQuery] = useState("");
  const [sought, setSought] = useState("");
  const search = () => {
    const words = query.trim();
    if (/^#?\d+$/.test(words)) {
      const position = Number(words.replace("#", ""));
      if (position < path.total) jump(position);
      else toast(path.total ? `There is no message ${position}: the last one is ${path.total - 1}.` : "There are no messages yet.");
      return;
    }
    setSought(words);
  };
  const switchTo = async (/** @type {string} */ name) => {
    await send("POST", storyPath(story, "branches", name, "switch"));
    announce(`story:${story}`);
    toast(`You are on the branch ${name} now.`);
  };
  const save = (/** @type {string} */ to) => { location.assign(`${BASE}${storyPath(story, "export")}?to=${encodeURIComponent(to)}`); };
  const goOn = async () => {
    const name = await prompt({ title: "Go on in a new story", label: "Name of the new story", text: "It begins empty and knows what happened here.", action: "Begin it" });
    if (!name) return;
    await send("POST", storyPath(story, "continue"), { story: name });
    announce("stories");
    go(linkTo("read", name));
  };
  const opened = Math.min(path.total - 1, 1 + Math.max(-1, ...chapters.map((/** @type {any} */ one) => one.span?.[1] ?? -1)));
  const several = (branches?.branches ?? []).length > 1;
  return html`<div class="read-tools" role="toolbar" aria-label="This story">
    <form role="search" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); search(); }}>
      <input type="search" data-search aria-label="Search this story, or go to a message by its number" placeholder="Search or #12" value=${query}
        onInput=${(/** @type {any} */ event) => setQuery(event.target.value)} /></form>
    ${chapters.length > 0 && html`<select aria-label="Chapter" value=${chapter?.chapter ?? ""} onChange=${(/** @type {any} */ event) => {
      const one = chapters.find((/** @type {any} */ each) => String(each.chapter) === event.target.value);
      jump(one?.span ? one.span[0] : opened);
    }}>${chapters.map((/** @type {any} */ one) => html`<option key=${one.chapter} value=${one.chapter}>${one.chapter}. ${one.title || "Untitled"}</option>`)}<option value="">${chapters.length + 1}. The open chapter</option></select>`}
    ${several && html`<select aria-label="Branch" value=${path.branch} onChange=${(/** @type {any} */ event) => switchTo(event.target.value).catch(sayError)}>
      ${branches.branches.map((/** @type {any} */ one) => html`<option key=${one.branch} value=${one.branch}>${one.branch} (${one.messages})</option>`)}</select>`}
    <span class="spring" />
    <${Button} kind="quiet" aria-pressed=${form === "prose" ? "true" : "false"} onClick=${() => setForm(form === "prose" ? "chat" : "prose")}>${form === "prose" ? "As a chat" : "As prose"}<//>
    <${Button} kind="quiet" onClick=${openSetup}>Setup<//>
    <${Menu} label="Files and branches" items=${[
      { label: "Branches and swipes as a tree", run: () => go(linkTo("tree", story)) },
      { label: "Go on in a new story", run: goOn },
      ...EXPORTS.map(([to, label]) => ({ label: `Export: ${label}`, run: () => save(to) })),
    ]} />
    ${sought && html`<${SearchResults} story=${story} words=${sought} onClose=${() => setSought("")} onChoose=${(/** @type {any} */ hit) => {
      setSought("");
      if (hit.from_story) go(linkTo("read", hit.from_story, { at: hit.position })); else jump(hit.position);
    }} />`}
  </div>`;
}
