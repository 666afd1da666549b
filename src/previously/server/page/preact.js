// The parts of Preact that the page uses, and `html` to write elements with.
//
// Whatever stands in `${…}` becomes text or an attribute, never markup: texts of people and models are safe by
// construction. Nothing in the page sets markup from a string; the headers of the page forbid it once more.
import { h } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export { h, render, Fragment, createContext } from "./vendor/preact.mjs";
export {
  useState, useEffect, useLayoutEffect, useMemo, useCallback, useRef, useContext, useId, useErrorBoundary,
} from "./vendor/hooks.mjs";

export const html = htm.bind(h);
