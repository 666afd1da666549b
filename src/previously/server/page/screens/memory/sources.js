// From a sentence to the messages it was written from.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded, prompt, withoutStars } from "../../ui.js";
import { change } from "../../actions.js";
import { linkTo } from "../../router.js";
import { STORY_SCREENS } from "../../screens.js";

const CAN_READ = STORY_SCREENS.some((screen) => screen.path === "story/:story/read");
const TELLING = 4; // letters of a word that says something: "the" and "and" stand everywhere

/** A text with the words marked that another has too. @param {{ text: string, like: string }} props */
function Marked({ text, like }) {
  const words = new Set((like.toLowerCase().match(/\p{L}[\p{L}\p{N}’']*/gu) ?? []).filter((word) => word.length >= TELLING));
  return withoutStars(text).split(/(\p{L}[\p{L}\p{N}’']*)/u).map((piece) => (words.has(piece.toLowerCase()) ? html`<mark>${piece}</mark>` : piece));
}

/** A message that something comes from. @param {{ story: string, message: any, like: string }} props */
export function Source({ story, message, like }) {
  const [whole, setWhole] = useState(false);
  const correctSpeaker = async () => {
    const speaker = await prompt({ title: `Who speaks in message ${message.position}?`, label: "Speaker", value: message.speaker ?? "" });
    if (speaker && speaker !== message.speaker) await change(story, "PUT", ["messages", message.position], { speaker });
  };
  const long = message.text.length > 700;
  const text = long && !whole ? `${message.text.slice(0, 600)} …` : message.text;
  return html`<article class="source">
    <header class="small line"><b dir="auto">${message.speaker || "Narration"}</b> <span class="faint">message ${message.position}</span>
      ${CAN_READ && html`<a href=${linkTo("read", story, { at: message.position })}>Read it in the story</a>`}
      <${Button} kind="link" onClick=${correctSpeaker}>Correct the speaker<//></header>
    <div class="story-text" dir="auto"><${Marked} text=${text} like=${like} /></div>
    ${long && html`<${Button} kind="link" onClick=${() => setWhole(!whole)}>${whole ? "Less" : "All of it"}<//>`}
  </article>`;
}

/**
 * The messages behind a sentence, with the way to correct it.
 * @param {{ story: string, thing: string, sentence: string, onClose: () => void, onCorrect?: () => void }} props
 */
export function Sources({ story, thing, sentence, onClose, onCorrect }) {
  const blame = useLoad((signal) => get(storyPath(story, "blame"), { sentence }, signal), [story, sentence], `story:${story}`);
  return html`<${Dialog} title="Where does this come from?" wide onClose=${onClose}>
    <blockquote class="story-text" dir="auto">${sentence}</blockquote>
    <${Loaded} of=${blame} what="Looking for its messages">${(/** @type {any} */ data) => {
      const here = data.found.filter((/** @type {any} */ one) => one.thing === thing);
      const found = here.length ? here : data.found;
      const messages = [...new Map(found.flatMap((/** @type {any} */ one) => one.messages).map((/** @type {any} */ one) => [one.position, one])).values()];
      const byHand = found.some((/** @type {any} */ one) => one.by_hand);
      return html`
        ${byHand && html`<p>Somebody wrote this by hand.</p>`}
        ${messages.length ? messages.map((message) => html`<${Source} key=${message.position} story=${story} message=${message} like=${sentence} />`)
          : !byHand && html`<${Empty} title="No message says this"><p>It may be made up, or put together from many messages. Read it with care, or correct it.</p><//>`}`;
    }}<//>
    ${onCorrect && html`<div class="actions"><${Button} kind="main" onClick=${onCorrect}>Correct this text<//></div>`}
  <//>`;
}
