// The versions of one memory, word by word, and the way back to an earlier one.
import { html, useState } from "../../preact.js";
import { get, storyPath } from "../../api.js";
import { useLoad } from "../../store.js";
import { Button, Dialog, Empty, Loaded, When, WordDiff } from "../../ui.js";
import { change } from "../../actions.js";

/** @type {Record<string, string>} */
const MAKERS = { model: "by the model", builtin: "quoted, without a model", hand: "by hand", person: "by hand" };
/** @param {string | null | undefined} by */
export const sayMaker = (by) => (by ? MAKERS[by] ?? `by ${by}` : "");

/** @type {Record<string, string>} */
const STATUSES = {
  committed: "in use", provisional: "stands in until the model answers", refused: "refused", pending: "waits for your approval", rejected: "rejected", undone: "taken back",
};
/** @param {string} status */
export const sayStatus = (status) => STATUSES[status] ?? status;

/**
 * The versions of a text, or, of what has none, its earlier words: `texts`, the newest first.
 * @param {{ story: string, thing: string, title: string, onClose: () => void, texts?: string[], restore?: (text: string) => Promise<unknown> }} props
 */
export function History({ story, thing, title, onClose, texts, restore }) {
  const versions = useLoad((signal) => (texts
    ? Promise.resolve({ versions: texts.map((text, at) => ({ id: texts.length - at, text, status: "committed" })) })
    : get(storyPath(story, "things", thing, "versions"), {}, signal)), [story, thing], `story:${story}`);
  const [chosen, setChosen] = useState(/** @type {number | null} */ (null));
  return html`<${Dialog} title=${`History: ${title}`} wide onClose=${onClose}>
    <${Loaded} of=${versions}>${(/** @type {any} */ data) => {
      /** @type {any[]} */
      const all = data.versions;
      if (!all.length) return html`<${Empty} title="There is one text, and no other before it" />`;
      const at = Math.max(0, all.findIndex((one) => one.id === chosen));
      const shown = all[at];
      const before = all.slice(at + 1).find((one) => typeof one.text === "string");
      return html`<div class="history">
        <ol class="bare versions" aria-label="Versions, the newest first">
          ${all.map((one, index) => html`<li key=${one.id}><button class="version" aria-pressed=${index === at ? "true" : "false"} onClick=${() => setChosen(one.id)}>
            <b>${index === 0 ? "Now" : `Version ${one.id}`}</b> <span class="faint small">${sayMaker(one.made_by)}${one.span && ` · messages ${one.span[0]}–${one.span[1]}`}
            ${one.at && html` · <${When} at=${one.at} />`}${one.status !== "committed" && ` · ${sayStatus(one.status)}`}</span></button></li>`)}
        </ol>
        <div>
          <h3>${before ? `What changed from version ${before.id}` : "The first text"}</h3>
          <${WordDiff} before=${before?.text ?? ""} after=${shown.text ?? ""} />
          ${at > 0 && html`<div class="actions"><${Button} kind="main" onClick=${async () => {
            await (restore ? restore(shown.text) : change(story, "POST", ["versions", shown.id, "restore"], {}));
            onClose();
          }}>Restore this version<//></div>`}
        </div>
      </div>`;
    }}<//>
  <//>`;
}
