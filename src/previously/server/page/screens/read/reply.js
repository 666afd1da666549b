// A reply on its way: asked for once, heard word by word, found again after a reload.
import { useState, useEffect, useRef } from "../../preact.js";
import { Away, connection, follow, get, send, storyPath } from "../../api.js";
import { announce } from "../../store.js";

/** @typedef {{ way: string, said: string, text: string, before: number }} Live  `before`: the messages of the path that it follows */
/** @typedef {{ text?: string, direction?: string, way?: string, key?: string, head?: number }} Wanted */
/** How a request ended: whether what the user said is in the story, and whether nothing failed. @typedef {{ said: boolean, whole: boolean }} End */

const NOT_HEARD = { said: false, whole: false };

/**
 * @param {string} story
 * @param {import("./path.js").Path} path
 */
export function useReply(story, path) {
  const [live, setLive] = useState(/** @type {Live | null} */ (null));
  const [problem, setProblem] = useState("");
  const [spoken, setSpoken] = useState("");
  const [heard, setHeard] = useState({ key: "", end: NOT_HEARD }); // how a request from before a reload ended since
  const words = useRef("");
  const busy = useRef(false);
  const runs = useRef(0);
  const failed = useRef(/** @type {Wanted | null} */ (null)); // what `Try again` asks for

  /** @param {Wanted} wanted @param {(hear: (name: string, data: any) => void) => Promise<unknown>} listenTo @returns {Promise<End>} */
  async function run(wanted, listenTo) {
    if (busy.current) return NOT_HEARD;
    busy.current = true;
    runs.current += 1;
    words.current = "";
    setProblem("");
    failed.current = wanted;
    const { way = "next", text: said = "", direction = "" } = wanted;
    // The reply that another is asked for in place of is not shown meanwhile.
    const before = way === "again" && path.at(path.total - 1)?.role === "assistant" ? path.total - 1 : path.total;
    setLive({ way, said, text: "", before });
    let end = NOT_HEARD;
    let trouble = ""; // told when all is done: until then nothing can be tried again
    try {
      await listenTo((name, data) => {
        if (name === "delta") words.current += data.text;
        else if (name === "replace") words.current = data.text;
        else if (name === "done") {
          end = { said: true, whole: !data.failure };
          // What the user said is in the story; a part of a reply that came is, too, and another takes its place.
          failed.current = data.failure ? { way: data.message && way === "next" ? "again" : way, direction, head: data.head } : null;
          setSpoken(data.message?.text ?? "");
          trouble = data.failure ?? "";
        } else if (name === "error") trouble = data.detail;
        if (name === "delta" || name === "replace") setLive({ way, said, text: words.current, before });
      });
    } catch (error) {
      trouble = !(error instanceof Away) ? String(/** @type {any} */ (error)?.message ?? error)
        : said || direction ? "The server went away. Your words are kept; send them again when it is back." : "The server went away while the model wrote.";
    }
    await path.refresh();
    busy.current = false;
    setLive(null);
    setProblem(trouble);
    announce(`story:${story}`);
    announce("stories");
    return end;
  }

  /** @param {Wanted} wanted */
  const write = (wanted) => {
    const { text = "", direction = "", way = "next", key, head } = wanted;
    const version = head !== undefined && way !== "next" ? String(head) : undefined;
    return run(wanted, (hear) => follow("POST", storyPath(story, "chat"), { body: { text, direction, way }, key, version }, hear));
  };

  /** Ask once more for what failed, and say what that was. @returns {Promise<[Wanted, End]>} */
  const retry = async () => { const wanted = failed.current ?? {}; return [wanted, await write(wanted)]; };

  const stop = () => send("DELETE", storyPath(story, "chat"));

  /** Hear on with a reply that goes on from before. */
  async function rejoin() {
    if (busy.current) return;
    const before = runs.current;
    const chat = await get(storyPath(story, "chat")).catch(() => null);
    if (runs.current !== before) return; // one wrote on meanwhile, and has heard how that ended
    const end = chat?.running ? await run({}, (hear) => follow("GET", storyPath(story, "chat", "events"), {}, hear)) : { said: true, whole: true };
    if (chat?.key) setHeard({ key: chat.key, end });
  }

  useEffect(() => { rejoin(); }, [story]);
  useEffect(() => connection.watch((now) => { if (now === "here") rejoin(); }), [story]);
  return { live, problem, spoken, heard, write, retry, stop };
}
