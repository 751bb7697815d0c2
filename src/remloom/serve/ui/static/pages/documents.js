// Documents: what was read, taking in a file that is dropped, and reading a long one.

import { post, upload } from "../lib/api.js";
import { Badge, Empty, Failure, Loaded, Page, Table, When, of } from "../lib/parts.js";
import { count, decimal, hrefOf, html, plain, plural, shortUri, title, useAction, useLoad, useRef, useState } from "../lib/view.js";
import { Databases } from "./databases.js";
import { Reading } from "./reading.js";

const AT_ONCE = 500; // rows of a request
const FIRST_PASSAGES = `SELECT name, uri, category, created_at FROM resources WHERE ordinal = 0 AND category != 'profile' ORDER BY created_at DESC, id`;

export default function Documents({ rest, values, session }) {
  const [document] = rest;
  if (document) return html`<${Reading} key=${document} document=${document} values=${values} session=${session} />`;
  return html`<${List} session=${session} />`;
}

function List({ session }) {
  const [size, setSize] = useState(AT_ONCE);
  const state = useLoad(() => firstPassages(size), [size]);
  const columns = [
    { name: "Document", of: (one) => html`<a href=${hrefOf("documents", [one.uri])}>${plain(one.name)}</a>` },
    { name: "Kind", of: (one) => html`<${Badge}>${title(one.category || "text")}</${Badge}>` },
    { name: "From", of: (one) => html`<span class="muted">${plain(shortUri(one.uri))}</span>` },
    { name: "Read", of: (one) => html`<${When} at=${one.at} />` },
  ];
  return html`<${Page} heading="Documents" lead="What was read in. Open one to look through it, find passages, and ask.">
    ${session.scopes.includes("write") && html`<${Drop} done=${state.again} />`}
    <${Loaded} state=${state}>${({ rows, isWhole }) => {
      const documents = documentsOf(rows);
      return documents.length
        ? html`<section class="stack tight"><h2>${isWhole ? plural(documents.length, "document") : `The newest ${count(documents.length)} documents`}</h2>
            <${Table} caption="Documents, the newest first" columns=${columns} rows=${documents} />
            ${!isWhole && html`<button onClick=${() => setSize(size + AT_ONCE)}>Show older ones</button>`}</section>`
        : html`<${Empty} heading="Nothing has been read yet">Drop a file above: text, Markdown, HTML, PDF, Word, tables or exported chats.</${Empty}>`;
    }}</${Loaded}>
    ${(state.value || state.error) && html`<${Databases} session=${session} />`}
  </${Page}>`;
}

// Give the newest rows, so many if there are, and whether these are all.
async function firstPassages(size) {
  const rows = [];
  while (rows.length <= size) {
    const statement = `${FIRST_PASSAGES} LIMIT ${AT_ONCE + 1} OFFSET ${rows.length}`;
    const answer = await post("/v1/query", { statement });
    rows.push(...answer.rows);
    if (answer.rows.length <= AT_ONCE) return { rows, isWhole: true };
  }
  return { rows: rows.slice(0, size), isWhole: false };
}

// The first passage of each source stands for it; its number is no part of the name.
function documentsOf(rows) {
  const seen = new Map();
  for (const [name, uri, category, at] of rows) {
    if (uri && !seen.has(uri)) seen.set(uri, { name: (name || uri).replace(/ #1$/, ""), uri, category, at });
  }
  return [...seen.values()];
}

// -- taking in -------------------------------------------------------------------------------------

function Drop({ done }) {
  const chooser = useRef(null);
  const [isOver, setOver] = useState(false);
  const [items, setItems] = useState([]);
  const [at, setAt] = useState(0);
  // of the file that is being read
  const [step, setStep] = useState(null);
  // one request a file: each is told as soon as it is read, and one that fails stops no other
  const read = useAction(async (files) => {
    setItems([]);
    for (const [index, file] of files.entries()) {
      setAt(index);
      setStep(null);
      const told = (done, of) => setStep({ done, of });
      const found = await upload("/v1/documents", [file], told).then(outcomeOf, (error) => ({ status: "failed", reason: [error.message, error.remedy].filter(Boolean).join(" ") }));
      setItems((before) => [...before, { ...found, name: file.name }]);
    }
    done();
    return files.length;
  });
  const [total, setTotal] = useState(0);
  const take = (files) => {
    const list = [...files];
    if (!list.length) return;
    setTotal(list.length);
    read.run(list);
  };
  const dropped = (event) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return html`<section class="stack tight" aria-label="Read in">
    <div class=${isOver ? "drop over" : "drop"} onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${dropped}>
      <strong>Drop files here</strong>
      <p class="muted small">They are stored in this memory, on this server, and sent nowhere else.</p>
      <button disabled=${read.busy} onClick=${() => chooser.current.click()}>Choose files</button>
      <input type="file" multiple hidden aria-label="Files to read" ref=${chooser} onChange=${(event) => take(event.target.files)} />
    </div>
    <div class="stack tight" role="status">
      ${read.busy && html`<progress max=${total} value=${items.length} aria-label="Files read"></progress>
        <p class="small muted">Reading ${count(at + 1)} of ${count(total)}</p>
        ${step?.of > 1 && html`<progress max=${step.of} value=${step.done} aria-label="Texts of this file"></progress>
          <p class="small muted">${count(step.done)} of ${plural(step.of, "text")}</p>`}`}
      ${items.length > 0 && html`<${Outcome} items=${items} />`}
    </div>
  </section>`;
}

function outcomeOf(report) {
  const reasons = report.items.filter((item) => item.reason).map((item) => item.reason);
  const status = report.items.find((item) => item.status !== "unchanged")?.status || report.items[0]?.status || "skipped";
  return { status, reason: reasons.join("; "), report };
}

const KINDS = { read: "good", failed: "bad", skipped: "careful" };

function Outcome({ items }) {
  const columns = [
    { name: "File", of: (item) => plain(item.name) },
    { name: "Outcome", of: (item) => html`<${Badge} kind=${of(KINDS, item.status)}>${title(item.status)}</${Badge}>` },
    { name: "Told", of: (item) => told(item) },
  ];
  return html`<${Table} caption="Files that were read" columns=${columns} rows=${items} />`;
}

function told({ reason, report }) {
  if (!report || reason) return plain(reason);
  const waiting = report.pending ? `; ${plural(report.pending, "text")} not yet found by meaning` : "";
  return `${plural(report.resources, "passage")}, ${plural(report.entities, "name")} in ${decimal(report.seconds, 1)} s${waiting}`;
}
