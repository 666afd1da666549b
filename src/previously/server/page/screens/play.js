// Games: which there are, and one that is played, with its cast and what each of them knows beside it.
import { html, useState, useEffect, useRef, useId } from "../preact.js";
import { Away, follow, get, send, storyPath } from "../api.js";
import { useLoad } from "../store.js";
import { Button, Empty, Loaded, confirm, counted, prompt, toast } from "../ui.js";
import { go } from "../router.js";
import { Words } from "./read/words.js";

const MOST_SHOWN = 60; // messages of a game that are shown at first: a dozen turns

/** @param {string} game @param {string} slot */
const addressOf = (game, slot) => `#/games/${encodeURIComponent(game)}/${encodeURIComponent(slot)}`;
/** @param {string} game @param {string} slot @param {string[]} rest */
const pathOf = (game, slot, ...rest) => ["/games", game, slot, ...rest].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");

/** @param {{ params: Record<string, string> }} props */
export default function Play({ params }) {
  return params.game ? html`<${Game} key=${`${params.game}/${params.slot}`} game=${params.game} slot=${params.slot} />` : html`<${Games} />`;
}

function Games() {
  const games = useLoad((signal) => get("/games", {}, signal), [], "stories");
  const begin = async (/** @type {any} */ game) => {
    const taken = new Set(game.slots.map((/** @type {any} */ one) => one.slot));
    const slot = taken.has("main") ? await prompt({ title: "A new save", label: "Its name", action: "Begin" }) : "main";
    if (slot) go(addressOf(game.game, slot));
  };
  return html`<div class="column"><h1>Games</h1>
    <p class="faint">Text games whose characters remember what they saw and were told, and nothing else.</p>
    <${Loaded} of=${games} what="Looking for games">${(/** @type {any} */ data) => (data.games.length ? html`<div class="game-list">
      ${data.games.map((/** @type {any} */ game) => html`<section class="game-card" key=${game.game}>
        <h2 dir="auto">${game.title}</h2>
        <p>You play ${game.player}, and meet ${game.characters.join(", ")}.</p><p class="faint small">${counted(game.chapters, "chapter")}</p>
        ${game.slots.length > 0 && html`<ul class="bare">${game.slots.map((/** @type {any} */ one) => html`<li key=${one.slot}><a href=${addressOf(game.game, one.slot)}>Go on: ${one.slot}</a></li>`)}</ul>`}
        <div class="actions"><${Button} kind="main" onClick=${() => begin(game)}>${game.slots.length ? "A new save" : "Play"}<//></div>
      </section>`)}</div>` : html`<${Empty} title="No games here"><p>This server plays none.</p><//>`)}<//></div>`;
}

/** @param {{ game: string, slot: string }} props */
function Game({ game, slot }) {
  const opened = useLoad(() => send("POST", pathOf(game, slot)), [game, slot]);
  return html`<${Loaded} of=${opened} what="Setting the table">${(/** @type {any} */ state) => html`<${Table} game=${game} slot=${slot} opened=${state} />`}<//>`;
}

/** @param {{ game: string, slot: string, opened: any }} props */
function Table({ game, slot, opened }) {
  const [state, setState] = useState(opened);
  const [told, setTold] = useState(/** @type {any[]} */ ([]));
  const [live, setLive] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [spoken, setSpoken] = useState("");
  const end = useRef(/** @type {any} */ (null));
  const name = `previously:play:${state.story}`;
  const [words, setWords] = useState(() => { try { return localStorage.getItem(name) ?? opened.interrupted ?? ""; } catch { return opened.interrupted ?? ""; } });
  const id = useId();
  const keep = (/** @type {string} */ next) => { setWords(next); try { localStorage.setItem(name, next); } catch { /* it is still in the box */ } };
  const read = async () => {
    const page = await get(storyPath(state.story, "messages"), { limit: MOST_SHOWN });
    setTold(page.messages);
  };
  useEffect(() => { read().catch(() => undefined); }, [state.story]);
  useEffect(() => { end.current?.scrollIntoView({ block: "nearest" }); }, [told.length, live?.events.length]);
  const play = async () => {
    const said = words.trim();
    if (!said || live) return;
    setProblem("");
    /** @type {any} */
    let turn = { said, events: [], speaking: null, asked: "" };
    setLive(turn);
    const draw = (/** @type {any} */ change) => { turn = { ...turn, ...change }; setLive(turn); };
    try {
      await follow("POST", pathOf(game, slot, "turn"), { body: { text: said } }, (kind, data) => {
        if (kind === "asked") draw({ asked: data.about });
        else if (kind === "words") draw({ speaking: data });
        else if (kind === "said") { draw({ events: [...turn.events, { kind, ...data }], speaking: null }); setSpoken(`${data.speaker}: ${data.text}`); }
        else if (kind === "beat" || kind === "chapter" || kind === "trouble") draw({ events: [...turn.events, { kind, ...data }] });
        else if (kind === "done") { setState(data); keep(""); }
        else if (kind === "error") setProblem(data.detail);
      });
    } catch (error) {
      setProblem(error instanceof Away ? "The server went away; your words are kept. Say them again when it is back." : String(/** @type {any} */ (error)?.message ?? error));
    }
    await read().catch(() => undefined);
    setLive(null);
  };
  const undo = async () => {
    if (!(await confirm({ title: "Take back the last turn?", text: "Its words go, and what everybody remembers of it.", action: "Take it back" }))) return;
    const now = await send("POST", pathOf(game, slot, "undo"));
    setState(now);
    await read();
    toast(now.undone ? "The last turn is taken back." : "There is no turn to take back.");
  };
  const onKeyDown = (/** @type {any} */ event) => {
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); play(); }
    if (event.key === "Escape") event.target.blur();
  };
  return html`<div class="game">
    <section aria-label="The game">
      <h1 dir="auto">${state.title}</h1>
      <p class="faint">${state.complete ? "The game is complete; whoever likes goes on." : html`${state.chapter} · turn ${state.turn}`}</p>
      ${told.map((one) => html`<${Line} key=${one.id} speaker=${one.speaker} text=${one.text} player=${one.role === "user"} />`)}
      ${live && html`<${Line} speaker=${state.player} text=${live.said} player />`}
      ${live?.events.map((/** @type {any} */ one, /** @type {number} */ at) => html`<${Event} key=${at} event=${one} />`)}
      ${live && html`<div class="said live" aria-busy="true">${live.speaking ? html`<b class="who">${live.speaking.speaker}</b><div class="story-text"><${Words} text=${live.speaking.text} /><span class="caret" aria-hidden="true">▍</span></div>`
    : html`<p class="faint">${live.asked ? `${live.asked} …` : "…"}</p>`}</div>`}
      <p class="visually-hidden" aria-live="polite">${spoken}</p>
      <form class="composer" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); play(); }}>
        <p class="error" role="alert">${problem}</p>
        <label class="visually-hidden" for=${id}>What you say and do</label>
        <textarea id=${id} rows="2" dir="auto" class="story-text" data-composer placeholder="What do you say and do?" value=${words} disabled=${Boolean(live)}
          onInput=${(/** @type {any} */ event) => keep(event.target.value)} onKeyDown=${onKeyDown}></textarea>
        <div class="actions"><span class="hint faint">Enter plays the turn</span>
          <${Button} kind="quiet" disabled=${Boolean(live) || !state.turn} onClick=${undo}>Take back<//>
          <${Button} kind="main" type="submit" disabled=${Boolean(live) || !words.trim()} onClick=${play}>${live ? "Playing …" : "Play"}<//></div>
      </form>
      <div ref=${end} />
    </section>
    <aside class="game-side" aria-label="The cast, and what each knows">
      <h2>Who knows what</h2>
      ${state.cast.map((/** @type {any} */ person) => html`<${Person} key=${person.name} person=${person} />`)}
      ${state.beats.length > 0 && html`<h2>What has happened</h2><ul>${state.beats.map((/** @type {any} */ one) => html`<li key=${one.beat}>${one.beat}</li>`)}</ul>`}
      <p><a href=${`#/story/${encodeURIComponent(state.story)}/memory`}>All that is remembered</a></p>
    </aside>
  </div>`;
}

/** @param {{ speaker?: string, text: string, player?: boolean }} props */
const Line = ({ speaker, text, player }) => html`<div class=${`said ${player ? "player" : ""}`}>${speaker && html`<b class="who" dir="auto">${speaker}</b>`}
  <div class="story-text" dir="auto"><${Words} text=${text} /></div></div>`;

/** @param {{ event: any }} props */
function Event({ event }) {
  if (event.kind === "said") return html`<${Line} speaker=${event.speaker} text=${event.text} />`;
  if (event.kind === "beat") return html`<p class="faint small">It has happened: ${event.beat}</p>`;
  if (event.kind === "chapter") return html`<p><b>${event.title}</b> is over. ${event.opened && html`<b>${event.opened}</b> begins.`}</p>`;
  return html`<p class="faint small">${event.about}: ${event.reason}</p>`;
}

/** @param {{ person: any }} props */
const Person = ({ person }) => html`<section class="person"><h3 dir="auto">${person.name}${person.present && html`<span class="badge">here</span>`}</h3>
  ${person.knows?.summary || person.knows?.facts?.length ? html`<p class="small" dir="auto">${person.knows.summary}</p>
    ${person.knows.facts?.length > 0 && html`<details><summary class="small faint">${counted(person.knows.facts.length, "thing they know", "things they know")}</summary><ul>${person.knows.facts.map((/** @type {any} */ fact) => html`<li dir="auto">${typeof fact === "string" ? fact : fact.text ?? fact.fact}</li>`)}</ul></details>`}`
    : html`<p class="faint small">Knows nothing of it yet.</p>`}</section>`;
