// The story so far: the open chapter's recap, closed chapters, the whole story in short, and episodes.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useKept, useLoad } from "../../store.js";
import { Button, Empty, Loaded, counted, emphasise, prompt } from "../../ui.js";
import { linkTo } from "../../router.js";
import { change } from "../../actions.js";
import { Health, foldNow } from "../stories/health.js";
import { MemoryText } from "./memory_text.js";

/** @param {{ story: string }} props */
export function SoFar({ story }) {
  const all = useLoad(async (signal) => {
    const read = (/** @type {string} */ what) => get(storyPath(story, what), {}, signal);
    const [recap, backbone, brief, chapters, episodes, scenes, earlier] = await Promise.all(["recap", "backbone", "brief", "chapters", "episodes", "scenes", "earlier"].map(read));
    return { recap, backbone, brief, chapters: chapters.chapters, episodes: episodes.episodes, scenes: scenes.scenes, earlier };
  }, [story], `story:${story}`);
  return html`<div class="column"><${Loaded} of=${all} what="Reading the memory">${(/** @type {any} */ data) => html`<${Texts} story=${story} ...${data} />`}<//></div>`;
}

/** @param {any} props */
function Texts({ story, recap, backbone, brief, chapters, episodes, scenes, earlier }) {
  const [shown, setShown] = useKept("episodes", false);
  const open = [["recap", recap, "The chapter so far"], ["brief", brief, "The work so far"]];
  const whole = [["backbone", backbone, "The whole story in short"]];
  const show = (/** @type {any[]} */ texts) => texts.filter(([, one]) => one.text !== null).map(([thing, one, title]) => html`<${MemoryText} key=${thing} story=${story} thing=${thing} title=${title}
    text=${one.text} etag=${one.etag} span=${one.span} by=${one.made_by} stale=${one.stale} locked=${one.locked} />`);
  if ([...open, ...whole].every(([, one]) => one.text === null) && !chapters.length && !episodes.length && !scenes.length) {
    return html`<${Before} earlier=${earlier} /><${Nothing} story=${story} />`;
  }
  return html`
    <${Before} earlier=${earlier} />
    ${show(open)}
    ${recap.text !== null && html`<${ChapterEnd} story=${story} />`}
    ${show(whole)}
    ${[...chapters].reverse().map((/** @type {any} */ one) => html`<${Chapter} key=${one.thing} story=${story} chapter=${one} />`)}
    ${scenes.map((/** @type {any} */ one) => html`<${MemoryText} key=${`scene:${one.scene}`} small story=${story} thing=${`scene:${one.scene}`} title=${`Scene ${one.scene}`}
      text=${one.summary} etag=${one.etag} span=${one.span} by=${one.made_by} />`)}
    ${episodes.length > 0 && html`<section class="episodes">
      <h2><button class="disclose" aria-expanded=${shown ? "true" : "false"} onClick=${() => setShown(!shown)}>Episodes <span class="count">${episodes.length}</span></button></h2>
      <p class="faint">What happened, stretch by stretch, written once.</p>
      ${shown && episodes.map((/** @type {any} */ one) => html`<${MemoryText} key=${one.thing} small story=${story} thing=${one.thing}
        title=${`Messages ${one.span[0]}–${one.span[1]}`} text=${one.text} etag=${one.etag} by=${one.made_by} stale=${one.stale}
        more=${[{ label: "Take it back: the next fold writes another", run: () => change(story, "POST", ["versions", one.id, "undo"], {}, { undo: false }) }]} />`)}
    </section>`}`;
}

/** What a story begins with that continues another. @param {{ earlier: any }} props */
function Before({ earlier }) {
  if (!earlier.continues) return null;
  const { story, messages } = earlier.continues;
  return html`<section class="memory-text" aria-labelledby="before-this-story"><header><h2 id="before-this-story">Before this story</h2>
    <span class="about faint small">${story ? html`from <a href=${linkTo("memory", story)} dir="auto">${story}</a>, ${counted(messages, "message")}` : "from a story that is not here any more"}</span></header>
    ${earlier.text ? html`<div class="story-text" dir="auto">${emphasise(earlier.text)}</div>` : html`<p class="faint">Nothing of it is in memory, so the model is told nothing of it yet.</p>`}
  </section>`;
}

/** @param {{ story: string, chapter: any }} props */
function Chapter({ story, chapter }) {
  const [open, setOpen] = useState(false);
  const title = chapter.title ? `${chapter.chapter}. ${chapter.title}` : `Chapter ${chapter.chapter}`;
  const rename = async () => {
    const name = await prompt({ title: "The chapter’s title", label: "Title", value: chapter.title ?? "" });
    if (name) await change(story, "PATCH", ["chapters", chapter.chapter], { title: name }, { done: "The chapter has its new title." });
  };
  if (chapter.recap === null) return html`<section class="memory-text"><header><h2>${title}</h2></header><p class="faint">Its text is still to be written.</p></section>`;
  if (!open) {
    return html`<section class="memory-text" data-thing=${chapter.thing}><header><h2 dir="auto">${title}</h2><span class="about faint small">messages ${chapter.span[0]}–${chapter.span[1]}
        ${chapter.stale && html` <span class="badge warn">out of date</span>`}</span>
      <span class="tools"><${Button} kind="quiet" onClick=${() => setOpen(true)} aria-label=${`Show all of ${title}`}>Show all<//></span></header>
      <p class="story-text" dir="auto">${emphasise(chapter.short ?? `${chapter.recap.slice(0, 300)} …`)}</p></section>`;
  }
  return html`<${MemoryText} story=${story} thing=${chapter.thing} title=${title} text=${chapter.recap} etag=${chapter.etag} span=${chapter.span} by=${chapter.made_by}
    stale=${chapter.stale} locked=${chapter.locked} more=${[{ label: "Rename", run: rename }]} />`;
}

/** @param {{ story: string }} props */
function ChapterEnd({ story }) {
  const close = async () => {
    const title = await prompt({ title: "End the chapter here", label: "Its title", action: "End it", text: "The newest message becomes the last of this chapter. What follows begins a new one." });
    if (title) await change(story, "POST", ["chapters"], { title }, { done: `The chapter “${title}” ends here.` });
  };
  return html`<p class="chapter-end"><${Button} kind="quiet" onClick=${close}>End this chapter at the newest message …<//></p>`;
}

/** @param {{ story: string }} props */
function Nothing({ story }) {
  const plan = useLoad((signal) => get(storyPath(story, "fold", "plan"), {}, signal), [story], `story:${story}`);
  const due = plan.data?.folds?.length ?? 0;
  return html`<${Empty} title="Nothing is in memory yet">
    <p>${due ? "There is enough to remember. Fold it, and the old messages become memory." : "The story is still short enough to be shown to the model whole. Memory is written when it grows."}</p>
    ${due > 0 && html`<${Button} kind="main" onClick=${() => foldNow(story)}>Fold now<//>`}
    <${Health} story=${story} folding=${false} />
  <//>`;
}
