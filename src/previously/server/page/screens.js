// The screens of the page, in the order of their tabs. To add one: a module in `screens/` whose default export is a
// component, and a row here. It gets `{ story, params, query }`: the story's name ("" outside of one), what its path
// names, and what stands behind `?`.

/**
 * @typedef {object} Screen
 * @property {string} path  as in the address, with `:name` for what differs
 * @property {string} title
 * @property {string} [key]  pressed after `g`, it goes there
 * @property {() => Promise<{ default: (props: any) => any }>} load
 */

/** @type {Screen[]} */
export const SCREENS = [
  { path: "", title: "Stories", key: "h", load: () => import("./screens/stories.js") },
  { path: "model", title: "Model", load: () => import("./screens/model.js") },
  { path: "games", title: "Games", load: () => import("./screens/play.js") },
  { path: "games/:game/:slot", title: "Game", load: () => import("./screens/play.js") },
  { path: "story/:story/read", title: "Read and write", key: "r", load: () => import("./screens/read.js") },
  { path: "story/:story/tree", title: "Tree", key: "b", load: () => import("./screens/tree.js") },
  { path: "story/:story/memory", title: "Memory", key: "m", load: () => import("./screens/memory.js") },
  { path: "story/:story/saw", title: "What the model saw", key: "v", load: () => import("./screens/saw.js") },
  { path: "story/:story/map", title: "Map", key: "a", load: () => import("./screens/map.js") },
  { path: "story/:story/settings", title: "Settings", key: "s", load: () => import("./screens/settings.js") },
];

/** The screens of one story. */
export const STORY_SCREENS = SCREENS.filter((screen) => screen.path.startsWith("story/:story/"));

/** The question of the first screen: it is asked before the screen is there. @type {[string, Record<string, unknown>]} */
export const FIRST_LIST = ["/stories", { limit: 200 }];
