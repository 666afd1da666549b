// Everything that is remembered of a story, to be read and put right.
import { html } from "../preact.js";
import { go, linkTo } from "../router.js";
import { Panel, Tabs } from "../ui.js";
import { SoFar } from "./memory/so_far.js";
import { Lore } from "./memory/lore.js";
import { People } from "./memory/people.js";
import { Threads } from "./memory/threads.js";
import { State } from "./memory/state.js";
import { Presence } from "./memory/presence.js";
import { Review } from "./memory/review.js";
import { Log } from "./memory/log.js";

/** Each tab: its address, its name, what it holds in a sentence, and its panel. @type {[string, string, string, (props: { story: string }) => any][]} */
const TABS = [
  ["so-far", "So far", "What the model is told of the messages that it no longer sees. Press a sentence to see where it comes from.", SoFar],
  ["lore", "Lore", "Who and what there is. The model is shown an entry when one of its keys is spoken.", Lore],
  ["people", "People", "Who knows what. A character knows what they were there for, and what they were told.", People],
  ["threads", "Threads", "What is still open: promises, debts, secrets, questions.", Threads],
  ["state", "State", "How things stand now, the players’ wishes, and words that are always shown.", State],
  ["presence", "Presence", "Who was there when. Whoever was not there does not know of it, unless somebody told them.", Presence],
  ["review", "To review", "What waits for your decision.", Review],
  ["log", "Log", "Every text that was written into memory, the newest first.", Log],
];

/** @param {{ story: string, query: Record<string, string> }} props */
export default function Memory({ story, query }) {
  const [id, , holds, Shown] = TABS.find(([tab]) => tab === query.tab) ?? TABS[0];
  return html`<h1 class="visually-hidden">Memory of ${story}</h1>
    <${Tabs} label="Memory" at=${id} tabs=${TABS.map(([tab, label]) => ({ id: tab, label }))} onChange=${(/** @type {string} */ tab) => go(linkTo("memory", story, { tab }), { replace: true })} />
    <${Panel} id=${id}><p class="holds faint">${holds}</p><${Shown} story=${story} /><//>`;
}
