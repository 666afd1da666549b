// The messages of a story as the reader needs them: pages that are loaded when they come into sight, and kept.
import { useState, useEffect, useRef } from "../../preact.js";
import { connection, get, storyPath } from "../../api.js";
import { listen } from "../../store.js";

const PAGE = 60; // messages asked for at once: two or three screens

/**
 * @typedef {object} Path
 * @property {number} total  -1 before anything is known
 * @property {number} head
 * @property {string} branch
 * @property {any} error
 * @property {(position: number) => any} at  the message there, undefined if it is not loaded
 * @property {(first: number, last: number) => void} want  load these, where they are not there
 * @property {() => Promise<void>} refresh  look anew at the story
 */

/** @param {string} story @returns {Path} */
export function usePath(story) {
  const [state, setState] = useState(/** @type {any} */ ({ total: -1, head: 0, branch: "", error: null }));
  const [, draw] = useState(0);
  /** Each message with the look at the story in which it was read. @type {import("../../vendor/hooks.mjs").Ref<Map<number, { message: any, look: number }>>} */
  const known = useRef(new Map());
  /** The first id of each message, which its edits keep. @type {import("../../vendor/hooks.mjs").Ref<Map<number, number>>} */
  const origins = useRef(new Map());
  const look = useRef(0);
  const asked = useRef(new Set());
  const there = useRef(true);

  const keep = (/** @type {any} */ answer, /** @type {number} */ turn) => {
    if (!there.current || turn !== look.current) return;
    for (const message of answer.messages) {
      const { id, replaces } = message;
      message.origin = origins.current.get(id) ?? origins.current.get(replaces) ?? replaces ?? id;
      origins.current.set(id, message.origin);
      known.current.set(message.position, { message, look: turn });
    }
    setState({ total: answer.total, head: answer.head, branch: answer.branch, error: null });
    draw((count) => count + 1);
  };

  const refresh = async () => {
    const turn = (look.current += 1);
    asked.current.clear();
    try { keep(await get(storyPath(story, "messages"), { limit: PAGE }), turn); } catch (error) {
      if (there.current) setState((/** @type {any} */ old) => ({ ...old, error }));
    }
  };

  const want = (/** @type {number} */ first, /** @type {number} */ last) => {
    const turn = look.current;
    for (let begin = first - (first % PAGE); begin <= last; begin += PAGE) {
      const end = Math.min(begin + PAGE - 1, state.total - 1);
      let missing = false;
      for (let at = Math.max(begin, first); at <= Math.min(end, last); at += 1) missing ||= known.current.get(at)?.look !== turn;
      if (!missing || asked.current.has(begin)) continue;
      asked.current.add(begin);
      get(storyPath(story, "messages"), { first: begin, last: end, limit: PAGE }).then(
        (answer) => keep(answer, turn), () => asked.current.delete(begin),
      );
    }
  };

  useEffect(() => { there.current = true; refresh(); return () => { there.current = false; }; }, [story]);
  useEffect(() => listen(`story:${story}`, refresh), [story]);
  useEffect(() => connection.watch((now) => { if (now === "here") refresh(); }), [story]);
  return { ...state, at: (position) => known.current.get(position)?.message, want, refresh };
}
