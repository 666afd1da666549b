// All stories: what was said last, how long each is, what its memory cost, and how it fares.
import { html, useEffect, useRef, useState } from "../preact.js";
import { get, isGone, send, storyPath } from "../api.js";
import { announce, useLoad } from "../store.js";
import { Button, Dialog, Empty, Loaded, Menu, When, counted, emphasise, prompt, sayFound, toast, withoutStars } from "../ui.js";
import { go, linkTo } from "../router.js";
import { FIRST_LIST, STORY_SCREENS } from "../screens.js";
import { Health, foldNow } from "./stories/health.js";
import { ImportChat } from "./stories/import_chat.js";

const FIRST = STORY_SCREENS[0]?.path.split("/")[2] ?? "";
const CAN_READ = STORY_SCREENS.some((screen) => screen.path === "story/:story/read");
const TYPED_MS = 250; // a search begins when the typing rests

export default function Stories() {
  const stories = useLoad((signal) => get(...FIRST_LIST, signal), [], "stories");
  const [words, setWords] = useState("");
  const [wanted, setWanted] = useState("");
  useEffect(() => { const timer = setTimeout(() => setWanted(words.trim()), TYPED_MS); return () => clearTimeout(timer); }, [words]);
  const begin = async () => {
    const name = await prompt({ title: "A new story", label: "Its name", action: "Begin" });
    if (!name) return;
    const known = await get(storyPath(name)).catch((error) => { if (isGone(error)) return null; throw error; });
    if (known) toast(`A story named ${name} is here already: this is it.`);
    else await send("POST", "/stories", { story: name });
    announce("stories");
    if (FIRST) go(linkTo(FIRST, name));
  };
  return html`<div class="column"><div class="title-row"><h1>Stories</h1><span class="tools"><${Button} onClick=${begin}>New story<//><${ImportChat} /></span></div>
    <label class="search"><span class="visually-hidden">Search in all stories</span><input type="search" data-search value=${words} placeholder="Search in all stories" onInput=${(/** @type {any} */ event) => setWords(event.target.value)} /></label>
    ${wanted ? html`<${Found} words=${wanted} />` : html`<${Loaded} of=${stories} what="Looking for your stories">${(/** @type {any} */ data) => (data.stories.length
      ? html`<ul class="bare stories">${newestFirst(data.stories).map((/** @type {any} */ story) => html`<${Card} key=${story.story} story=${story} />`)}</ul>`
      : html`<${None} begin=${begin} />`)}<//>`}
  </div>`;
}

/** What to do where there is no story yet; the proxy only where there is one. @param {{ begin: () => unknown }} props */
function None({ begin }) {
  const server = useLoad((signal) => get("/server", {}, signal), []);
  return html`<${Empty} title="No stories yet">
    <p>Begin one, or drop a chat of SillyTavern or another program anywhere on this page.${server.data?.proxy ? " Or give your chat client the memory proxy address below: its first message begins a story." : ""}</p>
    <p><${Button} kind="main" onClick=${begin}>Begin a story<//></p>
    <p class="small">Only want to look around? <code>previously open --sample</code> puts a finished story in.</p><//>`;
}

/** @param {any[]} stories */
const newestFirst = (stories) => [...stories].sort((a, b) => String(b.changed ?? b.last?.at ?? "").localeCompare(String(a.changed ?? a.last?.at ?? "")) || a.story.localeCompare(b.story));

/** @param {{ story: any }} props */
function Card({ story }) {
  const [gone, setGone] = useState(false);
  const card = useRef(/** @type {any} */ (null));
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => { if (entries.some((one) => one.isIntersecting)) { setSeen(true); watcher.disconnect(); } });
    watcher.observe(card.current);
    return () => watcher.disconnect();
  }, []);
  const rename = async () => {
    const name = await prompt({ title: "Rename the story", label: "New name", value: story.story });
    if (!name || name === story.story) return;
    await send("PATCH", storyPath(story.story), { story: name });
    announce("stories");
    toast(`The story is called ${name} now.`, { action: "Undo", run: async () => { await send("PATCH", storyPath(name), { story: story.story }); announce("stories"); } });
  };
  const tokens = (story.input_tokens ?? 0) + (story.output_tokens ?? 0);
  return html`<li class="story" ref=${card}>
    <header><h2 dir="auto"><a href=${FIRST ? linkTo(FIRST, story.story) : "#/"}>${story.story}</a></h2>
      <${Menu} label=${`More for ${story.story}`} items=${[
        ...STORY_SCREENS.map((screen) => ({ label: screen.title, run: () => go(linkTo(screen.path.split("/").slice(2).join("/"), story.story)) })),
        { label: "Fold now: turn old messages into memory", run: () => foldNow(story.story) }, { label: "Rename …", run: rename }, { label: "Delete …", danger: true, run: () => setGone(true) },
      ]} /></header>
    ${story.last && html`<p class="last-words story-text" dir="auto">${story.last.speaker && html`<b>${story.last.speaker}</b> `}${emphasise(story.last.text)}</p>`}
    <p class="faint small">${[counted(story.messages, "message"), story.branches > 1 && counted(story.branches, "branch", "branches"), story.memories && counted(story.memories, "memory", "memories"),
      tokens > 0 && `memory cost ${counted(tokens, "token")}${story.price ? ` (${story.price.toFixed(2)})` : ""}`].filter(Boolean).join(" · ")}${story.last?.at && html` · <${When} at=${story.last.at} />`}</p>
    ${seen && html`<${Health} story=${story.story} folding=${Boolean(story.folding)} />`}
    ${gone && html`<${Deletion} story=${story.story} onClose=${() => setGone(false)} />`}
  </li>`;
}

/** What is found in all stories. @param {{ words: string }} props */
function Found({ words }) {
  const found = useLoad((signal) => get("/search", { q: words, top: 30 }, signal), [words]);
  return html`<${Loaded} of=${found} what="Searching">${(/** @type {any} */ data) => (data.hits.length ? html`<p class="faint" role="status">${sayFound(data.hits)}</p><ul class="bare">${data.hits.map((/** @type {any} */ hit) => html`<li class="source" key=${hit.story + hit.position}>
      <p class="small"><a href=${CAN_READ ? linkTo("read", hit.story, { at: hit.position }) : linkTo(FIRST, hit.story)}><b dir="auto">${hit.story}</b>, message ${hit.position}</a>${hit.speaker && html` <span class="faint" dir="auto">${hit.speaker}</span>`}</p>
      <div class="story-text" dir="auto"><${Highlighted} text=${hit.text} places=${hit.highlights ?? []} /></div></li>`)}</ul>` : html`<${Empty} title="Nothing was found"><p>Other words may help: search looks for words, and for what they mean where that is set up.</p><//>`)}<//>`;
}

/** A text with some places marked. Long ones are cut around the first. @param {{ text: string, places: [number, number][] }} props */
function Highlighted({ text, places }) {
  const begin = places[0]?.[0] > 200 ? text.indexOf(" ", places[0][0] - 160) + 1 : 0;
  const end = Math.min(text.length, begin + 480);
  const parts = [];
  let at = begin;
  for (const [first, last] of places) {
    if (first < at || first >= end) continue;
    parts.push(withoutStars(text.slice(at, first)), html`<mark>${text.slice(first, last)}</mark>`);
    at = last;
  }
  return [begin > 0 ? "… " : "", ...parts, withoutStars(text.slice(at, Math.max(at, end))), end < text.length ? " …" : ""];
}

/** Destroying a story for good, after all that goes with it was shown. @param {{ story: string, onClose: () => void }} props */
function Deletion({ story, onClose }) {
  const plan = useLoad((signal) => get(storyPath(story, "forget"), {}, signal), [story]);
  const [typed, setTyped] = useState("");
  const destroy = async () => {
    await send("POST", storyPath(story, "forget"), { confirm: plan.data?.confirm });
    onClose();
    announce("stories");
    toast(`${story} is gone.`);
  };
  return html`<${Dialog} title=${`Delete ${story}?`} onClose=${onClose}>
    <${Loaded} of=${plan} what="Looking at what would be gone">${(/** @type {any} */ data) => html`<p>This cannot be undone. Gone for good:</p>
      <ul>${[counted(data.messages, "message"), data.others > 0 && `${counted(data.others, "swipe or other message", "swipes and other messages")} beside them`, data.texts > 0 && counted(data.texts, "text of memory", "texts of memory"),
        data.by_hand > 0 && `${counted(data.by_hand, "text")} written by hand`, data.backups?.length > 0 && `its part of ${counted(data.backups.length, "backup")}`].filter(Boolean).map((line) => html`<li key=${line}>${line}</li>`)}</ul>
      ${data.copies?.length > 0 && html`<p>Copies stay in: ${data.copies.join(", ")}.</p>`}
      <label class="field"><span>Type the name of the story to go on: <b dir="auto">${story}</b></span><input value=${typed} onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} autocomplete="off" /></label>
      <div class="actions"><${Button} kind="quiet" onClick=${onClose}>Cancel<//><${Button} kind="danger" disabled=${typed.trim() !== story.trim()} onClick=${destroy}>Delete for good<//></div>`}<//>
  <//>`;
}
