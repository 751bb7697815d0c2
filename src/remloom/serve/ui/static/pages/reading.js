// Reading one document: its outline, its lines, what to read for a question, and a model's answer.

import { post, stream } from "../lib/api.js";
import { Badge, Bar, Busy, Empty, Failure, Forget, Loaded, Memory, Page } from "../lib/parts.js";
import { count, decimal, go, html, plain, plural, share, shortUri, useAction, useEffect, useLoad, useState } from "../lib/view.js";

const LINES = 200; // shown at once

export function Reading({ document, values, session }) {
  const documents = [document];
  const outline = useLoad(() => post("/v1/reader/outline", { documents, budget_tokens: 20000 }), [document]);
  const [forgetting, setForgetting] = useState(false);
  const name = outline.value?.documents?.[0] || shortUri(document);
  const show = (changes) => go("documents", [document], changes);
  return html`<${Page} wide heading=${plain(name)}>
    <div class="row apart">
      <p class="row muted small"><a href="#/documents">All documents</a><span>${plain(shortUri(document))}</span></p>
      ${session.scopes.includes("forget") && html`<button class="danger small" onClick=${() => setForgetting(true)}>Forget</button>`}
    </div>
    <div class="columns">
      <div class="stack">
        <${Asking} documents=${documents} values=${values} show=${show} />
        <${Lines} documents=${documents} first=${Number(values.line) || 1} show=${show} />
      </div>
      <${Outline} state=${outline} show=${show} />
    </div>
    ${forgetting && html`<${Forget} what=${name} path="/v1/forget" values=${{ targets: [document] }} close=${() => setForgetting(false)} done=${() => go("documents")} />`}
  </${Page}>`;
}

function Outline({ state, show }) {
  return html`<nav class="card outline" aria-label="Outline">
    <h2>Outline</h2>
    <${Loaded} state=${state}>${({ sections }) => sections.length
      ? html`<ol>${sections.map((section) => html`<li style=${{ paddingLeft: `${Math.min(4, section.level - 1) * 14}px` }}>
          <a href="#" onClick=${(event) => { event.preventDefault(); show({ line: section.first }); }}>
            <span>${plain(section.title)}</span><span class="muted small number">${section.first}</span></a></li>`)}</ol>`
      : html`<p class="muted">It has no headings.</p>`}</${Loaded}>
  </nav>`;
}

// -- finding and asking ----------------------------------------------------------------------------

function Asking({ documents, values, show }) {
  const [draft, setDraft] = useState(values.q || "");
  const find = useAction((question) => post("/v1/reader/find", { documents, question, words: 400 }));
  const [events, setEvents] = useState([]);
  const ask = useAction((question) => {
    setEvents([]);
    return stream("/v1/reader/ask", { documents, question }, (event) => setEvents((before) => [...before, event]));
  });
  useEffect(() => {
    if (values.q) find.run(values.q);
  }, []);
  const begin = (action, other) => {
    if (!draft.trim()) return;
    other.clear();
    action.run(draft);
  };
  return html`<section class="card">
    <form class="stack tight" role="search" onSubmit=${(event) => { event.preventDefault(); begin(find, ask); }}>
      <label for="reading-question">What do you want to know?</label>
      <input id="reading-question" data-search value=${draft} onInput=${(event) => setDraft(event.target.value)} placeholder="How much notice must be given?" />
      <div class="row"><button class="primary" disabled=${find.busy}>Find passages</button>
        <button type="button" disabled=${ask.busy} onClick=${() => begin(ask, find)}>Ask the model</button></div>
    </form>
    <div class="stack" aria-live="polite">
      ${find.busy && html`<${Busy}>Looking</${Busy}>`}
      ${find.error && html`<${Failure} error=${find.error} />`}
      ${find.value && html`<${Passages} passages=${find.value} show=${show} />`}
      ${ask.busy && html`<${Busy}>Reading, ${plural(events.length, "step")} so far</${Busy}>`}
      ${ask.error && html`<${Failure} error=${ask.error} />`}
      ${ask.value && html`<${Answer} reading=${ask.value} show=${show} />`}
    </div>
  </section>`;
}

function Passages({ passages, show }) {
  if (!passages.length) return html`<p class="muted">No line of it is about that.</p>`;
  return html`<ol class="stack">${passages.map((passage) => html`<li class="stack tight">
    <div class="row small"><button class="quiet" onClick=${() => show({ line: passage.first })}>Lines ${passage.first}–${passage.last}</button>
      <span class="muted">${plain(passage.section)}</span></div>
    <${Memory} text=${passage.text.trim()} />
  </li>`)}</ol>`;
}

function Answer({ reading, show }) {
  const covered = Object.entries(reading.coverage);
  return html`<div class="stack">
    ${!reading.found && html`<div class="notice careful"><strong>The document does not say.</strong></div>`}
    ${reading.sentences.length === 0 && reading.answer && html`<p class="memory">${plain(reading.answer)}</p>`}
    ${reading.sentences.map((sentence) => html`<div class="stack tight">
      <p class="memory">${plain(sentence.text)}</p>
      ${sentence.doubt && html`<p class="small"><${Badge} kind="careful">Doubted</${Badge}> ${plain(sentence.doubt)}</p>`}
      ${sentence.citations.map((cited) => html`<div class="row small">
        <button class="quiet" onClick=${() => show({ line: cited.first })}>Lines ${cited.first}–${cited.last}</button>
        <span class="muted">${cited.found}</span>${cited.quote && html`<span class="muted">“${plain(cited.quote)}”</span>`}
      </div>`)}
    </div>`)}
    ${reading.doubts.map((doubt) => html`<p class="notice careful">${plain(doubt)}</p>`)}
    ${covered.map(([name, part]) => html`<div class="stack tight small">
      <span>The model saw ${share(part)} of ${plain(name)}: ${plural(reading.unique_lines, "line")}</span><${Bar} part=${part} /></div>`)}
    <p class="small muted">${plural(reading.iterations, "turn")}, ${count(reading.tokens)} tokens, ${decimal(reading.elapsed_time, 1)} s</p>
  </div>`;
}

// -- lines -----------------------------------------------------------------------------------------

function Lines({ documents, first, show }) {
  const begin = Math.max(1, first);

  const state = useLoad(() => post("/v1/reader/lines", { documents, first: begin, last: begin + LINES - 1 }), [documents[0], begin]);
  return html`<section class="stack tight">
    <${Loaded} state=${state}>${(passage) => html`<div class="stack tight">
      <div class="row apart"><h2>Lines ${passage.first}–${passage.last}</h2><div class="row">
        <button class="small" disabled=${begin <= 1} onClick=${() => show({ line: Math.max(1, begin - LINES) })}>Earlier</button>
        <button class="small" disabled=${passage.last < begin + LINES - 1} onClick=${() => show({ line: begin + LINES })}>Later</button></div></div>
      <div class="card"><div class="lines">${passage.text.split("\n").map((line, index) => html`
        <span aria-hidden="true">${passage.first + index}</span><div class="memory">${plain(line) || " "}</div>`)}</div></div>
    </div>`}</${Loaded}>
  </section>`;
}
