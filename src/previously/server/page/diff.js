// Two texts compared word by word.
import { html, useMemo } from "./preact.js";

const MOST_CELLS = 4_000_000; // two texts of 2,000 words: about 20 ms; longer ones are shown one after the other
const FEWEST_SAME = 3; // words in a row that both texts share; fewer between two changes are chance ("the", "and")

/** @typedef {{ kind: "same" | "gone" | "new", text: string }} Run */

/**
 * Return the runs that stayed, went and came, in order.
 * @param {string} before
 * @param {string} after
 * @returns {Run[]}
 */
export function compareWords(before, after) {
  const old = before.match(/\S+\s*|^\s+/gu) ?? [];
  const now = after.match(/\S+\s*|^\s+/gu) ?? [];
  const shared = findShared(old, now);
  /** @type {Run[]} */
  const runs = [];
  const put = (/** @type {Run["kind"]} */ kind, /** @type {string[]} */ words) => { if (words.length) runs.push({ kind, text: words.join("") }); };
  let [i, j] = [0, 0];
  for (const [first, second, count] of [...shared, [old.length, now.length, 0]]) {
    put("gone", old.slice(i, first));
    put("new", now.slice(j, second));
    put("same", now.slice(second, second + count));
    [i, j] = [first + count, second + count];
  }
  return runs;
}

/** @param {string[]} old @param {string[]} now @returns {[number, number, number][]}  where stretches begin that both have, and their lengths */
function findShared(old, now) {
  const [a, b] = [old, now].map((words) => words.map((word) => word.trimEnd()));
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first += 1;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a.at(-1 - last) === b.at(-1 - last)) last += 1;
  const [high, wide] = [a.length - first - last, b.length - first - last];
  /** @type {[number, number, number][]} */
  const found = [[0, 0, first]];
  if (high * wide <= MOST_CELLS) {
    const width = wide + 1;
    const best = new Uint16Array((high + 1) * width);
    for (let i = high - 1; i >= 0; i -= 1) {
      for (let j = wide - 1; j >= 0; j -= 1) {
        best[i * width + j] = a[first + i] === b[first + j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
      }
    }
    let [i, j] = [0, 0];
    while (i < high && j < wide) {
      if (a[first + i] === b[first + j]) {
        const end = /** @type {[number, number, number]} */ (found.at(-1));
        if (end[0] + end[2] === first + i && end[1] + end[2] === first + j) end[2] += 1;
        else found.push([first + i, first + j, 1]);
        i += 1;
        j += 1;
      } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) i += 1;
      else j += 1;
    }
  }
  found.push([a.length - last, b.length - last, last]);
  return found.filter(([i, j, count], at) => count >= FEWEST_SAME || (count > 0 && (at === 0 || at === found.length - 1 || i === 0 || j === 0)));
}

/** A text as it was and as it is, word by word. @param {{ before: string, after: string }} props */
export function WordDiff({ before, after }) {
  const runs = useMemo(() => compareWords(before, after), [before, after]);
  if (before === after) return html`<p class="faint">The texts are the same.</p>`;
  return html`<div class="diff story-text">${runs.map((run) => (run.kind === "same" ? html`<span>${run.text}</span>`
    : run.kind === "gone" ? html`<del>${run.text}</del>` : html`<ins>${run.text}</ins>`))}</div>`;
}
