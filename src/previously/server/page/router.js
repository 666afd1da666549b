// Addresses of screens: everything after `#`. `#/story/A%20tale/memory?tab=lore` is the memory of "A tale".
import { makeStore } from "./api.js";
import { SCREENS, STORY_SCREENS } from "./screens.js";

/** @typedef {{ screen: import("./screens.js").Screen | null, story: string, params: Record<string, string>, query: Record<string, string>, address: string }} Route */

/** @param {string} part */
function decode(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

/** @param {string} hash @returns {Route} */
export function readRoute(hash) {
  const [path, search = ""] = hash.replace(/^#?\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  if (parts[0] === "story" && parts.length === 2 && STORY_SCREENS.length) parts.push(STORY_SCREENS[0].path.split("/")[2]);
  for (const screen of SCREENS) {
    const wanted = screen.path.split("/").filter(Boolean);
    if (wanted.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    if (wanted.every((name, at) => (name.startsWith(":") ? ((params[name.slice(1)] = parts[at]), true) : name === parts[at]))) {
      return { screen, story: params.story ?? "", params, query, address: hash };
    }
  }
  return { screen: null, story: "", params: {}, query, address: hash };
}

/** The route that is shown. */
export const route = makeStore(readRoute(location.hash));
addEventListener("hashchange", () => route.set(readRoute(location.hash)));

/**
 * Return the address of a screen: `linkTo("", …)` the stories, `linkTo("memory", "A tale", { tab: "lore" })` one of a story's.
 * @param {string} screen
 * @param {string} [story]
 * @param {Record<string, unknown>} [query]
 */
export function linkTo(screen, story, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
  return (story ? `#/story/${encodeURIComponent(story)}/${screen}` : `#/${screen}`) + search;
}

/** Go to an address; with `replace`, Back skips where one was. @param {string} address @param {{ replace?: boolean }} [options] */
export function go(address, { replace = false } = {}) {
  if (!replace) { location.hash = address; return; }
  history.replaceState(null, "", address);
  route.set(readRoute(location.hash));
}
