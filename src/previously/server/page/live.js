// Changes by others: another browser, the command line, a chat through the proxy. The server tells which story changed,
// and whatever shows that story loads it anew.
import { BASE, checkServer, connection, keyWanted } from "./api.js";
import { announce, announceAll } from "./store.js";

/** @type {EventSource | null} */
let source = null;
let wasHere = false; // whoever listens for the first time has just loaded what it shows

/** Listen while this tab is seen: a browser gives one server only a few connections, and tabs in the back need none. */
function listen() {
  const wanted = document.visibilityState === "visible" && !keyWanted.get();
  if (!wanted) { source?.close(); source = null; return; }
  if (source || connection.get() === "away") return;
  source = new EventSource(`${BASE}/events`);
  source.addEventListener("hello", () => { if (wasHere) announceAll(); wasHere = true; });
  source.addEventListener("story", (event) => {
    const change = JSON.parse(event.data);
    announce(`story:${change.story}`, change);
    announce("stories", change);
  });
  source.addEventListener("gone", (event) => {
    announce(`story:${JSON.parse(event.data).story}`);
    announce("stories");
  });
  source.addEventListener("fold", (event) => {
    const fold = JSON.parse(event.data);
    announce(`fold:${fold.story}`, fold);
  });
  source.addEventListener("error", () => {
    source?.close();
    source = null;
    checkServer();
    setTimeout(listen, RETRY_MS); // at once when the server is back, this late where it refuses
  });
}

const RETRY_MS = 3000; // a server that refuses (it asks for a key, it is full) is not asked in a hurry

/** Begin to listen, for as long as the page is open. */
export function goLive() {
  document.addEventListener("visibilitychange", listen);
  keyWanted.watch(listen);
  connection.watch((now) => { if (now === "here") listen(); });
  listen();
}
