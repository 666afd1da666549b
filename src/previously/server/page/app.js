// The frame of the page: the head with its tabs, the screen of the address, notices, keys, and the way in.
import { html, render, useState, useEffect, useErrorBoundary } from "./preact.js";
import { Away, checkServer, connection, get, keyWanted, send } from "./api.js";
import { undoLast } from "./actions.js";
import { announce, useKept, useLoad, useStore } from "./store.js";
import { Button, Failure, Loading, Menu, Questions, Toasts, showInRow, toast } from "./ui.js";
import { KeysHelp, keysShown, useKeys } from "./keys.js";
import { goLive } from "./live.js";
import { go, linkTo, route } from "./router.js";
import { SCREENS, STORY_SCREENS } from "./screens.js";

/** Screens that were loaded, by path. @type {Map<string, (props: any) => any>} */
const ready = new Map();

/** The component of a screen, loaded when it is first shown. @param {{ at: import("./router.js").Route }} props */
function Shown({ at }) {
  const [failed, setFailed] = useState(/** @type {any} */ (null));
  const [, drawAnew] = useState(0);
  const [broken, mend] = useErrorBoundary((error) => console.error(error));
  const screen = at.screen;
  useEffect(() => { mend(); setFailed(null); }, [at.address]);
  useEffect(() => {
    if (!screen || ready.has(screen.path)) return;
    screen.load().then((module) => { ready.set(screen.path, module.default); drawAnew((count) => count + 1); }, async (error) => {
      await checkServer();
      if (connection.get() === "here") { setFailed(error); return; }
      setFailed(new Away());
      connection.watch((now) => { if (now === "here") location.reload(); }); // browsers remember a module that failed
    });
  }, [screen]);
  if (!screen) return html`<${Failure} error=${{ status: 404, message: "There is no such page here." }} />`;
  if (broken || failed) return html`<${Failure} error=${broken || failed} retry=${() => location.reload()} />`;
  const Component = ready.get(screen.path);
  return Component ? html`<${Component} key=${`${screen.path} ${at.story}`} story=${at.story} params=${at.params} query=${at.query} />`
    : html`<${Loading} />`;
}

const THEMES = ["auto", "light", "dark"];
const ELSEWHERE = [["", "Stories"], ["games", "Games"], ["model", "Model"]];

function App() {
  const at = useStore(route);
  const away = useStore(connection) === "away";
  const locked = useStore(keyWanted);
  const [theme, setTheme] = useKept("theme", "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    document.title = [at.story, at.screen?.title, "Previously"].filter(Boolean).join(" – ");
    document.getElementById("main")?.focus({ preventScroll: true });
    scrollTo(0, 0);
    showInRow(document.querySelector(".screens [aria-current]"));
  }, [at.screen, at.story]);
  useEffect(() => { // what sticks below the head must know how high it is: on narrow screens it has two rows
    const head = /** @type {Element} */ (document.querySelector("header.head"));
    const watcher = new ResizeObserver(() => document.documentElement.style.setProperty("--head", `${head.getBoundingClientRect().height}px`));
    watcher.observe(head);
    return () => watcher.disconnect();
  }, []);
  const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]);
  useKeys([
    { keys: "?", says: "Show these keys", run: () => keysShown.set(true) },
    { keys: "/", says: "Search", run: () => /** @type {any} */ (document.querySelector("[data-search]"))?.focus() },
    ...SCREENS.filter((screen) => screen.key && (at.story || !screen.path)).map((screen) => ({
      keys: `g ${screen.key}`, says: `Go to: ${screen.title}`, run: () => go(addressOf(screen, at.story)),
    })),
    ...(at.story ? [{ keys: "z", says: "Undo the last change to this story", run: () => { undoLast(at.story); } }] : []),
    { keys: "t", says: "Light, dark, or as the system has it", run: nextTheme },
  ]);
  return html`
    <a class="skip" href="#main" onClick=${(/** @type {any} */ event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the text</a>
    <header class="head">
      <a class="brand" href="#/" aria-label="Previously: all stories">Previously</a>
      ${at.story && html`<span class="crumb" dir="auto" title=${at.story}>${at.story}</span>`}
      ${at.story && !locked && html`<nav class="screens" aria-label="This story">
        ${STORY_SCREENS.map((screen) => html`<a key=${screen.path} href=${addressOf(screen, at.story)} aria-current=${screen === at.screen ? "page" : null}>${screen.title}</a>`)}
      </nav>`}
      ${!at.story && !locked && html`<nav class="screens" aria-label="Elsewhere">${ELSEWHERE.map(([path, title]) => html`<a key=${path} href=${`#/${path}`} aria-current=${at.screen?.path.split("/")[0] === path ? "page" : null}>${title}</a>`)}</nav>`}
      <div class="head-tools">
        ${at.story && !locked && html`<${Button} kind="quiet" title="Undo the last change (z)" onClick=${() => undoLast(at.story)}>Undo<//>`}
        <button class="icon" aria-label=${`Colours: ${theme}. Change them`} title=${`Colours: ${theme}`} onClick=${nextTheme}>${theme === "dark" ? "☾" : theme === "light" ? "☀" : "◐"}</button>
        <button class="icon" aria-label="Keys" title="Keys (?)" onClick=${() => keysShown.set(true)}>?</button>
        <${Account} />
      </div>
    </header>
    ${away && html`<p class="banner" role="alert">The server cannot be reached. What you write is kept in this tab; this goes on as soon as it is back.</p>`}
    <main id="main" tabindex="-1">${locked ? html`<${SignIn} />` : html`<${Shown} at=${at} />`}</main>
    <${Foot} />
    <${Toasts} /><${Questions} /><${KeysHelp} />`;
}

/** @param {import("./screens.js").Screen} screen @param {string} story */
const addressOf = (screen, story) => (screen.path ? linkTo(screen.path.split("/").slice(2).join("/"), story) : "#/");

/** Who is signed in, where keys are asked for. */
function Account() {
  const session = useLoad((signal) => get("/session", {}, signal), [], "session");
  const { data } = session;
  if (!data?.keys_required || !data.signed_in) return null;
  const signOut = async () => { await send("DELETE", "/session"); keyWanted.set(true); announce("session"); };
  return html`<${Menu} label=${`Signed in as ${data.owner}`} items=${[{ label: "Sign out", run: signOut }]}>${data.owner}<//>`;
}

/** The way in where a key is asked for. */
function SignIn() {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const enter = async () => {
    try {
      await send("POST", "/session", { key: key.trim() });
      setError("");
      keyWanted.set(false);
      announce("session");
    } catch (problem) { setError(String(/** @type {any} */ (problem).message)); }
  };
  return html`<form class="sign-in" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); enter(); }}>
    <h1>Sign in</h1>
    <p>This server asks for a key. Whoever runs it makes one with <code>previously keys add</code>.</p>
    <label class="field"><span>Key</span>
      <input type="password" autocomplete="current-password" value=${key} onInput=${(/** @type {any} */ event) => setKey(event.target.value)} required /></label>
    <p class="error" role="alert">${error}</p>
    <div class="actions"><${Button} kind="main" type="submit" disabled=${!key.trim()}>Sign in<//></div>
  </form>`;
}

/** The address to give to a chat client, or the way to one. */
function Foot() {
  const locked = useStore(keyWanted);
  const server = useLoad((signal) => (locked ? Promise.resolve(null) : get("/server", {}, signal)), [locked], "model");
  const address = server.data?.proxy;
  return html`<footer class="foot">
    ${server.data && !address && html`<p>No model is named yet: <a href="#/model">name one</a> to write on here, and to give your chat client a memory.</p>`}
    ${address && html`<p>Memory proxy address for your chat client: <code>${address}</code>
      <${Button} kind="link" onClick=${async () => { await navigator.clipboard.writeText(address); toast("The address is copied."); }}>Copy<//></p>`}
    <p class="faint">Everything stays on this server. Press <kbd>?</kbd> for keys.</p>
  </footer>`;
}

goLive();
render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
