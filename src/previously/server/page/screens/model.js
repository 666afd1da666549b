// The model that writes on and folds: named here, tried out, and kept.
import { html, useState } from "../preact.js";
import { get, send } from "../api.js";
import { announce, useLoad } from "../store.js";
import { Button, Failure, Loaded, Loading, toast } from "../ui.js";

export default function Model() {
  return html`<div class="column"><h1>Your model</h1>
    <p>Reading, searching and correcting need no model. One that is named here writes your stories on and turns old messages into memory.</p>
    <${ModelChoice} /></div>`;
}

/** The model that writes on and folds: which it is, another one, and whether it answers. */
export function ModelChoice() {
  const model = useLoad((signal) => get("/model", {}, signal), [], "model");
  return html`<${Loaded} of=${model} what="Asking the server">${(/** @type {any} */ data) => html`<${ModelForm} key=${`${data.endpoint} ${data.model}`} data=${data} />`}<//>`;
}

/** @param {{ data: any }} props */
function ModelForm({ data }) {
  const [endpoint, setEndpoint] = useState(data.endpoint ?? "");
  const [name, setName] = useState(data.model ?? "");
  const [key, setKey] = useState("");
  const [state, setState] = useState(/** @type {any} */ (null));
  const wish = () => (data.editable ? { endpoint, model: name, ...(key ? { key } : {}) } : {});
  const run = (/** @type {() => Promise<any>} */ work) => async () => { setState("asking"); try { setState(await work()); } catch (error) { setState({ error }); } };
  const test = run(() => send("POST", "/model/test", wish()));
  const save = run(async () => {
    const saved = await send("PUT", "/model", wish());
    announce("model");
    const where = saved.kept_in ? ` Its address and name are kept in ${saved.kept_in}.` : "";
    const other = saved.overruled_by.length ? ` At the next start ${saved.overruled_by.join(" and ")} count instead.` : "";
    toast(`${saved.model} writes on and folds from now on.${where}${other}`);
    return null;
  });
  const typed = (/** @type {(value: string) => void} */ set) => (/** @type {any} */ event) => { set(event.target.value); setState(null); };
  const ready = Boolean(endpoint.trim() && name.trim());
  return html`<form class="column" onSubmit=${(/** @type {any} */ event) => { event.preventDefault(); if (data.editable && ready) save(); }}>
    ${!data.model && html`<p class="notice">No model is named yet. Until then memory is made of quotations, and you write every message yourself.</p>`}
    ${data.editable ? html`
      <label class="field"><span>Address of its server</span><input name="endpoint" inputmode="url" autocomplete="off" placeholder="http://127.0.0.1:11434/v1" value=${endpoint} onInput=${typed(setEndpoint)} /></label>
      <label class="field"><span>Name of the model</span><input name="model" autocomplete="off" value=${name} onInput=${typed(setName)} /></label>
      <label class="field"><span>Key, if the server asks for one</span><input name="key" type="password" autocomplete="off" placeholder=${data.has_key ? "kept; type to change it" : ""} value=${key} onInput=${typed(setKey)} /></label>
      <p class="faint small">Any server with an address that ends in <code>/v1</code> will do: Ollama, llama.cpp, LM Studio, or one on the internet. Chat programs that use the address of this page's server are answered by it too. The key stays in this server until it ends and is shown to nobody; set <code>PREVIOUSLY_API_KEY</code> to keep it.</p>`
    : data.model ? html`<dl class="state-list"><div><dt>Model</dt><dd>${data.model}</dd></div><div><dt>At</dt><dd><code>${data.endpoint}</code></dd></div></dl>`
    : html`<p class="faint">Whoever starts this server names one: <code>previously serve --memory-endpoint ADDRESS/v1 --memory-model NAME</code></p>`}
    ${(data.editable || data.model) && html`<div class="actions"><${Button} onClick=${test} disabled=${data.editable && !ready}>Test it<//>${data.editable && html`<${Button} kind="main" type="submit" disabled=${!ready}>Save<//>`}</div>`}
    <div aria-live="polite">${state === "asking" ? html`<${Loading} what="Asking the model" />` : state?.error ? html`<${Failure} error=${state.error} />`
      : state && (state.ok ? html`<p>It answered “${state.answer}” in ${state.seconds.toFixed(1)} seconds.</p>` : html`<p class="error">It does not answer: ${state.reason}</p>`)}</div>
  </form>`;
}
