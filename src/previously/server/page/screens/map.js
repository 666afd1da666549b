// The memory map: the whole story from left to right, and above its messages every memory that stands for them.
import { html, useEffect, useMemo, useRef, useState } from "../preact.js";
import { get, storyPath } from "../api.js";
import { useLoad } from "../store.js";
import { Button, Empty, Failure, Loaded, Loading, counted, emphasise } from "../ui.js";
import { linkTo } from "../router.js";

const ACROSS = 880; // units across the whole story, times the zoom
const LABELS = 120; // units kept for the names of the rows
const HOOK = 16; // units that an open thread reaches into what is to come
const ROW = 22;
const PAD_PX = 12; // the frame's padding, which scrolls away first
const ARCS = 90; // the height of the threads: long ones rise higher
const ZOOMS = [1, 2, 4, 8];
const MOST_PEOPLE = 12; // more rows than that are a list, not a picture
const MOST_SHOWN = 40; // messages beside a memory; the rest is one click away

/** @type {Record<string, string>} */
const KINDS = { backbone: "Whole story", chapter: "Chapters", recap: "Recap", brief: "Brief", episode: "Episodes" };
/** @type {Record<string, string>} */
const SAYS = {
  kept: "", stale: "out of date: an earlier message was changed", provisional: "written without your model; it is made anew",
  pending: "waits for your approval", "by hand": "by hand",
};

/** @param {[number, number]} span */
const sayMessages = ([first, last]) => (first === last ? `message ${first}` : `messages ${first} to ${last}`);

/** @param {any} map */
function namePeople(map) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  for (const stretch of map.presence) for (const name of stretch.names ?? []) seen.set(name, (seen.get(name) ?? 0) + stretch.span[1] - stretch.span[0] + 1);
  return [...seen].sort((one, other) => other[1] - one[1]).slice(0, MOST_PEOPLE).map(([name]) => name);
}

/** The stretches at which somebody was not there. @param {any} map @param {string} name @returns {[number, number][]} */
function findMissed(map, name) {
  /** @type {[number, number][]} */
  const missed = [];
  for (const { span, names } of map.presence) {
    if (names === null || names.includes(name)) continue;
    const last = missed[missed.length - 1];
    if (last && last[1] === span[0] - 1) last[1] = span[1];
    else missed.push([span[0], span[1]]);
  }
  return missed;
}

/** The chapter that a message is in, in words. @param {any} map @param {number} position */
function sayChapter(map, position) {
  const chapter = map.bands.find((/** @type {any} */ band) => band.kind === "chapter" && band.span[0] <= position && position <= band.span[1]);
  return chapter ? nameBand(chapter) : "the open chapter";
}

/** One memory may have several bands: it is cut where it is out of force. @param {any} band */
const idOf = (band) => `${band.thing} ${band.span[0]}`;

/** @param {any} band */
function nameBand(band) {
  const number = band.thing.split(":")[1];
  if (band.thing.startsWith("version:")) return `A new text, ${(KINDS[band.kind] ?? band.kind).toLowerCase()}`;
  if (band.kind === "chapter") return `Chapter ${number}${band.title ? `, ${band.title}` : ""}`;
  if (band.kind === "episode") return `Episode ${number}`;
  return KINDS[band.kind] ?? band.kind;
}

/**
 * Something on the map that can be pointed at: it is read out, reached by Tab, and chosen by Enter.
 * @param {{ label: string, onShow: () => void, onChoose: () => void, chosen: boolean, children?: any, class?: string }} props
 */
const Spot = ({ label, onShow, onChoose, chosen, children, class: extra = "" }) => html`<g class=${`spot ${extra} ${chosen ? "chosen" : ""}`}
    role="button" tabindex="0" aria-label=${label} aria-pressed=${chosen ? "true" : "false"} onMouseEnter=${onShow} onFocus=${onShow} onClick=${onChoose}
    onKeyDown=${(/** @type {any} */ event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onChoose(); } }}>
  <title>${label}</title>${children}</g>`;

/**
 * The picture.
 * @param {{ map: any, only: string, zoom: number, chosen: any, onShow: (thing: any) => void, onChoose: (thing: any) => void }} props
 */
function Picture({ map, only, zoom, chosen, onShow, onChoose }) {
  const people = useMemo(() => namePeople(map), [map]);
  const kinds = Object.keys(KINDS).filter((kind) => map.bands.some((/** @type {any} */ band) => band.kind === kind));
  const WIDTH = LABELS + ACROSS * zoom;
  const names = useRef(/** @type {any} */ (null));
  useEffect(() => { // the names of the rows stay where they are seen, however far the picture is scrolled
    const svg = names.current.ownerSVGElement, frame = svg.closest(".map-frame");
    const follow = () => names.current?.setAttribute("transform", `translate(${Math.max(0, (frame.scrollLeft - PAD_PX) * (WIDTH / svg.clientWidth))} 0)`);
    follow();
    frame.addEventListener("scroll", follow, { passive: true });
    return () => frame.removeEventListener("scroll", follow);
  }, [WIDTH]);
  const scale = (ACROSS * zoom) / Math.max(1, map.messages);
  const at = (/** @type {number} */ position) => LABELS + position * scale;
  const wide = (/** @type {[number, number]} */ [first, last]) => Math.max(1.5, (last - first + 1) * scale - (scale > 3 ? 1 : 0));
  const spot = (/** @type {any} */ thing) => ({
    onShow: () => onShow(thing), onChoose: () => onChoose(thing), chosen: chosen?.id === thing.id, class: thing.faded ? "faded" : "",
  });
  const isFaded = (/** @type {string[]} */ ...statuses) => Boolean(only) && !statuses.includes(only);
  let y = 6;
  const rows = kinds.map((kind) => { const row = { kind, y }; y += ROW; return row; });
  const untoldY = y;
  y += ROW;
  const arcsY = y + (map.threads.length ? ARCS : 0);
  y = arcsY + 10;
  const peopleY = y;
  y += people.length * (ROW - 6) + 8;
  const handY = y;
  y += map.by_hand.length ? ROW : 0;
  return html`<svg class="map" viewBox=${`0 0 ${WIDTH} ${y + 18}`} role="group" aria-label="Memory map">
    <defs><pattern id="map-stale" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch" width="2.5" height="6" /></pattern></defs>
    ${rows.map((row) => html`<g key=${row.kind}>
      ${map.bands.filter((/** @type {any} */ band) => band.kind === row.kind).map((/** @type {any} */ band) => {
        const thing = { id: idOf(band), kind: "band", band, faded: isFaded(band.status) };
        const says = SAYS[band.status] ? `, ${SAYS[band.status]}` : "";
        return html`<${Spot} key=${thing.id} label=${`${nameBand(band)}: ${sayMessages(band.span)}${says}`} ...${spot(thing)}>
          <rect class=${`band band-${band.kind} is-${band.status.replace(" ", "-")}`} x=${at(band.span[0])} y=${row.y} width=${wide(band.span)} height=${ROW - 5} rx="2" />
          ${band.status === "stale" && html`<rect class="over" fill="url(#map-stale)" x=${at(band.span[0])} y=${row.y} width=${wide(band.span)} height=${ROW - 5} />`}
        <//>`;
      })}</g>`)}
    <g>
      ${map.untold.map((/** @type {[number, number]} */ span) => {
        const thing = { id: `untold ${span[0]}`, kind: "untold", span, faded: isFaded("untold") };
        return html`<${Spot} key=${thing.id} label=${`Not in memory yet: ${sayMessages(span)}`} ...${spot(thing)}>
          <rect class="band untold" x=${at(span[0])} y=${untoldY} width=${wide(span)} height=${ROW - 5} rx="2" /><//>`;
      })}</g>
    ${map.threads.length > 0 && html`<g>
      ${map.threads.map((/** @type {any} */ thread) => {
        const thing = { id: `thread ${thread.number}`, kind: "thread", thread, faded: isFaded("threads", thread.by_hand ? "by hand" : "kept") };
        const from = at(thread.opened + 0.5);
        const to = thread.settled === null ? from + HOOK : at(thread.settled + 0.5);
        const rise = thread.settled === null ? HOOK : Math.min(ARCS - 8, 14 + ((to - from) / (ACROSS * zoom)) * ARCS * 1.6);
        const path = thread.settled === null ? `M${from} ${arcsY} C${from} ${arcsY - rise} ${from + 4} ${arcsY - rise} ${to} ${arcsY - rise}`
          : `M${from} ${arcsY} C${from} ${arcsY - rise * 1.3} ${to} ${arcsY - rise * 1.3} ${to} ${arcsY}`;
        const end = thread.settled === null ? "open" : `settled at message ${thread.settled}`;
        return html`<${Spot} key=${thing.id} label=${`Thread: ${thread.text}, opened at message ${thread.opened}, ${end}`} ...${spot(thing)}>
          <path class=${`arc ${thread.settled === null ? "open" : ""}`} d=${path} />
          <circle class="arc-end" cx=${from} cy=${arcsY} r="3" /><//>`;
      })}</g>`}
    ${people.map((name, row) => {
      const rowY = peopleY + row * (ROW - 6);
      return html`<g key=${name}>
        ${map.presence.filter((/** @type {any} */ one) => one.names === null || one.names.includes(name)).map((/** @type {any} */ one) => html`<rect key=${one.span[0]}
          class=${`there ${one.source === "by hand" ? "is-by-hand" : ""} ${isFaded(one.source === "by hand" ? "by hand" : "person") ? "faded" : ""}`}
          x=${at(one.span[0])} y=${rowY + 3} width=${wide(one.span)} height=${ROW - 12} rx="1" />`)}</g>`;
    })}
    ${map.by_hand.length > 0 && html`<g>
      ${map.by_hand.map((/** @type {any} */ mark, /** @type {number} */ index) => {
        const thing = { id: `hand ${index}`, kind: "hand", mark, faded: isFaded("by hand") };
        return html`<${Spot} key=${thing.id} label=${`By hand at message ${mark.position}: ${mark.text}`} ...${spot(thing)}>
          <circle class="hand" cx=${at(mark.position + 0.5)} cy=${handY + 9} r="5" /><//>`;
      })}</g>`}
    <line class="axis" x1=${LABELS} x2=${WIDTH} y1=${y + 2} y2=${y + 2} />
    <line class="tail-line" x1=${at(map.tail_first)} x2=${at(map.tail_first)} y1="0" y2=${y + 2}><title>The newest messages, always word for word, begin here</title></line>
    <text class="tick" x=${LABELS} y=${y + 15}>0</text><text class="tick end" x=${WIDTH} y=${y + 15}>${Math.max(0, map.messages - 1)}</text>
    <g class="row-names" ref=${names}><rect class="row-ground" x="-14" y="0" width=${LABELS + 8} height=${y} />
      ${rows.map((row) => html`<text class="row-name" key=${row.kind} x="0" y=${row.y + 14}>${KINDS[row.kind]}</text>`)}
      <text class="row-name" x="0" y=${untoldY + 14}>Not yet</text>
      ${map.threads.length > 0 && html`<text class="row-name" x="0" y=${arcsY - 4}>Threads</text>`}
      ${people.map((name, row) => {
        const rowY = peopleY + row * (ROW - 6);
        const thing = { id: `person ${name}`, kind: "person", name, faded: isFaded("person") };
        return html`<${Spot} key=${name} label=${`${name}: what they were there for, and what they missed`} ...${spot(thing)}>
          <rect class="row-hit" x="0" y=${rowY} width=${LABELS - 6} height=${ROW - 6} /><text class="row-name person" x="0" y=${rowY + 12}>${name}</text><//>`;
      })}
      ${map.by_hand.length > 0 && html`<text class="row-name" x="0" y=${handY + 14}>By hand</text>`}</g>
  </svg>`;
}

/** Messages of a span, as they were written. @param {{ story: string, span: [number, number] }} props */
function Messages({ story, span }) {
  const last = Math.min(span[1], span[0] + MOST_SHOWN - 1);
  const page = useLoad((signal) => get(storyPath(story, "messages"), { first: span[0], last, limit: MOST_SHOWN }, signal), [story, ...span], `story:${story}`);
  return html`<${Loaded} of=${page} what="Reading">${(/** @type {any} */ data) => html`<ul class="bare map-messages" tabindex="0" aria-label="Its messages">
      ${data.messages.map((/** @type {any} */ message) => html`<li key=${message.position}>
        <a class="small" href=${linkTo("read", story, { at: message.position })}>${message.position}</a> ${message.speaker && html`<b dir="auto">${message.speaker}</b>`}
        <div class="story-text" dir="auto">${message.text}</div></li>`)}
    </ul>${last < span[1] && html`<p><a href=${linkTo("read", story, { at: last + 1 })}>Read on at message ${last + 1}</a></p>`}`}<//>`;
}

/** A text whose sentences can be asked where they come from. @param {{ story: string, text: string, starts: number[], onSource: (span: [number, number]) => void }} props */
function Sentences({ story, text, starts, onSource }) {
  const [asked, setAsked] = useState("");
  const sentences = useMemo(() => {
    const letters = Array.from(text); // the server counts letters, not halves of them
    return starts.map((start, index) => letters.slice(start, starts[index + 1]).join(""));
  }, [text]);
  const found = useLoad((signal) => (asked ? get(storyPath(story, "blame"), { sentence: asked }, signal) : Promise.resolve(null)), [story, asked]);
  const ask = (/** @type {string} */ sentence) => setAsked(sentence.trim());
  return html`${asked && (found.error ? html`<${Failure} error=${found.error} />` : !found.data ? html`<${Loading} what="Looking for its source" />`
      : html`<${Sources} found=${found.data} onSource=${onSource} />`)}
    <p class="story-text" dir="auto">${sentences.map((sentence, index) => html`<span key=${index} class="sentence" role="button" tabindex="0"
      aria-pressed=${asked === sentence.trim() ? "true" : "false"} title="Where does this come from?" onClick=${() => ask(sentence)}
      onKeyDown=${(/** @type {any} */ event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); ask(sentence); } }}>${emphasise(sentence)}</span>`)}</p>`;
}

/** The messages behind a sentence. @param {{ found: any, onSource: (span: [number, number]) => void }} props */
function Sources({ found, onSource }) {
  const positions = [...new Set(found.found.flatMap((/** @type {any} */ one) => one.messages.map((/** @type {any} */ message) => message.position)))];
  const [first] = found.found;
  if (first?.by_hand) return html`<p role="status">These are your own words.</p>`;
  if (!first) return html`<p class="faint" role="status">No memory in force says this any more.</p>`;
  if (!positions.length) return html`<p role="status">No single message says it; it sums up <${Button} kind="link" onClick=${() => onSource(first.span)}>${sayMessages(first.span)}<//>.</p>`;
  return html`<p role="status">It comes from ${positions.map((position, index) => html`${index > 0 && ", "}<${Button} kind="link"
    onClick=${() => onSource([position, position])}>message ${position}<//>`)}.</p>`;
}

/**
 * What is said of the thing that was pointed at or chosen, and its messages.
 * @param {{ story: string, map: any, thing: any, pinned: boolean, onChoose: (thing: any) => void }} props
 */
function Details({ story, map, thing, pinned, onChoose }) {
  const choose = (/** @type {[number, number]} */ span) => onChoose({ id: `source ${span}`, kind: "source", span, text: thing.band?.text ?? thing.text });
  const band = thing.band && (map.bands.find((/** @type {any} */ one) => idOf(one) === thing.id) ?? thing.band); // as it stands now
  const { title, body, span } = describe(story, map, band ? { ...thing, band } : thing, choose);
  return html`<section class="map-details" aria-live="polite" aria-label="What is pointed at">
    <div><h2>${title}</h2>${body}</div>
    ${pinned && span && html`<div><h3>${sayMessages(span).replace("m", "M")} <a class="small" href=${linkTo("read", story, { at: span[0] })}>Read them in the story</a></h3>
      <${Messages} story=${story} span=${span} /></div>`}
    ${!pinned && html`<p class="faint small">Click, or press Enter, to see its messages.</p>`}
  </section>`;
}

/** @param {string} story @param {any} map @param {any} thing @param {(span: [number, number]) => void} onSource @returns {{ title: string, body: any, span: [number, number] | null }} */
function describe(story, map, thing, onSource) {
  if (thing.kind === "band") {
    const { band } = thing;
    return {
      title: nameBand(band), span: band.span,
      body: html`<p class="faint small">${sayMessages(band.span)}${SAYS[band.status] && ` · ${SAYS[band.status]}`}${" · "}
        <a href=${linkTo("memory", story, band.status === "pending" ? { tab: "review" } : { tab: "so-far" })}>open in Memory</a></p><${Sentences} story=${story} text=${band.text} starts=${band.sentences} onSource=${onSource} />`,
    };
  }
  if (thing.kind === "thread") {
    const { thread } = thing;
    return {
      title: thread.text, span: [thread.opened, thread.opened],
      body: html`<p>Opened at message ${thread.opened}, in ${sayChapter(map, thread.opened)}${thread.by_hand && ", by hand"}.</p>
        <p>${thread.settled === null ? "It is still open." : html`Settled at message ${thread.settled}, in ${sayChapter(map, thread.settled)}${thread.outcome && `: ${thread.outcome}`}`}</p>`,
    };
  }
  if (thing.kind === "person") {
    const missed = findMissed(map, thing.name);
    return {
      title: missed.length ? `What ${thing.name} missed` : `${thing.name} missed nothing`, span: missed[0] ?? null,
      body: html`<ul class="missed">${missed.map((span) => html`<li key=${span[0]}><${Button} kind="link" onClick=${() => onSource(span)}>${sayMessages(span)}<//>
        <span class="faint">${sayChapter(map, span[0])}</span></li>`)}</ul>`,
    };
  }
  if (thing.kind === "hand") {
    return { title: "By hand", span: [thing.mark.position, thing.mark.position], body: html`<p>${thing.mark.text}</p>` };
  }
  if (thing.kind === "untold") {
    const inTail = thing.span[1] >= map.tail_first;
    return {
      title: "Not in memory yet", span: thing.span,
      body: html`<p>No recap or chapter tells ${sayMessages(thing.span)}.${inTail && ` The newest, from message ${map.tail_first} on, are always shown word for word.`}</p>`,
    };
  }
  return { title: "Where it comes from", span: thing.span, body: thing.text ? html`<p class="story-text" dir="auto">${thing.text}</p>` : null };
}

const FILTERS = [["", "All"], ["by hand", "By hand"], ["stale", "Out of date"], ["provisional", "Without your model"], ["pending", "Waiting for you"], ["untold", "Not in memory yet"], ["threads", "Threads"]];

/** One sentence on how far memory has come. @param {any} map */
function sayUntold(map) {
  const waiting = map.untold.reduce((/** @type {number} */ sum, /** @type {[number, number]} */ [first, last]) => sum + last - first + 1, 0);
  if (!waiting) return "Every message is in memory.";
  return `${counted(map.messages - waiting, "message")} of ${map.messages.toLocaleString("en")} are in memory. Not yet: ${map.untold.map(sayMessages).join(", ")}.`;
}

/** What a filter leaves, in words: whoever looks for one of many need not point at each. @param {{ map: any, only: string, onChoose: (thing: any) => void }} props */
function List({ map, only, onChoose }) {
  if (only === "threads") {
    return html`<ul class="map-list" aria-label="Threads">${map.threads.map((/** @type {any} */ thread) => html`<li key=${thread.number}>
      <${Button} kind="link" onClick=${() => onChoose({ id: `thread ${thread.number}`, kind: "thread", thread })}>${thread.text}<//>
      <span class="faint"> ${thread.settled === null ? "open" : "settled"}</span></li>`)}</ul>`;
  }
  const bands = map.bands.filter((/** @type {any} */ band) => only && band.status === only);
  const marks = only === "by hand" ? map.by_hand : [];
  if (!bands.length && !marks.length) return null;
  return html`<ul class="map-list" aria-label=${FILTERS.find(([id]) => id === only)?.[1]}>
    ${bands.map((/** @type {any} */ band) => html`<li key=${idOf(band)}><${Button} kind="link"
      onClick=${() => onChoose({ id: idOf(band), kind: "band", band })}>${nameBand(band)}<//> <span class="faint">${sayMessages(band.span)}</span></li>`)}
    ${marks.map((/** @type {any} */ mark, /** @type {number} */ index) => html`<li key=${`hand ${index}`}>
      <${Button} kind="link" onClick=${() => onChoose({ id: `hand ${index}`, kind: "hand", mark })}>message ${mark.position}<//> ${mark.text}</li>`)}</ul>`;
}

/** @param {{ story: string }} props */
export default function MemoryMap({ story }) {
  const map = useLoad((signal) => get(storyPath(story, "map"), {}, signal), [story], `story:${story}`);
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [chosen, setChosen] = useState(/** @type {any} */ (null));
  const [only, setOnly] = useState("");
  const [zoom, setZoom] = useState(0);
  return html`<h1>Memory map</h1><${Loaded} of=${map} what="Drawing the map">${(/** @type {any} */ data) => (!data.messages
    ? html`<${Empty} title="Nothing to draw yet"><p>The map shows which memory stands for which messages. This story has no messages.</p><//>`
    : html`<p>${sayUntold(data)} <span class="faint">Point at anything to read it; click it to see its messages.</span></p>
      <div class="map-tools">
        <div class="choices" role="group" aria-label="Show only">${FILTERS.filter(([id]) => !id || id === only || hasAny(data, id)).map(([id, label]) => html`<button key=${id}
          class="choice" aria-pressed=${only === id ? "true" : "false"} onClick=${() => setOnly(id)}>${label}</button>`)}</div>
        <div class="zoom"><button class="icon" aria-label="Show more of the story" disabled=${zoom === 0} onClick=${() => setZoom(zoom - 1)}>−</button>
          <button class="icon" aria-label="Look closer" disabled=${zoom === ZOOMS.length - 1} onClick=${() => setZoom(zoom + 1)}>+</button></div>
      </div>
      <div class="map-frame" tabindex="0" role="region" aria-label="The story from left to right"><div class=${`map-zoom zoom-${ZOOMS[zoom]}`}>
        <${Picture} map=${data} only=${only} zoom=${ZOOMS[zoom]} chosen=${chosen} onShow=${setShown} onChoose=${(/** @type {any} */ thing) => { setChosen(thing); setShown(thing); }} /></div></div>
      ${chosen ? html`<${Details} key=${chosen.id} story=${story} map=${data} thing=${chosen} pinned=${true} onChoose=${setChosen} />`
        : shown ? html`<${Details} key=${shown.id} story=${story} map=${data} thing=${shown} pinned=${false} onChoose=${setChosen} />`
          : null}
      ${chosen && html`<p><${Button} kind="quiet" onClick=${() => setChosen(null)}>Close<//></p>`}
      <${List} map=${data} only=${only} onChoose=${setChosen} />`)}<//>`;
}

/** @param {any} map @param {string} status */
function hasAny(map, status) {
  if (status === "untold") return map.untold.length > 0;
  if (status === "threads") return map.threads.length > 0;
  return map.bands.some((/** @type {any} */ band) => band.status === status) || (status === "by hand" && map.by_hand.length > 0);
}
