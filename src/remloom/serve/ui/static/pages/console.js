// Console: statements of the dialect, with completion, EXPLAIN, and answers as tables.

import { get, post } from "../lib/api.js";
import { Badge, Busy, Failure, Page, RecordLink, Table } from "../lib/parts.js";
import { decimal, go, html, nameOf, plain, plural, sourceOf, title, useAction, useEffect, useRef, useState } from "../lib/view.js";

const WORDS = ["LOOKUP", "FUZZY", "SEARCH", "TRAVERSE", "SELECT", "EXPLAIN", "WITH", "DEPTH", "DIRECTION", "LIMIT", "WHERE", "FROM", "PLAN", "MEMO", "AS OF", "ORDER BY"];
const EXAMPLES = [
  'LOOKUP "Sarah Chen"',
  'SEARCH "charging in a fairer way" LIMIT 5',
  'TRAVERSE WITH LOOKUP "Project Alpha" DIRECTION both DEPTH 0',
  "SELECT name, starts_at FROM moments ORDER BY starts_at DESC LIMIT 10",
];
const SHOWN = 30; // edges, until all are asked for
const ARROWS = { ArrowDown: 1, ArrowUp: -1 };

export default function Console({ values }) {
  const [statement, setStatement] = useState(values.statement || "");
  const query = useAction(async (text) => ({ answer: await post("/v1/query", { statement: text }), text }));
  const run = (text) => {
    if (!text.trim()) return;
    if (text === values.statement) query.run(text);
    else go("console", [], { statement: text });
  };
  // the address says what is run, so that going back runs what was run before
  useEffect(() => {
    setStatement(values.statement || "");
    if (values.statement) query.run(values.statement);
    else query.clear();
  }, [values.statement]);
  const explain = () => run(/^\s*explain\b/i.test(statement) ? statement : `EXPLAIN ${statement}`);
  return html`<${Page} wide heading="Console" lead="One statement: LOOKUP, FUZZY, SEARCH, TRAVERSE or a read-only SELECT.">
    <form class="stack tight" onSubmit=${(event) => { event.preventDefault(); run(statement); }}>
      <${Editor} statement=${statement} change=${setStatement} run=${run} />
      <div class="row">
        <button class="primary" disabled=${query.busy}>Run</button>
        <button type="button" onClick=${explain} disabled=${query.busy}>Explain</button>
        <span class="small muted"><kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it</span>
      </div>
    </form>
    <div aria-live="polite" class="stack">
      ${query.busy && html`<${Busy}>Running</${Busy}>`}
      ${query.error && html`<${Failure} error=${query.error} />`}
      ${query.value && html`<${Answer} answer=${query.value.answer} />`}
    </div>
    ${!query.value && !query.error && !query.busy && html`<section class="stack tight">
      <h2>To begin with</h2>
      ${EXAMPLES.map((text) => html`<div><button class="quiet" onClick=${() => run(text)}><code>${text}</code></button></div>`)}
    </section>`}
  </${Page}>`;
}

// -- writing a statement ---------------------------------------------------------------------------

// What is being typed before the caret: a name in quotes, or a word.
function typedBefore(text) {
  const quotes = text.split('"');
  if (quotes.length % 2 === 0) return { isName: true, typed: quotes.at(-1) };
  return { isName: false, typed: text.match(/[A-Za-z]+$/)?.[0] || "" };
}

async function choicesFor({ isName, typed }) {
  if (!typed.trim()) return [];
  if (isName) return get("/v1/complete", { prefix: typed, limit: 8 }).catch(() => []);
  return WORDS.filter((word) => word.startsWith(typed.toUpperCase()) && word !== typed.toUpperCase());
}

function Editor({ statement, change, run }) {
  const area = useRef(null);
  const turn = useRef(0);
  const [choices, setChoices] = useState([]);
  const [at, setAt] = useState(0);
  const close = () => {
    turn.current++;
    setChoices([]);
  };
  const typed = async (event) => {
    change(event.target.value);
    const mine = ++turn.current;
    const found = await choicesFor(typedBefore(event.target.value.slice(0, event.target.selectionStart)));
    if (mine !== turn.current) return;
    setChoices(found);
    setAt(0);
  };
  const take = (choice) => {
    const { selectionStart: end, value } = area.current;
    const { isName, typed: begun } = typedBefore(value.slice(0, end));
    const put = isName ? `${choice}" ` : `${choice} `;
    // a quote that stands already is not doubled
    const rest = value.slice(end).replace(isName ? /^"\s?/ : /^\s/, "");
    const head = value.slice(0, end - begun.length) + put;
    change(head + rest);
    close();
    requestAnimationFrame(() => area.current.setSelectionRange(head.length, head.length));
  };
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      close();
      run(statement);
    } else if (!choices.length) return;
    else if (ARROWS[event.key]) {
      event.preventDefault();
      setAt((at + ARROWS[event.key] + choices.length) % choices.length);
    } else if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      take(choices[at]);
    } else if (event.key === "Escape") close();
  };
  return html`<div class="field">
    <label for="statement">Statement</label>
    <div class="completing">
      <textarea class="mono" id="statement" data-search rows="3" ref=${area} spellcheck=${false} autocomplete="off" autocapitalize="off"
        aria-haspopup="listbox" aria-controls="choices" aria-autocomplete="list"
        aria-activedescendant=${choices.length ? `choice-${at}` : undefined} aria-describedby="choices-hint"
        value=${statement} onInput=${typed} onKeyDown=${keys} onBlur=${() => setTimeout(close, 150)}></textarea>
      <ul class="choices" role="listbox" id="choices" aria-label="Completions" hidden=${!choices.length}>
        ${choices.map((choice, index) => html`<li role="option" id=${`choice-${index}`} aria-selected=${String(index === at)}
          onMouseDown=${(event) => { event.preventDefault(); take(choice); }}>${plain(choice)}</li>`)}
      </ul>
    </div>
    <span class="small muted" id="choices-hint">Names in quotes and keywords are completed: arrows choose, Tab takes, Esc closes.</span>
  </div>`;
}

// -- answers ---------------------------------------------------------------------------------------

function Answer({ answer }) {
  const { records, nodes, stages, edge_summary: edges, columns, rows, suggestions, report } = answer;
  const found = records.length || nodes.length || rows.length;
  return html`<div class="stack">
    <p class="row small"><code class="muted">${plain(answer.statement)}</code></p>
    ${columns.length > 0 && html`<${Rows} columns=${columns} rows=${rows} />`}
    ${records.length > 0 && html`<${Records} hits=${records} />`}
    ${stages.length > 0 && html`<${Stages} stages=${stages} />`}
    ${nodes.length > 0 && html`<${Nodes} nodes=${nodes} />`}
    ${report?.edge_counts?.length > 0 && html`<${Plan} counts=${report.edge_counts} />`}
    ${edges.length > 0 && html`<${Edges} edges=${edges} />`}
    ${!found && !columns.length && html`<div class="notice"><strong>Nothing was found.</strong>
      ${suggestions.length > 0 && html`<p>Did you mean ${suggestions.map((one, index) => html`${index > 0 && ", "}<${RecordLink} to=${nameIn(one)} />`)}?</p>`}
    </div>`}
    ${Object.entries(report?.meanings ?? {}).map(([label, some]) => html`<p class="small">“${plain(label)}” means ${some.length} things: ${some.map((one, index) => html`${index > 0 && ", "}<${RecordLink} to=${one.id}>${plain(one.name)}</${RecordLink}> (${plain(one.handle || one.type || one.schema)})`)}</p>`)}
    ${report?.truncated && html`<p class="small muted">There is more: the answer was cut at its limit.</p>`}
  </div>`;
}

const nameIn = (one) => (typeof one === "string" ? one : one.name || one.label || "");

function Rows({ columns, rows }) {
  const shown = columns.map((name, index) => ({ name, of: (row) => cell(row[index]) }));
  return html`<${Counted} number=${rows.length} one="row"><${Table} caption="Rows" columns=${shown} rows=${rows} none="No rows." /></${Counted}>`;
}

function cell(value) {
  if (value === null || value === undefined) return html`<span class="muted">null</span>`;
  return plain(typeof value === "object" ? JSON.stringify(value) : value);
}

function Records({ hits }) {
  const columns = [
    { name: "Name", of: ({ record }) => html`<${RecordLink} to=${record.id}>${nameOf(record)}</${RecordLink}>` },
    { name: "Kind", of: ({ record }) => html`<${Badge}>${title(record.type || record.category || record.schema)}</${Badge}>` },
    { name: "Text", of: ({ record }) => plain((record.content || record.summary || "").slice(0, 160)) },
    { name: "Source", of: ({ record }) => plain(sourceOf(record)) },
    { name: "Score", number: true, of: (hit) => decimal(hit.score) },
  ];
  return html`<${Counted} number=${hits.length} one="record"><${Table} caption="Records, best first" columns=${columns} rows=${hits} /></${Counted}>`;
}

function Nodes({ nodes }) {
  const columns = [
    { name: "Steps", number: true, of: (node) => node.depth },
    { name: "Name", of: ({ record, path }) => html`<${RecordLink} to=${record ? record.id : path.at(-1)}>${record ? nameOf(record) : path.at(-1)}</${RecordLink}>` },
    { name: "Kind", of: ({ record }) => record && html`<${Badge}>${title(record.type || record.category || record.schema)}</${Badge}>` },
    { name: "Path", of: (node) => plain(node.path.join(" → ")) },
  ];
  return html`<${Counted} number=${nodes.length} one="node"><${Table} caption="Nodes" columns=${columns} rows=${nodes} /></${Counted}>`;
}

function Stages({ stages }) {
  const columns = [
    { name: "Depth", number: true, of: (stage) => stage.depth },
    { name: "Executed", of: (stage) => html`<code>${plain(stage.executed)}</code>` },
    { name: "Nodes", number: true, of: (stage) => stage.found.nodes },
    { name: "Edges", number: true, of: (stage) => stage.found.edges },
    { name: "Memo", of: (stage) => plain(stage.plan_memo) },
  ];
  return html`<${Counted} number=${stages.length} one="stage"><${Table} caption="Stages" columns=${columns} rows=${stages} /></${Counted}>`;
}

function Plan({ counts }) {
  const columns = [
    { name: "Edge type", of: (one) => plain(one.rel_type) },
    { name: "Direction", of: (one) => one.direction },
    { name: "Edges", number: true, of: (one) => one.count },
  ];
  return html`<${Counted} number=${counts.length} one="type of edge" many="types of edge"><${Table} caption="Edges to follow" columns=${columns} rows=${counts} /></${Counted}>`;
}

function Edges({ edges }) {
  const columns = ["From", "Edge", "To"].map((name, index) => ({
    name,
    of: (edge) => (index === 1 ? plain(edge[1]) : html`<${RecordLink} to=${edge[index]} />`),
  }));
  const [most, setMost] = useState(SHOWN);
  return html`<${Counted} number=${edges.length} one="edge">
    <${Table} caption="Edges" columns=${columns} rows=${edges.slice(0, most)} />
    ${edges.length > most && html`<div><button class="quiet" onClick=${() => setMost(edges.length)}>Show all of them</button></div>`}
  </${Counted}>`;
}

const Counted = ({ number, one, many, children }) =>
  html`<section class="stack tight"><h2>${plural(number, one, many)}</h2>${children}</section>`;
