// A long list of which only what is in sight is drawn. Heights are measured as rows appear and guessed before; the
// row that the reader looks at stays where it is when a guess was wrong.
import { html, useState, useEffect, useLayoutEffect, useRef } from "../../preact.js";

const BEYOND = 1200; // pixels drawn above and below what is in sight: a flick of the wheel shows no gap
const GUESS = 140; // pixels of a row before any was measured: a paragraph with its heading
const ENOUGH = 10; // measured rows that tell what rows are usually high
const MOST = 120; // rows drawn at once, whatever their height
const AIR = 12; // pixels between what covers the top of the page and the row that one goes to
const NEAR_END = 120; // pixels from the end at which the reader is taken to read along

/**
 * @param {{ total: number, want: (first: number, last: number) => void, target: { position: number, turn: number } | null,
 *   row: (position: number) => any, label: string, onSeen?: (position: number) => void }} props
 */
export function LongList({ total, want, target, row, label, onSeen }) {
  const box = useRef(/** @type {any} */ (null));
  const heights = useRef(/** @type {Map<number, number>} */ (new Map()));
  const anchor = useRef(/** @type {{ position: number, top: number } | null} */ (null));
  const atEnd = useRef(true);
  const wanted = useRef(/** @type {number | null} */ (null));
  const [range, setRange] = useState(/** @type {[number, number]} */ ([Math.max(0, total - 20), total - 1]));

  const average = () => {
    if (!heights.current.size) return GUESS;
    let sum = 0;
    for (const height of heights.current.values()) sum += height;
    return sum / heights.current.size;
  };
  // What rows are guessed to be high: one number for good, or all above would move with each row that is measured.
  const usual = useRef(GUESS);
  if (usual.current === GUESS && heights.current.size >= ENOUGH) usual.current = average();
  const heightOf = (/** @type {number} */ from, /** @type {number} */ to) => {
    let sum = 0;
    for (let at = from; at < to; at += 1) sum += heights.current.get(at) ?? usual.current;
    return sum;
  };

  const look = () => {
    const list = box.current;
    if (!list || !total) return;
    const high = (/** @type {number} */ row) => heights.current.get(row) ?? usual.current;
    const above = -list.getBoundingClientRect().top;
    let at = 0;
    let sum = 0;
    while (at < total - 1 && sum + high(at) < above - BEYOND) { sum += high(at); at += 1; }
    const first = at;
    while (at < total - 1 && sum < above + innerHeight + BEYOND && at - first < MOST) { sum += high(at); at += 1; }
    setRange((old) => (old[0] === first && old[1] === at ? old : [first, at]));
    remember();
    atEnd.current = document.documentElement.scrollHeight - scrollY - innerHeight < NEAR_END;
  };

  /** Where the part of the page begins that nothing covers. */
  const findTop = () => (document.querySelector(".read-tools")?.getBoundingClientRect().bottom ?? 60) + AIR;

  /** Remember the row that the reader looks at, and where it stands. */
  const remember = () => {
    const top = findTop();
    for (const element of box.current?.querySelectorAll("[data-position]") ?? []) {
      const place = element.getBoundingClientRect();
      if (place.bottom > top + 1) { // a fraction of a pixel is not read
        anchor.current = { position: Number(element.dataset.position), top: place.top };
        onSeen?.(anchor.current.position);
        return;
      }
    }
  };

  useEffect(() => {
    let waiting = 0;
    const hear = () => { waiting ||= requestAnimationFrame(() => { waiting = 0; look(); }); };
    addEventListener("scroll", hear, { passive: true });
    addEventListener("resize", hear);
    return () => { removeEventListener("scroll", hear); removeEventListener("resize", hear); cancelAnimationFrame(waiting); };
  });

  useEffect(() => {
    if (!target) return;
    wanted.current = Math.max(0, Math.min(total - 1, target.position));
    atEnd.current = false;
    anchor.current = null;
    setRange([Math.max(0, wanted.current - 12), Math.min(total - 1, wanted.current + 30)]);
  }, [target?.turn]);

  const first = Math.min(range[0], Math.max(0, total - 1));
  // At the end everything up to the newest is drawn, also what came just now.
  const last = atEnd.current && wanted.current === null ? total - 1 : Math.min(range[1], total - 1);
  useEffect(() => { if (total > 0) want(first, last); });

  useLayoutEffect(() => {
    const list = box.current;
    for (const element of list?.querySelectorAll("[data-position]:not(.waiting)") ?? []) heights.current.set(Number(element.dataset.position), element.offsetHeight);
    if (wanted.current !== null) {
      const goal = list?.querySelector(`[data-position="${wanted.current}"]`);
      if (goal) {
        scrollBy(0, goal.getBoundingClientRect().top - findTop());
        anchor.current = { position: wanted.current, top: goal.getBoundingClientRect().top };
        goal.focus({ preventScroll: true });
        wanted.current = null;
      }
    } else if (atEnd.current) scrollTo(0, document.documentElement.scrollHeight);
    else if (anchor.current) {
      const kept = list?.querySelector(`[data-position="${anchor.current.position}"]`);
      const moved = kept ? kept.getBoundingClientRect().top - anchor.current.top : 0;
      if (Math.abs(moved) > 1) scrollBy(0, moved);
      if (!kept) remember();
    }
    // After a long way the rows that were drawn may turn out to lie beside what is in sight.
    const rows = list?.querySelectorAll("[data-position]") ?? [];
    if (rows.length && (rows[0].getBoundingClientRect().top > innerHeight || rows[rows.length - 1].getBoundingClientRect().bottom < 0)) requestAnimationFrame(look);
  });

  const rows = [];
  for (let at = first; at <= last && total > 0; at += 1) rows.push(row(at));
  return html`<div class="long-list" ref=${box} role="feed" aria-label=${label} aria-busy="false">
    <div style=${{ height: `${Math.round(heightOf(0, first))}px` }} aria-hidden="true" />
    ${rows}
    <div style=${{ height: `${Math.round(heightOf(last + 1, total))}px` }} aria-hidden="true" />
  </div>`;
}
