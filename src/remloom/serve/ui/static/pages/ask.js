// Ask: what answers a question, why each passage came, and what an agent would be given.

import { get, post, stream } from "../lib/api.js";
import { About, Badge, Bar, Busy, Empty, Facts, Failure, Field, Loaded, Memory, Page, RecordLink, Stale, Tabs, of } from "../lib/parts.js";
import { count, dateText, decimal, excerptOf, go, html, plain, plural, share, titleOf, useEffect, useLoad, useState } from "../lib/view.js";

const VIEWS = [["passages", "Passages"], ["prompt", "As a prompt"], ["answer", "By a model"]];
const MODES = ["auto", "hybrid", "temporal", "contextual", "iterated"];
// what each part of a score comes from
const PARTS = {
  text: "the words", vector: "the meaning", late: "token by token", entity: "a name in the question", graph: "edges",
  paraphrases: "other ways to ask it", hops: "what was found first", rerank: "the second look", overview: "the overview", newer: "newer than another",
  speaker: "who said it", asks: "it asks itself", answers: "it answers", role: "whose side said it", guidance: "to be heeded",
  time: "the time asked about", history: "the conversation", preferences: "preferences", recency: "how recent it is",
  learned: "learned from other chats",
  dependencies: "what another depends on",
};
// by what passages are found at all; the other parts weigh them
const FOUND = {
  text: "words", vector: "meaning", entity: "names", graph: "edges", paraphrases: "other ways to ask it", hops: "hops",
};

export default function Ask({ values }) {
  const [draft, setDraft] = useState("");
  useEffect(() => setDraft(values.q || ""), [values.q]);
  const asked = { limit: "10", budget: "", mode: "auto", anyway: "", view: "passages", ...values };
  const ask = (changes) => go("ask", [], { ...values, q: draft, ...changes });
  const submit = (event) => {
    event.preventDefault();
    ask({});
  };
  return html`<${Page} heading="Ask" lead="What this memory has on a question, best first, and why.">
    <form class="stack" role="search" onSubmit=${submit}>
      <div class="asking">
        <label class="visually-hidden" for="question">Question</label>
        <input id="question" data-search value=${draft} placeholder="Who decided on the new prices, and why?" autocomplete="off"
          onInput=${(event) => setDraft(event.target.value)} />
        <button class="primary">Ask</button>
      </div>
      <${Options} asked=${asked} ask=${ask} />
    </form>
    ${values.q
      ? html`<${Tabs} label="How to answer" tabs=${VIEWS} chosen=${asked.view} choose=${(view) => ask({ view })} />
        <div role="tabpanel" aria-label=${VIEWS.find(([name]) => name === asked.view)?.[1]}>
          ${asked.view === "prompt" && html`<${Prompt} asked=${asked} />`}
          ${asked.view === "answer" && html`<${Answer} asked=${asked} />`}
          ${asked.view === "passages" && html`<${Passages} asked=${asked} />`}
        </div>`
      : html`<${Holdings} />`}
  </${Page}>`;
}

// What there is to ask about.
function Holdings() {
  const state = useLoad(() => get("/v1/stats"), []);
  return html`<${Loaded} state=${state}>${({ types, edge_types: edges, pending }) => {
    const numbers = ["resources", "entities", "moments"].map((schema) => total(types[schema]));
    if (!numbers[0] && !numbers[1]) {
      return html`<${Empty} heading="This memory is empty">Read something in: <a href="#/documents">drop a file</a>, or let an agent remember.</${Empty}>`;
    }
    return html`<section class="stack tight" aria-label="What is remembered">
      <dl class="cards">
        <div class="figure"><dt>Passages</dt><dd>${count(numbers[0])}</dd></div>
        <div class="figure"><dt>People, places and things</dt><dd>${count(numbers[1])}</dd></div>
        <div class="figure"><dt>Moments</dt><dd>${count(numbers[2])}</dd></div>
        <div class="figure"><dt>Edges between them</dt><dd>${count(total(edges))}</dd></div>
      </dl>
      <p class="small muted">Questions about a time (“last week”), a person or a thing all work.
        ${" "}${pending > 0 && `${plural(pending, "text")} not yet found by meaning, only by words.`}</p>
    </section>`;
  }}</${Loaded}>`;
}

const total = (counts) => Object.values(counts || {}).reduce((sum, number) => sum + number, 0);

function Options({ asked, ask }) {
  const set = (name) => (event) => ask({ [name]: event.target.value });
  return html`<details>
    <summary>Options</summary>
    <div class="row ends">
      <${Field} label="At most">${(given) => html`<input ...${given} type="number" min="1" max="100" value=${asked.limit} onChange=${set("limit")} />`}</${Field}>
      <${Field} label="Budget in tokens">${(given) => html`<input ...${given} type="number" min="1" placeholder="none" value=${asked.budget} onChange=${set("budget")} />`}</${Field}>
      <${Field} label="How to look">${(given) => html`<select ...${given} value=${asked.mode} onChange=${set("mode")}>
        ${MODES.map((mode) => html`<option value=${mode} selected=${mode === asked.mode}>${mode}</option>`)}
      </select>`}</${Field}>
      <label class="check"><input type="checkbox" checked=${Boolean(asked.anyway)} onChange=${(event) => ask({ anyway: event.target.checked ? "1" : "" })} />
        Show the nearest, even if nothing fits</label>
    </div>
  </details>`;
}

function optionsOf(asked) {
  const budget = Number(asked.budget);
  return {
    question: asked.q,
    limit: Number(asked.limit) || 10,
    mode: asked.mode,
    abstain: !asked.anyway,
    ...(budget > 0 && { budget_tokens: budget }),
  };
}

// -- passages --------------------------------------------------------------------------------------

function Passages({ asked }) {
  const keys = [asked.q, asked.limit, asked.budget, asked.mode, asked.anyway];
  const state = useLoad(() => post("/v1/recall", { ...optionsOf(asked), explain: true }), keys);
  return html`<${Loaded} state=${state} busy="Looking">${(recall) => html`<div class="stack">
    <${Summary} recall=${recall} asked=${asked} />
    ${recall.hits.map((hit) => html`<${Hit} key=${hit.record.id} hit=${hit} best=${recall.hits[0].score} />`)}
  </div>`}</${Loaded}>`;
}

function Summary({ recall, asked }) {
  if (recall.abstained) {
    return html`<div class="notice careful" role="status">
      <strong>Nothing in this memory answers that.</strong>
      <p>${title(recall.reason)}</p>
    </div>`;
  }
  const { ms } = recall.explained;
  const window = recall.window && recall.window.map((at) => dateText(at)).join(" to ");
  return html`<p class="row spaced muted small" role="status">
    <span>${plural(recall.hits.length, "passage")}</span>
    <span>found by ${foundBy(recall)}</span>
    ${!["hybrid", "temporal"].includes(recall.mode) && html`<span>${plain(recall.mode)}</span>`}
    ${window && html`<span>of ${window}</span>`}
    <span>${count(recall.tokens)} tokens${asked.budget ? ` of ${count(Number(asked.budget))}` : ""}</span>
    ${ms !== undefined && html`<span>${decimal(ms, 0)} ms</span>`}
    ${recall.asked !== recall.question && html`<span>searched as “${plain(recall.asked)}”</span>`}
  </p>`;
}

// What was searched and had something, in words.
function foundBy({ mode, explained }) {
  const found = Object.keys(FOUND).filter((part) => explained.found?.[part]).map((part) => FOUND[part]);
  if (!found.length) return mode === "temporal" ? "time" : "nothing";
  return [found.slice(0, -1).join(", "), found.at(-1)].filter(Boolean).join(" and ");
}

function Hit({ hit, best }) {
  const { record } = hit;
  const properties = Object.entries(record.properties || {}).filter(([name]) => name !== "extracted");
  const text = excerptOf(record.content || record.summary);
  return html`<article class="card hit">
    <div class="hit-head">
      <h2><${RecordLink} to=${record.id}>${titleOf(record)}</${RecordLink}></h2>
      <span class="number small muted" title="Score">${decimal(hit.score)}</span>
    </div>
    <${About} record=${record} />
    <${Stale} stale=${hit.stale} />
    ${text ? html`<${Memory} text=${text} />` : properties.length > 0 && html`<${Facts} of=${Object.fromEntries(properties)} />`}
    <div class="stack tight">
      <h3 class="small muted">Why</h3>
      <ul class="shares">${hit.reasons.map((reason) => html`<${Reason} reason=${reason} best=${best} />`)}</ul>
    </div>
    ${hit.path.length > 0 && html`<p class="small muted">Reached by ${hit.path.map((edge) => plain(edge.join(" → "))).join(", then ")}</p>`}
    <${Around} hit=${hit} />
  </article>`;
}

function Reason({ reason, best }) {
  const rank = reason.rank ? `No. ${reason.rank} by this` : "";
  return html`<li>
    <span>${of(PARTS, reason.part) || title(reason.part)}</span>
    <${Bar} part=${reason.share / best} />
    <span class="number">${reason.share < 0 ? "" : "+"}${decimal(reason.share)}</span>
    <span class="note muted">${[plain(reason.note), rank].filter(Boolean).join(", ")}</span>
  </li>`;
}

function Around({ hit }) {
  const { before, after } = hit;
  if (!before.length && !after.length) return null;
  const shown = (records) => records.map((record) => html`<${Memory} text=${excerptOf(record.content)} />`);
  return html`<details>
    <summary>What stands around it</summary>
    <div class="stack">${shown(before)}<p class="small muted">— the passage above —</p>${shown(after)}</div>
  </details>`;
}

function title(text) {
  return text ? text.charAt(0).toUpperCase() + text.slice(1) : "";
}

// -- as a prompt -----------------------------------------------------------------------------------

function Prompt({ asked }) {
  const { limit, ...options } = optionsOf(asked);
  const state = useLoad(() => post("/v1/context", options), [asked.q, asked.budget, asked.mode, asked.anyway]);
  const [copied, setCopied] = useState(false);
  const copy = (text) => navigator.clipboard.writeText(text).then(() => setCopied(true), () => setCopied(false));
  return html`<${Loaded} state=${state} busy="Looking">${(text) => text
    ? html`<div class="stack">
        <div class="row apart"><p class="muted">What an agent is given for this question, quoted as data.</p>
          <button class="small" onClick=${() => copy(text)}>${copied ? "Copied" : "Copy"}</button></div>
        <pre class="box" tabindex="0">${plain(text)}</pre>
      </div>`
    : html`<${Empty} heading="An agent would be given nothing">No passage fits this question.</${Empty}>`}</${Loaded}>`;
}

// -- by the model ----------------------------------------------------------------------------------

function Answer({ asked }) {
  const [turns, setTurns] = useState([]);
  const told = (turn) => setTurns((before) => [...before, turn]);
  const state = useLoad(() => {
    setTurns([]);
    return stream("/v1/ask", { question: asked.q }, told);
  }, [asked.q]);
  if (state.error) return html`<${Failure} error=${state.error} again=${state.again} />`;
  if (!state.value) {
    return html`<div class="stack"><${Busy}>The model asks this memory</${Busy}><${Turns} turns=${turns} /></div>`;
  }
  const { answer, citations, doubts, connections, tokens } = state.value;
  return html`<div class="stack">
    <div class="card">
      <${Memory} text=${answer || "The model found no answer here."} clip=${false} />
      ${citations.length > 0 && html`<ol class="stack tight small">${citations.map((one) => html`<li>
        [${one.number}] ${one.id ? html`<${RecordLink} to=${one.id}>${one.name || one.uri}</${RecordLink}>` : plain(one.statement)}
        ${one.lines && html` <span class="muted">lines ${one.lines.join("–")}</span>`}
      </li>`)}</ol>`}
      ${doubts.map((doubt) => html`<div class="notice careful"><strong>A doubt</strong><p>${plain(doubt)}</p></div>`)}
      ${connections.length > 0 && html`<p class="small muted">${plain(connections.join("; "))}</p>`}
    </div>
    <${Turns} turns=${state.value.turns} />
    <p class="small muted">${count(tokens)} tokens in all</p>
  </div>`;
}

function Turns({ turns }) {
  return html`<ol class="stack tight">${turns.map((turn) => html`<li class="stack tight">
    <div class="row"><code>${plain(turn.statement)}</code>
      ${turn.confidence > 0 && html`<${Badge}>${share(turn.confidence)} sure</${Badge}>`}</div>
    ${turn.error && html`<p class="small muted">${plain(turn.error)}</p>`}
  </li>`)}</ol>`;
}
