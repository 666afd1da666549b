// The words of a message: `*what is done*` in italics, `**what is loud**` in bold; in prose paragraphs, headings and rules.
import { html } from "../../preact.js";
import { emphasise } from "../../ui.js";

const HEADING = /^(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^\s*(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/;

/** @param {{ text: string, prose?: boolean }} props */
export function Words({ text, prose }) {
  return prose ? text.split(/\n{2,}/).flatMap(listBlocks) : emphasise(text);
}

/** Return a paragraph, with the headings and rules that stand in lines of it. @param {string} part */
function listBlocks(part) {
  const blocks = [];
  /** @type {string[]} */
  let lines = [];
  const close = () => { if (lines.length) blocks.push(html`<p>${emphasise(lines.join("\n"))}</p>`); lines = []; };
  for (const line of part.split("\n")) {
    const [, marks, words] = HEADING.exec(line) ?? [];
    if (marks && words) { close(); blocks.push(html`<p class=${`heading ${marks.length === 1 ? "first" : ""}`} role="heading" aria-level=${Math.min(6, marks.length + 1)}>${emphasise(words)}</p>`); }
    else if (RULE.test(line)) { close(); blocks.push(html`<hr />`); }
    else lines.push(line);
  }
  close();
  return blocks;
}
