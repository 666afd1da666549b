// Branches and swipes as a tree: where the story went another way, and what stands there.
import { html } from "../preact.js";
import { get, send, storyPath } from "../api.js";
import { announce, useLoad } from "../store.js";
import { Button, Empty, Loaded, counted, toast } from "../ui.js";
import { linkTo } from "../router.js";

/** @param {{ story: string }} props */
export default function Tree({ story }) {
  const tree = useLoad((signal) => get(storyPath(story, "tree"), {}, signal), [story], `story:${story}`);
  return html`<div class="column"><h1>Tree</h1>
    <p class="faint">Where the story went several ways, each has a row of its own. The coloured one is what you read now.</p>
    <${Loaded} of=${tree} what="Drawing the tree">${(/** @type {any} */ data) => (data.ways.length
      ? html`<ul class="tree" role="tree" aria-label="Branches and swipes" onKeyDown=${moveFocus}><${Twigs} story=${story} all=${data.ways} active=${data.active} under=${null} level=${1} /></ul>`
      : html`<${Empty} title="Nothing is told yet" />`)}<//></div>`;
}

/** @param {{ story: string, all: any[], active: string, under: number | null, level: number }} props */
function Twigs({ story, all, active, under, level }) {
  return all.filter((one) => one.under === under).map((one, at) => {
    const below = all.some((other) => other.under === one.id);
    return html`<li key=${one.id} role="treeitem" aria-level=${level} aria-expanded=${below ? "true" : null} aria-current=${one.on_path ? "true" : null}
        class=${one.on_path ? "on-path" : ""} tabindex=${level === 1 && at === 0 ? 0 : -1}>
      <${Twig} story=${story} way=${one} active=${active} />
      ${below && html`<ul role="group"><${Twigs} story=${story} all=${all} active=${active} under=${one.id} level=${level + 1} /></ul>`}
    </li>`;
  });
}

/** @param {{ story: string, way: any, active: string }} props */
function Twig({ story, way, active }) {
  const { first, last, text, speaker, branches } = way;
  const goTo = async (/** @type {string} */ branch) => {
    await send("POST", storyPath(story, "branches", branch, "switch"));
    announce(`story:${story}`);
    toast(`You are on the branch ${branch} now.`);
  };
  const choose = async () => {
    await send("POST", storyPath(story, "messages", first, "swipes", way.swipe, "choose"));
    announce(`story:${story}`);
    toast(`Message ${first} reads otherwise now.`);
  };
  return html`<div class="twig">
    <a class="faint small" href=${way.on_path ? linkTo("read", story, { at: first }) : null}>${first === last ? `message ${first}` : `messages ${first} to ${last}`}</a>
    <span class="words" dir="auto">${speaker && html`<b>${speaker}: </b>`}${text}</span>
    ${branches.map((/** @type {string} */ name) => (name === active
      ? html`<span class="badge now" key=${name}>${name} (you are here)</span>`
      : html`<${Button} key=${name} kind="quiet" onClick=${() => goTo(name)}>Go on with ${name}<//>`))}
    ${!way.on_path && way.swipe !== null && html`<${Button} kind="quiet" onClick=${choose}>Take this one<//>`}
    ${last > first && html`<span class="faint small">${counted(last - first + 1, "message")}</span>`}
  </div>`;
}

/** Up and down move between the rows. @param {any} event */
function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
  if (!step || event.target.tagName === "BUTTON") return;
  event.preventDefault();
  const rows = [...event.currentTarget.querySelectorAll("[role=treeitem]")];
  const at = rows.indexOf(event.target.closest("[role=treeitem]"));
  rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
}
