// Runs before the rest of the page is there: the list of stories is asked for meanwhile.
import { askEarly } from "./api.js";
import { FIRST_LIST } from "./screens.js";

if (location.hash.replace(/^#\/?/, "") === "") askEarly(...FIRST_LIST);
